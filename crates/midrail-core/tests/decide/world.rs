//! The store and probes of a test, and the loop that fetches missing values.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::{
    Changes, Decision, Effect, Evaluation, Event, EventKind, Fact, FactKey, Facts, HOLDS, Needs, NoMeter,
    Policy, Session, StopFinding, Verdict, builtin_slice_keys, evaluate,
};
use serde_json::{Value, json};

use crate::plan::{Does, Plan, plan, policy, says};

/// What could be known of one session and of the outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backing {
    pub(crate) session: String,
    pub(crate) slices: BTreeMap<String, Value>,
    pub(crate) facts: BTreeMap<FactKey, Fact>,
    /// Slices that nobody can load.
    pub(crate) unreadable: BTreeSet<String>,
    /// What the engine calls every action, where it does so.
    pub(crate) action_digest: Option<String>,
    /// How much of a chunk's text has passed on already.
    pub(crate) sent_bytes: usize,
    /// Whether more of its stream would have to be held back than can be.
    pub(crate) overlong: bool,
    /// The folder that the session works in.
    pub(crate) root: Option<String>,
}

/// A decision with all that it was made from.
pub(crate) struct Settled {
    pub(crate) decision: Decision,
    pub(crate) session: Session,
    pub(crate) facts: Facts,
    pub(crate) rounds: usize,
}

impl Backing {
    pub(crate) fn new() -> Self {
        Backing { session: "s-1".to_owned(), ..Backing::default() }
    }

    /// Loads what is needed as far as it can be had. `false`: there was nothing to load.
    fn fetch(&self, needs: &Needs, session: &mut Session, facts: &mut Facts) -> bool {
        let mut is_new = false;
        for key in needs.slices.iter().filter(|key| !self.unreadable.contains(*key)) {
            session.load(key.clone(), self.slices.get(key).cloned());
            is_new = true;
        }
        for key in &needs.facts {
            if let Some(fact) = self.facts.get(key) {
                facts.insert(key.clone(), fact.clone());
                is_new = true;
            }
        }
        is_new
    }

    /// Decides as the engine does: from nothing, fetching what turns out to be lacking, until nothing more comes.
    pub(crate) fn settle(&self, policy: &Policy, event: &Event) -> Settled {
        let mut session = Session::new(self.session.as_str());
        let mut facts = Facts {
            action_digest: self.action_digest.clone(),
            sent_bytes: self.sent_bytes,
            overlong: self.overlong,
            root: self.root.clone(),
            ..Facts::default()
        };
        for rounds in 1..1_000 {
            let evaluation = evaluate(policy, &session, &facts, event, &NoMeter);
            if !self.fetch(&evaluation.needs, &mut session, &mut facts) {
                return Settled { decision: evaluation.decision, session, facts, rounds };
            }
        }
        panic!("the needs of {event:?} have no end");
    }

