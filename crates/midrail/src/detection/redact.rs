//! A stream of bytes without its secrets: text goes in as it comes, and comes out as soon as it is decided.

use midrail_scan::personal;
use midrail_scan::secrets::stream::{Redactor, SecretDetector, WindowedDetector};

/// Replaces secrets, and personal data where that is asked for, in a text that comes in parts.
#[derive(Debug)]
pub struct StreamRedactor {
    secrets: Redactor<SecretDetector>,
    personal: Option<Redactor<WindowedDetector>>,
    /// The beginning of a character whose end has not come.
    rest: Vec<u8>,
}

impl StreamRedactor {
    /// Tags are made under the key: with that of a store, they are those of its records.
    pub fn new(key: &[u8], with_personal_data: bool) -> Self {
        let personal = with_personal_data
            .then(|| Redactor::new(WindowedDetector::new(personal::scan, personal::CONTEXT_BYTES), key));
        StreamRedactor { secrets: Redactor::for_secrets(key), personal, rest: Vec::new() }
    }

    /// Takes the next bytes, and gives out what is decided. Bytes that are no text are replaced by `�`.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() - unfinished(&self.rest);
        let text: Vec<u8> = self.rest.drain(..whole).collect();
        let cleaned = self.secrets.push(&String::from_utf8_lossy(&text));
        match &mut self.personal {
            Some(personal) => personal.push(&cleaned),
            None => cleaned,
        }
    }

    /// Gives out the rest: nothing more will come.
    pub fn finish(mut self) -> String {
        let mut cleaned = self.secrets.push(&String::from_utf8_lossy(&self.rest));
        cleaned.push_str(&self.secrets.finish());
        match self.personal.take() {
            Some(mut personal) => {
                let mut out = personal.push(&cleaned);
                out.push_str(&personal.finish());
                out
            }
            None => cleaned,
        }
    }
}

/// The number of bytes at the end that start a character which is not complete.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_cut { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str, size: usize, with_personal_data: bool) -> String {
        let mut cleaner = StreamRedactor::new(b"key", with_personal_data);
        let mut out: String = text.as_bytes().chunks(size).map(|part| cleaner.push(part)).collect();
        out.push_str(&cleaner.finish());
        out
    }

    #[test]
    fn result_does_not_depend_on_chunk_boundaries() {
        let text = "grüße AKIAQ4ZTX7RK2MPLWN3J — tschüß, IBAN DE89 3704 0044 0532 0130 00 ende 🦀";
        let whole = cleaned(text, text.len(), true);
        assert!(whole.contains("[redacted:aws-access-key#") && whole.contains("[redacted:iban#"), "{whole}");
        assert!(whole.starts_with("grüße ") && whole.ends_with(" ende 🦀"), "{whole}");
        for size in [1, 2, 3, 5, 7, 16] {
            assert_eq!(cleaned(text, size, true), whole, "parts of {size}");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        let mut cleaner = StreamRedactor::new(b"key", false);
        let mut out = cleaner.push(b"a\xFFb\xE2");
        out.push_str(&cleaner.finish());
        assert_eq!(out, "a\u{FFFD}b\u{FFFD}");
    }
}
