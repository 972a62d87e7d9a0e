//! Decides whether a value is a secret, or a placeholder, code, a path or words.

use super::assignment::MAX_VALUE;
use super::code::{is_code, is_jumble};
use super::makeup::{Makeup, makeup};
use super::names::Class;
use super::placeholders::{is_placeholder, without_names};
use crate::secrets::data::{FILE_EXTENSIONS, LOCATION_STARTS, PUBLIC_KEY_STARTS, STORED_FILE_ENDINGS};
use crate::secrets::letter_pairs::strangeness;
use crate::secrets::words;

/// The entropy of a text in tenths of a bit a character.
pub(crate) fn entropy(value: &[u8]) -> u32 {
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

/// Whether a value is unmistakably a key, without the help of a name: base 64, or letters of both cases and digits, with
/// high entropy. Hexadecimal digests are excluded: they are names of things as often.
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
        && entropy(value) >= least
        && !is_dashed_words(value)
        && !is_location(value)
        && !is_placeholder(value)
}

/// Whether a value is an encoded public key.
fn is_public_key(value: &[u8]) -> bool {
    PUBLIC_KEY_STARTS.iter().any(|start| value.starts_with(start.as_bytes()))
}

/// Whether a value is the name of a stored file: `backups/db-2024-05-16T00-00-00Z.tar.gz`.
fn is_stored_file(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains(&b'/') && STORED_FILE_ENDINGS.iter().any(|end| lower.ends_with(end.as_bytes()))
}

/// Whether a value is a path, a URL or a host.
fn is_location(value: &[u8]) -> bool {
    let slashes = value.iter().filter(|byte| **byte == b'/').count();
    let has_base64 = value.iter().any(|byte| matches!(byte, b'+' | b'='));
    let end = value.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    value.windows(3).any(|part| part == b"://")
        || slashes >= 2 && !has_base64 && letters_in_words(value) * 2 > value.len()
        || value.first() == Some(&b'/') && slashes >= 2 && !has_base64
        || LOCATION_STARTS.iter().any(|start| value.starts_with(start.as_bytes()))
        || end.len() < value.len() && FILE_EXTENSIONS.contains(end.to_ascii_lowercase().as_slice())
}

/// How many letters of a value are in everyday words.
pub(crate) fn letters_in_words(value: &[u8]) -> usize {
    wording(value).0
}

/// How many bytes of a value are examined for words.
const MAX_WORDING: usize = 64;

/// How many letters of a value are in everyday words, and how unusual the others are, in tenths.
fn wording(value: &[u8]) -> (usize, u32) {
    let value = value.get(..MAX_WORDING).unwrap_or(value);
    let mut known = 0;
    let mut cost = 0;
    let mut rest: u32 = 0;
    let mut start = 0;
    for end in 0..=value.len() {
        let byte = value.get(end).copied().unwrap_or(b' ');
        let before = end.checked_sub(1).and_then(|place| value.get(place)).copied().unwrap_or(b' ');
        // Capitals separate words: `hasAuthority` has two.
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

/// Whether a value is a secret, given the class of its name and whether it is quoted.
pub(crate) fn is_secret(value: &[u8], class: Class, quoted: bool) -> bool {
    // The beginning of a long value is enough.
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
    if class != Class::Password && is_stored_file(value) {
        return false;
    }
    if class != Class::Weak && made.spaces == 0 && is_jumble(value) {
        return true;
    }
    let is_text = made.spaces > if class == Class::Password { 3 } else { 0 }
        || made.foreign > 0 && (class != Class::Password || made.digits == 0 && made.symbols < 5);
    if too_plain || is_text || is_code(value, quoted, &made) || is_location(value) {
        return false;
    }
    if is_placeholder(value) {
        return class == Class::Password && is_password_with_name(value, &made);
    }
    let is_numbers = value.iter().all(|byte| byte.is_ascii_digit() || b".:-/=,+_ ^~v><*".contains(byte));
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
    let entropy = entropy(value);
    let is_wordlike = known * 10 >= shown * 6 && shown >= 4;
    let is_identifier = made.digits == 0
        && value.iter().all(|byte| {
            byte.is_ascii_alphabetic()
                || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/' | b' ' | b'\\' | b',')
        });
    // Hardly any words, and unusual pairs of letters.
    let is_strange = known * 10 < shown * 3 && strange >= 90;
    match class {
        Class::Mentioned => false,
        Class::Password => {
            if made.spaces > 0 && (is_identifier || made.spaces > 1) {
                return quoted && is_strange;
            }
            if is_identifier {
                // Letters alone: neither words nor a name that resembles some.
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

/// Whether a value is a password although it has a word for one in it: `hunter2secret!`. Such values are more often
/// placeholders, so it must have a digit and a mark, and be a password without the word.
fn is_password_with_name(value: &[u8], made: &Makeup) -> bool {
    let has_mark = value.iter().any(|byte| b"!@#$%^&*?".contains(byte));
    let Some(rest) = without_names(value).filter(|_| made.digits > 0 && has_mark && made.spaces == 0) else {
        return false;
    };
    let rest_made = makeup(&rest);
    let is_varied = rest_made.lower + rest_made.upper >= 4 && rest_made.distinct >= 6;
    is_varied && rest_made.digits > 0 && !is_placeholder(&rest)
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

/// Whether a value is a UUID, which more often names a thing than it is a secret.
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
    fn secrets_differ_from_placeholders_code_and_words() {
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
            ("###ORACLE_PWD###", Class::Password, true),
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