    /// All facts that there are.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            action_digest: self.action_digest.clone(),
            sent_bytes: self.sent_bytes,
            overlong: self.overlong,
            root: self.root.clone(),
            known: self.facts.clone(),
            ..Facts::default()
        }
    }

    /// The digest of an action and the id of a new request about it, as `decide` names them.
    /// What a digest must tell apart is tested elsewhere; the model takes it as given.
    pub(crate) fn names(
        &self,
        guardrail: &str,
        event: &Event,
        found: Option<StopFinding>,
    ) -> (String, String) {
        let verdict = Verdict { stop_finding: found, ..Verdict::new(Effect::Escalate, "names") };
        let policy = policy(&[plan(guardrail, Does::Says(verdict))]);
        // A host that asks its own user makes no request.
        let event = &Event { host: None, ..event.clone() };
        let mut session = Session::new(self.session.as_str());
        for key in builtin_slice_keys(event, &self.session) {
            session.load(key, None);
        }
        let facts = Facts { overlong: false, ..self.facts() };
        let needs = evaluate(&policy, &session, &facts, event, &NoMeter).needs;
        let prefix = format!("approval/{}/", key_part(guardrail));
        let key = needs.slices.iter().find(|key| key.starts_with(&prefix)).unwrap();
        session.load(key.clone(), None);
        let decision = evaluate(&policy, &session, &facts, event, &NoMeter).decision;
        (key[prefix.len()..].to_owned(), decision.requests[0].id.clone())
    }

    /// The id of a new request of a guardrail about an action, as `decide` names it.
    pub(crate) fn new_id(&self, guardrail: &str, action: &str, event: &Event) -> String {
        let policy = policy(&[Plan { is_late: true, ..says(guardrail, Effect::Allow) }]);
        // The kind is no part of a name, and of some kinds nobody is asked.
        let event = &Event { host: None, kind: EventKind::BeforeTool, ..event.clone() };
        let mut session = Session::new(self.session.as_str());
        let row = json!({"guardrail": guardrail, "action": action, "reason": "why"});
        session.load(HOLDS, Some(json!([row])));
        for rounds in 0.. {
            assert!(rounds < 10, "nobody is asked");
            let Evaluation { needs, decision, .. } =
                evaluate(&policy, &session, &self.facts(), event, &NoMeter);
            if needs.slices.is_empty() {
                return decision.requests[0].id.clone();
            }
            needs.slices.into_iter().for_each(|key| session.load(key, None));
        }
        String::new()
    }

    pub(crate) fn apply(&mut self, changes: &Changes) {
        for (key, value) in &changes.0 {
            match value {
                Some(value) => self.slices.insert(key.clone(), value.clone()),
                None => self.slices.remove(key),
            };
        }
    }

    /// A person answers everything that is pending.
    pub(crate) fn answer(&mut self, state: &str) {
        for (key, held) in &mut self.slices {
            if key.starts_with("approval/") && held["state"] == json!("pending") {
                held["state"] = json!(state);
                held["by"] = json!("ada");
            }
        }
    }

    pub(crate) fn approvals(&self) -> Vec<&Value> {
        self.slices.iter().filter(|(key, _)| key.starts_with("approval/")).map(|(_, held)| held).collect()
    }
}

/// A session under way: each event is decided, and its changes are kept.
pub(crate) struct SessionRun {
    pub(crate) policy: Policy,
    pub(crate) backing: Backing,
}

impl SessionRun {
    pub(crate) fn new(plans: &[Plan]) -> Self {
        SessionRun { policy: policy(plans), backing: Backing::new() }
    }

    pub(crate) fn feed(&mut self, event: &Event) -> Decision {
        let decision = self.backing.settle(&self.policy, event).decision;
        self.backing.apply(&decision.changes);
        decision
    }
}

/// One event on a fresh session.
pub(crate) fn once(plans: &[Plan], event: &Event) -> Decision {
    SessionRun::new(plans).feed(event)
}

/// Minutes after the beginning of these tests' time.
pub(crate) fn minute(minutes: i64) -> Timestamp {
    let begin: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
    begin.checked_add(jiff::SignedDuration::from_mins(minutes)).unwrap()
}

/// A call of `Write` in the first minute.
pub(crate) fn write(path: &str) -> Event {
    Event { time: Some(minute(0)), ..Event::before_tool("Write", json!({"file_path": path})) }
}

/// An id as a part of a key: without the separators of keys, and distinct from reserved ids.
pub(crate) fn key_part(id: &str) -> String {
    if ["approval", "halted", "retry", "shadow", "shared", "spent", "stream", "strikes", "var", "warn"]
        .contains(&id)
    {
        return format!("%{id}");
    }
    id.chars()
        .map(|c| match c {
            '%' => "%25".to_owned(),
            '/' => "%2F".to_owned(),
            '@' => "%40".to_owned(),
            other => other.to_string(),
        })
        .collect()
}
