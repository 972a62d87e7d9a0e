//! The pairs of neighbouring letters in a path: most patterns are ruled out by them, without matching.

use super::file_paths::is_odd;

/// A set of pairs that may contain more than was added: the pairs of a path without those of a pattern mean that the pattern
/// does not match it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LetterPairs(u128);

impl LetterPairs {
    /// The pairs of a path in lowercase.
    pub(crate) fn of_path(path: &str) -> Self {
        LetterPairs::default().with(path)
    }

    /// The pairs of every path that a pattern matches.
    pub(crate) fn of_pattern(pattern: &str) -> Self {
        if !pattern.is_ascii() || pattern.contains(['[', '{', '\\']) || is_odd(pattern) {
            return LetterPairs::default();
        }
        let literal = pattern.split(['*', '?', '/']);
        literal.fold(LetterPairs::default(), |pairs, part| pairs.with(&part.to_ascii_lowercase()))
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        LetterPairs(self.0 | other.0)
    }

    /// Whether all pairs of a pattern are among those of a path.
    pub(crate) fn contain(self, pattern: Self) -> bool {
        pattern.0 & !self.0 == 0
    }

    fn with(self, text: &str) -> Self {
        let pairs = text.as_bytes().windows(2).filter_map(|pair| match *pair {
            [first, second] => Some(first.wrapping_mul(37) ^ second),
            _ => None,
        });
        pairs.fold(self, |LetterPairs(pairs), pair| LetterPairs(pairs | 1 << (pair & 127)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_patterns_are_ruled_out() {
        let path = LetterPairs::of_path("/home/me/project/src/main.rs");
        for pattern in [".env", "*.pem", "~/.ssh/**", "**/.aws/credentials", "/etc/shadow"] {
            assert!(!path.contain(LetterPairs::of_pattern(pattern)), "{pattern}");
        }
    }
}
