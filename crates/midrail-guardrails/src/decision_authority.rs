//! scope-004: an agent decides by itself only what its level of autonomy leaves to it. The levels are the pack's.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{
    Action, Changes, Context, Effect, EventKind, Fault, FileScope, Guardrail, Missing, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::authority::{self, Commands, Network};
use crate::commands::{Started, started, unseen};
use crate::file_scope::Files;
use crate::lines::lines_changed;
use crate::places::is_nobodys;
use crate::scope_boundary::outside;
use crate::touched::{scripts, touched};

/// The settings of scope-004.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, try_from = "Raw")]
pub struct DecisionAuthority {
    /// What an agent may do by itself, by the name of its level.
    pub levels: BTreeMap<String, Level>,
    /// The level of an agent that tells none. Absent: it has no limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_level: Option<Value>,
    /// What follows when a limit is passed.
    pub on_limit: OnLimit,
}

/// The settings of scope-004.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Raw {
    /// What an agent may do by itself, by the name of its level.
    levels: BTreeMap<String, Level>,
    /// The level of an agent that tells none, as a text or a number. Absent: it has no limits.
    default_level: Option<Value>,
    /// What follows when a limit is passed.
    on_limit: OnLimit,
}

impl TryFrom<Raw> for DecisionAuthority {
    type Error = String;

    fn try_from(Raw { levels, default_level, on_limit }: Raw) -> Result<Self, String> {
        if let Some(level) = &default_level
            && !level_name(level).is_some_and(|name| levels.contains_key(&name))
        {
            return Err(format!("`default_level` is {level}, and `levels` has no such level"));
        }
        Ok(DecisionAuthority { levels, default_level, on_limit })
    }
}

/// What an agent of one level may do by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Level {
    /// The files that it may touch.
    pub files: Files,
    /// The commands that it may run.
    pub commands: Commands,
    /// The hosts that it may talk to.
    pub network: Network,
    /// How much it may do in one task.
    pub limits: Limits,
}

/// How much an agent may do in one task. Absent: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Calls of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Different files that are changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_modified: Option<u64>,
    /// Lines that are changed, as far as calls tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_changed: Option<u64>,
    /// Turns of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Calls that talk to a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// What follows when a limit is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// The run ends.
    #[default]
    Halt,
    /// The action does not happen.
    Block,
    /// A person is asked.
    Escalate,
}

impl OnLimit {
    fn effect(self) -> Effect {
        match self {
            OnLimit::Halt => Effect::Halt,
            OnLimit::Block => Effect::Block,
            OnLimit::Escalate => Effect::Escalate,
        }
    }
}

/// Names of limits, as they are counted.
const TOOL_CALLS: &str = "tool calls";
const FILES: &str = "files modified";
const LINES: &str = "lines changed";
const ITERATIONS: &str = "iterations";
const REQUESTS: &str = "requests";

impl Limits {
    fn named(&self) -> [(&'static str, Option<u64>); 5] {
        [
            (TOOL_CALLS, self.tool_calls),
            (FILES, self.files_modified),
            (LINES, self.lines_changed),
            (ITERATIONS, self.iterations),
            (REQUESTS, self.requests),
        ]
    }
}

/// A level's name as a text: `2`, `"2"` and `2.0` are the same.
fn level_name(level: &Value) -> Option<String> {
    match level {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => {
            let text = number.to_string();
            Some(text.strip_suffix(".0").map(str::to_owned).unwrap_or(text))
        }
        _ => None,
    }
}

impl DecisionAuthority {
    /// The levels that hold for the event: the host's and those of the definitions.
    fn levels(&self, context: &Context<'_>) -> Result<Vec<&Level>, Missing> {
        let own = context.event.agent.as_ref().and_then(|agent| agent.autonomy_level.as_ref());
        let defined = context.definitions().filter_map(|definition| definition.agent.autonomy_level.as_ref());
        let mut told: Vec<&Value> = own.into_iter().chain(defined).filter(|level| !level.is_null()).collect();
        if self.levels.is_empty() {
            return Ok(Vec::new());
        }
        if told.is_empty() {
            told.extend(&self.default_level);
        }
        let mut names = BTreeSet::new();
        for level in told {
            names.insert(
                level_name(level).ok_or_else(|| Missing("the level of autonomy is no name".to_owned()))?,
            );
        }
        let find = |name: &String| {
            self.levels
                .get(name)
                .ok_or_else(|| Missing(format!("the pack has no level of autonomy `{name}`")))
        };
        names.iter().map(find).collect()
    }

    /// What this event adds to the counts that any of the levels limits, and which of its files are new to them.
    fn adds(&self, context: &Context<'_>, levels: &[&Level]) -> Result<Added, Missing> {
        let is_limited = |name: &str| {
            levels
                .iter()
                .any(|level| level.limits.named().iter().any(|(it, limit)| *it == name && limit.is_some()))
        };
        let mut added = Added::default();
        if context.event.kind == EventKind::BeforeModel {
            added.counts.insert(ITERATIONS, 1);
            return Ok(added);
        }
        if context.event.tool.is_none() {
            return Ok(added);
        }
        added.counts.insert(TOOL_CALLS, 1);
        if is_limited(LINES) {
            added.counts.insert(LINES, lines_changed(context)?);
        }
        if is_limited(REQUESTS) {
            added.counts.insert(REQUESTS, u64::from(authority::talks(context.action()?)));
        }
        if is_limited(FILES) {
            let written: Vec<_> = touched(context)?.into_iter().filter(|it| it.is_write).collect();
            let places: Vec<_> = written.iter().map(|it| context.real_place(it.file, None)).collect();
            let places: BTreeSet<String> =
                places.into_iter().map(|place| Ok(place?.key)).collect::<Result<_, Missing>>()?;
            let known: Vec<_> = places
                .into_iter()
                .filter(|place| !is_nobodys(place))
                .map(|place| (context.state(&file_key(context, &place)), place))
                .collect();
            for (state, place) in known {
                if state?.is_none() {
                    added.files.push(place);
                }
            }
            added.counts.insert(FILES, u64::try_from(added.files.len()).unwrap_or(u64::MAX));
        }
        Ok(added)
    }

