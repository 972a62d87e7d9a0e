//! Whether a value is a secret or only stands where one would: placeholders, code, paths, words.

use super::assignment::MAX_VALUE;
use super::code::{is_code, is_jumble};
use super::letters::strangeness;
use super::names::Class;
use super::placeholders::is_placeholder;
use crate::secrets::words;

/// What a value is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Makeup {
    pub(crate) length: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    pub(crate) symbols: usize,
    pub(crate) spaces: usize,
    /// Bytes of characters beyond ASCII.
    pub(crate) foreign: usize,
    /// How many different bytes.
    pub(crate) distinct: usize,
}

/// What a value is made of.
pub(crate) fn makeup(value: &[u8]) -> Makeup {
    let mut made = Makeup { length: value.len(), ..Makeup::default() };
    let mut counts = [false; 256];
    for &byte in value {
        match byte {
            b'a'..=b'z' => made.lower += 1,
            b'A'..=b'Z' => made.upper += 1,
            b'0'..=b'9' => made.digits += 1,
            b' ' | b'\t' => made.spaces += 1,
            0x80.. => made.foreign += 1,
            _ => made.symbols += 1,
        }
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            made.distinct += usize::from(!*count);
            *count = true;
        }
    }
    made
}

/// The entropy of a text in tenths of a bit a character.
pub(crate) fn entropy_of(value: &[u8]) -> u32 {
    let mut counts = [0_u16; 256];
    for &byte in value {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX)).max(1.0);
    let share = |count: &u16| f64::from(*count) / total;
    let bits: f64 =
        counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum();
    // A comparison instead of a conversion: there are at most eighty tenths.
    let mut tenths = 0;
    while tenths < 80 && f64::from(tenths + 1) <= bits * 10.0 + 1e-9 {
        tenths += 1;
    }
    tenths
}

/// Whether a value without a telling name can be nothing but a key: base 64, or letters of both cases and digits, with
/// no order in them. Hashes in hexadecimal are names of things as often.
pub(crate) fn is_key_itself(value: &[u8]) -> bool {
    let value = value.get(..MAX_VALUE).unwrap_or(value);
    let made = makeup(value);
    let is_base64 = value
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'));
    let is_padded = value.ends_with(b"=") && made.length.is_multiple_of(4);
    let least = if is_padded { 33 } else { 38 };
    let (known, _) = wording(value);
    let letters = made.lower + made.upper;
    let beyond_hex = value.iter().filter(|byte| matches!(byte, b'g'..=b'z' | b'G'..=b'Z')).count();
    is_base64
        && !is_public_key(value)
        && made.length >= 20
        && (made.digits >= 2 && made.upper >= 3 && made.lower >= 3 || made.digits >= 5 && beyond_hex >= 5)
        && known * 3 < letters.min(MAX_WORDING)
        && entropy_of(value) >= least
        && !is_dashed_words(value)
        && !is_place(value)
        && !is_placeholder(value)
}

/// Whether a value is a public key: its first bytes say what it is, in base 64.
fn is_public_key(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"MFkwEwYHKoZI",
        b"MHYwEAYHKoZI",
        b"MIGbMBAGByqGSM49",
        b"MCowBQYDK2V",
        b"MIGfMA0GCSqGSIb3DQEBAQUAA4",
        b"MIIBIjANBgkqhkiG9w0BAQEFAAO",
        b"MIICIjANBgkqhkiG9w0BAQEFAAO",
        b"AAAAB3NzaC1",
        b"AAAAC3NzaC1",
        b"AAAAE2VjZHNhL",
        b"ssh-rsa ",
        b"ssh-ed25519 ",
    ];
    STARTS.iter().any(|start| value.starts_with(start))
}

