//! Runs that stand still until a person lets them go on.

use midrail_core::{HALTED, HELD, STRIKES, approval_key};
use midrail_store::{Commit, NewNotice, Slice};
use serde::Serialize;
use serde_json::{Value, json};

use super::{not_allowed, refused};
use crate::administer::Act;
use crate::engine::{Engine, EngineError};
use crate::people::Person;

/// A run that stands still until a person lets it go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Halted {
    /// Its session.
    pub session: String,
    /// The guardrail that ended it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// It was not ended: a person said no to a question that holds it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

/// What keeps a run from going on, as the store holds it.
struct Standing {
    halted: Slice,
    strikes: Slice,
    held_version: u64,
    /// What holds it although a person was asked, and said no.
    denied: Vec<Value>,
    /// What holds it otherwise.
    open: Vec<Value>,
}

impl Engine {
    /// The runs that stand still until a person lets them go on.
    pub fn halted(&self) -> Result<Vec<Halted>, EngineError> {
        let mut runs = Vec::new();
        for info in self.store().sessions()? {
            let standing = self.standing_of(&info.session)?;
            let text = |value: &Value, name: &str| {
                value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let found = match (&standing.halted.value, standing.denied.first()) {
                (Some(halted), _) => Some((halted, false)),
                (None, Some(held)) => Some((held, true)),
                (None, None) => None,
            };
            let Some((row, denied)) = found else { continue };
            let by = text(row, if denied { "guardrail" } else { "by" });
            runs.push(Halted { session: info.session, by, reason: text(row, "reason"), denied });
        }
        Ok(runs)
    }

    /// What keeps a run from going on.
    fn standing_of(&self, session: &str) -> Result<Standing, EngineError> {
        let mut slices = self.store().load(session, &[HALTED, STRIKES, HELD])?.into_iter();
        let mut next = || slices.next().unwrap_or_default();
        let (halted, strikes, held) = (next(), next(), next());
        let (mut denied, mut open) = (Vec::new(), Vec::new());
        for row in held.value.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
            let key = approval_key(text("guardrail"), text("action"));
            let answer = self.store().load(session, &[&key])?.into_iter().next().unwrap_or_default();
            let state = answer.value.as_ref().and_then(|held| held.get("state")).and_then(Value::as_str);
            if state == Some("denied") { denied.push(row.clone()) } else { open.push(row.clone()) }
        }
        Ok(Standing { halted, strikes, held_version: held.version, denied, open })
    }

    /// Lets a run that was halted go on, or one that a denied question holds. It begins with no strikes. That is for
    /// supervisors and people to say.
    pub fn lift_halt(&self, session: &str, by: &Person, reason: &str) -> Result<(), EngineError> {
        let Standing { halted, strikes, held_version, denied, open } = self.standing_of(session)?;
        if halted.value.is_none() && denied.is_empty() {
            return Err(refused(format!("the run `{session}` is not halted")));
        }
        if by.name() == session {
            return Err(not_allowed(format!("`{session}` cannot lift its own halt")));
        }
        self.may_lift(by, "a halt")?;
        let reason = &*self.masked_text(reason)?;
        let act = Act::of("halt_lifted").in_session(session).with("by", by.name()).with("reason", reason);
        let record = self.administered(act)?;
        let read = [(HALTED, halted.version), (STRIKES, strikes.version), (HELD, held_version)];
        let read = read.into_iter().map(|(key, version)| (key.to_owned(), version));
        let mut commit = Commit { read: read.collect(), ..Commit::new(&record) };
        commit.changes.remove(HALTED);
        if strikes.value.is_some() {
            commit.changes.remove(STRIKES);
        }
        // What nobody has answered yet is still a question.
        match (denied.is_empty(), open.is_empty()) {
            (true, _) => {}
            (false, true) => commit.changes.remove(HELD),
            (false, false) => commit.changes.set(HELD, open),
        }
        commit.notices.push(NewNotice {
            to: "orchestrator".to_owned(),
            kind: "halt".to_owned(),
            message: format!("{} lets the run `{session}` go on: {reason}", by.name()),
            body: json!({"session": session, "by": by.name()}),
        });
        self.commit(&commit)
    }
}
