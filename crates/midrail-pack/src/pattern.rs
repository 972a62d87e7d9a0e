//! Relations between name patterns.

use std::collections::BTreeMap;

use midrail_core::glob;

/// Samples of what a `*` can match: nothing, one character, and many.
const RUNS: [&str; 3] = ["", "\u{1}", "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}"];

/// Whether `wide` matches every name that `narrow` matches. `false` if it is undetermined.
pub(crate) fn covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || is_everything(wide) {
        return true;
    }
    if !glob::is_pattern(narrow) {
        return glob::name_matches(wide, narrow);
    }
    // Classes and alternatives of the narrow pattern are not analyzed.
    if narrow.contains(['[', '{', '\\']) {
        return false;
    }
    RUNS.iter().all(|run| glob::name_matches(wide, &narrow.replace('*', run).replace('?', "\u{1}")))
}

/// Whether one of several patterns covers another.
pub(crate) fn any_covers(wide: &[String], narrow: &str) -> bool {
    wide.iter().any(|wide| covers(wide, narrow))
}

/// Whether both could match the same name. `true` if it is undetermined.
pub(crate) fn could_meet(left: &str, right: &str) -> bool {
    match (glob::is_pattern(left), glob::is_pattern(right)) {
        (false, _) => glob::name_matches(right, left),
        (true, false) => glob::name_matches(left, right),
        (true, true) => {
            let (left, right) = (literal_start(left), literal_start(right));
            left.starts_with(right) || right.starts_with(left)
        }
    }
}

/// Items by the literal start of their patterns, to find candidates quickly.
pub(crate) struct Prefixes<T> {
    by_start: BTreeMap<String, Vec<T>>,
}

impl<T> Default for Prefixes<T> {
    fn default() -> Self {
        Prefixes { by_start: BTreeMap::new() }
    }
}

impl<T> Prefixes<T> {
    /// Adds an item for a pattern.
    pub(crate) fn add(&mut self, pattern: &str, item: T) {
        self.by_start.entry(literal_start(pattern).to_owned()).or_default().push(item);
    }

    /// The items of the patterns that could cover a name or pattern. Some of them may not.
    pub(crate) fn may_cover(&self, narrow: &str) -> impl Iterator<Item = &T> {
        // INVARIANT: the literal start of a covering pattern is a prefix of the literal start of the covered one.
        let start = literal_start(narrow);
        let ends = start.char_indices().map(|(at, _)| at).chain([start.len()]);
        ends.filter_map(move |end| self.by_start.get(start.get(..end)?)).flatten()
    }
}

/// The literal start of a pattern.
pub(crate) fn literal_start(pattern: &str) -> &str {
    pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
}

/// Whether a pattern matches every name.
pub(crate) fn is_everything(pattern: &str) -> bool {
    !pattern.is_empty() && pattern.chars().all(|c| c == '*')
}

/// The patterns of `own` within `outer`, narrowed to it, and those outside of it with their indexes.
pub(crate) fn within<'o>(own: &'o [String], outer: &[String]) -> (Vec<String>, Vec<(usize, &'o str)>) {
    let mut inside = Vec::new();
    let mut outside = Vec::new();
    for (at, pattern) in own.iter().enumerate() {
        let before = inside.len();
        if any_covers(outer, pattern) {
            inside.push(pattern.clone());
        } else {
            inside.extend(outer.iter().filter(|outer| covers(pattern, outer)).cloned());
        }
        if inside.len() == before {
            outside.push((at, pattern.as_str()));
        }
    }
    (inside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covering_requires_certainty() {
        for (wide, narrow, expected) in [
            ("*", "anything", true),
            ("mcp__*", "mcp__fs__read", true),
            ("mcp__*", "mcp__fs__*", true),
            ("mcp__fs__*", "mcp__*", false),
            ("a?", "a*", false),
            ("a*", "a?", true),
            ("{read,write}", "write", true),
            ("a*", "{ab,ac}", false),
            ("read", "read", true),
            ("read", "write", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} over {narrow}");
        }
    }

    #[test]
    fn separation_requires_certainty() {
        for (left, right, expected) in [
            ("implementer-*", "implementer-3", true),
            ("implementer-*", "tester-*", false),
            ("*-3", "implementer-*", true),
            ("a", "b", false),
        ] {
            assert_eq!(could_meet(left, right), expected, "{left} and {right}");
            assert_eq!(could_meet(right, left), expected, "{right} and {left}");
        }
    }

    #[test]
    fn patterns_are_narrowed_to_the_outer_list() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let own = texts(&["fs_*", "git", "x"]);
        let (inside, outside) = within(&own, &texts(&["fs_read", "fs_write", "x"]));
        assert_eq!(inside, ["fs_read", "fs_write", "x"]);
        assert_eq!(outside, [(1, "git")]);
    }
}
