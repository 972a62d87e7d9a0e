//! People who may answer requests: their names, their roles, and a hash of the key by which each is known.

use std::fmt;

use hmac::Mac;
use jiff::Timestamp;
use midrail_core::hex;
use serde::{Deserialize, Serialize};

use crate::chain::unhex;
use crate::entry::whole_micros;
use crate::error::{Result, StoreError};
use crate::key::StoreKey;

/// Keys are random texts of 256 bits. One that is shorter than this could be guessed.
const MIN_KEY: usize = 32;

/// Nobody types more, and hashing more would only take time.
const MAX_KEY: usize = 1024;

/// A person who may answer requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "PersonView")]
pub struct Approver {
    /// Their name. Only one at a time has it.
    pub name: String,
    /// The roles in which they answer.
    pub roles: Vec<String>,
    /// Since when.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// Since when not any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub revoked: Option<Timestamp>,
}

/// A change of who may answer requests. Its time is that of the record that it is committed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverChange {
    /// Someone is added. The name must be free.
    Add(NewApprover),
    /// Someone is revoked. Their row stays, and the name is free again.
    Revoke(String),
}

/// Someone who is to be an approver. The key is not kept, and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct NewApprover {
    /// Their name.
    pub name: String,
    /// The roles in which they answer.
    pub roles: Vec<String>,
    /// Their key: a random text of 256 bits.
    pub key: String,
}

impl fmt::Debug for NewApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NewApprover { name, roles, key: _ } = self;
        f.debug_struct("NewApprover").field("name", name).field("roles", roles).finish_non_exhaustive()
    }
}

/// An approver as the store keeps them.
#[derive(Debug, Clone)]
pub(crate) struct Enrolled {
    pub(crate) approver: Approver,
    /// The salt, a colon, and the hash.
    pub(crate) hash: String,
}

impl Enrolled {
    /// A new row. `rows` are all that there are.
    pub(crate) fn new(rows: &[Enrolled], new: &NewApprover, time: Timestamp, key: &StoreKey) -> Result<Self> {
        let NewApprover { name, roles, key: secret } = new;
        let refuse = |what: String| Err(StoreError::Refused { what });
        if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
            return refuse(format!("`{}` is no name for an approver", name.escape_debug()));
        }
        if !(MIN_KEY..=MAX_KEY).contains(&secret.len()) {
            return refuse(format!("the key of `{name}` has not {MIN_KEY} to {MAX_KEY} bytes"));
        }
        if current(rows, name).is_some() {
            return refuse(format!("there is an approver `{name}` already"));
        }
        let approver =
            Approver { name: name.clone(), roles: roles.clone(), created: whole_micros(time), revoked: None };
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|error| StoreError::Random(error.to_string()))?;
        let salt = hex::encode(&salt);
        let Some(mac) = key.approver_mac(&text(&approver, &salt, secret)) else {
            return refuse(format!("the key of `{name}` cannot be hashed"));
        };
        let hash = format!("{salt}:{}", hex::encode(&mac.finalize().into_bytes()));
        Ok(Enrolled { approver, hash })
    }

    /// Whether this is their key. Takes the same time wherever the difference is.
    fn has_key(&self, secret: &str, key: &StoreKey) -> bool {
        let Some((salt, hash)) = self.hash.split_once(':') else { return false };
        let (Some(hash), Some(mac)) =
            (unhex::<32>(hash), key.approver_mac(&text(&self.approver, salt, secret)))
        else {
            return false;
        };
        mac.verify_slice(&hash).is_ok()
    }
}

/// The one who has a name now.
pub(crate) fn current<'a>(rows: &'a [Enrolled], name: &str) -> Option<&'a Enrolled> {
    rows.iter().find(|row| row.approver.name == name && row.approver.revoked.is_none())
}

/// The one who has a name now, or why there is no one to revoke.
pub(crate) fn to_revoke<'a>(rows: &'a [Enrolled], name: &str) -> Result<&'a Enrolled> {
    current(rows, name).ok_or_else(|| StoreError::Refused { what: format!("there is no approver `{name}`") })
}

