//! Gzip (RFC 1952) for archives, in the simplest form that other programs read: matches within blocks of 32 KiB, and the
//! fixed codes of DEFLATE (RFC 1951). Only files that this module has written can be read.

use std::collections::HashMap;
use std::io::{self, Read, Write};

/// The bytes that are compressed at once, and the farthest distance of a match.
const BLOCK: usize = 32 << 10;

const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 258;

/// The code that ends a block.
const END: u32 = 256;

/// The first bytes of a file: magic number, method, no flags, no time, no extra flags, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The smallest length or distance of each code, and the number of extra bits.
const LENGTHS: [(u32, u32); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
const DISTANCES: [(u32, u32); 30] = [
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 1),
    (7, 1),
    (9, 2),
    (13, 2),
    (17, 3),
    (25, 3),
    (33, 4),
    (49, 4),
    (65, 5),
    (97, 5),
    (129, 6),
    (193, 6),
    (257, 7),
    (385, 7),
    (513, 8),
    (769, 8),
    (1025, 9),
    (1537, 9),
    (2049, 10),
    (3073, 10),
    (4097, 11),
    (6145, 11),
    (8193, 12),
    (12289, 12),
    (16385, 13),
    (24577, 13),
];

/// Whether a file begins as a gzip file does.
pub fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

/// Compresses what is written to it. [`GzipWriter::finish`] writes the end.
pub struct GzipWriter<W: Write> {
    bits: BitWriter<W>,
    block: Vec<u8>,
    check: Checksum,
}

impl<W: Write> GzipWriter<W> {
    /// Starts a file.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&HEADER)?;
        Ok(GzipWriter {
            bits: BitWriter { out, buffer: 0, count: 0 },
            block: Vec::new(),
            check: Checksum::default(),
        })
    }

    /// Writes the rest and the checksum.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_block(true)?;
        let GzipWriter { mut bits, check, .. } = self;
        bits.align()?;
        bits.out.write_all(&check.value().to_le_bytes())?;
        bits.out.write_all(&check.length.to_le_bytes())?;
        bits.out.flush()?;
        Ok(bits.out)
    }

    fn write_block(&mut self, is_last: bool) -> io::Result<()> {
        let block = std::mem::take(&mut self.block);
        self.check.add(&block);
        self.bits.write(u32::from(is_last), 1)?;
        self.bits.write(1, 2)?;
        let mut last_at: HashMap<&[u8], usize> = HashMap::new();
        let mut at = 0;
        while let Some(byte) = block.get(at) {
            let rest = block.get(at..).unwrap_or_default();
            let start = rest.get(..MIN_MATCH);
            let earlier = start.and_then(|start| last_at.insert(start, at));
            let length = earlier.and_then(|earlier| block.get(earlier..)).map_or(0, |earlier| {
                rest.iter().zip(earlier).take(MAX_MATCH).take_while(|(one, other)| one == other).count()
            });
            match earlier {
                Some(earlier) if length >= MIN_MATCH => {
                    self.write_match(length, at - earlier)?;
                    at += length;
                }
                _ => {
                    self.write_symbol(u32::from(*byte))?;
                    at += 1;
                }
            }
        }
        self.write_symbol(END)
    }

    fn write_match(&mut self, length: usize, distance: usize) -> io::Result<()> {
        let (code, rest, extra) = encode(&LENGTHS, length);
        self.write_symbol(END + 1 + code)?;
        self.bits.write(rest, extra)?;
        let (code, rest, extra) = encode(&DISTANCES, distance);
        self.bits.write_code(code, 5)?;
        self.bits.write(rest, extra)
    }

    fn write_symbol(&mut self, symbol: u32) -> io::Result<()> {
        match symbol {
            0..144 => self.bits.write_code(0x30 + symbol, 8),
            144..256 => self.bits.write_code(0x190 + symbol - 144, 9),
            256..280 => self.bits.write_code(symbol - 256, 7),
            _ => self.bits.write_code(0xc0 + symbol - 280, 8),
        }
    }
}

impl<W: Write> Write for GzipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (taken, _) = bytes.split_at(bytes.len().min(BLOCK - self.block.len()));
        self.block.extend_from_slice(taken);
        if self.block.len() == BLOCK {
            self.write_block(false)?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The code of a number, the rest above the smallest one of the code, and the number of bits of the rest.
fn encode(codes: &[(u32, u32)], number: usize) -> (u32, u32, u32) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let numbered = (0..).zip(codes);
    let found = numbered.take_while(|(_, (least, _))| *least <= number).last();
    found.map_or((0, 0, 0), |(code, (least, extra))| (code, number - least, *extra))
}

struct BitWriter<W> {
    out: W,
    buffer: u32,
    count: u32,
}

impl<W: Write> BitWriter<W> {
    /// Writes bits, the lowest first.
    fn write(&mut self, bits: u32, count: u32) -> io::Result<()> {
        self.buffer |= bits << self.count;
        self.count += count;
        while self.count >= 8 {
            let [byte, ..] = self.buffer.to_le_bytes();
            self.out.write_all(&[byte])?;
            self.buffer >>= 8;
            self.count -= 8;
        }
        Ok(())
    }

    /// Writes a code, the highest bit first.
    fn write_code(&mut self, code: u32, count: u32) -> io::Result<()> {
        self.write(code.reverse_bits() >> (32 - count), count)
    }

