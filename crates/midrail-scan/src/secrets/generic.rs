//! Secrets without a format of their own: values assigned to names like `password`, and passwords in URLs.

pub(super) mod assignment;
mod byte_list;
mod code;
pub(super) mod insert;
pub(super) mod makeup;
pub(super) mod names;
pub(super) mod placeholders;
pub(super) mod values;

use midrail_core::{Confidence, Severity};

use super::candidate::Candidate;
use super::checks;
use super::data::DEFAULT_URL_PASSWORDS;
use super::view::View;
use assignment::{Link, Value};
use makeup::makeup;
use names::Class;

/// The secret that is assigned to the name that contains a keyword.
pub(super) fn find_assigned(view: &View<'_>, keyword: usize, keyword_end: usize) -> Option<Candidate> {
    let value = assignment::parse(view, keyword, keyword_end)?;
    let name = view.slice(value.name_start, value.name_end);
    let text = view.slice(value.start, value.end);
    // Calls are common in code, and never a secret. A list of bytes may be one.
    if !value.quoted && code::is_call(text) || matches!(text.first(), Some(b'[' | b'{')) {
        return listed_key(view, &value, name);
    }
    let class = names::class(name)?;
    // `password=password=…`: the second one is examined separately.
    let is_again = text.strip_prefix(name).is_some_and(|rest| matches!(rest.first(), Some(b'=' | b':')));
    if is_again || is_type_name(view, &value, class) || is_json_number(view, &value, text) {
        return None;
    }
    if matches!(class, Class::Weak | Class::Key)
        && names::mentions(name, "auth")
        && is_user_and_password(text)
    {
        let (kind, description) = ("basic-authorization", "a user name and password in base 64");
        return Some(Candidate {
            more: value.more,
            ..Candidate::new(kind, description, value.start..value.end)
        });
    }
    let is_sure = class != Class::Weak
        || names::is_keyed(name) && values::is_key_itself(text) && !is_public(view, value.name_start);
    classify(text, class, value.quoted).map(|(kind, description)| Candidate {
        severity: if class == Class::Weak { Severity::Medium } else { Severity::High },
        confidence: if is_sure { Confidence::Medium } else { Confidence::Low },
        more: value.more,
        ..Candidate::new(kind, description, value.start..value.end)
    })
}

/// The key that is assigned to a name as a list of bytes.
fn listed_key(view: &View<'_>, value: &Value, name: &[u8]) -> Option<Candidate> {
    let end = byte_list::end(view, value.start)?;
    let is_weak = names::class(name)? == Class::Weak;
    let (kind, description) = ("generic-secret", "a key that is spelled as a list of bytes");
    Some(Candidate {
        severity: if is_weak { Severity::Medium } else { Severity::High },
        ..Candidate::new(kind, description, value.start..end)
    })
}

/// Whether the line mentions something public before a name.
fn is_public(view: &View<'_>, name_start: usize) -> bool {
    let line = view.run_back(name_start, 100, |byte| byte != b'\n');
    names::mentions(view.slice(line, name_start), "public")
}

/// Whether a name is that of a type, as in `"AWS::AppSync::ApiKey"`: its value is no key.
fn is_type_name(view: &View<'_>, value: &Value, class: Class) -> bool {
    class != Class::Password && view.slice(value.name_start.saturating_sub(2), value.name_start) == b"::"
}

/// Whether a value is a number in JSON: replacing it by a text would break it, and few numbers are secrets.
fn is_json_number(view: &View<'_>, value: &Value, text: &[u8]) -> bool {
    let is_member = view.slice(value.name_end, value.start).contains(&b'"');
    let end = text.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'-')).unwrap_or(text.len());
    let is_number = end > 0 && text.get(end).is_none_or(|byte| matches!(byte, b'}' | b']'));
    is_member && !value.quoted && value.link == Link::Colon && is_number
}

/// Whether a text is `user:password` in base 64.
fn is_user_and_password(text: &[u8]) -> bool {
    let is_base64 =
        text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
    is_base64 && text.len() >= 12 && checks::user_and_password(text).is_some()
}

/// The kind and description of a value, if it is a secret.
fn classify(text: &[u8], class: Class, quoted: bool) -> Option<(&'static str, &'static str)> {
    values::is_secret(text, class, quoted).then_some(match class {
        Class::Password => ("generic-password", "a password"),
        Class::Key | Class::Secret | Class::Mentioned => {
            ("generic-secret", "a key or token that is assigned to a name")
        }
        Class::Weak => ("generic-random", "a random string that is assigned to a name like that of a secret"),
    })
}

/// The kind, description and class of a text that is the value of a member of an object, if it is a secret.
pub(super) fn classify_member(name: &str, text: &str) -> Option<(&'static str, &'static str, Class)> {
    let class = names::class(name.as_bytes())?;
    if text.contains(['\n', '\r']) {
        return None;
    }
    classify(text.as_bytes(), class, true).map(|(kind, description)| (kind, description, class))
}

/// The longest user name and password of a URL. There is no URL within one, so that the work stays linear.
const MAX_USER: usize = 16 * 1024;

/// The password of a URL: `https://user:password@host`. `place` is that of `://`.
pub(super) fn find_url_password(view: &View<'_>, place: usize) -> Option<Candidate> {
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
    let made = makeup(password);
    let last = password.rsplit(|byte| *byte == b':').next().unwrap_or_default();
    let is_dummy = placeholders::is_placeholder(password)
        || DEFAULT_URL_PASSWORDS.contains(last.to_ascii_lowercase().as_slice())
        || password.first().is_some_and(|byte| matches!(byte, b'$' | b'{' | b'<' | b'%' | b'['))
        || password.iter().any(|byte| matches!(byte, b'(' | b')'));
    let is_secret = match colon {
        Some(_) => password.len() >= 4 && made.distinct >= 3 && !is_dummy,
        None => password.len() >= 20 && !is_dummy && values::is_secret(password, Class::Key, true),
    };
    is_secret
        .then(|| Candidate { rank: 1, ..Candidate::new("url-password", "a password in a URL", start..end) })
}
