//! What a task may use up, what it has used, and how far that leaves the agent on its own.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::action::ActionType;
use crate::context::{Missing, World};
use crate::definition::Deadline;
use crate::event::{EventKind, Risk, Task};
use crate::facts::{Fact, FactKey};
use crate::hex;
use crate::session::{Changes, SHARED_PREFIX};

/// Something that a task may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Tokens of models.
    Tokens,
    /// Seconds since the task began.
    Time,
    /// Calls to the outside.
    Calls,
    /// Money.
    Cost,
}

impl Resource {
    const ALL: [Resource; 4] = [Resource::Tokens, Resource::Time, Resource::Calls, Resource::Cost];

    fn limit(self, task: &Task) -> Option<f64> {
        match self {
            Resource::Tokens => task.token_budget.map(float),
            Resource::Time => task.time_budget_s,
            Resource::Calls => task.api_call_budget.map(float),
            Resource::Cost => task.cost_budget,
        }
    }
}

/// A budget of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// What has been used so far.
    pub used: f64,
    /// What this action is expected to use.
    pub estimated: f64,
    /// What may be used.
    pub limit: f64,
    /// Who measured it.
    pub measure: UsageSource,
}

impl Budget {
    /// The share that remains, from 0 to 1. Nothing remains of a budget of nothing.
    pub fn remaining(&self) -> f64 {
        if self.limit > 0.0 { ((self.limit - self.used) / self.limit).max(0.0) } else { 0.0 }
    }

    /// The share that is used once this action is done.
    fn load(&self) -> f64 {
        if self.limit > 0.0 { (self.used + self.estimated) / self.limit } else { f64::INFINITY }
    }
}

/// Who measured what was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// The host tells it with the event.
    Host,
    /// Midrail's own sum of what was told and seen so far.
    Midrail,
    /// Nobody: nothing was ever told.
    Unmeasured,
}

/// How far an agent may go on its own, by the share of its budgets that remains.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Autonomy {
    /// More than half remains: everything is as the packs say.
    #[default]
    Standard,
    /// Half or less: thresholds are tightened.
    Strict,
    /// Less than a fifth: warnings become blocks.
    Lockdown,
    /// Nothing: no action happens.
    Halt,
}

impl Autonomy {
    fn of(remaining: f64) -> Self {
        if remaining > 0.5 {
            Autonomy::Standard
        } else if remaining >= 0.2 {
            Autonomy::Strict
        } else if remaining > 0.0 {
            Autonomy::Lockdown
        } else {
            Autonomy::Halt
        }
    }

    /// The word in decisions.
    pub fn as_str(self) -> &'static str {
        match self {
            Autonomy::Standard => "standard",
            Autonomy::Strict => "strict",
            Autonomy::Lockdown => "lockdown",
            Autonomy::Halt => "halt",
        }
    }
}

impl fmt::Display for Autonomy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The slice that says when the run began, where it has a deadline.
pub const RUN_START: &str = "began";

/// How many of the last calls of a task are known by name, so that a result that is told twice is counted once.
const MAX_COUNTED: usize = 32;

/// What Midrail adds up itself, and where it stands in the slice.
const SUMS: [(Resource, &str); 3] =
    [(Resource::Tokens, "tokens"), (Resource::Cost, "cost"), (Resource::Calls, "calls")];

/// What tightened thresholds are multiplied with.
const TIGHTENED: f64 = 0.8;

