//! Whether two path patterns have a match in common: that of a rule, and a path with shell wildcards or variables.

use crate::glob::{Token, any_alternative, next_token};

/// Comparisons of larger patterns are not made: they count as an overlap.
const MAX_CELLS: usize = 1 << 20;

/// Whether a path that a shell expands may be one that matches a pattern. A shell wildcard does not match the dot of a hidden
/// name. A variable may have any value.
pub(crate) fn may_match(pattern: &str, path: &str) -> bool {
    let path = path_parts(path);
    any_alternative(pattern, &mut |pattern| parts_meet(&pattern_parts(pattern), &path))
}

/// Whether a path has a shell wildcard or a variable, so that its text is not its name.
pub(crate) fn is_open(path: &str) -> bool {
    path.contains(['*', '?', '[', '$', '`'])
}

/// One element of a path pattern.
#[derive(Clone, Copy)]
enum Part<'a> {
    /// Any number of segments.
    Many,
    /// Any one segment.
    One,
    /// A segment of a rule's pattern, or of a path that a shell expands.
    Segment { text: &'a str, is_shell: bool },
}

fn pattern_parts(pattern: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut segments = pattern.split('/').peekable();
    while let Some(text) = segments.next() {
        match text {
            // A `**` at the end matches at least one segment.
            "**" if segments.peek().is_none() => parts.extend([Part::One, Part::Many]),
            "**" => parts.push(Part::Many),
            _ => parts.push(Part::Segment { text, is_shell: false }),
        }
    }
    parts
}

/// The parts of a path. A variable may contain `/` and `..`, so nothing is known about the part before its end.
fn path_parts(path: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for text in path.split('/') {
        if text.contains(['$', '`']) {
            parts = vec![Part::Many];
        } else if text == "**" {
            parts.push(Part::Many);
        } else {
            parts.push(Part::Segment { text, is_shell: true });
        }
    }
    parts
}

fn parts_meet(left: &[Part<'_>], right: &[Part<'_>]) -> bool {
    let is_many = |part: &Part<'_>| matches!(part, Part::Many);
    sequences_meet(left, right, is_many, |left, right| match (left, right) {
        (Part::Segment { text: left, is_shell }, Part::Segment { text: right, .. }) => {
            if *is_shell {
                segments_meet(right, left)
            } else {
                segments_meet(left, right)
            }
        }
        _ => true,
    })
}

/// Whether a segment of a pattern and one that a shell expands have a match in common.
fn segments_meet(pattern: &str, shell: &str) -> bool {
    if pattern.starts_with('.') && shell.starts_with(['*', '?', '[']) {
        return false;
    }
    let is_star = |token: &Token<'_>| matches!(token, Token::Star);
    sequences_meet(&tokens(pattern), &tokens(shell), is_star, |left, right| match (left, right) {
        (Token::Byte(byte), other) | (other, Token::Byte(byte)) => other.matches(*byte) || *byte >= 0x80,
        _ => true,
    })
}

fn tokens(segment: &str) -> Vec<Token<'_>> {
    let mut rest = segment.as_bytes();
    let mut tokens = Vec::new();
    while let Some((token, tail)) = next_token(rest) {
        tokens.push(token);
        rest = tail;
    }
    tokens
}

/// Whether two sequences, in which some elements stand for any number of others, have an instance in common.
fn sequences_meet<T>(
    left: &[T],
    right: &[T],
    is_many: impl Fn(&T) -> bool,
    meet: impl Fn(&T, &T) -> bool,
) -> bool {
    if left.len().saturating_mul(right.len()) > MAX_CELLS {
        return true;
    }
    // `row[j]`: whether the elements of `left` so far and the first `j` of `right` have an instance in common.
    let mut row = vec![true];
    for item in right {
        row.push(is_many(item) && row.last() == Some(&true));
    }
    for mine in left {
        let mut next: Vec<bool> = vec![is_many(mine) && row.first() == Some(&true)];
        for (its, pair) in right.iter().zip(row.windows(2)) {
            let [diagonal, above] = pair else { continue };
            let before = next.last() == Some(&true);
            let holds = match (is_many(mine), is_many(its)) {
                (false, false) => *diagonal && meet(mine, its),
                _ => *above && is_many(mine) || before && is_many(its) || *diagonal,
            };
            // An element for many others also takes one more of the other side.
            let extends = is_many(mine) && before || is_many(its) && *above;
            next.push(holds || extends);
        }
        row = next;
    }
    row.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glob;
    use proptest::prelude::*;

    #[test]
    fn wildcards_of_a_shell_may_match_a_pattern() {
        for (pattern, path) in [
            ("secrets/**", "s*/a"),
            ("secrets/**", "*/a"),
            ("secrets/**", "secrets/*"),
            ("secrets/**", "$X"),
            ("secrets/**", "$X/a"),
            ("secrets/**", "src/$X"),
            ("secrets/**", "secret?/a/b"),
            ("secrets/**", "[rs]ecrets/a"),
            ("**/.env", "$X"),
            ("**/.env", "app/.e*"),
            ("*.pem", "*"),
            ("{a,b}/*.key", "b/x*"),
            ("secrets/**", "**/a"),
        ] {
            assert!(may_match(pattern, path), "`{pattern}` and `{path}`");
        }
        for (pattern, path) in [
            ("secrets/**", "*"),
            ("secrets/**", "*.md"),
            ("secrets/**", "src/*"),
            ("secrets/**", "t*/a"),
            ("**/.env", "app/*"),
            ("**/.env", "$DIR/main.rs"),
            ("*.key", "*.rs"),
            ("/etc/**", "etc/*"),
        ] {
            assert!(!may_match(pattern, path), "`{pattern}` and `{path}`");
        }
    }

    proptest! {
        #[test]
        fn a_common_match_is_an_overlap(pattern in "[ab*?/]{1,6}", path in "[ab*?/]{1,6}", name in "[ab/]{1,6}") {
            if glob::path_matches(&pattern, &name) && glob::path_matches(&path, &name) {
                prop_assert!(may_match(&pattern, &path), "{}", name);
            }
        }
    }
}
