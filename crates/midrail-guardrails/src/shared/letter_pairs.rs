//! The pairs of neighbouring letters in a path: most patterns are ruled out by them, without matching.

/// A set of pairs that may contain more than was added: the pairs of a path without those of a pattern mean that the pattern
/// does not match it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LetterPairs(u128);

impl LetterPairs {
    /// The pairs of a path in lowercase.
    pub(crate) fn of_path(path: &str) -> Self {
        let bytes = path.bytes();
        LetterPairs(
            bytes.clone().zip(bytes.skip(1)).fold(0, |pairs, (first, second)| pairs | bit(first, second)),
        )
    }

    /// The pairs of every path that a pattern matches. None, if the pattern may match paths that are spelt in another way.
    pub(crate) fn of_pattern(pattern: &str) -> Self {
        let mut pairs = 0;
        let mut before = None;
        for byte in pattern.bytes() {
            let byte = byte.to_ascii_lowercase();
            match (before, byte) {
                (_, b'[' | b'{' | b'\\' | 0x80..) | (Some(b'.' | b'/'), b'/') | (Some(b'.'), b'.') => {
                    return LetterPairs::default();
                }
                (Some(first), second) if !is_open(first) && !is_open(second) => pairs |= bit(first, second),
                _ => {}
            }
            before = Some(byte);
        }
        LetterPairs(pairs)
    }

    /// Those of both.
    pub(crate) fn and(self, other: Self) -> Self {
        LetterPairs(self.0 | other.0)
    }

    /// Whether all pairs of a pattern are among those of a path.
    pub(crate) fn contain(self, pattern: Self) -> bool {
        pattern.0 & !self.0 == 0
    }
}

/// The place of a pair in the set.
fn bit(first: u8, second: u8) -> u128 {
    1 << ((first.wrapping_mul(37) ^ second) & 127)
}

/// Whether a mark stands for other letters, or separates folders.
fn is_open(mark: u8) -> bool {
    matches!(mark, b'*' | b'?' | b'/')
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
