//! Questions of a server to the user: forms that ask for passwords, and addresses that imitate others.

use serde_json::Value;

use super::settings::OnRequest;
use crate::prelude::*;

/// Words in the names and titles of form fields that no server may ask for.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "otp",
    "pin",
    "cvv",
    "cvc",
    "seedphrase",
    "mnemonic",
    "ssn",
    "creditcard",
    "cardnumber",
];

pub(super) fn check(rule: OnRequest, server: &str, context: &Context<'_>) -> Verdict {
    let args = context.event.tool.as_ref().map(|tool| &tool.args);
    let field = |name: &str| args.and_then(|args| args.get(name));
    if let Some(url) = field("url").and_then(Value::as_str)
        && let Some(why) = suspicious_address(url)
    {
        return Verdict::block(format!("The MCP server `{server}` sends the user to an address that {why}."));
    }
    let properties = field("requestedSchema").and_then(|schema| schema.get("properties")?.as_object());
    let asked = properties.into_iter().flatten().find(|(name, schema)| asks_secret(name, schema));
    let place = match asked {
        Some((name, _)) => Some(format!("the field `{name}`")),
        None => properties
            .and(field("message"))
            .and_then(Value::as_str)
            .filter(|text| names_secret(text))
            .map(|_| "its message".to_owned()),
    };
    if let Some(place) = place {
        let reason = format!("The MCP server `{server}` asks the user for a secret in {place}.");
        return Verdict::block(reason)
            .advise("A server may not ask for passwords, keys or tokens in a form.");
    }
    Verdict::new(rule.effect(), format!("The MCP server `{server}` asks the user for data."))
}

/// Whether a field asks for a secret.
fn asks_secret(name: &str, schema: &Value) -> bool {
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_number = matches!(text("type"), "integer" | "number");
    is_secret(name, is_number)
        || is_secret(text("title"), is_number)
        || names_secret(text("description"))
        || text("format") == "password"
}

/// Whether a sentence names a secret. Words that are also ordinary, such as `token` and `pin`, do not count.
fn names_secret(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.fold(" ".to_owned(), |all, word| all + &word.to_lowercase() + " ");
    PHRASES.iter().any(|phrase| words.contains(&format!(" {phrase} ")))
        || UNSPACED.iter().any(|word| words.contains(word))
}

/// Names of secrets in sentences.
const PHRASES: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pass phrase",
    "api key",
    "api keys",
    "api token",
    "access key",
    "access token",
    "secret key",
    "private key",
    "ssh key",
    "seed phrase",
    "recovery phrase",
    "one time code",
    "verification code",
    "credit card",
    "card number",
    "cvv",
    "cvc",
    "social security number",
    "passwort",
    "kennwort",
    "mot de passe",
    "contraseña",
    "senha",
    "wachtwoord",
    "пароль",
];

/// The same in scripts without spaces.
const UNSPACED: &[&str] = &["密码", "密碼", "パスワード", "비밀번호"];

/// Whether a name asks for a secret: the word itself, or a long word in it. A number of tokens is none.
fn is_secret(name: &str, is_number: bool) -> bool {
    let letters = midrail_scan::injection::name_letters(name);
    let words = name.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let words: Vec<String> = words.collect();
    let is_in = |secret: &str| {
        words.iter().any(|word| word == secret) || secret.len() > 4 && letters.contains(secret)
    };
    SECRETS.iter().any(|secret| is_in(secret) && !(is_number && *secret == "token"))
}

fn suspicious_address(url: &str) -> Option<&'static str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Some("is no web address") };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    if !matches!(scheme, "https" | "http") {
        return Some("is no web address");
    }
    if authority.contains('@') {
        return Some("has a user name before its host");
    }
    // Browsers decode the first and leave out the others.
    if authority.contains(|c: char| c == '%' || c.is_whitespace() || c.is_control()) {
        return Some("hides its host");
    }
    let is_international =
        !authority.is_ascii() || authority.to_lowercase().split('.').any(|it| it.starts_with("xn--"));
    is_international.then_some("has a host in another script")
}
