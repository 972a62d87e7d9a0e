//! Sets of bytes as tables, which are quicker than comparisons where long runs are read.

/// A set of bytes.
#[derive(Debug)]
pub(crate) struct ByteSet([bool; 256]);

/// Which bytes a set has beside, or of, those that are named.
#[derive(Clone, Copy)]
enum Rule {
    Named,
    NamedAndLetters { beyond: bool },
    ShownButNamed,
}

impl ByteSet {
    /// Letters and digits of ASCII, some others, and perhaps all bytes beyond ASCII.
    pub(crate) const fn letters_and(others: &[u8], beyond: bool) -> Self {
        ByteSet::of(Rule::NamedAndLetters { beyond }, others)
    }

    /// These bytes and no others.
    pub(crate) const fn only(bytes: &[u8]) -> Self {
        ByteSet::of(Rule::Named, bytes)
    }

    /// All bytes but for control characters, the space and some others.
    pub(crate) const fn shown_but(others: &[u8]) -> Self {
        ByteSet::of(Rule::ShownButNamed, others)
    }

    const fn of(rule: Rule, named: &[u8]) -> Self {
        let mut table = [false; 256];
        let (mut slots, mut byte): (&mut [bool], u8) = (&mut table, 0);
        while let [slot, rest @ ..] = slots {
            let is_named = holds(named, byte);
            *slot = match rule {
                Rule::Named => is_named,
                Rule::NamedAndLetters { beyond } => {
                    is_named || byte.is_ascii_alphanumeric() || beyond && !byte.is_ascii()
                }
                Rule::ShownButNamed => byte > b' ' && !is_named,
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
    fn a_set_has_its_bytes_and_no_others() {
        const WORD: ByteSet = ByteSet::letters_and(b"_", false);
        const NAME: ByteSet = ByteSet::letters_and(b"-'", true);
        const SHOWN: ByteSet = ByteSet::shown_but(b"<;");
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
