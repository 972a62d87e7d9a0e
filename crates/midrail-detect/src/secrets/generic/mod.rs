//! Secrets without a shape of their own: what is assigned to names like `password`, and passwords in addresses.

pub(super) mod assignment;
mod code;
pub(super) mod insert;
pub(super) mod letters;
mod name_words;
pub(super) mod names;
pub(super) mod placeholders;
pub(super) mod values;

use midrail_core::{Confidence, Severity};

use super::engine::Candidate;
use super::rules::Verify;
use super::verify;
use super::view::View;
use assignment::{Link, Value};
use names::Class;

/// Parts of names that something secret may be assigned to.
pub(super) const NAMES: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "_pw",
    "-pw",
    "dbpw",
    "pw:",
    "pw=",
    "jwt",
    "bearer",
    "salt",
    "nonce",
    "cookie",
    "_psk",
    "psk=",
    "psk:",
    "psw",
    "pswd",
    "signature",
    "sessid",
    "sessionid",
    ".sid=",
    "senha",
    "license",
    "mnemonic",
    "mot de passe",
    "contraseña",
    "пароль",
    "Пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
];

/// A secret that is assigned to the name with a keyword in it.
pub(super) fn assigned(view: &View<'_>, keyword: usize, keyword_end: usize) -> Option<Candidate> {
    let value = assignment::parse(view, keyword, keyword_end)?;
    let name = view.slice(value.name_start, value.name_end);
    let text = view.slice(value.start, value.end);
    // Most of what code assigns, and never a secret, whatever the name.
    if !value.quoted && code::is_call(text) {
        return None;
    }
    let class = names::class(name)?;
    // `password=password=…`: the second one is looked at by itself.
    let is_again = text.strip_prefix(name).is_some_and(|rest| matches!(rest.first(), Some(b'=' | b':')));
    if is_again || is_type_name(view, &value, class) || is_json_number(view, &value, text) {
        return None;
    }
    if matches!(class, Class::Weak | Class::Key)
        && names::mentions(name, "auth")
        && is_user_and_password(text)
    {
        return Some(Candidate {
            start: value.start,
            end: value.end,
            kind: "basic-authorization",
            what: "a user name and password in base 64",
            severity: Severity::High,
            confidence: Confidence::Medium,
            rank: 0,
            gone: 0,
            more: value.more,
        });
    }
    let is_sure = class != Class::Weak
        || names::is_keyed(name) && values::is_key_itself(text) && !is_public(view, value.name_start);
    judge(text, class, &value).map(|(kind, what)| Candidate {
        start: value.start,
        end: value.end,
        kind,
        what,
        severity: if class == Class::Weak { Severity::Medium } else { Severity::High },
        confidence: if is_sure { Confidence::Medium } else { Confidence::Low },
        rank: 0,
        gone: 0,
        more: value.more,
    })
}

/// Whether what stands right before a name in its line speaks of something public.
fn is_public(view: &View<'_>, name_start: usize) -> bool {
    let line = view.run_back(name_start, 100, |byte| byte != b'\n');
    names::mentions(view.slice(line, name_start), "public")
}

/// Whether a name is that of a type, as `"AWS::AppSync::ApiKey"`: what it leads to is no key.
fn is_type_name(view: &View<'_>, value: &Value, class: Class) -> bool {
    class != Class::Password && view.slice(value.name_start.saturating_sub(2), value.name_start) == b"::"
}

/// Whether a value is a number in JSON: a text in its place would break it, and few numbers are secrets.
fn is_json_number(view: &View<'_>, value: &Value, text: &[u8]) -> bool {
    let is_member = view.slice(value.name_end, value.start).contains(&b'"');
    let end = text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'-')).unwrap_or(text.len());
    let is_number = end > 0 && text.get(end).is_none_or(|byte| matches!(byte, b'}' | b']'));
    is_member && !value.quoted && value.link == Link::Colon && is_number
}

/// Whether a text in base 64 says `user:password`.
fn is_user_and_password(text: &[u8]) -> bool {
    let is_base64 =
        text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    is_base64 && text.len() >= 12 && verify::confidence(Verify::Basic, text).is_some()
}

fn judge(text: &[u8], class: Class, value: &Value) -> Option<(&'static str, &'static str)> {
    values::is_secret(text, class, value.quoted).then_some(match class {
        Class::Password => ("generic-password", "a password"),
        Class::Key | Class::Secret | Class::Mentioned => {
            ("generic-secret", "a key or token that is assigned to a name")
        }
        Class::Weak => ("generic-random", "a random string that is assigned to a name like that of a secret"),
    })
}

/// A whole text that is the value of a member of an object.
pub(super) fn named(name: &str, text: &str) -> Option<(&'static str, &'static str, Class)> {
    let class = names::class(name.as_bytes())?;
    let value = Value {
        name_start: 0,
        name_end: 0,
        start: 0,
        end: text.len(),
        quoted: true,
        link: Link::Colon,
        more: None,
    };
    if text.contains(['\n', '\r']) {
        return None;
    }
    judge(text.as_bytes(), class, &value).map(|(kind, what)| (kind, what, class))
}

/// What stands for a password in addresses of manuals and tests.
const PLAIN: &[&str] = &[
    "admin",
    "guest",
    "pass",
    "postgres",
    "pwd",
    "test",
    "testpass",
    "testpwd",
    "user",
    "userpass",
    "passw",
    "mysql",
    "rabbitmq",
    "default",
    "anoncvs",
    "anonymous",
];

/// The longest user name and password of an address. There is no address within one, so that the work stays linear.
const MAX_USER: usize = 16 * 1024;

/// A password in an address: `https://user:password@host`. The place is that of `://`.
pub(super) fn in_address(view: &View<'_>, place: usize) -> Option<Candidate> {
    let from = place + 3;
    let scheme =
        view.run_back(place, 16, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if scheme == place {
        return None;
    }
    let end = view.run(from, MAX_USER, |byte| {
        byte > b' '
            && byte < 0x7f
            && !matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'@' | b'\\' | b',' | b'|')
    });
    if view.at(end) != Some(b'@')
        || !view
            .at(end + 1)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'[' | b'$' | b'{' | b'_'))
    {
        return None;
    }
    let user = view.slice(from, end);
    let colon = user.iter().position(|byte| *byte == b':');
    let (start, password) = match colon {
        Some(colon) => (from + colon + 1, user.get(colon + 1..)?),
        // `https://token@host`
        None => (from, user),
    };
    let made = values::makeup(password);
    let is_dummy = placeholders::is_placeholder(password)
        || PLAIN.iter().any(|plain| {
            let last = password.rsplit(|byte| *byte == b':').next().unwrap_or_default();
            plain.as_bytes().eq_ignore_ascii_case(last)
        })
        || password.first().is_some_and(|byte| matches!(byte, b'$' | b'{' | b'<' | b'%' | b'['))
        || password.iter().any(|byte| matches!(byte, b'(' | b')'));
    let is_secret = match colon {
        Some(_) => password.len() >= 4 && made.distinct >= 3 && !is_dummy,
        None => password.len() >= 20 && !is_dummy && values::is_secret(password, Class::Key, true),
    };
    is_secret.then_some(Candidate {
        start,
        end,
        kind: "url-password",
        what: "a password in an address",
        severity: Severity::High,
        confidence: Confidence::Medium,
        rank: 1,
        gone: 0,
        more: None,
    })
}
