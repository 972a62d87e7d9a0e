//! People who may answer approval requests: their names, their roles, and a hash of the key of each.

use std::fmt;

use hmac::Mac;
use jiff::Timestamp;
use midrail_core::hex;
use serde::{Deserialize, Serialize};

use crate::chain::unhex;
use crate::entry::whole_micros;
use crate::error::{Result, StoreError};
use crate::key::StoreKey;

/// Keys are random texts of 256 bits. A shorter key could be guessed.
const MIN_KEY: usize = 32;

/// A longer key is a mistake, and hashing it would take time.
const MAX_KEY: usize = 1024;

/// A person who may answer requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "PersonView")]
pub struct Approver {
    /// Their name. Only one current approver has it.
    pub name: String,
    /// The roles in which they answer.
    pub roles: Vec<String>,
    /// When they were added.
    #[schemars(with = "String")]
    pub created: Timestamp,
    /// When they were revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub revoked: Option<Timestamp>,
}

/// A change of the approvers. Its time is that of the record that it is committed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproverChange {
    /// Adds an approver. The name must be free.
    Add(NewApprover),
    /// Revokes an approver. The row stays, and the name is free again.
    Revoke(String),
}

/// An approver to add. The key is not stored, and `Debug` does not show it.
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

/// An approver with the hash of their key.
#[derive(Debug, Clone)]
pub(crate) struct StoredApprover {
    pub(crate) approver: Approver,
    /// The salt, a colon, and the hash.
    pub(crate) hash: String,
}

impl StoredApprover {
    /// A new row. `rows` are all existing ones.
    fn new(rows: &[StoredApprover], new: &NewApprover, time: Timestamp, key: &StoreKey) -> Result<Self> {
        let NewApprover { name, roles, key: secret } = new;
        let refuse = |what: String| Err(StoreError::Refused { what });
        if name.trim() != name || name.is_empty() || name.chars().any(char::is_control) {
            return refuse(format!("`{}` is not a valid name for an approver", name.escape_debug()));
        }
        if !(MIN_KEY..=MAX_KEY).contains(&secret.len()) {
            return refuse(format!("the key of `{name}` must have {MIN_KEY} to {MAX_KEY} bytes"));
        }
        if rows.iter().any(|row| row.is_current(name)) {
            return refuse(format!("an approver `{name}` exists already"));
        }
        let approver =
            Approver { name: name.clone(), roles: roles.clone(), created: whole_micros(time), revoked: None };
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|error| StoreError::Random(error.to_string()))?;
        let salt = hex::encode(&salt);
        let mac = key.approver_mac(&hash_input(&approver, &salt, secret));
        let hash = format!("{salt}:{}", hex::encode(&mac.finalize().into_bytes()));
        Ok(StoredApprover { approver, hash })
    }

    /// Whether this is the current approver with a name.
    fn is_current(&self, name: &str) -> bool {
        self.approver.name == name && self.approver.revoked.is_none()
    }

    /// Whether this is their key. Compares in constant time.
    fn has_key(&self, secret: &str, key: &StoreKey) -> bool {
        let Some((salt, hash)) = self.hash.split_once(':') else { return false };
        let mac = key.approver_mac(&hash_input(&self.approver, salt, secret));
        unhex::<32>(hash).is_some_and(|hash| mac.verify_slice(&hash).is_ok())
    }
}

/// Applies changes to all approvers of a store. Returns the rows that were added or revoked, in order.
pub(crate) fn apply_changes(
    rows: &mut Vec<StoredApprover>,
    changes: &[ApproverChange],
    time: Timestamp,
    key: &StoreKey,
) -> Result<Vec<StoredApprover>> {
    let mut changed = Vec::new();
    for change in changes {
        match change {
            ApproverChange::Add(new) => {
                let row = StoredApprover::new(rows, new, time, key)?;
                changed.push(row.clone());
                rows.push(row);
            }
            ApproverChange::Revoke(name) => {
                let Some(row) = rows.iter_mut().find(|row| row.is_current(name)) else {
                    return Err(StoreError::Refused { what: format!("there is no approver `{name}`") });
                };
                row.approver.revoked = Some(whole_micros(time));
                changed.push(row.clone());
            }
        }
    }
    Ok(changed)
}

/// The approver with this name, if this is their key.
pub(crate) fn check_key(
    rows: &[StoredApprover],
    name: &str,
    secret: &str,
    key: &StoreKey,
) -> Option<Approver> {
    if secret.len() > MAX_KEY {
        return None;
    }
    let Some(row) = rows.iter().find(|row| row.is_current(name)) else {
        // An unknown name takes as long as a known one.
        let unknown =
            Approver { name: name.to_owned(), roles: Vec::new(), created: Timestamp::MIN, revoked: None };
        let hash = format!(":{}", hex::encode(&[0; 32]));
        let _ = StoredApprover { approver: unknown, hash }.has_key(secret, key);
        return None;
    };
    row.has_key(secret, key).then(|| row.approver.clone())
}

/// The text that is hashed. It contains name and roles, so that a key is invalid in a row that was edited by hand.
fn hash_input(approver: &Approver, salt: &str, secret: &str) -> String {
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
    fn key_matches_its_row_only() {
        let key = StoreKey::from_seed(&[7; 32]);
        let row = StoredApprover::new(&[], &ada(SECRET), Timestamp::UNIX_EPOCH, &key).unwrap();
        let check = |row: &StoredApprover, name: &str, secret: &str, key: &StoreKey| {
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
            let damaged = StoredApprover { hash: hash.to_owned(), ..row.clone() };
            assert_eq!(check(&damaged, "ada", SECRET, &key), None);
        }
    }

    #[test]
    fn stored_rows_and_debug_output_do_not_reveal_the_key() {
        let key = StoreKey::from_seed(&[7; 32]);
        let rows =
            [(); 2].map(|()| StoredApprover::new(&[], &ada(SECRET), Timestamp::UNIX_EPOCH, &key).unwrap());
        assert_ne!(rows[0].hash, rows[1].hash, "the salt is new each time");
        let shown = format!("{:?} {:?}", rows[0], ApproverChange::Add(ada(SECRET)));
        assert!(!shown.contains(SECRET) && shown.contains("architect"), "{shown}");
    }

    #[test]
    fn bad_names_and_weak_keys_are_refused() {
        let key = StoreKey::from_seed(&[7; 32]);
        let refusal = |new: &NewApprover| {
            StoredApprover::new(&[], new, Timestamp::UNIX_EPOCH, &key).unwrap_err().to_string()
        };
        for name in ["", " ada", "ada\n", "a\u{1b}[2J"] {
            assert!(
                refusal(&NewApprover { name: name.to_owned(), ..ada(SECRET) })
                    .contains("is not a valid name")
            );
        }
        for secret in ["", "password", &"x".repeat(MIN_KEY - 1), &"x".repeat(MAX_KEY + 1)] {
            let text = refusal(&ada(secret));
            assert_eq!(text, "the key of `ada` must have 32 to 1024 bytes, and nothing was written");
        }
        assert!(StoredApprover::new(&[], &ada(&"x".repeat(MIN_KEY)), Timestamp::UNIX_EPOCH, &key).is_ok());
    }
}
