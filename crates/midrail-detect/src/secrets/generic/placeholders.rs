//! What stands where a secret would: placeholders, templates, dummies.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Words that make a value a placeholder wherever they stand in it.
const DUMMIES: &[&str] = &[
    "example",
    "sample",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "redacted",
    "removed",
    "insert",
    "dummy",
    "your",
    "foobar",
    "foo_bar",
    "xxxx",
    "****",
    "....",
    "____",
    "----",
    "0000000",
    "1234567890",
    "012345678",
    "123456789",
    "abcdef123",
    "abcdefgh",
    "deadbeef",
    "todo",
    "fixme",
    "not_real",
    "notreal",
    "not-real",
    "fake",
    "mock",
    "hidden",
    "masked",
    "_here",
    "-here",
    "enter_",
    "put_",
    "mysecret",
    "mypass",
    "my_",
    "my-",
    "asdf",
    "qwert",
    "lorem",
    "undefined",
    "unknown",
    "none",
    "null",
    "test_",
    "_test",
    "test-",
    "-test",
    "testing",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "access_key",
    "accesskey",
    "client_id",
    "clientid",
    "username",
    "credential",
    "privatekey",
    "private_key",
    "publickey",
    "public_key",
    "<%",
    "%>",
    "$(",
    "...",
    "%s",
    "%d",
    "%(",
    "%v",
    "••",
    "env.",
    "environ",
    "getenv",
    "xyz123",
    "-----begin",
];

/// Marks of values of formats that leave no doubt but for plain dummies.
const MARKS: &[&str] = &[
    "example",
    "xxxxxx",
    "placeholder",
    "redacted",
    "your_",
    "your-",
    "******",
    "......",
    "000000000",
    "replace",
    "1234567890abcdef",
    "0123456789abcdef",
    "${",
    "{{",
    "abcdefghijkl",
    "changeme",
    "dummy",
];

/// Values that are none, whole, in lower case.
const WORDS: &[&str] = &[
    "abc", "abc123", "123abc", "abcd1234", "admin123", "bar", "baz", "foo", "int", "letmein", "nil", "no",
    "null", "off", "on", "pass1", "pass123", "qwerty", "root", "str", "test1", "test123", "test1234", "yes",
    "utf8", "utf-8", "sha1", "sha256", "md5", "base64", "hs256", "rs256", "oauth2", "user1", "user2",
    "pwd123", "key1", "key2", "value1", "value2", "p@ssword", "p@ssw0rd", "p@ss", "s3cr3t", "s3cret",
    "passw0rd",
];

fn searches() -> &'static (Option<AhoCorasick>, Option<AhoCorasick>) {
    static SEARCHES: OnceLock<(Option<AhoCorasick>, Option<AhoCorasick>)> = OnceLock::new();
    SEARCHES.get_or_init(|| {
        let build = |words: &[&str]| {
            // The kind that is built fastest: values are short, and a process often looks at few.
            let kind = Some(AhoCorasickKind::NoncontiguousNFA);
            AhoCorasick::builder().ascii_case_insensitive(true).kind(kind).build(words).ok()
        };
        (build(DUMMIES), build(MARKS))
    })
}

/// Keys that providers print in their manuals, whole.
const PUBLISHED: &[&str] = &[
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    "pk_test_TYooMQauvdEDq54NiTphI7jx",
];

/// Whether a value stands for a secret without being one. Says nothing of its randomness.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    WORDS.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(value))
        || searches().0.as_ref().is_some_and(|search| search.is_match(value))
        || is_template(value)
        || is_repetitive(value)
        || PUBLISHED.iter().any(|key| key.as_bytes() == value)
}

/// Whether a value is blanked out: `ghp_xxxxxxxx…`.
pub(crate) fn is_blanked(value: &[u8]) -> bool {
    value.to_ascii_lowercase().windows(8).any(|part| part == b"xxxxxxxx")
}

/// Values of formats that leave no doubt: only plain dummies are left out.
pub(crate) fn is_dummy(value: &[u8]) -> bool {
    searches().1.as_ref().is_some_and(|search| search.is_match(value))
        || is_repetitive(value)
        || PUBLISHED.iter().any(|key| key.as_bytes() == value)
}

/// Whether a value has a part that is filled in later: `${NAME}`, `{{ name }}`, `#{name}`, `{0}`, `<name>`.
fn is_template(value: &[u8]) -> bool {
    let is_filler = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'.' | b' ' | b'-' | b':' | b'|' | b'$' | b'{' | b'(' | b')')
    };
    value.iter().enumerate().any(|(place, byte)| {
        let close = match byte {
            b'{' => b'}',
            b'<' => b'>',
            _ => return false,
        };
        let rest = value.get(place + 1..).unwrap_or_default();
        let length = rest.iter().take(64).take_while(|byte| is_filler(byte)).count();
        rest.get(length) == Some(&close)
    })
}

/// Whether one character makes up most of a value, or its characters follow each other in order.
pub(crate) fn is_repetitive(value: &[u8]) -> bool {
    if value.len() < 4 {
        return false;
    }
    let steps = value.array_windows::<2>().filter(|[first, second]| {
        first == second || second.wrapping_sub(*first) == 1 || first.wrapping_sub(*second) == 1
    });
    steps.count() * 3 >= (value.len() - 1) * 2
}
