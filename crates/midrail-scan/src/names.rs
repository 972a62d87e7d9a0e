//! Names of destinations in texts: mail addresses, URLs, hosts, paths, numbers of phones and accounts, handles, quoted words and
//! identifiers. Each name has one spelling, so that two texts that name the same destination have the same digest.

mod normal;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::event::{TOOL_OUTPUT_POINTERS, value_at};
use crate::json_texts;
use crate::secrets::fingerprint;

pub use self::normal::{destinations, spellings};

/// The most names that are found in one event.
pub const MAX_NAMES: usize = 1_024;

/// The number of hexadecimal digits of a digest.
pub const DIGEST_DIGITS: usize = 12;

/// The longest text that can be a name as a whole.
const MAX_WHOLE_TEXT: usize = 64;

/// Pointers to texts that can name destinations: a prompt, and the result of a call.
const NAMING_POINTERS: &[&str] = &["/text", "/result"];

/// Returns the keyed digests of the names in an event, which is given as JSON. What the agent wrote into the call itself is not
/// named by its result, which may repeat it: `no entry for eve@example.net`.
pub fn digests_in_event(event: &Value, key: &[u8]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for value in NAMING_POINTERS.iter().chain(TOOL_OUTPUT_POINTERS).filter_map(|at| value_at(event, at)) {
        json_texts::for_each(value, &mut |at| {
            if !at.is_key {
                add_names(at.text, &mut names);
            }
        });
    }
    if let Some(args) = value_at(event, "/tool/args").filter(|_| !names.is_empty()) {
        let mut own = BTreeSet::new();
        json_texts::for_each(args, &mut |at| {
            add_names(at.text, &mut own);
            // `https://x.example/search?q=evil%2Eexample`
            add_names(&percent_decoded(at.text).replace(['?', '&', '=', '/', '#'], " "), &mut own);
        });
        names.retain(|name| !own.contains(name));
    }
    names.iter().map(|name| digest(name, key)).collect()
}

/// Returns the names in a text, each in its one spelling.
pub fn names(text: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    add_names(text, &mut names);
    names.into_iter().collect()
}

/// Returns the keyed digests of the spellings of one destination. It is named if one of them is.
pub fn destination_digests(destination: &str, key: &[u8]) -> Vec<String> {
    spellings(destination).iter().map(|spelling| digest(spelling, key)).collect()
}

/// Whether a destination is this machine.
pub fn is_local(destination: &str) -> bool {
    let is_loopback = |host: &str| host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    let is_own = |host: &str| matches!(host, "localhost" | "[::1]" | "::1" | "0.0.0.0");
    normal::host(destination).is_some_and(|host| is_own(&host) || is_loopback(&host))
}

/// The host of a URL, or of a text that is one, in its one spelling. `None`: it has none, or programs disagree about it.
pub fn host(destination: &str) -> Option<String> {
    normal::host(destination)
}

/// A host that a program contacts, spelt so that it is not taken for a file: `//setup.py`.
pub fn as_host(address: &str) -> Cow<'_, str> {
    let end = address.find(['/', ':', '?', '#']).unwrap_or(address.len());
    let is_unclear = address.get(..end).is_some_and(normal::is_file_name);
    if is_unclear { Cow::Owned(format!("//{address}")) } else { Cow::Borrowed(address) }
}

/// A text with its percent-encoded characters.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digest(name: &str, key: &[u8]) -> String {
    let mut digest = fingerprint(&format!("name:{name}"), key);
    digest.truncate(DIGEST_DIGITS);
    digest
}