/// Whether a value is a path, an address or a host.
/// Whether a value is the name of a stored file: `backups/db-2024-05-16T00-00-00Z.tar.gz`.
fn is_object(value: &[u8]) -> bool {
    const ENDS: &[&[u8]] = &[
        b".gz",
        b".tgz",
        b".zip",
        b".bz2",
        b".xz",
        b".zst",
        b".csv",
        b".parquet",
        b".pdf",
        b".jpg",
        b".jpeg",
        b".png",
        b".log",
        b".sql",
        b".dump",
        b".tar",
        b".json",
    ];
    value.contains(&b'/') && ENDS.iter().any(|end| value.to_ascii_lowercase().ends_with(end))
}

fn is_place(value: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"./",
        b"../",
        b"~/",
        b"@/",
        b"C:\\",
        b"arn:",
        b"urn:",
        b"data:",
        b"sha256:",
        b"sha512-",
        b"sha1-",
        b"h1:",
        b"application/",
        b"text/",
        b"image/",
    ];
    const ENDS: &[&str] = &[
        "js", "ts", "json", "yml", "yaml", "py", "rb", "go", "rs", "java", "php", "pem", "key", "crt", "txt",
        "md", "html", "xml", "com", "org", "net", "io", "css", "png", "conf", "sh", "toml", "ini", "cfg",
        "env", "local", "jks", "p12", "pub", "cpp", "svg", "tsx", "jsx", "vue", "dev", "keystore",
    ];
    let slashes = value.iter().filter(|byte| **byte == b'/').count();
    let has_base64 = value.iter().any(|byte| matches!(byte, b'+' | b'='));
    let end = value.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    value.windows(3).any(|part| part == b"://")
        || slashes >= 2 && !has_base64 && letters_in_words(value) * 2 > value.len()
        || value.first() == Some(&b'/') && slashes >= 2 && !has_base64
        || STARTS.iter().any(|start| value.starts_with(start))
        || end.len() < value.len() && ENDS.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(end))
}

/// How many letters of a value stand in everyday words.
pub(crate) fn letters_in_words(value: &[u8]) -> usize {
    wording(value).0
}

/// So much of a value is enough to tell what it is made of.
const MAX_WORDING: usize = 64;

/// How many letters of a value stand in everyday words, and how strange the others are, in tenths.
fn wording(value: &[u8]) -> (usize, u32) {
    let value = value.get(..MAX_WORDING).unwrap_or(value);
    let mut known = 0;
    let mut cost = 0;
    let mut rest: u32 = 0;
    let mut start = 0;
    for end in 0..=value.len() {
        let byte = value.get(end).copied().unwrap_or(b' ');
        let before = end.checked_sub(1).and_then(|place| value.get(place)).copied().unwrap_or(b' ');
        // Humps part words: `hasAuthority` is two.
        let is_edge = !byte.is_ascii_alphabetic() || byte.is_ascii_uppercase() && before.is_ascii_lowercase();
        if !is_edge {
            continue;
        }
        if let Some(run) = value.get(start..end)
            && run.len() >= 2
        {
            known += if run.len() == 2 { 0 } else { words::covered(run) };
            let length = u32::try_from(run.len()).unwrap_or(0);
            cost += strangeness(run) * length;
            rest += length;
        }
        start = if byte.is_ascii_alphabetic() { end } else { end + 1 };
    }
    (known, cost.checked_div(rest).unwrap_or(0))
}