/// The approver of this name, if this is their key.
pub(crate) fn check_key(rows: &[Enrolled], name: &str, secret: &str, key: &StoreKey) -> Option<Approver> {
    if secret.len() > MAX_KEY {
        return None;
    }
    let Some(row) = current(rows, name) else {
        // As much work as for a name that there is.
        let nobody =
            Approver { name: name.to_owned(), roles: Vec::new(), created: Timestamp::MIN, revoked: None };
        let _ =
            Enrolled { approver: nobody, hash: format!(":{}", hex::encode(&[0; 32])) }.has_key(secret, key);
        return None;
    };
    row.has_key(secret, key).then(|| row.approver.clone())
}

/// What is hashed. Name and roles are in it, so that a key is worth nothing in a row that was edited by hand.
fn text(approver: &Approver, salt: &str, secret: &str) -> String {
    let Approver { name, roles, created, revoked: _ } = approver;
    serde_json::json!([name, roles, created.as_microsecond(), salt, secret]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn ada(secret: &str) -> NewApprover {
        let roles = vec!["architect".to_owned()];
        NewApprover { name: "ada".to_owned(), roles, key: secret.to_owned() }
    }

    #[test]
    fn key_fits_its_row_and_no_other() {
        let key = StoreKey::from_seed(&[7; 32]);
        let row = Enrolled::new(&[], &ada(SECRET), Timestamp::UNIX_EPOCH, &key).unwrap();
        let check = |row: &Enrolled, name: &str, secret: &str, key: &StoreKey| {
            check_key(std::slice::from_ref(row), name, secret, key)
        };
        assert_eq!(check(&row, "ada", SECRET, &key), Some(row.approver.clone()));
        assert_eq!(check(&row, "ada", &SECRET.replace('0', "1"), &key), None);
        assert_eq!(check(&row, "ada", "", &key), None);
        assert_eq!(check(&row, "bob", SECRET, &key), None);
        assert_eq!(check(&row, "ada", &"x".repeat(MAX_KEY + 1), &key), None);
        assert_eq!(check(&row, "ada", SECRET, &StoreKey::from_seed(&[8; 32])), None, "another store");

        let mut edited = row.clone();
        edited.approver.roles.push("human_operator".to_owned());
        assert_eq!(check(&edited, "ada", SECRET, &key), None);
        let mut renamed = row.clone();
        renamed.approver.name = "bob".to_owned();
        assert_eq!(check(&renamed, "bob", SECRET, &key), None);
        for hash in ["", ":", "00:00", &row.hash.replace(':', "")] {
            let damaged = Enrolled { hash: hash.to_owned(), ..row.clone() };
            assert_eq!(check(&damaged, "ada", SECRET, &key), None);
        }
    }

    #[test]
    fn nothing_kept_or_shown_tells_the_key() {
        let key = StoreKey::from_seed(&[7; 32]);
        let rows = [(); 2].map(|()| Enrolled::new(&[], &ada(SECRET), Timestamp::UNIX_EPOCH, &key).unwrap());
        assert_ne!(rows[0].hash, rows[1].hash, "the salt is new each time");
        let shown = format!("{:?} {:?}", rows[0], ApproverChange::Add(ada(SECRET)));
        assert!(!shown.contains(SECRET) && shown.contains("architect"), "{shown}");
    }

    #[test]
    fn bad_names_and_weak_keys_are_refused() {
        let key = StoreKey::from_seed(&[7; 32]);
        let refusal =
            |new: &NewApprover| Enrolled::new(&[], new, Timestamp::UNIX_EPOCH, &key).unwrap_err().to_string();
        for name in ["", " ada", "ada\n", "a\u{1b}[2J"] {
            assert!(refusal(&NewApprover { name: name.to_owned(), ..ada(SECRET) }).contains("is no name"));
        }
        for secret in ["", "password", &"x".repeat(MIN_KEY - 1), &"x".repeat(MAX_KEY + 1)] {
            let text = refusal(&ada(secret));
            assert_eq!(text, "the key of `ada` has not 32 to 1024 bytes, and nothing was written");
        }
        assert!(Enrolled::new(&[], &ada(&"x".repeat(MIN_KEY)), Timestamp::UNIX_EPOCH, &key).is_ok());
    }
}
