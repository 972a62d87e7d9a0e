//! People: who may answer, and how they prove who they are.

use midrail_core::Authorities;
use midrail_store::{Approver, ApproverChange, Commit, NewApprover, NewNotice};
use serde_json::json;

use crate::administer::{Act, NO_SESSION};
use crate::engine::{Engine, EngineError};

/// The slice that changes with the list of approvers, so that of two who want to be the first one is.
const APPROVERS: &str = "shared/approvers";

/// Where it is kept that a session was ended.
fn signed_out_key(session: &str) -> String {
    format!("shared/signed_out/{session}")
}

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
    /// Whether anybody may answer.
    pub fn has_approvers(&self) -> Result<bool, EngineError> {
        Ok(self.store().approvers()?.iter().any(|approver| approver.revoked.is_none()))
    }

    /// Makes someone an approver. The key that comes back is shown once and kept nowhere; the store has a hash of it.
    ///
    /// The first one takes nobody's leave. Every other is made by a person of a human role, or by the first of those
    /// who are approvers now.
    pub fn add_approver(
        &self,
        name: &str,
        roles: &[String],
        by: Option<&Person>,
    ) -> Result<String, EngineError> {
        if roles.is_empty() || roles.iter().any(|role| role.trim().is_empty()) {
            return Err(EngineError::InvalidRequest(format!("`{name}` needs a role to answer in")));
        }
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| EngineError::Approval(format!("no key could be made: {error}")))?;
        let key = format!("mrk_{}", midrail_core::hex::encode(&bytes));
        let new = NewApprover { name: name.to_owned(), roles: roles.to_vec(), key: key.clone() };
        let version = self.may_change_approvers(by)?;
        let mut act = Act::of("approver_added").with("approver", json!({"name": name, "roles": roles}));
        if let Some(by) = by {
            act = act.with("by", by.name());
        }
        let record = self.administered(act)?;
        let mut commit = Commit {
            read: vec![(APPROVERS.to_owned(), version)],
            approvers: vec![ApproverChange::Add(new)],
            notices: vec![NewNotice {
                to: "human_operator".to_owned(),
                kind: "approver".to_owned(),
                message: format!("`{name}` may now answer requests as {}", roles.join(", ")),
                body: json!({"name": name, "roles": roles}),
            }],
            ..Commit::new(&record)
        };
        commit.changes.set(APPROVERS, json!({"since": self.now().to_string()}));
        self.commit(&commit)?;
        Ok(key)
    }

    /// Takes from someone the right to answer, and takes back what they have approved and nobody has used; answers how
    /// many approvals those were. Their name stays on record. Everyone may do so for themselves; for others it takes
    /// whom it takes to add one.
    pub fn revoke_approver(&self, name: &str, by: Option<&Person>) -> Result<usize, EngineError> {
        let version = match by {
            Some(by) if by.name() == name => self.approvers_version()?,
            by => self.may_change_approvers(by)?,
        };
        let taken_back = |by: Option<&Person>| match by {
            Some(by) if self.store().approver(name)?.is_some() => self.take_back_all(name, by),
            _ => Ok(0),
        };
        // Before, so that whoever is interrupted can begin anew; and after, for what they approved meanwhile.
        let before = taken_back(by)?;
        let mut act = Act::of("approver_revoked").with("approver", json!({"name": name}));
        if let Some(by) = by {
            act = act.with("by", by.name());
        }
        let record = self.administered(act)?;
        let mut commit = Commit {
            read: vec![(APPROVERS.to_owned(), version)],
            approvers: vec![ApproverChange::Revoke(name.to_owned())],
            ..Commit::new(&record)
        };
        commit.changes.set(APPROVERS, json!({"since": self.now().to_string()}));
        self.commit(&commit)?;
        Ok(before + by.map_or(Ok(0), |by| self.take_back_all(name, by))?)
    }

    /// Whether somebody may say who answers, and the version of the list that this was judged by.
    pub(crate) fn may_change_approvers(&self, by: Option<&Person>) -> Result<u64, EngineError> {
        let version = self.approvers_version()?;
        let refused = |why: String| Err(EngineError::NotAllowed(why));
        let all = self.store().approvers()?;
        let Some(first) = all.iter().find(|approver| approver.revoked.is_none()) else { return Ok(version) };
        let Some(by) = by else {
            return refused("there are approvers already, and one of them has to say so".to_owned());
        };
        let policy = self.policy();
        let humans = &policy.authorities().humans;
        if first.name == by.name() || by.roles().iter().any(|role| humans.contains(role)) {
            return Ok(version);
        }
        refused(format!(
            "`{}` answers as {}, and who may answer is said by the role {}, or by `{}`, who was first",
            by.name(),
            by.roles().join(", "),
            humans.join(" or "),
            first.name
        ))
    }

    fn approvers_version(&self) -> Result<u64, EngineError> {
        let slices = self.store().load(NO_SESSION, &[APPROVERS])?;
        Ok(slices.into_iter().next().unwrap_or_default().version)
    }

    /// Ends a session in which a person was known without showing their key, wherever it is shown from now on.
    pub fn sign_out(&self, by: &Person, session: &str) -> Result<(), EngineError> {
        let record = self.administered(Act::of("signed_out").with("by", by.name()))?;
        let mut commit = Commit::new(&record);
        commit.changes.set(&*signed_out_key(session), true);
        self.commit(&commit)
    }

    /// Whether a session was ended by [`Engine::sign_out`].
    pub fn is_signed_out(&self, session: &str) -> Result<bool, EngineError> {
        let slices = self.store().load(NO_SESSION, &[&signed_out_key(session)])?;
        Ok(slices.into_iter().any(|slice| slice.value.is_some()))
    }

    /// The person of a name, if this is their key. A wrong key is counted and logged.
    pub fn person(&self, name: &str, key: &str) -> Result<Person, EngineError> {
        match self.store().check_key(name, key.trim())? {
            Some(Approver { name, roles, .. }) => Ok(Person { name, roles }),
            None => {
                let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                log::warn!("a wrong key was given for the approver `{shown}`");
                self.store().increment_counter("wrong_approver_keys", 1)?;
                Err(EngineError::Approval(format!("there is no approver `{shown}` with this key")))
            }
        }
    }
}
