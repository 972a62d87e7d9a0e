//! Login cookies, sealed with the key of the project's store, so that every instance can check them without shared
//! state. Revoked and signed-out people are rejected.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use midrail::admin::Person;
use midrail::store::Approver;
use midrail_core::hex;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::problem::{HandlerResult, Problem};
use crate::project::{HOME, Project};

/// The name of the cookie.
pub(crate) const NAME: &str = "midrail_session";

/// How long a person stays logged in.
const LASTS: SignedDuration = SignedDuration::from_hours(12);

/// Labels that derive a separate key for each purpose.
const LABEL: &[u8] = b"midrail-cookie-v1";
const CSRF: &[u8] = b"midrail-csrf-v1";

/// A person who has logged in.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    /// The person.
    pub(crate) person: Person,
    /// The project whose approver they are.
    pub(crate) belongs: String,
    /// The session of the browser.
    pub(crate) ticket: Ticket,
    /// The CSRF token of this session.
    pub(crate) csrf: String,
}

impl SignedIn {
    /// Whether they are an administrator.
    pub(crate) fn is_admin(&self) -> bool {
        self.person.roles().iter().any(|role| role == midrail::admin::ADMIN)
    }

    /// Whether they are an administrator of the home project, who may access all projects.
    pub(crate) fn is_home_admin(&self) -> bool {
        self.belongs == HOME && self.is_admin()
    }

    /// Compares a token with that of this session in constant time.
    pub(crate) fn has_csrf(&self, token: &[u8]) -> bool {
        let own = self.csrf.as_bytes();
        let differs = own.iter().zip(token).fold(0, |differs, (one, other)| differs | (one ^ other));
        own.len() == token.len() && differs == 0
    }

    /// Whether they may access a project: their own, or any as an administrator of the home project.
    pub(crate) fn may_enter(&self, project: &str) -> bool {
        project == self.belongs || self.is_home_admin()
    }
}

/// The content of the cookie.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The person.
    pub(crate) name: String,
    /// The project whose approver they are.
    pub(crate) project: String,
    /// When the approver was added: another person may have the same name later.
    since: Timestamp,
    /// When it expires.
    until: Timestamp,
    /// A random name of this session.
    pub(crate) id: String,
}

impl Ticket {
    /// The ticket of an approver whose key was checked.
    pub(crate) fn new(approver: &Approver, project: &str, now: Timestamp) -> HandlerResult<Self> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Problem::internal(format!("no random bytes: {error}")))?;
        let until = now.checked_add(LASTS).unwrap_or(now);
        let (name, project) = (approver.name.clone(), project.to_owned());
        Ok(Ticket { name, project, since: approver.created, until, id: hex::encode(&bytes) })
    }

    /// The `Set-Cookie` value. `secure`: the browser sends it over HTTPS only.
    pub(crate) fn cookie(&self, key: &[u8], secure: bool) -> HandlerResult<String> {
        let body = hex::encode(serde_json::to_string(self).unwrap_or_default().as_bytes());
        let seal = hex::encode(&mac(key, LABEL, &body)?.finalize().into_bytes());
        let secure = if secure { "; Secure" } else { "" };
        let age = LASTS.as_secs();
        Ok(format!("{NAME}={body}.{seal}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}"))
    }

    /// The cookie and the ticket that it claims to be. It is not verified yet.
    pub(crate) fn claims(headers: &HeaderMap) -> Option<(String, Ticket)> {
        let text = cookie(headers, NAME).filter(|text| text.len() < 4096)?;
        let (body, _) = text.split_once('.')?;
        let ticket: Ticket = serde_json::from_slice(&hex::decode(body)?).ok()?;
        Some((text.to_owned(), ticket))
    }

    /// Whether a cookie was sealed with the key of a store.
    pub(crate) fn is_genuine(text: &str, key: &[u8]) -> bool {
        let Some((body, seal)) = text.split_once('.') else { return false };
        let seal = hex::decode(seal).unwrap_or_default();
        mac(key, LABEL, body).is_ok_and(|mac| mac.verify_slice(&seal).is_ok())
    }

    /// The person of a verified ticket, unless they logged out, were revoked, or the ticket expired.
    pub(crate) fn person(
        &self,
        project: &Project,
        now: Timestamp,
        key: &[u8],
    ) -> HandlerResult<Option<SignedIn>> {
        if now >= self.until {
            return Ok(None);
        }
        if project.engine().admin().is_signed_out(&self.id)? {
            return Ok(None);
        }
        let approver = project.store().approver(&self.name)?;
        let Some(approver) = approver.filter(|approver| approver.created == self.since) else {
            return Ok(None);
        };
        let csrf = csrf_token(key, &self.id)?;
        let person = Person::authenticated(approver.name, approver.roles);
        Ok(Some(SignedIn { person, belongs: self.project.clone(), ticket: self.clone(), csrf }))
    }
}

/// The CSRF token of a browser session.
pub(crate) fn csrf_token(key: &[u8], id: &str) -> HandlerResult<String> {
    Ok(hex::encode(&mac(key, CSRF, id)?.finalize().into_bytes()))
}

/// A cookie that clears the previous one.
pub(crate) fn clear_cookie() -> String {
    format!("{NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// The value of a cookie.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, wanted: &str) -> Option<&'h str> {
    let all = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Authenticates a text with a key that is derived from the store's key for one purpose.
fn mac(key: &[u8], purpose: &[u8], text: &str) -> HandlerResult<Hmac<Sha256>> {
    let keyed = |key: &[u8]| {
        Hmac::<Sha256>::new_from_slice(key)
            .map_err(|error| Problem::internal(format!("invalid key: {error}")))
    };
    let derived = keyed(key)?.chain_update(purpose).finalize().into_bytes();
    Ok(keyed(&derived)?.chain_update(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let approver = Approver {
            name: "ann".to_owned(),
            roles: vec!["reviewer".to_owned()],
            created: now,
            revoked: None,
        };
        Ticket::new(&approver, "default", now).unwrap()
    }

    #[test]
    fn cookie_seal_is_checked() {
        let cookie = ticket().cookie(b"key", true).unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict") && cookie.ends_with("; Secure"));
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, format!("other=1; {}", cookie.split(';').next().unwrap()).parse().unwrap());
        let (text, claimed) = Ticket::claims(&headers).unwrap();
        assert_eq!(claimed.name, "ann");
        assert!(Ticket::is_genuine(&text, b"key"));
        assert!(!Ticket::is_genuine(&text, b"other key"));
        let forged = format!("{}{}", hex::encode(b"{}"), &text[text.find('.').unwrap()..]);
        assert!(!Ticket::is_genuine(&forged, b"key"));
    }

    #[test]
    fn malformed_cookie_has_no_ticket() {
        for rubbish in ["", ".", "zz.zz", "00.00", "7b7d.00"] {
            let mut headers = HeaderMap::new();
            headers.insert(COOKIE, format!("{NAME}={rubbish}").parse().unwrap());
            assert!(Ticket::claims(&headers).is_none(), "{rubbish}");
        }
    }
}
