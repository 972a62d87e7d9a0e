//! Decoders for texts that hide others: base64, hex, escapes, rot13 and the like. What does not decode to text is `None`.

/// Base64, standard or for URLs, with or without padding; whitespace is skipped.
pub(crate) fn base64(text: &str) -> Option<String> {
    readable(base64_bytes(text)?)
}

/// Base64 of UTF-16, little endian: what `powershell -EncodedCommand` takes.
pub(crate) fn base64_utf16(text: &str) -> Option<String> {
    let bytes = base64_bytes(text)?;
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| u16::from_le_bytes(*pair));
    let decoded: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    readable(decoded.into_bytes())
}

/// Base32 of RFC 4648, with or without padding; whitespace is skipped.
pub(crate) fn base32(text: &str) -> Option<String> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    };
    readable(unpack(text, 5, value)?)
}

/// Pairs of hexadecimal digits, plain (`726d`), with escapes (`\x72\x6d`) or prefixes (`0x72`), or divided by
/// spaces, colons or commas.
pub(crate) fn hex(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut high: Option<u8> = None;
    let mut input = text.bytes().peekable();
    while let Some(byte) = input.next() {
        let is_prefix = (byte == b'\\' || byte == b'0') && matches!(input.peek(), Some(b'x' | b'X'));
        if is_prefix && high.is_none() {
            input.next();
            continue;
        }
        match digit_of(byte, 16) {
            Some(digit) => match high.take() {
                Some(first) => bytes.push(first << 4 | digit),
                None => high = Some(digit),
            },
            // A separator must not be inside a pair.
            None if high.is_none() && (byte.is_ascii_whitespace() || byte == b':' || byte == b',') => {}
            None => return None,
        }
    }
    match high {
        None => readable(bytes),
        Some(_) => None,
    }
}

/// The rules by which a backslash means another character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `$'…'` of bash and zsh.
    AnsiC,
    /// `echo -e`, and `printf %b`: octal numbers take a leading zero (`\0NNN`), and `\c` ends the text.
    Echo,
    /// The format of `printf`: as in [`Escapes::AnsiC`], and `%%` is a percent sign.
    Printf,
}

/// Resolves backslash escapes: `\n`, `\xHH`, `\NNN`, `\uXXXX`, `\UXXXXXXXX`. Unknown ones stay as they are.
pub(crate) fn escapes(text: &str, rules: Escapes) -> Option<String> {
    String::from_utf8(escaped_bytes(text, rules)?).ok()
}

/// The same, as bytes.
pub(crate) fn escaped_bytes(text: &str, rules: Escapes) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' && rules == Escapes::Printf && rest.first() == Some(&b'%') {
            rest = rest.get(1..)?;
        }
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&letter, tail)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = tail;
        match letter {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'v' => out.push(11),
            b'f' => out.push(12),
            b'r' => out.push(b'\r'),
            b'e' | b'E' => out.push(27),
            b'\\' => out.push(b'\\'),
            b'\'' | b'"' | b'?' if rules != Escapes::Echo => out.push(letter),
            b'c' if rules == Escapes::Echo => break,
            b'x' => match number(rest, 16, 2) {
                Some((value, after)) => {
                    out.push(low_byte(value));
                    rest = after;
                }
                None => out.extend(b"\\x"),
            },
            b'u' | b'U' => match number(rest, 16, if letter == b'u' { 4 } else { 8 }) {
                Some((value, after)) => {
                    let decoded = char::from_u32(value)?;
                    out.extend(decoded.encode_utf8(&mut [0; 4]).as_bytes());
                    rest = after;
                }
                None => out.extend([b'\\', letter]),
            },
            b'0' if rules == Escapes::Echo => {
                let (value, after) = number(rest, 8, 3).unwrap_or((0, rest));
                out.push(low_byte(value));
                rest = after;
            }
            b'0'..=b'7' => {
                let first = u32::from(letter - b'0');
                let (value, after) = number(rest, 8, 2).unwrap_or((0, rest));
                let digits = u32::try_from(rest.len() - after.len()).ok()?;
                out.push(low_byte(first << (3 * digits) | value));
                rest = after;
            }
            other => out.extend([b'\\', other]),
        }
    }
    Some(out)
}

/// Letters moved by thirteen places.
pub(crate) fn rot13(text: &str) -> String {
    let moved = |letter: char| match letter {
        'a'..='m' | 'A'..='M' => char::from_u32(u32::from(letter) + 13).unwrap_or(letter),
        'n'..='z' | 'N'..='Z' => char::from_u32(u32::from(letter) - 13).unwrap_or(letter),
        other => other,
    };
    text.chars().map(moved).collect()
}