/// Whether a value is a secret, given what its name says and whether it stands in quotes.
pub(crate) fn is_secret(value: &[u8], class: Class, quoted: bool) -> bool {
    // The beginning of a long value tells what it is.
    let value = value.get(..MAX_VALUE).unwrap_or(value).trim_ascii();
    if value.len() < 4 {
        return false;
    }
    let made = makeup(value);
    let letters = made.lower + made.upper;
    let too_plain = match class {
        Class::Password => made.distinct < 3,
        Class::Secret => made.length < 6 || made.distinct < 4,
        Class::Key => made.length < 10 || made.distinct < 6,
        Class::Weak | Class::Mentioned => made.length < 16 || made.distinct < 8,
    };
    if is_public_key(value) {
        return false;
    }
    if class == Class::Mentioned {
        return is_key_itself(value) || made.spaces == 0 && is_jumble(value);
    }
    if class != Class::Password && is_object(value) {
        return false;
    }
    if class != Class::Weak && made.spaces == 0 && is_jumble(value) {
        return true;
    }
    let is_text = made.spaces > if class == Class::Password { 3 } else { 0 }
        || made.foreign > 0 && (class != Class::Password || made.digits == 0 && made.symbols < 5);
    if too_plain || is_text || is_code(value, quoted, &made) || is_place(value) || is_placeholder(value) {
        return false;
    }
    let is_numbers = value.iter().all(|byte| {
        byte.is_ascii_digit()
            || matches!(
                byte,
                b'.' | b':'
                    | b'-'
                    | b'/'
                    | b'='
                    | b','
                    | b'+'
                    | b'_'
                    | b' '
                    | b'^'
                    | b'~'
                    | b'v'
                    | b'>'
                    | b'<'
                    | b'*'
            )
    });
    if is_numbers {
        let least = match class {
            Class::Password => 6,
            Class::Secret if quoted && made.distinct >= 6 => 16,
            Class::Secret | Class::Key | Class::Weak | Class::Mentioned => return false,
        };
        return made.digits == made.length && made.length >= least;
    }
    let (known, strange) = wording(value);
    let shown = value.iter().take(MAX_WORDING).filter(|byte| byte.is_ascii_alphabetic()).count();
    let entropy = entropy_of(value);
    let is_wordlike = known * 10 >= shown * 6 && shown >= 4;
    let is_identifier = made.digits == 0
        && value.iter().all(|byte| {
            byte.is_ascii_alphabetic()
                || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b' ' | b'\\' | b',')
        });
    // Hardly a word in it, and letters that follow each other as in none.
    let is_strange = known * 10 < shown * 3 && strange >= 90;
    match class {
        Class::Mentioned => false,
        Class::Password => {
            if made.spaces > 0 && (is_identifier || made.spaces > 1) {
                return quoted && is_strange;
            }
            if is_identifier {
                // Letters alone: neither words nor a name that looks like some.
                if is_wordlike {
                    return quoted && is_phrase(value, &made);
                }
                return (made.symbols == 0 || strange >= 95 || quoted) && (quoted || strange >= 75);
            }
            if is_wordlike && quoted && is_phrase(value, &made) {
                return true;
            }
            if is_wordlike {
                let is_varied = (made.digits + made.symbols >= 2
                    || quoted && made.digits > 0 && made.length >= 7)
                    && !is_dashed_words(value);
                return is_varied
                    && (quoted || made.symbols > 0 && made.digits > 0 || made.digits >= 3)
                    && made.spaces == 0;
            }
            letters + made.digits >= 3 || made.symbols >= 6 && made.distinct >= 8
        }
        Class::Secret | Class::Key => {
            if is_identifier {
                let least = if class == Class::Secret { 6 } else { 14 };
                let strangest = if quoted || made.length >= 20 { 90 } else { 105 };
                let is_member = !quoted && value.contains(&b'.');
                return !is_wordlike
                    && !is_member
                    && made.symbols <= 3
                    && made.length >= least
                    && strange >= strangest;
            }
            let is_name = is_dashed_words(value) && !has_odd_part(value);
            if is_wordlike {
                return made.length >= 16 && made.digits * 5 >= made.length && entropy >= 32 && !is_name;
            }
            // Short ones cannot be varied, and joined words with a number are names of things.
            let is_short = class == Class::Secret && made.length <= 14;
            let least = if is_short { 24 } else { 27 };
            !is_name && (entropy >= least && made.digits >= 2 || entropy >= 33)
        }
        Class::Weak => {
            if is_wordlike || is_dashed_words(value) || made.spaces > 0 || is_uuid(value) {
                return false;
            }
            if is_identifier {
                return made.symbols == 0 && strange >= 115 && entropy >= 34;
            }
            made.digits >= 2 && entropy >= 31
        }
    }
}

