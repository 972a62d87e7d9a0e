//! Classifies names that values are assigned to: `DB_PASSWORD`, `apiKey`, `client-secret`, and names that resemble them.

use crate::bytes::ends_with_any_case;
use crate::secrets::data::{
    FOREIGN_PASSWORDS, METADATA_WORDS, NAME_TAILS, NON_SECRET_OWNERS, PASS_OWNERS, PASSWORD_NAMES,
    PLAIN_KEY_OWNERS, SECRET_KEY_OWNERS, SECRET_NAME_HINTS, SECRET_NAMES, SESSION_WORDS, WEAK_NAMES,
    WORDS_ENDING_IN_KEY,
};

/// What the name of a value implies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A bare `key`, `auth` or the like: the value decides.
    Weak,
    /// A name with other words behind the secret, as in `secret_of_bob`: only an unmistakable value counts.
    Mentioned,
    /// An access key, a token.
    Key,
    /// Something called a secret: like a key, but shorter values count.
    Secret,
    /// A secret that people invent.
    Password,
}

/// The class of a name, written as in the text.
pub(crate) fn class(name: &[u8]) -> Option<Class> {
    if FOREIGN_PASSWORDS.iter().any(|foreign| ends_with_any_case(name, foreign.as_bytes())) {
        return Some(Class::Password);
    }
    let words = words(name);
    let mut end = words.len();
    // The last word decides: a password file is a file.
    while end > 0 {
        let word = words.get(end - 1).map(String::as_str)?;
        let is_tail = NAME_TAILS.contains(word.as_bytes())
            || (word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_tail {
            break;
        }
        end -= 1;
    }
    let last = words.get(end.checked_sub(1)?)?.as_str();
    let before = end.checked_sub(2).and_then(|place| words.get(place)).map_or("", String::as_str);
    let trimmed = last.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_password = PASSWORD_NAMES.contains(trimmed.as_bytes());
    if NON_SECRET_OWNERS.contains(before.as_bytes()) {
        return match before {
            "get" | "reset" if is_password => Some(Class::Password),
            // Its holder may set a new password.
            "reset" if trimmed == "token" => Some(Class::Key),
            _ => None,
        };
    }
    if words.iter().take(end).any(|word| word.starts_with("public") || word == "pub" || word == "encrypted")
        && !is_password
    {
        return None;
    }
    // The signer and signature of a URL: they grant access to one object for some time, and are meant to be shared. A format
    // finds those that are valid for a day or longer.
    if matches!(trimmed, "signature" | "credential") && matches!(before, "amz" | "goog") {
        return None;
    }
    if is_password
        || trimmed.ends_with("password")
        || trimmed.ends_with("passwd")
        || trimmed.ends_with("passphrase")
    {
        return Some(Class::Password);
    }
    if matches!(trimmed, "secret" | "secrets" | "clientsecret" | "appsecret" | "secretkey")
        || trimmed.ends_with("secret")
    {
        return Some(Class::Secret);
    }
    if SECRET_NAMES.contains(trimmed.as_bytes()) || trimmed.ends_with("token") || trimmed.ends_with("apikey")
    {
        return Some(Class::Key);
    }
    if matches!(trimmed, "key" | "keys") {
        if PLAIN_KEY_OWNERS.contains(before.as_bytes()) {
            return None;
        }
        return Some(match before {
            "secret" => Class::Secret,
            _ if SECRET_KEY_OWNERS.contains(before.as_bytes()) => Class::Key,
            _ => Class::Weak,
        });
    }
    if trimmed.ends_with("key") && trimmed.len() > 3 && !WORDS_ENDING_IN_KEY.contains(trimmed.as_bytes()) {
        return Some(Class::Weak);
    }
    if trimmed.strip_suffix("pass").is_some_and(|owner| PASS_OWNERS.contains(owner.as_bytes())) {
        return Some(Class::Password);
    }
    if trimmed == "authorization" {
        return Some(Class::Key);
    }
    if trimmed == "sid" && words.iter().take(end).any(|word| SESSION_WORDS.contains(word.as_bytes())) {
        return Some(Class::Key);
    }
    if WEAK_NAMES.contains(trimmed.as_bytes()) {
        return Some(Class::Weak);
    }
    let is_mentioned = words.iter().any(|word| {
        matches!(word.as_str(), "password" | "passwd" | "secret" | "token" | "apikey" | "credential")
    });
    (is_mentioned && !METADATA_WORDS.contains(trimmed.as_bytes())).then_some(Class::Mentioned)
}

/// Whether a name of the class [`Class::Weak`] is that of a key that is not public.
pub(crate) fn is_keyed(name: &[u8]) -> bool {
    let words = words(name);
    let is_open = |word: &str| {
        PLAIN_KEY_OWNERS.contains(word.as_bytes())
            || word.contains("socket")
            || word.contains("accept")
            || word == "host"
    };
    words.last().is_some_and(|last| last.ends_with("key"))
        && !words.iter().any(|word| is_open(word) && word != "key")
}

/// Whether a name contains a hint that its value is a key or token, or belongs to an account or API.
pub(crate) fn has_secret_hint(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let lower = String::from_utf8_lossy(&lower);
    SECRET_NAME_HINTS.iter().any(|hint| lower.contains(hint))
}

/// Whether a name contains a word, in any case.
pub(crate) fn mentions(name: &[u8], word: &str) -> bool {
    name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// The words of a name, in lower case: `dbPassword2`, `DB_PASSWORD_2` and `db-password.2` have the same.
fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last = b' ';
    for (place, &byte) in name.iter().enumerate() {
        let next = name.get(place + 1).copied().unwrap_or(b' ');
        let is_hump = byte.is_ascii_uppercase()
            && (last.is_ascii_lowercase()
                || (last.is_ascii_uppercase() && next.is_ascii_lowercase())
                || last.is_ascii_digit());
        if (!byte.is_ascii_alphanumeric() || is_hump) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
        last = byte;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_classified() {
        for (name, expected) in [
            ("DB_PASSWORD", Some(Class::Password)),
            ("dbPassword2", Some(Class::Password)),
            ("apiKey", Some(Class::Key)),
            ("client-secret", Some(Class::Secret)),
            ("AWS_SECRET_ACCESS_KEY", Some(Class::Key)),
            ("key", Some(Class::Weak)),
            ("publicKey", None),
            ("primary_key", None),
            ("password_file", None),
            ("token_url", None),
            ("nextPageToken", None),
            ("monkey", None),
            ("title", None),
            // The session of an event is a name, not a secret.
            ("session", None),
            ("session_id", None),
            ("auth.sid", Some(Class::Key)),
            ("account_sid", Some(Class::Weak)),
            ("setApiKey", Some(Class::Key)),
            ("Authorization", Some(Class::Key)),
            ("secret_of_bob", Some(Class::Mentioned)),
            ("secret_name", None),
            ("token_expiry", None),
            ("reset_token", Some(Class::Key)),
            ("page_token", None),
            ("signature", Some(Class::Weak)),
            ("X-Amz-Signature", None),
            ("X-Amz-Credential", None),
            ("X-Amz-Security-Token", Some(Class::Key)),
        ] {
            assert_eq!(class(name.as_bytes()), expected, "{name}");
        }
    }
}
