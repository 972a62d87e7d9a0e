//! decision-authority (scope-004): limits what an agent may do at its autonomy level.

mod changed_lines;
mod lists;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use midrail_core::{Action, FileScope};
use serde_json::Value;

use crate::prelude::*;
use crate::shared::file_access::{accessed_files, known_actions};
use crate::shared::file_paths::is_device;
use crate::shared::file_scopes::{FileScopeSettings, scope_violation};
use crate::shared::objections::all;
use crate::shared::settings::SettingsProblem;
use crate::shared::started_programs::{StartedProgram, started_programs};

use changed_lines::changed_lines;
use lists::{CommandLists, NetworkLists};

pub(crate) const BUILTIN: Builtin = SCOPE
    .builtin::<DecisionAuthority>("scope-004", &[EventKind::BeforeTool, EventKind::BeforeModel])
    .supports(&[EventKind::BeforeTool, EventKind::AfterTool, EventKind::BeforeModel]);

/// The guardrail with valid settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Settings")]
pub(crate) struct DecisionAuthority(Settings);

/// The settings of decision-authority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// The autonomy levels by name. They replace the ready-made levels 0 to 3 of the same name.
    levels: BTreeMap<String, AutonomyLevel>,
    /// The level of an agent that reports none, as a text or a number. Absent: no limits.
    default_level: Option<Value>,
    /// The effect of an action that a level neither denies nor lists.
    #[serde(skip_serializing_if = "OutsideEffect::is_default")]
    outside: OutsideEffect,
    /// The effect of exceeding a limit.
    on_limit: LimitEffect,
}

impl TryFrom<Settings> for DecisionAuthority {
    type Error = SettingsProblem;

    fn try_from(settings: Settings) -> Result<Self, SettingsProblem> {
        match &settings.default_level {
            Some(level) if level_name(level).is_none_or(|name| settings.find(&name).is_none()) => {
                Err(SettingsProblem::new(format!(
                    "`default_level` is {level}, which is not in `levels` and is not a ready-made level from 0 to 3"
                )))
            }
            _ => Ok(DecisionAuthority(settings)),
        }
    }
}

impl Settings {
    /// A level of the pack, or a ready-made one.
    fn find(&self, name: &str) -> Option<&AutonomyLevel> {
        self.levels.get(name).or_else(|| READY_MADE.get(name))
    }
}

/// The ready-made levels: `0` to `3`. A test reads the file, so it is valid.
static READY_MADE: LazyLock<BTreeMap<String, AutonomyLevel>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../data/autonomy_levels.json")).unwrap_or_default());

/// The effect of an action that a level neither denies nor lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutsideEffect {
    /// Require approval.
    #[default]
    Escalate,
    /// Block the action.
    Block,
}

impl OutsideEffect {
    fn is_default(&self) -> bool {
        *self == OutsideEffect::default()
    }

    fn effect(self) -> Effect {
        match self {
            OutsideEffect::Escalate => Effect::Escalate,
            OutsideEffect::Block => Effect::Block,
        }
    }
}

/// What an agent may do at one level.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AutonomyLevel {
    /// The files that it may access.
    pub files: FileScopeSettings,
    /// The commands that it may run.
    pub commands: CommandLists,
    /// The hosts that it may contact.
    pub network: NetworkLists,
    /// Limits per task.
    pub limits: TaskLimits,
    /// The effect of an action that the level neither denies nor lists. Absent: that of the guardrail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideEffect>,
}

/// Limits per task. Absent: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TaskLimits {
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Distinct files that are changed.
    pub files_modified: Option<u64>,
    /// Lines that are changed, as far as the calls show.
    pub lines_changed: Option<u64>,
    /// Model turns.
    pub iterations: Option<u64>,
    /// Calls that contact a host.
    pub requests: Option<u64>,
}

/// The effect of exceeding a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimitEffect {
    /// End the run.
    #[default]
    Halt,
    /// Block the action.
    Block,
    /// Require approval.
    Escalate,
}

impl LimitEffect {
    fn effect(self) -> Effect {
        match self {
            LimitEffect::Halt => Effect::Halt,
            LimitEffect::Block => Effect::Block,
            LimitEffect::Escalate => Effect::Escalate,
        }
    }
}

