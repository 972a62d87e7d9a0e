//! Gzip for archives of the audit log.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Whether a file begins as a gzip file does.
pub fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Reads the text of a gzip file.
pub fn gzip_reader(file: impl Read) -> impl Read {
    GzDecoder::new(file)
}

/// Compresses what is written to it. Its `finish` writes the end.
pub(crate) fn gzip_writer<W: Write>(file: W) -> GzEncoder<W> {
    GzEncoder::new(file, Compression::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut writer = gzip_writer(Vec::new());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn texts() -> Vec<Vec<u8>> {
        let mut seed = 7_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_le_bytes()[3]
        };
        let noise: Vec<u8> = (0..100_000).map(|_| random()).collect();
        let lines: String =
            (0..3_000).map(|nth| format!("{{\"seq\":{nth},\"hash\":\"{:08x}\"}}\n", nth * 7919)).collect();
        vec![Vec::new(), vec![0], b"abcabcabc".to_vec(), vec![b'x'; 70_000], noise, lines.into_bytes()]
    }

    #[test]
    fn round_trip_and_size() {
        for text in texts() {
            let file = compressed(&text);
            let mut back = Vec::new();
            gzip_reader(file.as_slice()).read_to_end(&mut back).unwrap();
            assert!(back == text, "{} bytes", text.len());
        }
        let lines = texts().pop().unwrap();
        assert!(compressed(&lines).len() * 2 < lines.len());
    }

    /// Other programs can read the file.
    #[test]
    fn gzip_reads_it() {
        for text in texts() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.gz");
            std::fs::write(&path, compressed(&text)).unwrap();
            let Ok(out) = std::process::Command::new("gzip").arg("-dc").arg(&path).output() else { return };
            assert!(out.status.success() && out.stdout == text, "{}", String::from_utf8_lossy(&out.stderr));
        }
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        let text: Vec<u8> = texts()[5].iter().copied().take(3_000).collect();
        let file = compressed(&text);
        for at in (0..file.len()).step_by(7) {
            let mut wrong = file.clone();
            wrong[at] ^= 0x55;
            let mut out = Vec::new();
            let read = gzip_reader(wrong.as_slice()).read_to_end(&mut out);
            // Times and the last bits of a block are not part of the text.
            assert!(read.is_err() || out == text, "byte {at}");
            let cut = gzip_reader(&file[..at]).read_to_end(&mut Vec::new());
            assert!(cut.is_err());
        }
    }
}
