//! Glob patterns on names and paths, matched without a compile step: `*`, `**`, `?`, `[a-z]`, `{a,b}`.
//!
//! A hook process lives for two milliseconds and sees most patterns once, so a matcher that walks the pattern
//! beats one that is compiled first (see `docs/decisions/0002-own-glob-matcher.md`).

/// Whether a path matches a pattern. `*` and `?` stay within one segment; `**` crosses segments.
/// A pattern without `/` matches paths of one segment.
pub fn path_matches(pattern: &str, path: &str) -> bool {
    any_alternative(pattern, &mut |pattern| segments_match(Some(pattern), Some(path)))
}

/// Whether a name (a tool, an agent, a task) matches a pattern. `*` matches anything, also `/` and `.`.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    any_alternative(pattern, &mut |pattern| segment_matches(pattern.as_bytes(), name.as_bytes()))
}

/// Whether a text uses any of the pattern characters.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Checks a pattern when a pack is loaded, so that an error is reported there and not when it fails to match.
pub fn check(pattern: &str) -> Result<(), &'static str> {
    if !pattern.contains(['\\', '[', '{', '}']) {
        return Ok(());
    }
    let mut depth = 0_u32;
    let mut groups = 0_u32;
    let mut in_class = false;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => return Err("ends in a backslash"),
            ']' if in_class => in_class = false,
            _ if in_class => {}
            '[' => {
                in_class = true;
                if matches!(chars.peek(), Some('!' | '^')) {
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                }
            }
            '{' => {
                depth += 1;
                groups += 1;
            }
            '}' if depth == 0 => return Err("has a `}` without its `{`"),
            '}' => depth -= 1,
            _ => {}
        }
    }
    match (in_class, depth) {
        (true, _) => Err("has a `[` without its `]`"),
        (_, 1..) => Err("has a `{` without its `}`"),
        _ if groups > MAX_GROUPS => Err("has more than 8 groups of alternatives"),
        _ => Ok(()),
    }
}

const MAX_GROUPS: u32 = 8;

/// Runs `test` on the pattern with each `{a,b}` replaced by one alternative, until one holds.
pub(crate) fn any_alternative(pattern: &str, test: &mut dyn FnMut(&str) -> bool) -> bool {
    if pattern.as_bytes().contains(&b'{') { expand(pattern, MAX_GROUPS, test) } else { test(pattern) }
}

fn expand(pattern: &str, groups_left: u32, test: &mut dyn FnMut(&str) -> bool) -> bool {
    let Some((before, alternatives, after)) = split_group(pattern).filter(|_| groups_left > 0) else {
        return test(pattern);
    };
    alternatives.iter().any(|alternative| {
        let whole = format!("{before}{alternative}{after}");
        expand(&whole, groups_left - 1, test)
    })
}

/// The first `{…}` of a pattern: the text before it, its alternatives, the text after it. After `\\` and inside `[…]`, its signs are
/// plain characters.
fn split_group(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut open = None;
    let mut depth = 0_usize;
    let mut start = 0;
    let mut alternatives = Vec::new();
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'[' => at = class_end(bytes, at),
            b'{' => {
                if open.is_none() {
                    open = Some(at);
                    start = at + 1;
                }
                depth += 1;
            }
            b'}' if depth == 1 => {
                alternatives.push(pattern.get(start..at)?);
                return Some((pattern.get(..open?)?, alternatives, pattern.get(at + 1..)?));
            }
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => {
                alternatives.push(pattern.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The `]` that ends the class which begins here, or the beginning if none does.
fn class_end(pattern: &[u8], open: usize) -> usize {
    let negated = usize::from(matches!(pattern.get(open + 1), Some(b'!' | b'^')));
    // The first character may be a `]`.
    let from = open + 2 + negated;
    let rest = pattern.get(from..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b']').map_or(open, |end| from + end)
}

/// The rest of a path. `None`: there is no segment left, which is not the same as an empty one.
type Rest<'a> = Option<&'a str>;

/// The first segment, and the rest.
fn first_segment<'a>(rest: Rest<'a>) -> Option<(&'a str, Rest<'a>)> {
    let text = rest?;
    match text.bytes().position(|byte| byte == b'/') {
        Some(at) => Some((text.get(..at)?, text.get(at + 1..))),
        None => Some((text, None)),
    }
}

/// Greedy matching that backtracks to the last `**` only: linear in pattern times path, without allocation.
fn segments_match(mut pattern: Rest<'_>, mut path: Rest<'_>) -> bool {
    let mut back: Option<(Rest<'_>, Rest<'_>)> = None;
    loop {
        match (first_segment(pattern), first_segment(path)) {
            (Some(("**", rest)), _) => {
                // A `**` at the end matches at least one segment: `src/**` matches the content of `src`, not `src` itself.
                if rest.is_none() {
                    return path.is_some();
                }
                back = Some((rest, path));
                pattern = rest;
            }
            (Some((want, rest)), Some((have, tail))) if segment_matches(want.as_bytes(), have.as_bytes()) => {
                pattern = rest;
                path = tail;
            }
            (None, None) => return true,
            _ => {
                let Some((rest, from)) = back else { return false };
                let Some((_, from)) = first_segment(from) else { return false };
                back = Some((rest, from));
                pattern = rest;
                path = from;
            }
        }
    }
}

/// The same within one segment, backtracking to the last `*`.
fn segment_matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    let mut back: Option<(&[u8], &[u8])> = None;
    loop {
        match (next_token(pattern), text.split_first()) {
            (Some((Token::Star, rest)), _) => {
                back = Some((rest, text));
                pattern = rest;
            }
            (Some((token, rest)), Some((&byte, tail))) if token.matches(byte) => {
                pattern = rest;
                // `?` and a negated class take a whole character, not one of its bytes.
                text = if token.takes_char() { skip_continuation(tail) } else { tail };
            }
            (None, None) => return true,
            _ => {
                let Some((rest, from)) = back else { return false };
                let Some((_, from)) = from.split_first() else { return false };
                back = Some((rest, from));
                pattern = rest;
                text = from;
            }
        }
    }
}

fn skip_continuation(mut text: &[u8]) -> &[u8] {
    while let Some((byte, rest)) = text.split_first() {
        if byte & 0b1100_0000 != 0b1000_0000 {
            break;
        }
        text = rest;
    }
    text
}

/// One element of a pattern within a segment.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    Star,
    Any,
    Byte(u8),
    Class { negated: bool, members: &'a [u8] },
}

impl Token<'_> {
    fn takes_char(&self) -> bool {
        matches!(self, Token::Any | Token::Class { negated: true, .. })
    }

    pub(crate) fn matches(&self, byte: u8) -> bool {
        match self {
            Token::Star => true,
            // A continuation byte cannot start a character.
            Token::Any => byte & 0b1100_0000 != 0b1000_0000,
            Token::Byte(want) => *want == byte,
            Token::Class { negated, members } => in_class(members, byte) != *negated,
        }
    }
}