/// What `tr FROM TO` prints: sets with ranges (`A-Z`), escapes, and the classes `[:upper:]` and `[:lower:]`.
/// `None` where a set is not understood.
pub(crate) fn translate(text: &str, from: &str, to: &str) -> Option<String> {
    let (from, to) = (set(from)?, set(to)?);
    let last = *to.last()?;
    let mut table = std::collections::BTreeMap::new();
    for (place, letter) in from.iter().enumerate() {
        // If a letter occurs twice, the last one counts, as in `tr`.
        table.insert(*letter, to.get(place).copied().unwrap_or(last));
    }
    Some(text.chars().map(|letter| table.get(&letter).copied().unwrap_or(letter)).collect())
}

/// What `tr -d SET` prints. `None` where the set is not understood.
pub(crate) fn delete(text: &str, set_text: &str) -> Option<String> {
    let gone: std::collections::BTreeSet<char> = set(set_text)?.into_iter().collect();
    Some(text.chars().filter(|letter| !gone.contains(letter)).collect())
}

/// Each line from its end to its start, as `rev` prints it.
pub(crate) fn reverse(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| line.chars().rev().collect()).collect();
    lines.join("\n")
}

/// Percent-encoding of URLs: `%72%6d`. `+` stays as it is.
pub(crate) fn percent(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match (byte, rest) {
            (b'%', [high, low, after @ ..]) => {
                out.push(digit_of(*high, 16)? << 4 | digit_of(*low, 16)?);
                rest = after;
            }
            (b'%', _) => return None,
            _ => out.push(byte),
        }
    }
    readable(out)
}

/// The bytes of a base64 text.
fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    unpack(text, 6, midrail_core::base64::digit_value)
}

/// Joins digits of a few bits each into bytes. Padding is allowed only at the end.
fn unpack(text: &str, bits: u32, value: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 8 * 6);
    let (mut held, mut held_bits, mut is_padded) = (0u32, 0u32, false);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            is_padded = true;
            continue;
        }
        if is_padded {
            return None;
        }
        held = held << bits | u32::from(value(byte)?);
        held_bits += bits;
        if held_bits >= 8 {
            held_bits -= 8;
            bytes.push(low_byte(held >> held_bits));
            held &= (1 << held_bits) - 1;
        }
    }
    // Bits left over that form a whole digit mean that a part of the text is missing.
    (held_bits < bits && !bytes.is_empty()).then_some(bytes)
}

/// The text of some bytes, if it is one: UTF-8 without control characters that no text holds.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_strange = |byte: u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    (!text.is_empty() && !text.bytes().any(is_strange)).then_some(text)
}

