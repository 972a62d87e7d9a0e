//! Approvers: the people who may answer requests, and how they prove who they are.

use midrail_store::{Approver, ApproverChange, Commit, NewApprover, NewNotice};
use serde_json::json;

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};
use crate::ids::random_hex;

/// The slice that changes with the list of approvers, so that only one of two concurrent first approvers is added.
const APPROVERS: &str = "shared/approvers";

fn signed_out_key(session: &str) -> String {
    format!("shared/signed_out/{session}")
}

impl Resource for Approver {
    const TITLE: &'static str = "Approvers";
    const EMPTY: &'static str =
        "There are no approvers. Add one with `midrail approver add NAME --role ROLE`.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("name", 40, |approver| Cell::Text(approver.name.clone())),
        Column::new("roles", 60, |approver| Cell::Text(approver.roles.join(", "))),
        Column::new("since", 20, |approver| Cell::Time(approver.created)),
        Column::new("", 40, |approver| Cell::revoked(approver.revoked, String::new())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        Ok(admin.engine.store().approvers()?)
    }

    fn is_revoked(&self) -> bool {
        self.revoked.is_some()
    }
}

impl Admin<'_> {
    /// Whether there is an approver.
    pub fn has_approvers(&self) -> EngineResult<bool> {
        Ok(self.engine.store().approvers()?.iter().any(|approver| approver.revoked.is_none()))
    }

    /// Adds an approver and returns their key, of which the store keeps only a hash.
    ///
    /// The first approver needs no permission. Every other is added by a human operator or by the first approver.
    pub fn add_approver(&self, name: &str, roles: &[String], by: Option<&Person>) -> EngineResult<String> {
        if roles.is_empty() || roles.iter().any(|role| role.trim().is_empty()) {
            return Err(EngineError::invalid(format!("`{name}` needs a role to answer in")));
        }
        let key = format!("mrk_{}", random_hex::<32>()?);
        let new = NewApprover { name: name.to_owned(), roles: roles.to_vec(), key: key.clone() };
        let version = self.check_may_change_approvers(by)?;
        let approver = json!({"name": name, "roles": roles});
        let message = format!("`{name}` may now answer requests as {}", roles.join(", "));
        let notice = notice("human_operator", "approver", message, approver.clone());
        let event = AdminEvent::new("approver_added").with("approver", approver);
        self.change_approvers(event, by, version, ApproverChange::Add(new), vec![notice])?;
        Ok(key)
    }

    /// Revokes an approver and their approvals that are not used yet, and returns how many approvals those were.
    /// Approvers may revoke themselves; for others it takes the permission to add one.
    pub fn revoke_approver(&self, name: &str, by: Option<&Person>) -> EngineResult<usize> {
        let version = match by {
            Some(by) if by.name() == name => self.slice(APPROVERS)?.1,
            by => self.check_may_change_approvers(by)?,
        };
        let take_back =
            |by: Option<&Person>| by.map_or(Ok(0), |by| self.engine.approvals().revoke_all(name, by));
        // Before, so that an interrupted call can be repeated; and after, for approvals given in between.
        let is_known = self.engine.store().approver(name)?.is_some();
        let before = if is_known { take_back(by)? } else { 0 };
        let event = AdminEvent::new("approver_revoked").with("approver", json!({"name": name}));
        self.change_approvers(event, by, version, ApproverChange::Revoke(name.to_owned()), Vec::new())?;
        Ok(before + take_back(by)?)
    }

    fn change_approvers(
        &self,
        event: AdminEvent,
        by: Option<&Person>,
        version: u64,
        change: ApproverChange,
        notices: Vec<NewNotice>,
    ) -> EngineResult {
        let read = vec![(APPROVERS.to_owned(), version)];
        let own = self.engine.admin_commit(event.by(by));
        let mut commit = Commit { read, approvers: vec![change], notices, ..own };
        commit.changes.set(APPROVERS, json!({"since": self.engine.now().to_string()}));
        self.engine.commit(&commit)
    }

    /// Checks that a person may change who answers, and returns the version of the list that this was checked against.
    pub(crate) fn check_may_change_approvers(&self, by: Option<&Person>) -> EngineResult<u64> {
        let version = self.slice(APPROVERS)?.1;
        let approvers = self.engine.store().approvers()?;
        let Some(first) = approvers.iter().find(|approver| approver.revoked.is_none()) else {
            return Ok(version);
        };
        let Some(by) = by else {
            return Err(EngineError::not_allowed(
                "there are approvers already: one of them has to authorise this",
            ));
        };
        if self.is_operator(by)? {
            return Ok(version);
        }
        let (name, roles) = (by.name(), by.roles().join(", "));
        let humans = self.engine.policy().authorities().humans.join(" or ");
        Err(EngineError::not_allowed(format!(
            "`{name}` has the role {roles}; only a {humans} or the first approver `{}` may change this",
            first.name
        )))
    }

    /// Ends a browser session of a person, in every instance.
    pub fn sign_out(&self, by: &Person, session: &str) -> EngineResult {
        let mut commit = self.engine.admin_commit(AdminEvent::new("signed_out").by(Some(by)));
        commit.changes.set(&*signed_out_key(session), true);
        self.engine.commit(&commit)
    }

    /// Whether a browser session was ended by [`Admin::sign_out`].
    pub fn is_signed_out(&self, session: &str) -> EngineResult<bool> {
        Ok(self.slice(&signed_out_key(session))?.0.is_some())
    }

    /// Authenticates an approver by name and key. A wrong key is counted and logged.
    pub fn authenticate(&self, name: &str, key: &str) -> EngineResult<Person> {
        let store = self.engine.store();
        match store.check_key(name, key.trim())? {
            Some(Approver { name, roles, .. }) => Ok(Person::authenticated(name, roles)),
            None => {
                let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
                log::warn!("a wrong key was given for the approver `{shown}`");
                store.increment_counter("wrong_approver_keys", 1)?;
                Err(EngineError::conflict(format!("there is no approver `{shown}` with this key")))
            }
        }
    }
}