/// Whether words are put together as people do for a password: `MusicLoverJam`, `SecureP@yment`.
fn is_phrase(value: &[u8], made: &Makeup) -> bool {
    let humps = value
        .array_windows::<2>()
        .filter(|[one, other]| one.is_ascii_lowercase() && other.is_ascii_uppercase());
    let humps = humps.count();
    let marks =
        value.iter().filter(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'&' | b'*' | b'^'));
    let is_marked = made.symbols == 1 && marks.count() == 1;
    let is_capital = value.first().is_some_and(u8::is_ascii_uppercase);
    made.spaces == 0
        && made.foreign == 0
        && (made.symbols == 0 && is_capital && humps >= 2 && made.length >= 12
            || is_marked && humps >= 1 && made.length >= 8)
}

/// Names of things more often than secrets: a name has to say that it is one.
fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a part of joined words is long and no word: `app-insecure-9fA3kQ71vB0x`.
fn has_odd_part(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':'));
    parts.any(|part| {
        part.len() >= 10 && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    })
}

/// Words and numbers joined by dashes, dots or underscores.
fn is_dashed_words(value: &[u8]) -> bool {
    let mut parts = 0;
    let mut plain = 0;
    let all = value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':'));
    for part in all.filter(|part| !part.is_empty()) {
        parts += 1;
        let is_word = part.iter().all(u8::is_ascii_alphabetic) && words::covered(part) * 2 >= part.len();
        plain += usize::from(is_word || part.iter().all(u8::is_ascii_digit));
    }
    parts >= 2 && plain * 3 >= parts * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_told_from_what_stands_in_their_place() {
        for (value, class, quoted) in [
            ("turtle99swims!", Class::Password, true),
            ("Kx7zzq21", Class::Password, false),
            ("wqzvbnk", Class::Password, true),
            ("9fA3kQ71vB0xTz28", Class::Key, true),
            ("8d3f0a91c7be4562", Class::Key, false),
            ("b9D2-kkQz-71xW", Class::Secret, true),
            // Brackets that do not belong together are no code.
            ("k{q(9]w}$e#v[x>-t)", Class::Password, false),
            ("v{q(a]w}$e#hex[sta>-t)", Class::Key, true),
            ("app-insecure-9fA3kQ71vB0x", Class::Key, true),
            ("MusicLoverJam", Class::Password, true),
            ("SecureP@yment", Class::Password, true),
            ("wqz vbkn", Class::Password, true),
            (" wqzvbkn", Class::Password, true),
            ("A,.:-@*?!", Class::Password, true),
            ("Kq71vB0xTz28LmWc4PnRs", Class::Mentioned, true),
        ] {
            assert!(is_secret(value.as_bytes(), class, quoted), "{value}");
        }
        for (value, class, quoted) in [
            ("Enter your password", Class::Password, true),
            ("${DB_PASSWORD}", Class::Password, true),
            ("{{ db_password }}", Class::Password, true),
            ("os.environ[NAME]", Class::Password, false),
            ("process.env.PASS", Class::Password, false),
            ("getPassword()", Class::Password, false),
            ("required", Class::Password, true),
            ("<your-key>", Class::Key, true),
            ("xxxxxxxxxxxxxxxx", Class::Key, true),
            ("config/master.key", Class::Key, true),
            ("https://host/path", Class::Key, true),
            ("application-settings-v2", Class::Weak, true),
            ("user_profile_cache_key", Class::Weak, true),
            ("1.2.840.113549", Class::Password, true),
            ("path/to/block_device2", Class::Password, false),
            ("3f0c71b0-a284-4c4e-91d6-f9a0c3e3d0ea", Class::Weak, true),
            ("1323u32", Class::Password, false),
            ("MusicLoverJam", Class::Password, false),
            ("TextField", Class::Password, true),
            ("Required!", Class::Password, true),
            ("ed25519.Ed25519PrivateKey", Class::Key, false),
            ("json-jackson-0.11.2", Class::Key, true),
            ("not a password", Class::Password, true),
            ("9fceb02d0ae598e95dc970b74767f19372d61af8", Class::Mentioned, true),
        ] {
            assert!(!is_secret(value.as_bytes(), class, quoted), "{value}");
        }
    }
}