    fn align(&mut self) -> io::Result<()> {
        if self.count > 0 { self.write(0, 8 - self.count) } else { Ok(()) }
    }
}

/// Reads a file that [`GzipWriter`] has written. Anything else is an error.
pub struct GzipReader<R> {
    input: R,
    buffer: u32,
    count: u32,
    /// The current block, and how much of it was returned.
    block: Vec<u8>,
    returned: usize,
    check: Checksum,
    is_done: bool,
}

impl<R: Read> GzipReader<R> {
    /// Starts to read a file.
    pub fn new(mut input: R) -> io::Result<Self> {
        let mut header = [0; HEADER.len()];
        input.read_exact(&mut header)?;
        if header != HEADER {
            return Err(damaged("it was not written by Midrail"));
        }
        let check = Checksum::default();
        Ok(GzipReader { input, buffer: 0, count: 0, block: Vec::new(), returned: 0, check, is_done: false })
    }

    fn read_block(&mut self) -> io::Result<()> {
        let is_last = self.bits(1)? == 1;
        if self.bits(2)? != 1 {
            return Err(damaged("it has another kind of block"));
        }
        let mut block = Vec::with_capacity(BLOCK);
        loop {
            match self.symbol()? {
                END => break,
                symbol @ 0..END => block.push(u8::try_from(symbol).unwrap_or(0)),
                symbol => {
                    let length = self.number(&LENGTHS, symbol - END - 1)?;
                    let code = self.code(5)?;
                    let distance = self.number(&DISTANCES, code)?;
                    for _ in 0..length {
                        let from =
                            block.len().checked_sub(distance).and_then(|from| block.get(from)).copied();
                        block.push(from.ok_or_else(|| damaged("it refers to bytes before its block"))?);
                    }
                }
            }
            if block.len() > BLOCK {
                return Err(damaged("a block is too long"));
            }
        }
        self.check.add(&block);
        (self.block, self.returned, self.is_done) = (block, 0, is_last);
        if is_last {
            (self.buffer, self.count) = (0, 0);
            let mut end = [0; 8];
            self.input.read_exact(&mut end)?;
            let expected: Vec<u8> =
                [self.check.value(), self.check.length].iter().flat_map(|it| it.to_le_bytes()).collect();
            if end.as_slice() != expected.as_slice() {
                return Err(damaged("its checksum does not match"));
            }
        }
        Ok(())
    }

    fn bits(&mut self, count: u32) -> io::Result<u32> {
        while self.count < count {
            let mut byte = [0];
            self.input.read_exact(&mut byte)?;
            let [byte] = byte;
            self.buffer |= u32::from(byte) << self.count;
            self.count += 8;
        }
        let bits = self.buffer & ((1 << count) - 1);
        self.buffer >>= count;
        self.count -= count;
        Ok(bits)
    }

    /// Reads bits, the highest first.
    fn code(&mut self, count: u32) -> io::Result<u32> {
        (0..count).try_fold(0, |code, _| Ok(code << 1 | self.bits(1)?))
    }

    fn symbol(&mut self) -> io::Result<u32> {
        let code = self.code(7)?;
        if code < 24 {
            return Ok(256 + code);
        }
        let code = code << 1 | self.bits(1)?;
        match code {
            0x30..0xc0 => Ok(code - 0x30),
            0xc0..0xc8 => Ok(280 + code - 0xc0),
            _ => Ok(144 + (code << 1 | self.bits(1)?) - 0x190),
        }
    }

    fn number(&mut self, codes: &[(u32, u32)], code: u32) -> io::Result<usize> {
        let found = usize::try_from(code).ok().and_then(|code| codes.get(code));
        let (least, extra) = found.copied().ok_or_else(|| damaged("it has an unknown code"))?;
        let number = least + self.bits(extra)?;
        usize::try_from(number).map_err(|_| damaged("a number is too large"))
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.returned == self.block.len() && !self.is_done {
            self.read_block()?;
        }
        let mut rest = self.block.get(self.returned..).unwrap_or_default();
        let count = rest.read(out)?;
        self.returned += count;
        Ok(count)
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the archive is damaged: {why}"))
}

/// The CRC-32 and the length of what was compressed.
struct Checksum {
    crc: u32,
    length: u32,
}

impl Default for Checksum {
    fn default() -> Self {
        Checksum { crc: u32::MAX, length: 0 }
    }
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.crc ^= u32::from(*byte);
            for _ in 0..8 {
                let low = self.crc & 1;
                self.crc = (self.crc >> 1) ^ (0xedb8_8320 * low);
            }
        }
        self.length = self.length.wrapping_add(u32::try_from(bytes.len()).unwrap_or(0));
    }

    fn value(&self) -> u32 {
        !self.crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut writer = GzipWriter::new(Vec::new()).unwrap();
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
            GzipReader::new(file.as_slice()).unwrap().read_to_end(&mut back).unwrap();
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
            let read = GzipReader::new(wrong.as_slice()).and_then(|mut reader| reader.read_to_end(&mut out));
            // The last bits of a block are padding.
            assert!(read.is_err() || out == text, "byte {at}");
            let cut = GzipReader::new(&file[..at]).and_then(|mut reader| reader.read_to_end(&mut Vec::new()));
            assert!(cut.is_err());
        }
    }
}