/// The keys of the counters.
const TOOL_CALLS: &str = "tool calls";
const FILES: &str = "files modified";
const LINES: &str = "lines changed";
const ITERATIONS: &str = "iterations";
const REQUESTS: &str = "requests";

impl TaskLimits {
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
    /// The levels that apply to the event: that of the host and those of the definitions.
    fn levels(&self, context: &Context<'_>) -> Result<Vec<&AutonomyLevel>, Missing> {
        let own = context.event.agent.as_ref().and_then(|agent| agent.autonomy_level.as_ref());
        let defined = context.definitions().filter_map(|definition| definition.agent.autonomy_level.as_ref());
        let mut reported: Vec<&Value> =
            own.into_iter().chain(defined).filter(|level| !level.is_null()).collect();
        if reported.is_empty() {
            reported.extend(&self.0.default_level);
        }
        let mut names = BTreeSet::new();
        for level in reported {
            names
                .insert(level_name(level).ok_or_else(|| {
                    Missing("the autonomy level is neither a text nor a number".to_owned())
                })?);
        }
        let find = |name: &String| {
            self.0.find(name).ok_or_else(|| Missing(format!("the pack has no autonomy level `{name}`")))
        };
        names.iter().map(find).collect()
    }

    /// The increments of the limited counters by this event, and its files that were not counted before.
    fn increments(&self, context: &Context<'_>, levels: &[&AutonomyLevel]) -> Result<Increments, Missing> {
        let is_limited = |name: &str| {
            levels
                .iter()
                .any(|level| level.limits.named().iter().any(|(it, limit)| *it == name && limit.is_some()))
        };
        let mut added = Increments::default();
        if context.event.kind == EventKind::BeforeModel {
            added.counts.insert(ITERATIONS, 1);
            return Ok(added);
        }
        if context.event.tool.is_none() {
            return Ok(added);
        }
        added.counts.insert(TOOL_CALLS, 1);
        if is_limited(LINES) {
            added.counts.insert(LINES, changed_lines(context)?);
        }
        if is_limited(REQUESTS) {
            added.counts.insert(REQUESTS, u64::from(lists::contacts_host(context.action()?)));
        }
        if is_limited(FILES) {
            let written: Vec<_> = accessed_files(context)?.into_iter().filter(|it| it.is_write).collect();
            let places: BTreeSet<String> =
                all(written.iter().map(|it| Ok(context.real_place(it.file, None)?.key)))?;
            let places = places.into_iter().filter(|place| !is_device(place));
            let known: Vec<_> =
                all(places.map(|place| Ok((file_key(context, &place).exists(context)?, place))))?;
            added.files = known.into_iter().filter(|(is_counted, _)| !is_counted).map(|it| it.1).collect();
            added.counts.insert(FILES, u64::try_from(added.files.len()).unwrap_or(u64::MAX));
        }
        Ok(added)
    }

    /// The effect of an action that a level neither denies nor lists.
    fn outside(&self, level: &AutonomyLevel) -> Effect {
        level.outside.unwrap_or(self.0.outside).effect()
    }

    fn exceeded_limit(
        &self,
        context: &Context<'_>,
        levels: &[&AutonomyLevel],
    ) -> Result<Option<Verdict>, Missing> {
        if levels.iter().all(|level| level.limits == TaskLimits::default()) {
            return Ok(None);
        }
        let counts = count_key(context).read(context)?.unwrap_or_default();
        let added = self.increments(context, levels)?;
        for level in levels {
            for (name, limit) in level.limits.named() {
                let (Some(limit), Some(more)) = (limit, added.counts.get(name)) else { continue };
                let total = counts.get(name).copied().unwrap_or(0).saturating_add(*more);
                if *more == 0 || total <= limit {
                    continue;
                }
                let mut verdict = Verdict::new(
                    self.0.on_limit.effect(),
                    format!("This action exceeds the limit of {limit} {name} for this task: {total}."),
                )
                .advise("Hand over the finished work, or request a higher limit.")
                .with("limit", name)
                .with("count", total)
                .with("most", limit);
                if verdict.effect == Effect::Halt {
                    verdict.user_message =
                        Some(format!("The run was ended because it reached its limit of {limit} {name}."));
                }
                return Ok(Some(verdict));
            }
        }
        Ok(None)
    }
}

