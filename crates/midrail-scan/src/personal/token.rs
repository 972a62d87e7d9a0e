//! A candidate: its bare letters and digits, and its shape.

/// The longest candidate.
pub(super) const LONGEST: usize = 48;

/// A piece of text that may be a number.
pub(super) struct Token<'a> {
    /// The whole text.
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    bare: [u8; LONGEST],
    bare_length: usize,
    shape: [u8; LONGEST],
}

impl<'a> Token<'a> {
    /// Parses `start..end`. `None` if it is too long for a number.
    pub(super) fn new(bytes: &'a [u8], start: usize, end: usize) -> Option<Self> {
        let text = bytes.get(start..end).filter(|text| text.len() <= LONGEST)?;
        let mut token = Token { bytes, start, end, bare: [0; LONGEST], bare_length: 0, shape: [0; LONGEST] };
        for (byte, shape) in text.iter().zip(&mut token.shape) {
            *shape = match byte {
                b'0'..=b'9' => b'9',
                b'A'..=b'Z' => b'A',
                b'a'..=b'z' => b'a',
                other => *other,
            };
            if byte.is_ascii_alphanumeric()
                && let Some(bare) = token.bare.get_mut(token.bare_length)
            {
                *bare = byte.to_ascii_uppercase();
                token.bare_length += 1;
            }
        }
        Some(token)
    }

    /// The text as written.
    pub(super) fn text(&self) -> &'a [u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Its letters, in upper case, and digits.
    pub(super) fn bare(&self) -> &[u8] {
        self.bare.get(..self.bare_length).unwrap_or_default()
    }

    /// Whether it is more than one run of letters and digits.
    pub(super) fn has_separators(&self) -> bool {
        self.bare_length < self.end - self.start
    }

    /// Its shape: `9` for each digit, `A` and `a` for letters, separators as they are.
    pub(super) fn shape(&self) -> &[u8] {
        self.shape.get(..self.end - self.start).unwrap_or_default()
    }

    /// The lengths of its runs of letters and digits, up to eight.
    pub(super) fn groups(&self) -> ([usize; 8], usize) {
        let (mut lengths, mut count) = ([0; 8], 0);
        for part in self.text().split(|byte| !byte.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
            if let Some(length) = lengths.get_mut(count) {
                *length = part.len();
            }
            count += 1;
        }
        (lengths, count)
    }

    /// The separators in it.
    pub(super) fn separators(&self) -> impl Iterator<Item = u8> + '_ {
        self.text().iter().copied().filter(|byte| !byte.is_ascii_alphanumeric())
    }

    /// Its separator, if it uses only one.
    pub(super) fn separator(&self) -> Option<u8> {
        let first = self.separators().next()?;
        self.separators().all(|byte| byte == first).then_some(first)
    }
}