fn add_names(text: &str, names: &mut BTreeSet<String>) {
    let whole = text.trim();
    if !whole.is_empty() && whole.len() <= MAX_WHOLE_TEXT && !whole.contains('\n') {
        names.extend(spellings(whole));
    }
    words::visit(text, &mut |name| {
        if names.len() < MAX_NAMES {
            names.insert(name);
        }
        names.len() < MAX_NAMES
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_named(text: &str, destination: &str) -> bool {
        let known = names(text);
        spellings(destination).iter().any(|spelling| known.contains(spelling))
    }

    #[test]
    fn destinations_in_prompts_are_named() {
        for (text, destination) in [
            ("Send it to Pat@Example.net, please.", "pat@example.net"),
            ("Send it to <mailto:pat@example.net>.", "Pat <pat@example.net>"),
            ("See https://www.Example.com/a/b?x=1.", "example.com"),
            ("See https://example.com/a/b.", "https://www.example.com/a/b/"),
            ("Post to example.com", "https://example.com/hook"),
            ("Push to git@github.com:ann/tool.git", "https://github.com/ann/tool"),
            ("Open an issue in github.com/ann/tool", "https://github.com/ann/tool/issues"),
            ("Pay DE89 3704 0044 0532 0130 00 today", "DE89370400440532013000"),
            ("Pay to DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
            ("Call +49 (170) 123-4567 now", "+491701234567"),
            ("Tell @ann about it", "ann"),
            ("Post in #general", "general"),
            ("Post it in the 'release notes' channel", "release notes"),
            ("Invite Mark Davies and Ann", "Mark Davies"),
            ("Invite Mark Davies and Ann", "Ann"),
            ("Put it into src/notes.txt", "src/notes.txt"),
            ("Ticket ABC-123 is it", "abc-123"),
            ("Write to müller.example", "xn--mller-kva.example"),
            ("Fix setup.py", "setup.py"),
            ("Post to https://setup.py/x", "https://setup.py/y"),
            (
                "Fill in https://docs.google.com/forms/d/1/viewform",
                "https://docs.google.com/forms/d/1/viewform",
            ),
            ("general", "general"),
        ] {
            assert!(
                is_named(text, destination),
                "{text}: {destination}: {:?} {:?}",
                names(text),
                spellings(destination)
            );
        }
    }

    #[test]
    fn other_destinations_are_not_named() {
        for (text, destination) in [
            ("Send it to pat@example.net", "pat@example.com"),
            ("Send it to pat@example.net", "example.net"),
            ("See https://example.com/a", "api.example.com"),
            ("See https://example.com/a", "example.com.evil.example"),
            ("See https://evil.example/?x=example.com", "example.com"),
            ("Push to git@github.com:ann/tool.git", "https://github.com/eve/tool"),
            ("Push to git@github.com:ann/tool.git", "github.com"),
            ("Pay DE89 3704 0044 0532 0130 00", "GB29 NWBK 6016 1331 9268 19"),
            ("send the general report", "general"),
            ("Summarise this page", "https://evil.example"),
            ("Fix setup.py", "https://setup.py/x"),
            ("Fix setup.py", "//setup.py"),
            ("See https://discord.com/api/webhooks/1/a", "https://discord.com/api/webhooks/2/b"),
            ("See https://docs.google.com/forms/d/1", "https://docs.google.com/forms/d/2"),
            ("See https://example.com/a", "https://evil.example\\@example.com/a"),
            ("Send it to ann@example.org", "mailto:ann@example.org?bcc=eve@evil.example"),
        ] {
            assert!(
                !is_named(text, destination),
                "{text}: {destination}: {:?} {:?}",
                names(text),
                spellings(destination)
            );
        }
    }

    #[test]
    fn several_destinations_in_one_text_are_separate() {
        assert_eq!(destinations("a@x.example, Bea <b@y.example>"), ["a@x.example", "b@y.example"]);
        assert_eq!(destinations("https://x.example/a,b"), ["https://x.example/a,b"]);
        assert_eq!(destinations(" general "), ["general"]);
        assert!(destinations("  ").is_empty());
    }

    #[test]
    fn digests_are_keyed_and_bounded() {
        let event = json!({"text": "to ann@example.org", "tool": {"args": {"a": "eve@example.org"}}});
        let found = digests_in_event(&event, b"key");
        assert!(destination_digests("ann@example.org", b"key").iter().all(|it| found.contains(it)));
        assert!(destination_digests("eve@example.org", b"key").iter().all(|it| !found.contains(it)));
        assert!(destination_digests("ann@example.org", b"other").iter().all(|it| !found.contains(it)));
        let echo =
            json!({"tool": {"args": {"q": "eve@example.org"}}, "result": {"content": "no eve@example.org"}});
        let found = digests_in_event(&echo, b"key");
        assert!(destination_digests("eve@example.org", b"key").iter().all(|it| !found.contains(it)));
        let echo = json!({"tool": {"args": {"q": "https://x.example/s?q=evil%2Eexample"}}, "result": {"content": "no evil.example"}});
        let found = digests_in_event(&echo, b"key");
        assert!(destination_digests("evil.example", b"key").iter().all(|it| !found.contains(it)));
        let long: String = (0..5_000).map(|n| format!("u{n}@example.org ")).collect();
        assert_eq!(digests_in_event(&json!({"result": {"content": long}}), b"key").len(), MAX_NAMES);
    }

    #[test]
    fn this_machine_is_local() {
        for text in ["localhost", "http://localhost:3000/x", "127.0.0.1", "http://[::1]/"] {
            assert!(is_local(text), "{text}");
        }
        for text in [
            "localhost.example.org",
            "ann@localhost.example",
            "127.evil.example",
            "http://127.0.0.1.evil.example/",
            "localhost:a@evil.example",
            "http://localhost:a@evil.example/",
            "http://localhost\\@evil.example/",
        ] {
            assert!(!is_local(text), "{text}");
        }
    }
}