pub(crate) fn next_token(pattern: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (&first, rest) = pattern.split_first()?;
    match first {
        b'*' => Some((Token::Star, rest)),
        b'?' => Some((Token::Any, rest)),
        b'\\' => match rest.split_first() {
            Some((&escaped, rest)) => Some((Token::Byte(escaped), rest)),
            None => Some((Token::Byte(b'\\'), rest)),
        },
        b'[' => Some(class_token(rest).unwrap_or((Token::Byte(b'['), rest))),
        byte => Some((Token::Byte(byte), rest)),
    }
}

fn class_token(rest: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (negated, rest) = match rest.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, rest),
    };
    // A `]` right after the bracket is a member, not the end.
    let end = rest.iter().skip(1).position(|&byte| byte == b']')? + 1;
    let (members, after) = rest.split_at_checked(end)?;
    Some((Token::Class { negated, members }, after.get(1..)?))
}

fn in_class(members: &[u8], byte: u8) -> bool {
    let mut rest = members;
    while let Some((&low, tail)) = rest.split_first() {
        if let [b'-', high, after @ ..] = tail {
            if (low..=*high).contains(&byte) {
                return true;
            }
            rest = after;
        } else {
            if low == byte {
                return true;
            }
            rest = tail;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_match_as_people_expect() {
        for (pattern, path, expected) in [
            ("src/**", "src/a.rs", true),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src", false),
            ("**", "a/b", true),
            ("**/.env", ".env", true),
            ("**/.env", "app/.env", true),
            ("**/.env", "app/.env.example", false),
            ("**/test_*", "src/test_a.py", true),
            ("**/*_test.*", "a/b/x_test.go", true),
            ("*.env", "app.env", true),
            ("*.env", "a/app.env", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "a/x/y/c", false),
            ("{src,tests}/**/*.{rs,toml}", "tests/x/y.rs", true),
            ("{src,tests}/**/*.{rs,toml}", "docs/x/y.rs", false),
            ("src/[a-c]?.rs", "src/bz.rs", true),
            ("src/[!a-c].rs", "src/b.rs", false),
            ("caf?", "café", true),
            ("a[", "a[", true),
        ] {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn names_match_across_separators() {
        assert!(name_matches("vfs_*", "vfs_write"));
        assert!(name_matches("mcp__*", "mcp__fs/read"));
        assert!(!name_matches("vfs_*", "podman_exec"));
        assert!(name_matches("*", ""));
    }

    #[test]
    fn braces_after_a_backslash_and_in_a_class_are_plain() {
        assert!(name_matches(r"*foo \{a\}*", "foo {a}"));
        assert!(name_matches(r"\{{a,b}\}", "{b}"));
        assert!(name_matches("[{]{a,b}", "{a"));
        assert!(name_matches("{[,],b}", ","));
        assert!(!name_matches(r"foo \{a\}", "foo a"));
    }

    #[test]
    fn mistakes_in_patterns_are_found() {
        assert!(check("src/**/[a-z]*.{rs,toml}").is_ok());
        assert!(check("src/[a").is_err());
        assert!(check("src/{a,b").is_err());
        assert!(check("src/a}").is_err());
    }

    #[test]
    fn hostile_patterns_end() {
        let path = "a/".repeat(2_000);
        assert!(!path_matches(&"**/*a*".repeat(20), &path));
        assert!(!name_matches(&"*a".repeat(2_000), &"a".repeat(1_999)));
    }

    proptest! {
        #[test]
        fn agrees_with_globset(pattern in "(\\*\\*/)?[ab*?]{1,4}(/(\\*\\*|[ab*?]{1,3})){0,3}", path in "[ab]{1,3}(/[ab]{1,3}){0,3}") {
            // globset reads `***` in its own way; we hold to `**` as a whole segment.
            prop_assume!(!pattern.split('/').any(|segment| segment.contains("**") && segment != "**"));
            let oracle = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap().compile_matcher();
            prop_assert_eq!(path_matches(&pattern, &path), oracle.is_match(&path), "{} on {}", pattern, path);
        }
    }
}