    fn passed(&self, context: &Context<'_>, levels: &[&Level]) -> Result<Option<Verdict>, Missing> {
        if levels.iter().all(|level| level.limits == Limits::default()) {
            return Ok(None);
        }
        let counted = context.state(&count_key(context))?;
        let added = self.adds(context, levels)?;
        for level in levels {
            for (name, limit) in level.limits.named() {
                let (Some(limit), Some(more)) = (limit, added.counts.get(name)) else { continue };
                let total = count(counted, name).saturating_add(*more);
                if *more == 0 || total <= limit {
                    continue;
                }
                let mut verdict = Verdict::new(
                    self.on_limit.effect(),
                    format!("This would pass the limit of {limit} {name} of this task: {total}."),
                )
                .advise("Hand over what is done, or ask for a higher limit.")
                .with("limit", name)
                .with("count", total)
                .with("most", limit);
                if verdict.effect == Effect::Halt {
                    verdict.user_message =
                        Some(format!("The run was ended: it reached its limit of {limit} {name}."));
                }
                return Ok(Some(verdict));
            }
        }
        Ok(None)
    }
}

#[derive(Default)]
struct Added {
    counts: BTreeMap<&'static str, u64>,
    files: Vec<String>,
}

fn count_key(context: &Context<'_>) -> String {
    format!("count/{}", context.event.task_id())
}

fn file_key(context: &Context<'_>, place: &str) -> String {
    format!("file/{}/{place}", context.event.task_id())
}

fn count(counted: Option<&Value>, name: &str) -> u64 {
    counted.and_then(|counts| counts.get(name)).and_then(Value::as_u64).unwrap_or(0)
}

/// The programs of an action and of the scripts of the agent's own that it runs.
fn programs(context: &Context<'_>, action: &Action) -> Result<Vec<Started>, Missing> {
    if action.is_partial {
        return Err(Missing("the command line is more than is looked into".to_owned()));
    }
    let mut all = started(context, action);
    for (_, does) in scripts(context, action)? {
        if does.is_partial {
            return Err(Missing("a script is more than is looked into".to_owned()));
        }
        all.extend(does.programs.iter().map(|program| unseen(program)));
    }
    Ok(all)
}

impl Guardrail for DecisionAuthority {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let levels = self.levels(context)?;
        if levels.is_empty() {
            return Ok(Verdict::allow());
        }
        let mut verdicts: Vec<Result<Option<Verdict>, Missing>> = Vec::new();
        if context.event.tool.is_some() {
            let action = context.action()?;
            let is_limited = |level: &&Level| level.commands.is_limited() || level.network.is_limited();
            if levels.iter().any(is_limited) {
                match programs(context, action) {
                    Ok(programs) => {
                        let hosts = scripts(context, action)?
                            .into_iter()
                            .flat_map(|(_, does)| &does.hosts)
                            .chain(&action.hosts)
                            .map(String::as_str)
                            .collect::<BTreeSet<_>>();
                        for level in &levels {
                            verdicts.push(Ok(level.commands.objection(&programs)));
                            verdicts.push(Ok(level.network.objection(action.kind, &hosts, &programs)));
                        }
                    }
                    Err(missing) => verdicts.push(Err(missing)),
                }
            }
            let scopes: Vec<&FileScope> = levels.iter().map(|level| &level.files.0).collect();
            let limited: Vec<&FileScope> =
                scopes.into_iter().filter(|scope| **scope != FileScope::default()).collect();
            verdicts.push(outside(context, &limited).map(|found| {
                found.map(|it| it.verdict("is not left to an agent of this level of autonomy"))
            }));
        }
        // What may not be done at all is blocked, and uses nothing up; a limit ends what could have been done.
        let mut fault = None;
        let mut asks = None;
        for verdict in verdicts {
            match verdict {
                Ok(Some(verdict)) if verdict.effect >= Effect::Block => return Ok(verdict),
                Ok(Some(verdict)) => asks = asks.or(Some(verdict)),
                Ok(None) => {}
                Err(missing) => fault = Some(missing),
            }
        }
        if let Some(missing) = fault {
            return Err(missing.into());
        }
        match (self.passed(context, &levels)?, asks) {
            (Some(verdict), _) => Ok(verdict),
            (None, asks) => Ok(asks.unwrap_or_default()),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !effect.goes_on() {
            return Ok(());
        }
        let levels = self.levels(context)?;
        if levels.iter().all(|level| level.limits == Limits::default()) {
            return Ok(());
        }
        let counted = context.state(&count_key(context))?;
        let added = self.adds(context, &levels)?;
        let mut counts: Map<String, Value> = counted.and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, more) in added.counts.iter().filter(|(_, more)| **more > 0) {
            counts.insert((*name).to_owned(), count(counted, name).saturating_add(*more).into());
        }
        changes.set(context.key(&count_key(context)), Value::Object(counts));
        for place in &added.files {
            changes.set(context.key(&file_key(context, place)), true);
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::BeforeModel]
    }

    fn may_retry(&self, _: EventKind) -> bool {
        false
    }
}

#[cfg(test)]
#[path = "decision_authority_tests.rs"]
mod tests;