/// The characters of a set of `tr`.
fn set(text: &str) -> Option<Vec<char>> {
    // Sets longer than this are no alphabets.
    const LONGEST: usize = 4096;
    let text = escapes(text, Escapes::AnsiC)?;
    let mut out = Vec::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("[:") {
            let (class, after) = after.split_once(":]")?;
            match class {
                "upper" => out.extend('A'..='Z'),
                "lower" => out.extend('a'..='z'),
                "digit" => out.extend('0'..='9'),
                "alpha" => out.extend(('A'..='Z').chain('a'..='z')),
                "alnum" => out.extend(('0'..='9').chain('A'..='Z').chain('a'..='z')),
                "space" => out.extend([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']),
                "blank" => out.extend([' ', '\t']),
                _ => return None,
            }
            rest = after;
            continue;
        }
        let mut following = rest.chars();
        following.next();
        match (following.next(), following.next()) {
            (Some('-'), Some(last)) if first <= last => {
                out.extend((first..=last).take(LONGEST));
                rest = following.as_str();
            }
            _ => {
                out.push(first);
                rest = rest.get(first.len_utf8()..)?;
            }
        }
        if out.len() > LONGEST {
            return None;
        }
    }
    Some(out)
}

/// A number of at most `most` digits at the start of some bytes, and what follows it. `None` where there is no digit.
fn number(bytes: &[u8], base: u32, most: usize) -> Option<(u32, &[u8])> {
    let length = bytes.iter().take(most).take_while(|byte| digit_of(**byte, base).is_some()).count();
    let (digits, rest) = bytes.split_at_checked(length)?;
    let value = digits.iter().try_fold(0u32, |value, byte| {
        value.checked_mul(base)?.checked_add(u32::from(digit_of(*byte, base)?))
    })?;
    (length > 0).then_some((value, rest))
}

fn digit_of(byte: u8, base: u32) -> Option<u8> {
    char::from(byte).to_digit(base).and_then(|digit| u8::try_from(digit).ok())
}

fn low_byte(value: u32) -> u8 {
    value.to_le_bytes().first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_reads_both_alphabets_with_and_without_padding() {
        for text in ["cm0gLXJmIH4vcGhvdG9z", "cm0gLXJmIH4v\ncGhvdG9z", " cm0gLXJmIH4vcGhvdG9z "] {
            assert_eq!(base64(text).as_deref(), Some("rm -rf ~/photos"), "{text}");
        }
        assert_eq!(base64("bHM=").as_deref(), Some("ls"));
        assert_eq!(base64("bHM").as_deref(), Some("ls"));
        assert_eq!(base64("w7_Dvw").as_deref(), Some("ÿÿ"));
        assert_eq!(base64("w7/Dvw==").as_deref(), Some("ÿÿ"));
        for text in ["", "=", "b", "bHM=x", "rm -rf /", "//////8=", "AAAA"] {
            assert_eq!(base64(text), None, "{text}");
        }
    }

    #[test]
    fn encoded_commands_of_powershell_are_utf16() {
        assert_eq!(base64_utf16("ZABpAHIA").as_deref(), Some("dir"));
        assert_eq!(base64_utf16("ZABpAHI="), None);
    }

    #[test]
    fn base32_and_hex() {
        assert_eq!(base32("NRZQ====").as_deref(), Some("ls"));
        assert_eq!(base32("nrzq").as_deref(), Some("ls"));
        for text in ["6c73", "6C73\n", "6c 73", r"\x6c\x73", "0x6c73", "0x6c, 0x73", "6c:73"] {
            assert_eq!(hex(text).as_deref(), Some("ls"), "{text}");
        }
        for text in ["", "6", "6c7", "ls", "6 c"] {
            assert_eq!(hex(text), None, "{text}");
        }
    }

    #[test]
    fn escapes_by_their_rules() {
        use Escapes::{AnsiC, Echo, Printf};
        for (text, rules, expected) in [
            (r"\x72\x6d", AnsiC, "rm"),
            (r"\162\155", AnsiC, "rm"),
            (r"\u0072\U0000006d", AnsiC, "rm"),
            (r"it\'s", AnsiC, "it's"),
            (r"a\tb\nc", AnsiC, "a\tb\nc"),
            (r"\0162\0155", Echo, "rm"),
            (r"rm\c -x", Echo, "rm"),
            (r"\162\155 100%%", Printf, "rm 100%"),
            (r"\x", AnsiC, r"\x"),
            (r"\q\", AnsiC, r"\q\"),
            (r"\1618", AnsiC, "q8"),
            (r"\xe2\x82\xac", AnsiC, "€"),
        ] {
            assert_eq!(escapes(text, rules).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(escapes(r"\xff", AnsiC), None);
    }

    #[test]
    fn letters_are_moved() {
        assert_eq!(rot13("ez -es ~"), "rm -rf ~");
        assert_eq!(translate("ez", "A-Za-z", "N-ZA-Mn-za-m").as_deref(), Some("rm"));
        assert_eq!(translate("RM", "[:upper:]", "[:lower:]").as_deref(), Some("rm"));
        assert_eq!(translate("r_m", "_", r"\040").as_deref(), Some("r m"));
        assert_eq!(translate("abc", "abc", "x").as_deref(), Some("xxx"));
        assert_eq!(translate("a", "[:nonsense:]", "x"), None);
        assert_eq!(delete("r-m", "-").as_deref(), Some("rm"));
        assert_eq!(delete("rXmX", "X").as_deref(), Some("rm"));
        assert_eq!(reverse("fr- mr\nsl"), "rm -rf\nls");
        assert_eq!(percent("%72m%20-rf").as_deref(), Some("rm -rf"));
        assert_eq!(percent("50%"), None);
        assert_eq!(percent("%zz"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn rot13_and_reverse_undo_themselves(text in ".{0,80}") {
            prop_assert_eq!(rot13(&rot13(&text)), text.clone());
            prop_assert_eq!(reverse(&reverse(&text)), text);
        }

        #[test]
        fn hex_undoes_hex(text in "[ -~]{1,60}") {
            let coded: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(hex(&coded), Some(text.clone()));
            let escaped: String = text.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
            prop_assert_eq!(escapes(&escaped, Escapes::AnsiC), Some(text));
        }

        #[test]
        fn no_text_panics_a_decoder(text in ".{0,60}", other in ".{0,12}") {
            let _ = (base64(&text), base64_utf16(&text), base32(&text), hex(&text), percent(&text));
            let _ = (translate(&text, &other, &text), delete(&text, &other));
            for rules in [Escapes::AnsiC, Escapes::Echo, Escapes::Printf] {
                let _ = escapes(&text, rules);
            }
        }
    }
}
