//! destructive-command (safety-001): blocks or escalates commands, scripts and statements that destroy something.

use midrail_core::{
    Category, Changes, Confidence, Context, Danger, Effect, EventKind, Fault, FileState, Guardrail, Missing,
    Risk, Severity, UnsavedFiles, Verdict,
};
use midrail_shell::command;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::builtin::Builtin;
use crate::git::expanded_commands;
use crate::places::{is_below, is_inside, is_temporary};
use crate::settings::{Folder, Pattern};
use crate::touched::scripts_and_hooks;

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<DestructiveCommand>("safety-001", Category::Safety, 10, &[EventKind::BeforeTool])
        .min_risk(Risk::Medium)
        .aliases(&["destructive_command_block"]);

/// The settings of destructive-command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DestructiveCommand {
    /// Command lines that are always allowed (exact text).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that are not applied: names such as `git-push-force`, or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<Pattern>,
    /// Further folders whose content may be deleted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expendable: Vec<Folder>,
    /// The effect of deleting files of the project that exist nowhere else: in no commit, and not written by the
    /// agent in this session.
    pub unsaved: UnsavedEffect,
    /// Block from this severity, escalate below it.
    pub block_from: Severity,
    /// Whether scripts that the agent wrote in this session are analysed when they are run.
    pub scripts: bool,
}

/// The effect of deleting a whole folder with files that exist nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnsavedEffect {
    /// Require approval.
    #[default]
    Ask,
    /// Block the command.
    Block,
    /// Allow the deletion.
    Allow,
}

impl Default for DestructiveCommand {
    fn default() -> Self {
        DestructiveCommand {
            allow: Vec::new(),
            ignore: Vec::new(),
            expendable: Vec::new(),
            unsaved: UnsavedEffect::Ask,
            block_from: Severity::High,
            scripts: true,
        }
    }
}