/// The part of a scope that denies files.
fn denials(scope: &FileScope) -> FileScope {
    FileScope { deny: scope.deny.clone(), ..FileScope::default() }
}

#[derive(Default)]
struct Increments {
    counts: BTreeMap<&'static str, u64>,
    files: Vec<String>,
}

/// The slice with the counters of the task.
fn count_key(context: &Context<'_>) -> Key<BTreeMap<String, u64>> {
    Key::own(context, &format!("count/{}", context.event.task_id()))
}

/// The slice that records that the task changed a file.
fn file_key(context: &Context<'_>, place: &str) -> Key<bool> {
    Key::own(context, &format!("file/{}/{place}", context.event.task_id()))
}

/// The programs of an action and of the scripts that the agent wrote and runs.
fn programs(context: &Context<'_>, actions: &[(Option<&str>, &Action)]) -> Vec<StartedProgram> {
    let mut all = Vec::new();
    for (script, does) in actions {
        match script {
            None => all.extend(started_programs(context, does)),
            Some(_) => all.extend(does.programs.iter().map(|it| StartedProgram::with_unknown_args(it))),
        }
    }
    all
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
            let is_limited =
                |level: &&AutonomyLevel| level.commands.is_limited() || level.network.is_limited();
            if levels.iter().any(is_limited) {
                match known_actions(context) {
                    Ok(actions) => {
                        let programs = programs(context, &actions);
                        let hosts: BTreeSet<&str> =
                            actions.iter().flat_map(|(_, does)| &does.hosts).map(String::as_str).collect();
                        let has_unknown = actions.iter().any(|(_, does)| does.has_unknown_hosts);
                        for level in &levels {
                            let outside = self.outside(level);
                            verdicts.push(Ok(level.commands.objection(&programs, outside)));
                            verdicts.push(Ok(level.network.objection(
                                action.kind,
                                &hosts,
                                has_unknown,
                                &programs,
                                outside,
                            )));
                        }
                    }
                    Err(missing) => verdicts.push(Err(missing)),
                }
            }
            // Denied files count before files that are not listed.
            let denied: Vec<FileScope> = levels.iter().map(|level| denials(&level.files.0)).collect();
            let of = |effect: Effect| {
                let levels = levels.iter().filter(move |level| self.outside(level) == effect);
                levels.map(|level| &level.files.0).collect::<Vec<_>>()
            };
            for (effect, scopes) in [
                (Effect::Block, denied.iter().collect::<Vec<_>>()),
                (Effect::Block, of(Effect::Block)),
                (Effect::Escalate, of(Effect::Escalate)),
            ] {
                let limited: Vec<&FileScope> =
                    scopes.into_iter().filter(|scope| **scope != FileScope::default()).collect();
                let verdict = scope_violation(context, &limited).map(|found| {
                    let verdict = found.map(|it| it.verdict("is not allowed at this autonomy level"));
                    verdict.map(|verdict| Verdict { effect, ..verdict })
                });
                verdicts.push(verdict);
            }
        }
        // Denied actions are blocked and use no limit; limits apply to actions that would be allowed.
        let mut fault = None;
        let mut escalation = None;
        for verdict in verdicts {
            match verdict {
                Ok(Some(verdict)) if verdict.effect >= Effect::Block => return Ok(verdict),
                Ok(Some(verdict)) => escalation = escalation.or(Some(verdict)),
                Ok(None) => {}
                Err(missing) => fault = Some(missing),
            }
        }
        if let Some(missing) = fault {
            return Err(missing.into());
        }
        Ok(self.exceeded_limit(context, &levels)?.or(escalation).unwrap_or_default())
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !effect.allows() {
            return Ok(());
        }
        let levels = self.levels(context)?;
        if levels.iter().all(|level| level.limits == TaskLimits::default()) {
            return Ok(());
        }
        let key = count_key(context);
        let mut counts = key.read(context)?.unwrap_or_default();
        let added = self.increments(context, &levels)?;
        for (name, more) in added.counts.into_iter().filter(|(_, more)| *more > 0) {
            let count = counts.entry(name.to_owned()).or_default();
            *count = count.saturating_add(more);
        }
        key.write(changes, &counts)?;
        added.files.iter().try_for_each(|place| file_key(context, place).write(changes, &true))?;
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::BeforeModel]
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
