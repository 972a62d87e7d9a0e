//! People: who may answer, and how they prove who they are.

use midrail_core::Authorities;
use midrail_store::{Approver, ApproverChange, Commit, NewApprover, NewNotice};
use serde_json::json;

use crate::administer::Act;
use crate::engine::{Engine, EngineError};

/// Someone who answers requests. There is none unless a key was shown, or a program vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    roles: Vec<String>,
}

impl Person {
    /// Someone whom the calling program has made sure of by its own means.
    pub fn vouched_for<R: Into<String>>(name: impl Into<String>, roles: impl IntoIterator<Item = R>) -> Self {
        Person { name: name.into(), roles: roles.into_iter().map(Into::into).collect() }
    }

    /// Their name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The roles in which they answer.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// The role in which they may decide what is put to another, the one with the most authority first.
    pub(crate) fn role_for(&self, addressed: &str, authorities: &Authorities) -> Option<&str> {
        let rank = |role: &str| authorities.order.iter().position(|other| other == role);
        let mut fitting: Vec<&str> = self
            .roles
            .iter()
            .map(String::as_str)
            .filter(|role| authorities.may_decide(role, addressed))
            .collect();
        fitting.sort_by_key(|role| rank(role));
        fitting.last().copied()
    }
}

impl Engine {
    /// Makes someone an approver. The key that comes back is shown once and kept nowhere; the store has a hash of it.
    pub fn add_approver(&self, name: &str, roles: &[String]) -> Result<String, EngineError> {
        if roles.is_empty() || roles.iter().any(|role| role.trim().is_empty()) {
            return Err(EngineError::Approval(format!("`{name}` needs a role to answer in")));
        }
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| EngineError::Approval(format!("no key could be made: {error}")))?;
        let key = format!("mrk_{}", midrail_core::hex(&bytes));
        let new = NewApprover { name: name.to_owned(), roles: roles.to_vec(), key: key.clone() };
        let record = self.administered(
            Act::of("approver_added").with("approver", json!({"name": name, "roles": roles})),
        )?;
        let commit = Commit {
            approvers: vec![ApproverChange::Add(new)],
            notices: vec![NewNotice {
                to: "human_operator".to_owned(),
                kind: "approver".to_owned(),
                message: format!("`{name}` may now answer requests as {}", roles.join(", ")),
                body: json!({"name": name, "roles": roles}),
            }],
            ..Commit::new(&record)
        };
        self.commit(&commit)?;
        Ok(key)
    }

    /// Takes from someone the right to answer. Their name stays on record.
    pub fn revoke_approver(&self, name: &str) -> Result<(), EngineError> {
        let record =
            self.administered(Act::of("approver_revoked").with("approver", json!({"name": name})))?;
        let commit =
            Commit { approvers: vec![ApproverChange::Revoke(name.to_owned())], ..Commit::new(&record) };
        self.commit(&commit)
    }

    /// The person of a name, if this is their key. A wrong key is counted and logged.
    pub fn person(&self, name: &str, key: &str) -> Result<Person, EngineError> {
        match self.store().check_key(name, key.trim())? {
            Some(Approver { name, roles, .. }) => Ok(Person { name, roles }),
            None => {
                let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                log::warn!("a wrong key was given for the approver `{shown}`");
                self.store().count("wrong_approver_keys", 1)?;
                Err(EngineError::Approval(format!("there is no approver `{shown}` with this key")))
            }
        }
    }
}