impl World<'_> {
    /// Of several budgets for one thing the one that this action leaves the least of.
    pub(crate) fn budget(&self, of: Resource) -> Result<Option<Budget>, Missing> {
        let [one, other] = self.budgets(of)?;
        Ok(match (one, other) {
            (Some(one), Some(other)) => Some(if other.load() > one.load() { other } else { one }),
            (one, other) => one.or(other),
        })
    }

    /// The budget that is set, and for time what the deadline leaves.
    fn budgets(&self, of: Resource) -> Result<[Option<Budget>; 2], Missing> {
        let set = self.set_budget(of)?;
        let until = if of == Resource::Time { self.time_until_deadline()? } else { None };
        Ok([set, until])
    }

    /// The time from the beginning of the run to its deadline.
    fn time_until_deadline(&self) -> Result<Option<Budget>, Missing> {
        let Some(deadline) = self.deadline()? else { return Ok(None) };
        let began = self.run_start()?;
        let now = self.now()?;
        let estimated = self.event.usage.as_ref().and_then(|usage| usage.estimated_s).unwrap_or(0.0);
        let used = now.duration_since(began).as_secs_f64();
        let limit = deadline.duration_since(began).as_secs_f64().max(0.0);
        Ok(Some(Budget { used, estimated, limit, measure: UsageSource::Midrail }))
    }

    /// When the run has to be finished: the earliest that the event and the definitions say.
    pub(crate) fn deadline(&self) -> Result<Option<Timestamp>, Missing> {
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

    /// When the run began: with the first event of the session that knew of a deadline, which may be this one.
    pub(crate) fn run_start(&self) -> Result<Timestamp, Missing> {
        let kept = self.slice(RUN_START)?.and_then(Value::as_str).and_then(|text| text.parse().ok());
        let now = self.now()?;
        Ok(kept.map_or(now, |began: Timestamp| began.min(now)))
    }

    /// Keeps when the run began, where there is a deadline to be reckoned from it.
    pub(crate) fn begin(&self, changes: &mut Changes) -> Result<(), Missing> {
        let is_made = matches!(
            self.event.kind,
            EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered
        );
        let has_deadline = self.event.deadline.is_some()
            || self.policy.definitions().iter().any(|definition| definition.deadline.is_some());
        if has_deadline
            && !is_made
            && let Some(time) = self.event.time
            && self.slice(RUN_START)?.is_none()
        {
            changes.set(RUN_START, time.to_string());
        }
        Ok(())
    }

    fn now(&self) -> Result<Timestamp, Missing> {
        self.event.time.ok_or_else(|| Missing("the event tells no time".to_owned()))
    }

    fn set_budget(&self, of: Resource) -> Result<Option<Budget>, Missing> {
        let Some(limit) = self.tasks().filter_map(|task| of.limit(task)).reduce(f64::min) else {
            return Ok(None);
        };
        let usage = self.event.usage.as_ref();
        let estimated = usage.and_then(|usage| match of {
            Resource::Tokens => usage.estimated_tokens.map(float),
            Resource::Time => usage.estimated_s,
            Resource::Calls => None,
            Resource::Cost => usage.estimated_cost,
        });
        let told = usage.and_then(|usage| match of {
            Resource::Tokens => usage.tokens.map(float),
            Resource::Time => usage.elapsed_s,
            Resource::Calls => usage.api_calls.map(float),
            Resource::Cost => usage.cost,
        });
        let (used, measure) = match told {
            Some(used) => (used.max(0.0), UsageSource::Host),
            None => self.spent(of)?,
        };
        // Nothing is given back by telling less than nothing.
        Ok(Some(Budget { used, estimated: estimated.unwrap_or(0.0).max(0.0), limit, measure }))
    }

    /// Midrail's own sum.
    fn spent(&self, of: Resource) -> Result<(f64, UsageSource), Missing> {
        let slice = self.slice(&spent_key(self.event.task_id()))?;
        let entry = |name: &str| slice.and_then(|slice| slice.get(name));
        let sum = |name: &str| match entry(name).and_then(Value::as_f64) {
            Some(sum) => (sum, UsageSource::Midrail),
            None => (0.0, UsageSource::Unmeasured),
        };
        Ok(match of {
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

    pub(crate) fn autonomy(&self) -> Result<Autonomy, Missing> {
        let mut least = 1.0_f64;
        for of in Resource::ALL {
            for budget in self.budgets(of)?.into_iter().flatten() {
                least = least.min(budget.remaining());
            }
        }
        Ok(Autonomy::of(least))
    }

    pub(crate) fn threshold_factor(&self) -> Result<f64, Missing> {
        let is_tight = self.risk() == Some(Risk::Critical) || self.autonomy()? >= Autonomy::Strict;
        Ok(if is_tight { TIGHTENED } else { 1.0 })
    }

    /// Adds what an event tells to the sum of its task. Nothing is kept where no budget is set.
    pub(crate) fn spend(&self, changes: &mut Changes) -> Result<(), Missing> {
        let is_limited = |of: Resource| self.tasks().any(|task| of.limit(task).is_some());
        if !Resource::ALL.into_iter().any(is_limited) {
            return Ok(());
        }
        let event = self.event;
        let is_start =
            matches!(event.kind, EventKind::SessionStart | EventKind::BeforeModel | EventKind::BeforeTool);
        let is_end = matches!(event.kind, EventKind::AfterTool | EventKind::AfterModel);
        if !is_start && !is_end {
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
        let mark = event.call_id().map(|id| call_mark(&self.session.id, id));
        let mut counted = match spent.remove("counted") {
            Some(Value::Array(counted)) => counted,
            _ => Vec::new(),
        };
        let is_this = |other: &Value| other.as_str() == mark.as_deref() && mark.is_some();
        if event.kind == EventKind::BeforeTool {
            // A host may give the next call the name of one that is over.
            counted.retain(|other| !is_this(other));
        }
        if is_end && !counted.iter().any(is_this) {
            let sums = spent.clone();
            for (of, name) in SUMS {
                if let Some(amount) = self.adds(of) {
                    let sum = spent.get(name).and_then(Value::as_f64).unwrap_or(0.0) + amount;
                    spent.insert(name.to_owned(), sum.into());
                }
            }
            if spent != sums
                && let Some(mark) = mark
            {
                counted.push(mark.into());
                let over = counted.len().saturating_sub(MAX_COUNTED);
                counted.drain(..over);
            }
        }
        if !counted.is_empty() {
            spent.insert("counted".to_owned(), counted.into());
        }
        let after = Value::Object(spent);
        if before != Some(&after) {
            changes.set(key, after);
        }
        Ok(())
    }

    /// What the call that this event ends adds to Midrail's own sum, where that is known.
    fn adds(&self, of: Resource) -> Option<f64> {
        let event = self.event;
        let call = event.usage.as_ref().and_then(|usage| usage.call.as_ref());
        let told = call.and_then(|call| match of {
            Resource::Tokens => call.tokens.map(float),
            Resource::Cost => call.cost,
            Resource::Calls => call.api_calls.map(float),
            Resource::Time => None,
        });
        let is_counted = || {
            of == Resource::Calls
                && event.kind == EventKind::AfterTool
                && self.tasks().any(|task| of.limit(task).is_some())
                && self.contacts_other_host().unwrap_or(false)
        };
        told.map(|amount| amount.max(0.0)).or_else(|| is_counted().then_some(1.0))
    }

    /// A budget with what the call that this event ends has used: what is told with its result is not in the sum yet.
    pub(crate) fn budget_after(&self, of: Resource) -> Result<Option<Budget>, Missing> {
        let is_end = matches!(self.event.kind, EventKind::AfterTool | EventKind::AfterModel);
        let Some(budget) = self.budget(of)? else { return Ok(None) };
        let added = self.adds(of).filter(|_| is_end && budget.measure != UsageSource::Host);
        Ok(Some(match added {
            Some(amount) => Budget { used: budget.used + amount, measure: UsageSource::Midrail, ..budget },
            None => budget,
        }))
    }

    /// Whether the event's tool speaks to another machine.
    pub(crate) fn contacts_other_host(&self) -> Result<bool, Missing> {
        match self.fact(FactKey::Action)? {
            Fact::Action(action) if action.hosts.is_empty() => Ok(action.kind == ActionType::Network),
            Fact::Action(action) => Ok(action.hosts.iter().any(|host| !is_loopback(host))),
            _ => Ok(false),
        }
    }
}

/// Whether a host is this machine itself.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "0.0.0.0"
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// The slice that holds what Midrail saw a task use. A task that has a name is the same one in every session.
fn spent_key(task: &str) -> String {
    if task.is_empty() { "spent/".to_owned() } else { format!("{SHARED_PREFIX}spent/{task}") }
}

/// A call in the sum of its task, which may be worked on in several sessions.
fn call_mark(session: &str, id: &str) -> String {
    let whole = hex::encode(&Sha256::digest(format!("{session}\n{id}").as_bytes()));
    whole.get(..16).unwrap_or_default().to_owned()
}

/// Counts are far below the 2^53 that a float holds exactly; beyond it the share is still right.
fn float(count: u64) -> f64 {
    let (high, low) = (count >> 32, count & 0xffff_ffff);
    f64::from(u32::try_from(high).unwrap_or(u32::MAX)) * 4_294_967_296.0
        + f64::from(u32::try_from(low).unwrap_or(0))
}
