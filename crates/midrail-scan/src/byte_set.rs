//! Sets of bytes as tables, which are faster than comparisons on long runs.

/// A set of bytes.
#[derive(Debug)]
pub(crate) struct ByteSet([bool; 256]);

/// Which bytes a set contains in addition to the named ones, or without them.
#[derive(Clone, Copy)]
enum SetKind {
    Named,
    NamedAndLetters { beyond: bool },
    ShownButNamed,
}

impl ByteSet {
    /// ASCII letters and digits, the given bytes, and all bytes beyond ASCII if `beyond` is set.
    pub(crate) const fn letters_and(others: &[u8], beyond: bool) -> Self {
        ByteSet::build(SetKind::NamedAndLetters { beyond }, others)
    }

    /// Exactly these bytes.
    pub(crate) const fn only(bytes: &[u8]) -> Self {
        ByteSet::build(SetKind::Named, bytes)
    }

    /// All bytes except control characters, the space and the given ones.
    pub(crate) const fn printable_except(others: &[u8]) -> Self {
        ByteSet::build(SetKind::ShownButNamed, others)
    }

    const fn build(kind: SetKind, named: &[u8]) -> Self {
        let mut table = [false; 256];
        let (mut slots, mut byte): (&mut [bool], u8) = (&mut table, 0);
        while let [slot, rest @ ..] = slots {
            let is_named = holds(named, byte);
            *slot = match kind {
                SetKind::Named => is_named,
                SetKind::NamedAndLetters { beyond } => {
                    is_named || byte.is_ascii_alphanumeric() || beyond && !byte.is_ascii()
                }
                SetKind::ShownButNamed => byte > b' ' && !is_named,
            };
            byte = byte.wrapping_add(1);
            slots = rest;
        }
        ByteSet(table)
    }

    /// Whether a byte is in the set.
    pub(crate) fn has(&self, byte: u8) -> bool {
        self.0.get(usize::from(byte)).copied().unwrap_or(false)
    }
}

const fn holds(bytes: &[u8], wanted: u8) -> bool {
    let mut left = bytes;
    while let [byte, rest @ ..] = left {
        if *byte == wanted {
            return true;
        }
        left = rest;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_contains_exactly_its_bytes() {
        const WORD: ByteSet = ByteSet::letters_and(b"_", false);
        const NAME: ByteSet = ByteSet::letters_and(b"-'", true);
        const SHOWN: ByteSet = ByteSet::printable_except(b"<;");
        const SIGN: ByteSet = ByteSet::only(b"=:");
        for byte in 0..=u8::MAX {
            let is_letter = byte.is_ascii_alphanumeric();
            assert_eq!(WORD.has(byte), is_letter || byte == b'_', "{byte}");
            assert_eq!(SIGN.has(byte), matches!(byte, b'=' | b':'), "{byte}");
            assert_eq!(SHOWN.has(byte), byte > b' ' && !matches!(byte, b'<' | b';'), "{byte}");
            assert_eq!(NAME.has(byte), is_letter || matches!(byte, b'-' | b'\'' | 0x80..), "{byte}");
        }
    }
}