impl DestructiveCommand {
    /// Whether a danger counts: not ignored, and not harmless at the real place of its targets.
    fn is_real(&self, context: &Context<'_>, danger: &Danger) -> Result<bool, Missing> {
        if command::is_about_midrail(&danger.rule)
            || self.ignore.iter().any(|it| it.matches_name(&danger.rule))
        {
            return Ok(false);
        }
        if !danger.harmless_inside || danger.targets.is_empty() {
            return Ok(true);
        }
        // The value of a variable is not on the disk, so only the spelling counts.
        let (unknown, known): (Vec<&String>, Vec<&String>) =
            danger.targets.iter().partition(|target| target.contains(['$', '`']));
        let has_folder = context.root().is_some() || context.event.cwd.is_some();
        let is_elsewhere = |target: &&String| !has_folder && target.starts_with('/') && !is_temporary(target);
        if !danger.is_inside && (!unknown.is_empty() || known.iter().any(is_elsewhere)) {
            return Ok(true);
        }
        let expendable: Vec<_> = self.expendable.iter().map(|it| context.real_place(&it.0, None)).collect();
        let expendable: Vec<String> =
            expendable.into_iter().map(|place| Ok(place?.key)).collect::<Result<_, Missing>>()?;
        // Request all facts before the first one is missing, so that they are fetched together.
        let names: Vec<_> = known.into_iter().map(|target| context.path_aliases(target)).collect();
        for names in names {
            if !names?.iter().all(|name| is_expendable(name, &expendable)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Files of the project that a danger would delete for good.
    fn losses(&self, context: &Context<'_>, danger: &Danger) -> Result<Vec<String>, Missing> {
        let has_folder = context.root().is_some() || context.event.cwd.is_some();
        let takes_folders = danger.harmless_inside && danger.severity >= Severity::High;
        let is_ignored = self.ignore.iter().any(|it| it.matches_name(&danger.rule));
        if self.unsaved == UnsavedEffect::Allow || !takes_folders || !has_folder || is_ignored {
            return Ok(Vec::new());
        }
        let known = danger.targets.iter().filter(|target| !target.contains(['$', '`']));
        let places: Vec<_> = known.map(|target| context.real_place(target, None)).collect();
        let expendable: Vec<_> = self.expendable.iter().map(|it| context.real_place(&it.0, None)).collect();
        let expendable: Vec<String> =
            expendable.into_iter().map(|place| Ok(place?.key)).collect::<Result<_, Missing>>()?;
        let mut asked = Vec::new();
        for place in places {
            let place = place?;
            let is_named = expendable.iter().any(|folder| is_below(folder, &place.key));
            if place.inside && !is_named && !is_generated(&place.key) {
                asked.push(context.unsaved_files(&place.key));
            }
        }
        let mut lost = Vec::new();
        for unsaved in asked {
            let UnsavedFiles { files, more } = unsaved?;
            let files = files.iter().filter(|file| !is_generated(file));
            // The agent may delete files and folders that it created.
            let own: Vec<_> = files.map(|file| (file, is_created(context, file))).collect();
            for (file, is_made) in own {
                if !is_made? {
                    lost.push(file.clone());
                }
            }
            if *more {
                lost.push("and more".to_owned());
            }
        }
        Ok(lost)
    }

    fn loss(&self, danger: &Danger, lost: &[String]) -> Verdict {
        let shown: Vec<String> = lost.iter().take(3).map(|file| format!("`{file}`")).collect();
        let more = match lost.len().saturating_sub(shown.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let effect = if self.unsaved == UnsavedEffect::Block { Effect::Block } else { Effect::Escalate };
        let reason = format!(
            "`{}` would delete files that cannot be restored: {}{more}. They are in no commit, and this agent \
             did not write them.",
            danger.command,
            shown.join(", ")
        );
        Verdict::new(effect, reason)
            .advise("Commit them first, or delete only files that you created.")
            .with("rule", danger.rule.as_str())
            .with("severity", danger.severity.as_str())
            .with("command", danger.command.as_str())
            .with("targets", json!(danger.targets))
    }

    /// The verdict on the first danger that deletes files which exist nowhere else.
    fn first_loss(&self, context: &Context<'_>, dangers: &[Danger]) -> Result<Option<Verdict>, Missing> {
        let judged: Vec<_> = dangers.iter().map(|danger| (danger, self.losses(context, danger))).collect();
        for (danger, lost) in judged {
            let lost = lost?;
            if !lost.is_empty() {
                return Ok(Some(self.loss(danger, &lost)));
            }
        }
        Ok(None)
    }

    fn effect(&self, danger: &Danger) -> Effect {
        match danger.severity >= self.block_from && danger.confidence > Confidence::Low {
            true => Effect::Block,
            false => Effect::Escalate,
        }
    }

    /// The most severe danger that counts.
    fn worst<'d>(&self, context: &Context<'_>, dangers: &'d [Danger]) -> Result<Option<&'d Danger>, Missing> {
        let judged: Vec<_> = dangers.iter().map(|danger| (danger, self.is_real(context, danger))).collect();
        let mut missing = None;
        let mut worst: Option<&Danger> = None;
        for (danger, is_real) in judged {
            match is_real {
                Ok(true) if worst.is_none_or(|it| self.rank(danger) > self.rank(it)) => worst = Some(danger),
                Ok(_) => {}
                Err(why) => missing = Some(why),
            }
        }
        match (worst, missing) {
            (None, Some(missing)) => Err(missing),
            (worst, _) => Ok(worst),
        }
    }

    fn rank(&self, danger: &Danger) -> (Effect, Severity) {
        (self.effect(danger), danger.severity)
    }

    fn verdict(&self, danger: &Danger, script: Option<&str>) -> Verdict {
        // Remote code was not written by the agent.
        let script = script.filter(|_| danger.rule != "remote-code");
        let place =
            script.map(|script| format!(" in `{script}`, which this agent wrote")).unwrap_or_default();
        let advice = match danger.safer.as_str() {
            "" => "If this is intended, ask a person to run or approve it.".to_owned(),
            safer => format!("Instead: {safer}"),
        };
        let reason = format!("`{}`{place}: {}", danger.command, sentence(&danger.reason));
        Verdict::new(self.effect(danger), reason)
            .advise(advice)
            .with("rule", danger.rule.as_str())
            .with("severity", danger.severity.as_str())
            .with("command", danger.command.as_str())
            .with("targets", json!(danger.targets))
    }
}

impl Guardrail for DestructiveCommand {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        if action
            .command
            .as_ref()
            .is_some_and(|command| self.allow.iter().any(|it| it.trim() == command.trim()))
        {
            return Ok(Verdict::allow());
        }
        // A known danger counts even if other parts are unknown.
        let own = self.worst(context, &action.dangers);
        let named = expanded_commands(context, action);
        let named: Vec<Danger> = named.iter().flat_map(|line| command::analyse(line).dangers).collect();
        let by_name = self.worst(context, &named);
        let scripts = if self.scripts { scripts_and_hooks(context, action) } else { Ok(Vec::new()) };
        let mut found = own.as_ref().ok().copied().flatten().map(|danger| (danger, None));
        let mut fault = own.err();
        match by_name {
            Ok(Some(danger)) if found.is_none_or(|(it, _)| self.rank(danger) > self.rank(it)) => {
                found = Some((danger, None));
            }
            Ok(_) => {}
            Err(missing) => fault = Some(missing),
        }
        match scripts {
            Ok(scripts) => {
                for (script, does) in scripts {
                    match self.worst(context, &does.dangers) {
                        Ok(Some(danger)) if found.is_none_or(|(it, _)| self.rank(danger) > self.rank(it)) => {
                            found = Some((danger, Some(script)));
                        }
                        Ok(_) => {}
                        Err(missing) => fault = Some(missing),
                    }
                }
            }
            Err(missing) => fault = Some(missing),
        }
        match (found, fault) {
            (Some((danger, script)), _) => Ok(self.verdict(danger, script)),
            (None, Some(missing)) => Err(missing.into()),
            (None, None) => Ok(self.first_loss(context, &action.dangers)?.unwrap_or_else(Verdict::allow)),
        }
    }

    /// Records the files and folders that the agent creates.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let has_folder = context.root().is_some() || context.event.cwd.is_some();
        if self.unsaved == UnsavedEffect::Allow
            || !effect.allows()
            || !has_folder
            || context.event.tool.is_none()
        {
            return Ok(());
        }
        let written = context.action()?.writes.iter().filter(|path| !path.contains(['$', '`', '*', '?']));
        let places: Vec<_> = written.map(|path| context.real_place(path, None)).collect();
        let inside = places.into_iter().flatten().filter(|place| place.inside && !place.key.is_empty());
        let states: Vec<_> = inside.map(|place| (context.file(&place).cloned(), place.key)).collect();
        for (state, key) in states {
            // A file with an unknown state does not count as created.
            if let Ok(FileState::Absent) = state {
                changes.set(context.key(&created_key(&key)), true);
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not run commands or statements that destroy files, history, data or systems.".to_owned())
    }
}

fn created_key(place: &str) -> String {
    format!("made/{place}")
}

/// Whether the agent created a file, or a folder that contains it, in this session.
fn is_created(context: &Context<'_>, file: &str) -> Result<bool, Missing> {
    let ends = file.match_indices('/').map(|(at, _)| at).chain([file.len()]);
    let folders: Vec<_> =
        ends.filter_map(|end| file.get(..end)).map(|part| context.state(&created_key(part))).collect();
    let mut missing = None;
    for state in folders {
        match state {
            Ok(Some(_)) => return Ok(true),
            Ok(None) => {}
            Err(why) => missing = Some(why),
        }
    }
    missing.map_or(Ok(false), Err)
}

fn is_expendable(place: &str, folders: &[String]) -> bool {
    (is_inside(place) && command::is_expendable(place))
        || is_temporary(place)
        || folders.iter().any(|folder| is_below(folder, place) && place.len() > folder.len())
}

/// Names of folders with generated content.
const GENERATED_FOLDERS: &[&str] = &[
    "node_modules",
    "bower_components",
    "target",
    "build",
    "dist",
    "out",
    "bin",
    "obj",
    "tmp",
    "temp",
    ".tmp",
    "coverage",
    "htmlcov",
    "__pycache__",
    ".venv",
    "venv",
    "_build",
    "deps",
    "logs",
    "log",
    "cache",
    "DerivedData",
    "Pods",
    "test-results",
    "playwright-report",
    "storybook-static",
    "elm-stuff",
    "dist-newstyle",
    "generated",
    ".output",
    ".cache",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
    ".nyc_output",
    ".gradle",
    ".tox",
    ".nox",
    ".eggs",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".terraform",
    ".dart_tool",
    ".stack-work",
    ".svelte-kit",
    ".angular",
    ".serverless",
    ".vite",
    ".expo",
    ".ipynb_checkpoints",
    ".hypothesis",
    ".sass-cache",
    ".docusaurus",
    ".vercel",
    ".netlify",
    ".aws-sam",
    ".bundle",
    ".yarn",
    ".pnpm-store",
    ".metals",
    ".bloop",
    ".zig-cache",
    "zig-out",
    ".build",
];

/// Suffixes of generated files and folders.
const GENERATED_SUFFIXES: &[&str] = &[".egg-info", ".dSYM", ".tmp", ".pyc", ".o", ".log"];

/// Whether a place is generated content.
fn is_generated(place: &str) -> bool {
    place.split('/').any(|part| {
        GENERATED_FOLDERS.contains(&part)
            || GENERATED_SUFFIXES.iter().any(|ending| part.ends_with(ending))
            || part.starts_with("cmake-build-")
    })
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if phrase.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
