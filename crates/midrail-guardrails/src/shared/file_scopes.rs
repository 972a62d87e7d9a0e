//! File scopes: the files that tasks, definitions and packs allow, and the first file of an action that they forbid.

use std::borrow::Cow;

use midrail_core::{Action, ActionType, Context, EventKind, FileScope, Missing, Verdict, path_pattern};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::file_access::agent_scripts;
use super::file_paths::is_device;
use super::found_files::{file_pattern, swept_patterns};
use super::settings::Pattern;

/// The files that may be accessed, as glob patterns. Absent: no limit; empty: none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ScopePatterns")]
#[schemars(rename = "Files")]
pub(crate) struct FileScopeSettings(pub FileScope);

/// The same as valid patterns.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScopePatterns {
    /// Files that may be read. Absent: no limit; empty: none.
    read: Option<Vec<Pattern>>,
    /// Files that may be changed. Absent: no limit; empty: none.
    write: Option<Vec<Pattern>>,
    /// Files that may not be accessed at all. A pattern without `/` matches in every folder.
    deny: Option<Vec<Pattern>>,
}

impl From<ScopePatterns> for FileScopeSettings {
    fn from(scope: ScopePatterns) -> Self {
        let [read, write, deny] = [scope.read, scope.write, scope.deny]
            .map(|list| list.map(|list| list.into_iter().map(|it| it.0).collect()));
        FileScopeSettings(FileScope { read, write, deny })
    }
}

/// The file scopes of the event's task and of its definitions.
pub(crate) fn task_scopes<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a FileScope> {
    context.tasks().filter_map(|task| task.scope.as_ref()).map(|scope| &scope.files)
}

/// A file of an action that a scope forbids.
pub(crate) struct ScopeViolation<'a, 's> {
    file: Cow<'a, str>,
    script: Option<&'a str>,
    /// The part of the scope: `read`, `write`, `deny`.
    rule: &'static str,
    patterns: &'s [String],
}

impl ScopeViolation<'_, '_> {
    /// The verdict.
    pub(crate) fn verdict(&self, what: &str) -> Verdict {
        let list = self.patterns.join(", ");
        let through = self.script.map(|script| format!(", which `{script}` accesses,")).unwrap_or_default();
        Verdict::block(format!("File '{}'{through} {what} ({}: {list}).", self.file, self.rule))
            .advise("Use only files of your task, or hand this part to an agent whose scope includes them.")
            .with("path", self.file.as_ref())
            .with(self.rule, json!(self.patterns))
    }
}

