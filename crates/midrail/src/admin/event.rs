//! Administrative changes, as the audit log records them, and the people who make them.

use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Authorities, Decision, Event, EventKind, Record};
use midrail_scan::secrets::{self, Mask};
use midrail_store::{Approval, NewNotice};
use serde_json::{Map, Value};

use crate::error::EngineResult;

/// The session of changes that belong to no session.
pub(crate) const NO_SESSION: &str = "midrail";

/// An administrative change before it is recorded.
pub(crate) struct AdminEvent {
    session: String,
    kind: EventKind,
    fields: Map<String, Value>,
}

impl AdminEvent {
    /// A change with its name, such as `lock_taken`.
    pub(crate) fn new(name: &str) -> Self {
        let fields = Map::from_iter([("what".to_owned(), Value::from(name))]);
        AdminEvent { session: NO_SESSION.to_owned(), kind: EventKind::Administered, fields }
    }

    pub(crate) fn in_session(mut self, session: &str) -> Self {
        self.session = session.to_owned();
        self
    }

    pub(crate) fn with_kind(mut self, kind: EventKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// The change of an approval, in its session.
    pub(crate) fn about(self, approval: &Approval) -> EngineResult<Self> {
        Ok(self.in_session(&approval.session).with("approval", serde_json::to_value(approval)?))
    }

    /// The same, by a person.
    pub(crate) fn by(self, person: Option<&Person>) -> Self {
        match person {
            Some(person) => self.with("by", person.name()),
            None => self,
        }
    }

    /// The audit record of the change, with secrets in its fields replaced.
    pub(crate) fn into_record(self, now: Timestamp, key: &[u8], policy: &Arc<str>) -> Record {
        let value = Value::Object(self.fields);
        let mask = Mask::new(&value, &secrets::scan_json(&value, key));
        let mut event = Event::new(self.kind).in_session(&*self.session);
        event.time = Some(now);
        if let Value::Object(fields) = mask.value(value) {
            event.extra.extend(fields);
        }
        Record {
            time: now,
            session: self.session,
            event,
            slices: Default::default(),
            facts: Default::default(),
            decision: Decision { policy: policy.clone(), ..Decision::default() },
            denied: None,
        }
    }
}

/// A notice to a role or a program.
pub(crate) fn notice(to: &str, kind: &str, message: String, body: Value) -> NewNotice {
    NewNotice { to: to.to_owned(), kind: kind.to_owned(), message, body }
}

/// A person who answers requests or administers Midrail, after they have proven who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    roles: Vec<String>,
}

impl Person {
    /// A person whom the calling program has authenticated.
    pub fn authenticated<R: Into<String>>(
        name: impl Into<String>,
        roles: impl IntoIterator<Item = R>,
    ) -> Self {
        Person { name: name.into(), roles: roles.into_iter().map(Into::into).collect() }
    }

    /// The person's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The person's roles.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// Whether the person has one of the given roles.
    pub(crate) fn has_role<'r>(&self, roles: impl IntoIterator<Item = &'r String>) -> bool {
        roles.into_iter().any(|role| self.roles.contains(role))
    }

    /// The person's role with the most authority that may decide a request addressed to a role.
    pub(crate) fn role_for(&self, addressed: &str, authorities: &Authorities) -> Option<&str> {
        let rank = |role: &str| authorities.order.iter().position(|other| other == role);
        let roles = self.roles.iter().map(String::as_str);
        roles.filter(|role| authorities.may_decide(role, addressed)).max_by_key(|role| rank(role))
    }
}
