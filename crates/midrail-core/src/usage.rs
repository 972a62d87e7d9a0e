//! What a task has used of its budgets, as the host reports it or as Midrail adds it up.

use jiff::Timestamp;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::action::ActionType;
use crate::budget::{Autonomy, Budget, Resource, UsageSource};
use crate::definition::Deadline;
use crate::effect::Effect;
use crate::event::{EventKind, Risk};
use crate::facts::{Fact, FactKey};
use crate::hex;
use crate::inputs::{Inputs, Missing};
use crate::session::{Changes, SHARED_PREFIX};

/// The slice with the time at which the run began, if it has a deadline.
pub const RUN_START: &str = "began";

/// The number of recent calls of a task that are kept by id, so that a result reported twice counts once.
const MAX_COUNTED: usize = 32;

/// The calls of a task that were counted when they were allowed and have not ended, by their marks.
const BEGUN: &str = "begun";

/// The resources that Midrail adds up itself, and their names in the slice.
const SUMS: [(Resource, &str); 3] =
    [(Resource::Tokens, "tokens"), (Resource::Cost, "cost"), (Resource::Calls, "calls")];

impl Inputs<'_> {
    /// A budget of the task: of several for one resource, the one with the least left after this action.
    pub fn budget(&self, resource: Resource) -> Result<Option<Budget>, Missing> {
        let [task, deadline] = self.budgets(resource)?;
        Ok(match (task, deadline) {
            (Some(task), Some(deadline)) => Some(if deadline.load() > task.load() { deadline } else { task }),
            (task, deadline) => task.or(deadline),
        })
    }

    /// The budget of the tasks, and for time also the one that the deadline sets.
    fn budgets(&self, resource: Resource) -> Result<[Option<Budget>; 2], Missing> {
        let task = self.task_budget(resource)?;
        let deadline = if resource == Resource::Time { self.deadline_budget()? } else { None };
        Ok([task, deadline])
    }

    fn task_budget(&self, resource: Resource) -> Result<Option<Budget>, Missing> {
        let Some(limit) = self.tasks().filter_map(|task| resource.limit(task)).reduce(f64::min) else {
            return Ok(None);
        };
        let usage = self.event.usage.as_ref();
        let (used, measure) = match usage.and_then(|usage| resource.used(usage)) {
            Some(used) => (used.max(0.0), UsageSource::Host),
            None => self.spent(resource)?,
        };
        // A negative estimate gives nothing back.
        let estimated = usage.and_then(|usage| resource.estimated(usage)).unwrap_or(0.0).max(0.0);
        Ok(Some(Budget { used, estimated, limit, measure, is_deadline: false }))
    }

    /// The time from the start of the run to its deadline.
    fn deadline_budget(&self) -> Result<Option<Budget>, Missing> {
        let Some(deadline) = self.deadline()? else { return Ok(None) };
        let start = self.run_start()?;
        let used = self.now()?.duration_since(start).as_secs_f64();
        let estimated = self.event.usage.as_ref().and_then(|usage| usage.estimated_s).unwrap_or(0.0);
        let limit = deadline.duration_since(start).as_secs_f64().max(0.0);
        Ok(Some(Budget { used, estimated, limit, measure: UsageSource::Midrail, is_deadline: true }))
    }

    /// When the run must be finished: the earliest deadline of the event and the definitions.
    pub fn deadline(&self) -> Result<Option<Timestamp>, Missing> {
        let mut earliest = self.event.deadline;
        for deadline in self.definitions().filter_map(|definition| definition.deadline) {
            let time = match deadline {
                Deadline::At(time) => time,
                Deadline::After(_) => deadline.resolve(self.run_start()?),
            };
            earliest = Some(earliest.map_or(time, |other| other.min(time)));
        }
        Ok(earliest)
    }

    /// The start of the run: its first event with a deadline, which may be this one.
    pub fn run_start(&self) -> Result<Timestamp, Missing> {
        let stored = self.slice(RUN_START)?.and_then(Value::as_str).and_then(|text| text.parse().ok());
        let now = self.now()?;
        Ok(stored.map_or(now, |start: Timestamp| start.min(now)))
    }

    /// The time of the event.
    pub fn now(&self) -> Result<Timestamp, Missing> {
        self.event.time.ok_or_else(|| Missing("the event has no time".to_owned()))
    }

    /// Midrail's own sum.
    fn spent(&self, resource: Resource) -> Result<(f64, UsageSource), Missing> {
        let slice = self.slice(&spent_key(self.event.task_id()))?;
        let entry = |name: &str| slice.and_then(|slice| slice.get(name));
        let sum = |name: &str| match entry(name).and_then(Value::as_f64) {
            Some(sum) => (sum, UsageSource::Midrail),
            None => (0.0, UsageSource::Unmeasured),
        };
        Ok(match resource {
            Resource::Tokens => sum("tokens"),
            Resource::Cost => sum("cost"),
            Resource::Calls => (sum("calls").0, UsageSource::Midrail),
            Resource::Time => {
                let since: Option<Timestamp> =
                    entry("since").and_then(Value::as_str).and_then(|text| text.parse().ok());
                let now = self.now()?;
                let used = since.map_or(0.0, |since| now.duration_since(since).as_secs_f64().max(0.0));
                (used, UsageSource::Midrail)
            }
        })
    }

    /// The autonomy of the agent, by the remaining budgets.
    pub fn autonomy(&self) -> Result<Autonomy, Missing> {
        let mut least = 1.0_f64;
        for resource in Resource::ALL {
            for budget in self.budgets(resource)?.into_iter().flatten() {
                least = least.min(budget.remaining());
            }
        }
        Ok(Autonomy::from_remaining(least))
    }

    /// Whether limits for warnings are a fifth lower: the risk is critical, or half of a budget is used. The thresholds of
    /// the budgets themselves stay, so that a run can use its whole budget.
    pub fn is_tightened(&self) -> Result<bool, Missing> {
        Ok(self.risk() == Some(Risk::Critical) || self.autonomy()? >= Autonomy::Strict)
    }

    /// A budget including the usage of the call that this event ends, which is not in the sum yet.
    pub fn budget_after(&self, resource: Resource) -> Result<Option<Budget>, Missing> {
        let Some(budget) = self.budget(resource)? else { return Ok(None) };
        let is_counted = self.is_end_of_call() && budget.measure != UsageSource::Host;
        let begun =
            self.slice(&spent_key(self.event.task_id()))?.and_then(|spent| spent.get(BEGUN)?.as_array());
        let is_begun = begun.is_some_and(|begun| begun.contains(&self.mark()));
        Ok(Some(match self.call_usage(resource, is_begun).filter(|_| is_counted) {
            Some(amount) => Budget { used: budget.used + amount, measure: UsageSource::Midrail, ..budget },
            None => budget,
        }))
    }

    /// Stores the start of the run, if a deadline depends on it.
    pub(crate) fn record_run_start(&self, changes: &mut Changes) -> Result<(), Missing> {
        let has_deadline = self.event.deadline.is_some()
            || self.definitions.iter().any(|definition| definition.deadline.is_some());
        if has_deadline
            && !self.event.kind.is_internal()
            && let Some(time) = self.event.time
            && self.slice(RUN_START)?.is_none()
        {
            changes.set(RUN_START, time.to_string());
        }
        Ok(())
    }

    /// Adds the usage of an event to the sum of its task. Nothing is stored if no budget is set.
    pub(crate) fn record_usage(&self, effect: Effect, changes: &mut Changes) -> Result<(), Missing> {
        let event = self.event;
        let is_start =
            matches!(event.kind, EventKind::SessionStart | EventKind::BeforeModel | EventKind::BeforeTool);
        let is_limited = |resource: Resource| self.tasks().any(|task| resource.limit(task).is_some());
        if !(is_start || self.is_end_of_call()) || !Resource::ALL.into_iter().any(is_limited) {
            return Ok(());
        }
        let key = spent_key(event.task_id());
        let before = self.slice(&key)?;
        let mut spent: Map<String, Value> = before.and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(time) = event.time
            && !spent.contains_key("since")
        {
            spent.insert("since".to_owned(), time.to_string().into());
        }
        let is_begun = self.begin_call(effect, &mut spent)?;
        let counted = self.add_call(is_begun, &mut spent);
        if !counted.is_empty() {
            spent.insert("counted".to_owned(), counted.into());
        }
        let after = Value::Object(spent);
        if before != Some(&after) {
            changes.set(key, after);
        }
        Ok(())
    }

    /// Counts an external call as soon as it is allowed: calls that run at the same time have no results yet. Returns whether the
    /// call that this event ends was counted so.
    fn begin_call(&self, effect: Effect, spent: &mut Map<String, Value>) -> Result<bool, Missing> {
        let mut begun = match spent.remove(BEGUN) {
            Some(Value::Array(begun)) => begun,
            _ => Vec::new(),
        };
        let mark = self.mark();
        let place = begun.iter().position(|other| *other == mark);
        let is_ended = self.event.kind == EventKind::AfterTool && place.is_some();
        if let Some(place) = place.filter(|_| is_ended) {
            begun.remove(place);
        }
        // A call with an id is decided again where several hooks report it, or where it waited for an approval.
        let is_new = place.is_none() || mark.as_str() == Some("");
        let starts = self.event.kind == EventKind::BeforeTool && effect.allows() && is_new;
        if starts && self.limits_calls() && self.contacts_other_host()? {
            let calls = spent.get("calls").and_then(Value::as_f64).unwrap_or(0.0) + 1.0;
            spent.insert("calls".to_owned(), calls.into());
            begun.push(mark);
            begun.drain(..begun.len().saturating_sub(MAX_COUNTED));
        }
        if !begun.is_empty() {
            spent.insert(BEGUN.to_owned(), begun.into());
        }
        Ok(is_ended)
    }

    fn limits_calls(&self) -> bool {
        self.tasks().any(|task| Resource::Calls.limit(task).is_some())
    }

    /// The mark of the event's call in the sum of its task. Empty, if the call has no id.
    fn mark(&self) -> Value {
        self.event.call_id().map(|id| call_mark(&self.session.id, id)).unwrap_or_default().into()
    }

    /// Adds the call that this event ends, and returns the calls that are counted.
    fn add_call(&self, is_begun: bool, spent: &mut Map<String, Value>) -> Vec<Value> {
        let mark = self.event.call_id().map(|id| call_mark(&self.session.id, id));
        let mut counted = match spent.remove("counted") {
            Some(Value::Array(counted)) => counted,
            _ => Vec::new(),
        };
        let is_this = |other: &Value| mark.is_some() && other.as_str() == mark.as_deref();
        if self.event.kind == EventKind::BeforeTool {
            // A host may reuse the id of a finished call.
            counted.retain(|other| !is_this(other));
        }
        if !self.is_end_of_call() || counted.iter().any(is_this) {
            return counted;
        }
        // A call that was counted when it was allowed is not counted again when its result is reported twice.
        let mut is_changed = is_begun;
        for (resource, name) in SUMS {
            if let Some(amount) = self.call_usage(resource, is_begun) {
                let sum = Value::from(spent.get(name).and_then(Value::as_f64).unwrap_or(0.0) + amount);
                is_changed |= spent.insert(name.to_owned(), sum.clone()) != Some(sum);
            }
        }
        if is_changed && let Some(mark) = mark {
            counted.push(mark.into());
            counted.drain(..counted.len().saturating_sub(MAX_COUNTED));
        }
        counted
    }

    fn is_end_of_call(&self) -> bool {
        matches!(self.event.kind, EventKind::AfterTool | EventKind::AfterModel)
    }

    /// The usage of the call that this event ends, if it is known, without what was counted when it was allowed.
    fn call_usage(&self, resource: Resource, is_begun: bool) -> Option<f64> {
        let event = self.event;
        let call = event.usage.as_ref().and_then(|usage| usage.call.as_ref());
        let is_counted = || {
            resource == Resource::Calls
                && event.kind == EventKind::AfterTool
                && self.limits_calls()
                && self.contacts_other_host().unwrap_or(false)
        };
        let reported = call.and_then(|call| resource.used_by_call(call)).map(|amount| amount.max(0.0));
        match reported.or_else(|| is_counted().then_some(1.0)) {
            Some(calls) if resource == Resource::Calls && is_begun => Some((calls - 1.0).max(0.0)),
            amount => amount,
        }
    }

    /// Whether the event's tool contacts another machine.
    pub fn contacts_other_host(&self) -> Result<bool, Missing> {
        match self.fact(FactKey::Action)? {
            Fact::Action(action) => Ok(action.has_unknown_hosts
                || (action.hosts.is_empty() && action.kind == ActionType::Network)
                || action.hosts.iter().any(|host| !is_loopback(host))),
            _ => Ok(false),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "0.0.0.0"
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// The slice with the usage that Midrail recorded for a task. A named task is the same in every session.
fn spent_key(task: &str) -> String {
    if task.is_empty() { "spent/".to_owned() } else { format!("{SHARED_PREFIX}spent/{task}") }
}

/// The mark of a call in the sum of its task, which may span several sessions.
fn call_mark(session: &str, id: &str) -> String {
    let whole = hex::encode(&Sha256::digest(format!("{session}\n{id}").as_bytes()));
    whole.get(..16).unwrap_or_default().to_owned()
}