/// The first file of the event's action, or of a script that the agent wrote, that any of the scopes forbids.
pub(crate) fn scope_violation<'a, 's>(
    context: &Context<'a>,
    scopes: &[&'s FileScope],
) -> Result<Option<ScopeViolation<'a, 's>>, Missing> {
    let is_call = matches!(context.event.kind, EventKind::BeforeTool | EventKind::AfterTool);
    if scopes.is_empty() || !(is_call || context.event.tool.is_some()) {
        return Ok(None);
    }
    let action = context.action()?;
    if action.target_files.is_none() {
        let tool = context.event.tool_name().unwrap_or_default();
        return Err(Missing(format!("the files that `{tool}` accesses are unknown")));
    }
    // A known violation counts even if other parts are unknown.
    let mut fault = None;
    let mut actions = vec![(None, action)];
    match agent_scripts(context, action) {
        Ok(scripts) => actions.extend(scripts.into_iter().map(|(script, does)| (Some(script), does))),
        Err(missing) => fault = Some(missing),
    }
    if actions.iter().any(|(_, action)| action.is_partial) {
        fault = Some(Missing("the command line is too long to analyse".to_owned()));
    }
    // Request all facts before the first one is missing, so that they are fetched together.
    let mut files = Vec::new();
    for (script, action) in actions {
        for file in action.target_files.iter().flatten().filter(|file| !is_device(file)) {
            let uses = uses(action, file);
            // A formatter reads and writes everything in a folder: `black src`.
            let is_shaped = uses.iter().all(Option::is_some) && action.sweeps.contains(file);
            let names = context.places(&file_pattern(action, file));
            files.push((script, Cow::Borrowed(file.as_str()), uses, is_shaped, names));
        }
        for file in swept_patterns(action) {
            let names = context.places(&file);
            files.push((script, Cow::Owned(file), [Some(ActionType::FileWrite), None], true, names));
        }
    }
    for (script, file, uses, is_shaped, names) in files {
        let names = match names {
            Ok(names) => names,
            Err(missing) => {
                fault = Some(missing);
                continue;
            }
        };
        for scope in scopes {
            for (name, kind) in
                names.iter().flat_map(|name| uses.into_iter().flatten().map(move |it| (name, it)))
            {
                match objection(context, scope, kind, name, is_shaped) {
                    Ok(Some((rule, patterns))) => {
                        return Ok(Some(ScopeViolation { file, script, rule, patterns }));
                    }
                    Ok(None) => {}
                    Err(missing) => fault = Some(missing),
                }
            }
        }
    }
    fault.map_or(Ok(None), Err)
}

/// How an action uses one of its files: a command may read one and write another.
fn uses(action: &Action, file: &String) -> [Option<ActionType>; 2] {
    if action.kind != ActionType::Command {
        return [Some(action.kind), None];
    }
    let is_used = |list: &[String], kind| list.contains(file).then_some(kind);
    match (is_used(&action.reads, ActionType::FileRead), is_used(&action.writes, ActionType::FileWrite)) {
        (None, None) => [Some(ActionType::Command), None],
        (read, write) => [read, write],
    }
}

/// The part of a scope that forbids a file, if any. Missing if the path has wildcards or variables that may match a denied file.
fn objection<'s>(
    context: &Context<'_>,
    scope: &'s FileScope,
    kind: ActionType,
    place: &str,
    is_shaped: bool,
) -> Result<Option<(&'static str, &'s [String])>, Missing> {
    let denied = scope.deny.as_deref().unwrap_or_default();
    let mut unknown = None;
    for pattern in denied {
        match is_denied(context, pattern, place)? {
            Some(true) => return Ok(Some(("deny", denied))),
            Some(false) => {}
            None => unknown = Some(Missing(format!("whether `{place}` matches `{pattern}` is not known"))),
        }
    }
    let (rule, allowed) = match kind {
        ActionType::FileRead => ("read", scope.read.as_deref()),
        ActionType::FileWrite => ("write", scope.write.as_deref()),
        ActionType::Command | ActionType::Network | ActionType::Other => ("", None),
    };
    let Some(allowed) = allowed else { return unknown.map_or(Ok(None), Err) };
    // A pattern for the content of a folder also allows listing it, and formatting it if it may be written.
    let covers_folder = kind == ActionType::FileRead || is_shaped;
    for pattern in allowed {
        let folder = pattern.strip_suffix("/**").filter(|_| covers_folder);
        if is_within(context, pattern, place)?
            || folder.map_or(Ok(false), |folder| is_within(context, folder, place))?
        {
            return unknown.map_or(Ok(None), Err);
        }
    }
    Ok(Some((rule, allowed)))
}

/// Whether a pattern certainly matches. Only a pattern for places outside the root matches files there.
fn is_within(context: &Context<'_>, pattern: &str, place: &str) -> Result<bool, Missing> {
    let is_outside = place.starts_with(['/', '~']) || place.starts_with("../");
    if is_outside && !pattern.starts_with(['/', '~']) && !pattern.starts_with("../") {
        return Ok(false);
    }
    Ok(context.path_fits(pattern, place)? == Some(true))
}

/// Whether a pattern denies a file: it matches the file or a folder above it. A pattern without `/` matches in every folder.
/// `None`: the path has wildcards or variables, which may match.
fn is_denied(context: &Context<'_>, pattern: &str, place: &str) -> Result<Option<bool>, Missing> {
    let pattern = path_pattern::normal(pattern);
    let pattern = pattern.trim_end_matches('/');
    let pattern = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let mut patterns = vec![pattern];
    if let Some(last) = patterns.first().filter(|it| !it.ends_with("/**")) {
        patterns.push(format!("{last}/**"));
    }
    let mut may = false;
    for pattern in patterns {
        match context.path_fits_any_case(&pattern, place)? {
            Some(true) => return Ok(Some(true)),
            Some(false) => {}
            None => may = true,
        }
    }
    Ok(if may { None } else { Some(false) })
}
