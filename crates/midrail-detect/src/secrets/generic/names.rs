//! Names that secrets are assigned to: `DB_PASSWORD`, `apiKey`, `client-secret`, and those that only sound like it.

use super::name_words::{
    ABOUT, FOREIGN, KEY_BREAKERS, KEY_MAKERS, OF_SESSION, PASS_OWNERS, PASSWORDS, SECRETS, TAILS, WEAK,
};

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A bare `key`, `auth` or the like: the value decides.
    Weak,
    /// A name that goes on behind its secret, as in `secret_of_bob`: a value that can be nothing else counts.
    Mentioned,
    /// An access key, a token.
    Key,
    /// Something that is called a secret: as a key, but shorter ones count.
    Secret,
    /// A secret that people make up themselves.
    Password,
}

/// What a name says of the value that is assigned to it. The name is as it stands in the text.
pub(crate) fn class(name: &[u8]) -> Option<Class> {
    let is_foreign = FOREIGN.iter().any(|foreign| {
        let start = name.len().checked_sub(foreign.len());
        start
            .and_then(|start| name.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(foreign.as_bytes()))
    });
    if is_foreign {
        return Some(Class::Password);
    }
    let words = words(name);
    let mut end = words.len();
    // Whatever comes last is what the thing is: a password file is a file.
    while end > 0 {
        let word = words.get(end - 1).map(String::as_str)?;
        let is_tail =
            TAILS.contains(&word) || (word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_tail {
            break;
        }
        end -= 1;
    }
    let last = words.get(end.checked_sub(1)?)?.as_str();
    let before = end.checked_sub(2).and_then(|place| words.get(place)).map_or("", String::as_str);
    let trimmed = last.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if matches!(
        before,
        "no" | "not"
            | "is"
            | "has"
            | "use"
            | "public"
            | "pub"
            | "next"
            | "page"
            | "continuation"
            | "cancellation"
            | "show"
            | "forgot"
            | "reset"
            | "missing"
            | "invalid"
            | "without"
            | "disabled"
            | "disable"
            | "enable"
            | "get"
            | "check"
            | "num"
            | "max"
            | "min"
    ) {
        return match before {
            "get" | "reset" if PASSWORDS.contains(&trimmed) => Some(Class::Password),
            _ => None,
        };
    }
    if words.iter().take(end).any(|word| word.starts_with("public") || word == "pub" || word == "encrypted")
        && !PASSWORDS.contains(&trimmed)
    {
        return None;
    }
    // Who signed an address, and the signature: it opens one thing for a while, and whoever gets it is meant to use it.
    if matches!(trimmed, "signature" | "credential") && matches!(before, "amz" | "goog") {
        return None;
    }
    if PASSWORDS.contains(&trimmed)
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
    if SECRETS.contains(&trimmed) || trimmed.ends_with("token") || trimmed.ends_with("apikey") {
        return Some(Class::Key);
    }
    if matches!(trimmed, "key" | "keys") {
        if KEY_BREAKERS.contains(&before) {
            return None;
        }
        return Some(match before {
            "secret" => Class::Secret,
            _ if KEY_MAKERS.contains(&before) => Class::Key,
            _ => Class::Weak,
        });
    }
    if trimmed.ends_with("key")
        && trimmed.len() > 3
        && !matches!(
            trimmed,
            "monkey"
                | "turkey"
                | "hotkey"
                | "donkey"
                | "jockey"
                | "whiskey"
                | "publickey"
                | "hockey"
                | "sitekey"
        )
    {
        return Some(Class::Weak);
    }
    if trimmed.strip_suffix("pass").is_some_and(|owner| PASS_OWNERS.contains(&owner)) {
        return Some(Class::Password);
    }
    if trimmed == "authorization" {
        return Some(Class::Key);
    }
    if trimmed == "sid" && words.iter().take(end).any(|word| OF_SESSION.contains(&word.as_str())) {
        return Some(Class::Key);
    }
    if WEAK.contains(&trimmed) {
        return Some(Class::Weak);
    }
    let is_mentioned = words.iter().any(|word| {
        matches!(word.as_str(), "password" | "passwd" | "secret" | "token" | "apikey" | "credential")
    });
    (is_mentioned && !ABOUT.contains(&trimmed)).then_some(Class::Mentioned)
}

/// Whether a name of the class [`Class::Weak`] says that its value is a key, and not that of something open.
pub(crate) fn is_keyed(name: &[u8]) -> bool {
    let words = words(name);
    let is_open = |word: &str| {
        KEY_BREAKERS.contains(&word) || word.contains("socket") || word.contains("accept") || word == "host"
    };
    words.last().is_some_and(|last| last.ends_with("key"))
        && !words.iter().any(|word| is_open(word) && word != "key")
}

/// Whether a name says that its value is a key, a token or the like, or belongs to an account or an interface.
pub(crate) fn is_secretish(name: &[u8]) -> bool {
    const HINTS: &[&str] = &[
        "key", "token", "secret", "auth", "pass", "pwd", "cred", "api", "access", "client", "bearer", "sid",
        "licen", "webhook", "hmac", "pat", "pw", "iam", "jwt", "dsn", "account", "consumer", "write",
        "service",
    ];
    let lower = name.to_ascii_lowercase();
    let lower = String::from_utf8_lossy(&lower);
    HINTS.iter().any(|hint| lower.contains(hint))
}

/// Whether a name has a word in it.
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
    fn names_say_what_they_hold() {
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
            // Of an event: its session is a name, not a secret.
            ("session", None),
            ("session_id", None),
            ("auth.sid", Some(Class::Key)),
            ("account_sid", Some(Class::Weak)),
            ("setApiKey", Some(Class::Key)),
            ("Authorization", Some(Class::Key)),
            ("secret_of_bob", Some(Class::Mentioned)),
            ("secret_name", None),
            ("token_expiry", None),
            ("signature", Some(Class::Weak)),
            ("X-Amz-Signature", None),
            ("X-Amz-Credential", None),
            ("X-Amz-Security-Token", Some(Class::Key)),
        ] {
            assert_eq!(class(name.as_bytes()), expected, "{name}");
        }
    }
}
