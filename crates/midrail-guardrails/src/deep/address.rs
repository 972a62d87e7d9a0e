//! The URL and headers of a request. Secrets are named by environment variables and never contained.

use std::collections::BTreeMap;

use midrail_scan::secrets;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Maximum length of a URL.
const MAX_URL: usize = 2_000;

/// A valid `http` or `https` URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EndpointUrl(#[serde(deserialize_with = "endpoint_url")] String);

impl EndpointUrl {
    /// The source text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host, with its port if there is one. Safe to show.
    pub fn host(&self) -> &str {
        let rest = self.0.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(self.host())
    }

    fn check(address: &str) -> Result<(), &'static str> {
        let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), Some("http" | "https")) {
            return Err("a URL starts with `https://` or `http://`");
        }
        if address.len() > MAX_URL || address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("a URL contains no spaces and has at most 2000 bytes");
        }
        let host = EndpointUrl(address.to_owned());
        let host = host.host();
        if host.contains('@') {
            return Err("a URL contains no user and no password; use `headers` or `key_env`");
        }
        let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, rest)) => (name, rest.strip_prefix(':')),
            None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
        };
        if name.is_empty() || port.is_some_and(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
            return Err("a URL names a host, and optionally a port from 1 to 65535");
        }
        if address.contains('#') {
            return Err("a URL has no fragment (`#`)");
        }
        if address.contains(['{', '}']) {
            return Err("a URL contains no parts of the event; they belong in `body`");
        }
        if !secrets::scan(address).is_empty() {
            return Err("the URL contains a secret and would be shown; use `headers` with `${NAME}`");
        }
        Ok(())
    }
}

fn endpoint_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let address = String::deserialize(deserializer)?;
    match EndpointUrl::check(&address) {
        Ok(()) => Ok(address),
        Err(why) => Err(D::Error::custom(why)),
    }
}

/// Whether a host, with or without a port, is this machine.
pub fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_address = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EnvVariable(#[serde(deserialize_with = "env_variable")] String);

impl EnvVariable {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn env_variable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    // The error does not repeat the text, because it may be the key itself.
    let is_valid = is_name(&name) && secrets::scan(&name).is_empty();
    let message = "write the name of an environment variable, such as `OPENAI_API_KEY`, never the key itself";
    is_valid.then_some(name).ok_or_else(|| D::Error::custom(message))
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.len() <= 100
        && name.bytes().all(is_part)
        && !name.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
}

/// Headers of a request. Values name environment variables as `${NAME}` and contain no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Headers(#[serde(deserialize_with = "headers")] BTreeMap<String, String>);

/// A piece of a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderPiece<'v> {
    /// Literal text.
    Words(&'v str),
    /// The value of an environment variable.
    Variable(&'v str),
}

impl Headers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one has this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.keys().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Every header, with its value split into pieces.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Vec<HeaderPiece<'_>>)> {
        self.0.iter().map(|(name, value)| (name.as_str(), pieces(value).unwrap_or_default()))
    }
}

/// Headers that the client sets itself.
const OWN: &[&str] =
    &["host", "content-length", "content-type", "transfer-encoding", "connection", "expect", "upgrade"];

fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let headers = BTreeMap::<String, String>::deserialize(deserializer)?;
    if headers.len() > 50 {
        return Err(D::Error::custom("there are more than 50 headers"));
    }
    for (name, value) in &headers {
        if let Err(why) = check_header(name, value) {
            // The error does not show the value, because it may contain a secret.
            return Err(D::Error::custom(format!("header `{}`: {why}", name.escape_debug())));
        }
    }
    Ok(headers)
}

fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 100 || !name.bytes().all(is_token) {
        return Err("a name contains only letters, digits and `-`");
    }
    if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return Err("it is set by Midrail itself");
    }
    if value.len() > 4_000 || !value.chars().all(|c| c == '\t' || (' '..='~').contains(&c)) {
        return Err("a value is one line of plain ASCII of at most 4000 bytes");
    }
    let Some(pieces) = pieces(value) else {
        return Err("an environment variable is written as `${NAME}`, with letters, digits and `_`");
    };
    let words: String =
        pieces.iter().map(|piece| if let HeaderPiece::Words(words) = piece { words } else { "" }).collect();
    if !secrets::scan(&format!("{name}: {words}")).is_empty() {
        return Err("it contains a secret; put it into an environment variable and write `${NAME}`");
    }
    let is_secret = ["authorization", "key", "token", "secret", "cookie", "password"]
        .iter()
        .any(|word| name.to_ascii_lowercase().contains(word));
    if is_secret && !pieces.iter().any(|piece| matches!(piece, HeaderPiece::Variable(_))) {
        return Err("its value belongs into an environment variable; write `${NAME}`");
    }
    Ok(())
}

/// The pieces of a value. `None`: invalid syntax of a variable.
fn pieces(value: &str) -> Option<Vec<HeaderPiece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some((words, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').filter(|(name, _)| is_name(name))?;
        if !words.is_empty() {
            pieces.push(HeaderPiece::Words(words));
        }
        pieces.push(HeaderPiece::Variable(name));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(HeaderPiece::Words(rest));
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn address(text: &str) -> Result<EndpointUrl, String> {
        serde_json::from_value(json!(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_are_split_into_parts() {
        let api = address("https://api.example.com/v1/messages?x=1").unwrap();
        assert_eq!(api.host(), "api.example.com");
        assert!(!api.is_loopback());
        for here in ["http://localhost:11434/v1", "HTTP://127.0.0.1", "http://[::1]:80", "http://127.8.8.8?a"]
        {
            assert!(address(here).unwrap().is_loopback(), "{here}");
        }
        assert!(!address("http://localhost.example.com").unwrap().is_loopback());
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for (wrong, part) in [
            ("ftp://a", "starts with `https://`"),
            ("api.example.com", "starts with `https://`"),
            ("https://", "names a host"),
            ("https://:80/", "names a host"),
            ("https://a:99999", "a port from 1"),
            ("https://user:pw@a/", "no password"),
            ("https://a/ b", "no spaces"),
            ("https://a/{text}", "belong in `body`"),
            ("https://a/?key=AKIAQ4ZTX7RK2MPLWN3J", "contains a secret"),
        ] {
            let error = address(wrong).unwrap_err();
            assert!(error.contains(part), "{wrong}: {error}");
            assert!(!error.contains("AKIA") && !error.contains("user:pw"), "{error}");
        }
    }

    #[test]
    fn headers_name_secrets_and_contain_none() {
        let headers: Headers = serde_json::from_value(
            json!({"Authorization": "Bearer ${API_KEY}", "x-api-key": "${K}", "X-A": "b"}),
        )
        .unwrap();
        let all: Vec<_> = headers.iter().collect();
        assert_eq!(
            all[0],
            ("Authorization", vec![HeaderPiece::Words("Bearer "), HeaderPiece::Variable("API_KEY")])
        );
        assert_eq!(all[2].1, [HeaderPiece::Variable("K")]);
        assert!(headers.has("authorization") && !headers.has("x-b"));
        for (name, value, part) in [
            (
                "Authorization",
                "Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF",
                "contains a secret",
            ),
            ("x-key", "${}", "is written as"),
            ("x-key", "${A B}", "is written as"),
            ("x-key", "a\r\nb: c", "one line"),
            ("Host", "a", "by Midrail itself"),
            ("a b", "c", "letters, digits"),
        ] {
            let error = serde_json::from_value::<Headers>(json!({name: value})).unwrap_err().to_string();
            assert!(error.contains(part), "{name}: {error}");
            assert!(!error.contains("sk-ant"), "{error}");
        }
    }

    #[test]
    fn keys_are_named_and_never_contained() {
        assert!(serde_json::from_value::<EnvVariable>(json!("OPENAI_API_KEY")).is_ok());
        for wrong in ["", "1A", "A-B", "AKIAQ4ZTX7RK2MPLWN3J"] {
            let error = serde_json::from_value::<EnvVariable>(json!(wrong)).unwrap_err().to_string();
            assert!(error.contains("never the key itself") && !error.contains("AKIA"), "{error}");
        }
    }
}
