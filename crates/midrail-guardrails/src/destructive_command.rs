//! destructive-command (safety-001): blocks or escalates commands, scripts and statements that destroy something.

use midrail_core::{
    Action, Confidence, DEFAULT_BOX, Danger, INSTALL_BOX, OpaqueCode, OpaqueKind, Severity, UnsavedFiles,
};
use midrail_shell::command;
use serde_json::json;

use crate::prelude::*;
use crate::shared::data::PROGRAMS;
use crate::shared::file_access::{agent_scripts_and, project_scripts};
use crate::shared::file_paths::{is_below, is_generated, is_inside, is_temporary};
use crate::shared::git::expanded_commands;
use crate::shared::objections::all;
use crate::shared::own_files::{self, is_created, is_own};
use crate::shared::own_things::{self, is_own_thing};
use crate::shared::settings::{Folder, Pattern, any_matches};
use crate::shared::text::{capitalize, first_names};

pub(crate) const BUILTIN: Builtin = SAFETY
    .builtin::<DestructiveCommand>("safety-001", &[EventKind::BeforeTool])
    .aliases(&["destructive_command_block"])
    .supports(CALLS);

/// The settings of destructive-command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DestructiveCommand {
    /// Command lines that are always allowed (exact text).
    pub allow: Vec<String>,
    /// Rules that are not applied: names such as `git-push-force`, or glob patterns.
    pub ignore: Vec<Pattern>,
    /// Further folders whose content may be deleted.
    pub expendable: Vec<Folder>,
    /// The effect of deleting files of the project that exist nowhere else: in no commit, and not written by the
    /// agent in this session.
    pub unsaved: UnsavedEffect,
    /// Block from this severity, escalate below it.
    pub block_from: Severity,
    /// Whether scripts that the agent wrote in this session are analysed when they are run.
    pub scripts: bool,
    /// What happens to commands that run code which Midrail has not seen: build tools, scripts, code in variables.
    pub unknown: UnknownCode,
    /// Programs that Midrail does not know and that run as they are, by name.
    pub known_programs: Vec<String>,
}

/// What happens to a command that runs code which Midrail has not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownCode {
    /// It runs as it is. Where it may destroy, a person must approve.
    #[default]
    Allow,
    /// It runs in a sandbox where there is one, and as with `allow` elsewhere.
    Contain,
    /// It runs in a sandbox. Where there is none, the agent has to start one.
    RequireBox,
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
            unknown: UnknownCode::Allow,
            known_programs: Vec::new(),
        }
    }
}

impl DestructiveCommand {
    /// Whether a danger counts: not ignored, and not harmless at the real place of its targets.
    fn is_real(&self, context: &Context<'_>, danger: &Danger) -> Result<bool, Missing> {
        if command::is_about_midrail(&danger.rule) || any_matches(&self.ignore, &danger.rule) {
            return Ok(false);
        }
        // In a sandbox, code that is not seen reaches nothing outside the project.
        if danger.rule == "opaque" && self.contains(context)? {
            return Ok(false);
        }
        if danger.harmless_saved && has_folder(context) {
            return has_unsaved(context, &danger.targets);
        }
        if danger.harmless_own {
            return Ok(!are_own(context, &danger.targets)?);
        }
        if danger.targets.is_empty() && is_own_thing(context, context.action()?, danger)? {
            return Ok(false);
        }
        if !danger.harmless_inside || danger.targets.is_empty() {
            return Ok(true);
        }
        // The value of a variable is not on the disk, so only the spelling counts.
        let (unknown, known): (Vec<&String>, Vec<&String>) =
            danger.targets.iter().partition(|target| target.contains(['$', '`']));
        let has_folder = has_folder(context);
        let is_elsewhere = |target: &&String| !has_folder && target.starts_with('/') && !is_temporary(target);
        if !danger.is_inside && !unknown.is_empty() {
            return Ok(true);
        }
        let expendable = self.expendable(context)?;
        // Request all facts before the first one is missing, so that they are fetched together.
        let own: Vec<_> = known.iter().map(|target| is_own(context, target)).collect();
        let names: Vec<_> = known.iter().map(|target| context.places(target)).collect();
        for ((names, is_own), target) in names.into_iter().zip(own).zip(known) {
            let may_go = names?.iter().all(|name| is_expendable(name, &expendable));
            let may_go = may_go && (danger.is_inside || !is_elsewhere(&target));
            // The agent may delete what it created.
            if !may_go && !is_own? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The real places of the expendable folders.
    fn expendable(&self, context: &Context<'_>) -> Result<Vec<String>, Missing> {
        all(self.expendable.iter().map(|it| Ok(context.real_place(&it.0, None)?.key)))
    }

    /// Files of the project that a danger would delete for good.
    fn losses(&self, context: &Context<'_>, danger: &Danger) -> Result<Vec<String>, Missing> {
        let takes_folders = danger.harmless_inside && danger.severity >= Severity::High;
        let is_ignored = any_matches(&self.ignore, &danger.rule);
        if self.unsaved == UnsavedEffect::Allow || !takes_folders || !has_folder(context) || is_ignored {
            return Ok(Vec::new());
        }
        let known = danger.targets.iter().filter(|target| !target.contains(['$', '`']));
        let places: Vec<_> = known.map(|target| context.real_place(target, None)).collect();
        let expendable = self.expendable(context)?;
        let mut folders = Vec::new();
        for place in places {
            let place = place?;
            let is_named = expendable.iter().any(|folder| is_below(folder, &place.key));
            if place.inside && !is_named && !is_generated(&place.key) {
                folders.push(context.unsaved_files(&place.key));
            }
        }
        let mut lost = Vec::new();
        for unsaved in folders {
            let UnsavedFiles { files, more } = unsaved?;
            let files = files.iter().filter(|file| !is_generated(file));
            // The agent may delete files and folders that it created.
            let own: Vec<_> = all(files.map(|file| Ok((file, is_created(context, file)?))))?;
            lost.extend(own.into_iter().filter(|(_, is_made)| !is_made).map(|(file, _)| file.clone()));
            if *more {
                lost.push("and more".to_owned());
            }
        }
        Ok(lost)
    }

    fn loss(&self, danger: &Danger, lost: &[String]) -> Verdict {
        let effect = if self.unsaved == UnsavedEffect::Block { Effect::Block } else { Effect::Escalate };
        let names: Vec<String> = lost.iter().map(|file| format!("`{file}`")).collect();
        let reason = format!(
            "`{}` would delete files that cannot be restored: {}. They are in no commit, and this agent did not \
             write them.",
            danger.command,
            first_names(&names)
        );
        let verdict = Verdict::new(effect, reason);
        describe(verdict.advise("Commit them first, or delete only files that you created."), danger)
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
        let is_certain = danger.severity >= self.block_from && danger.confidence > Confidence::Low;
        if is_certain { Effect::Block } else { Effect::Escalate }
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

    /// The verdict on what scripts do that were in the project before the session. The user wrote or chose them: what is not
    /// known in them does not count, and only what is critical is blocked.
    fn in_project(&self, context: &Context<'_>, action: &Action) -> Result<Option<Verdict>, Missing> {
        let Some((script, does)) = project_scripts(context, action)? else { return Ok(None) };
        let is_known = |danger: &&Danger| {
            let is_open = |target: &String| target.contains(['$', '`']);
            danger.severity >= Severity::High
                && danger.confidence > Confidence::Low
                && (danger.targets.is_empty() || !danger.targets.iter().all(is_open))
        };
        let dangers: Vec<Danger> = does.dangers.iter().filter(is_known).cloned().collect();
        let Some(danger) = self.worst(context, &dangers)? else { return Ok(None) };
        let effect =
            if danger.severity == Severity::Critical { self.effect(danger) } else { Effect::Escalate };
        let place = if danger.origin.is_empty() { script } else { &danger.origin };
        let reason = format!("`{}` in `{place}`: {}", danger.command, sentence(&danger.reason));
        let advice = "If this is intended, ask a person to run or approve it.";
        Ok(Some(describe(Verdict::new(effect, reason).advise(advice), danger).with("script", place)))
    }

    /// The verdict on code that was not seen: in the command, or else in the files that it runs or obeys.
    fn contained(
        &self,
        context: &Context<'_>,
        action: &Action,
        in_files: Option<OpaqueCode>,
    ) -> Result<Verdict, Missing> {
        // What a program without a row runs is not known. Some are known for work that a sandbox would keep them from.
        let is_known = |program: &String| {
            let is_elsewhere = || PROGRAMS.has("programs with work outside of projects", program);
            self.known_programs.contains(program)
                || (self.unknown != UnknownCode::RequireBox && is_elsewhere())
        };
        let counts = |part: &&OpaqueCode| part.kind != OpaqueKind::Program || !is_known(&part.what);
        let mut unseen = action.opaque.iter().chain(&in_files).filter(counts);
        let Some(first) = unseen.next().filter(|_| action.command.is_some()) else {
            return Ok(Verdict::allow());
        };
        if !self.contains(context)? {
            return Ok(Verdict::allow());
        }
        let is_install = |part: &OpaqueCode| {
            // `npm install` runs scripts of this file.
            let is_manifest = part.kind == OpaqueKind::Script && part.what.ends_with("package.json");
            part.kind == OpaqueKind::Install || is_manifest
        };
        let only_installs = first.kind == OpaqueKind::Install && unseen.all(is_install);
        let name = if only_installs { INSTALL_BOX } else { DEFAULT_BOX };
        let why = match first.kind {
            OpaqueKind::Dynamic | OpaqueKind::Program => "what it runs is not known",
            OpaqueKind::Script => "it runs code of a file",
            OpaqueKind::Code => "it is code that is not followed completely",
            OpaqueKind::Project => "it runs code of the project",
            OpaqueKind::Install => "it installs packages, which may run code",
        };
        let reason = format!("`{}` runs in a sandbox: {why}.", first.what);
        Ok(Verdict { sandbox: Some(name.into()), ..Verdict::new(Effect::Contain, reason) })
    }

    /// Whether commands that run unknown code run in a sandbox here.
    fn contains(&self, context: &Context<'_>) -> Result<bool, Missing> {
        match self.unknown {
            UnknownCode::Allow => Ok(false),
            UnknownCode::RequireBox => Ok(true),
            UnknownCode::Contain => context.has_sandbox(),
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
        describe(Verdict::new(self.effect(danger), reason).advise(advice), danger)
    }
}

/// Adds a danger to the metadata of a verdict.
fn describe(verdict: Verdict, danger: &Danger) -> Verdict {
    verdict
        .with("rule", danger.rule.as_str())
        .with("severity", danger.severity.as_str())
        .with("command", danger.command.as_str())
        .with("targets", json!(danger.targets))
}

/// Whether the repository lacks any of these files as they are. What is not known counts.
fn has_unsaved(context: &Context<'_>, files: &[String]) -> Result<bool, Missing> {
    let places: Vec<_> = files.iter().map(|file| context.real_place(file, None)).collect();
    let unsaved: Vec<_> = places.into_iter().map(|place| context.unsaved_files(&place?.key)).collect();
    if context.has_pending_needs()
        && let Some(missing) = unsaved.iter().find_map(|unsaved| unsaved.as_ref().err())
    {
        return Err(missing.clone());
    }
    let is_saved =
        |unsaved: Result<&UnsavedFiles, Missing>| unsaved.is_ok_and(|it| it.files.is_empty() && !it.more);
    Ok(!unsaved.into_iter().all(is_saved))
}

/// Whether the agent created all of some files in this session.
fn are_own(context: &Context<'_>, files: &[String]) -> Result<bool, Missing> {
    // Request all facts before the first one is missing, so that they are fetched together.
    let own: Vec<_> = files.iter().map(|file| is_own(context, file)).collect();
    let is_known = files.iter().all(|file| !file.contains(['$', '`', '*', '?']));
    let own: Vec<bool> = all(own)?;
    Ok(is_known && !own.is_empty() && own.into_iter().all(|is_own| is_own))
}

/// Whether the folder of the session is known.
fn has_folder(context: &Context<'_>) -> bool {
    context.root().is_some() || context.event.cwd.is_some()
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
        let expanded = expanded_commands(context, action);
        let expanded: Vec<Danger> = expanded.iter().flat_map(|line| command::analyse(line).dangers).collect();
        let scripts =
            if self.scripts { agent_scripts_and(context, action, &action.hooks) } else { Ok(Vec::new()) };
        let mut fault = scripts.as_ref().err().cloned();
        let mut sources = vec![(None, &action.dangers), (None, &expanded)];
        sources
            .extend(scripts.unwrap_or_default().into_iter().map(|(name, does)| (Some(name), &does.dangers)));
        let in_files = sources.iter().skip(1).find_map(|(name, dangers)| {
            let what = dangers.iter().find(|danger| danger.rule == "opaque")?;
            let what = name.map_or_else(|| what.command.clone(), str::to_owned);
            Some(OpaqueCode { kind: OpaqueKind::Script, what, ..OpaqueCode::default() })
        });
        // A known danger counts even if other parts are unknown.
        let mut found: Option<(&Danger, Option<&str>)> = None;
        for (script, dangers) in sources {
            match self.worst(context, dangers) {
                Ok(Some(danger)) if found.is_none_or(|(it, _)| self.rank(danger) > self.rank(it)) => {
                    found = Some((danger, script));
                }
                Ok(_) => {}
                Err(missing) => fault = Some(missing),
            }
        }
        match (found, fault) {
            (Some((danger, script)), _) => Ok(self.verdict(danger, script)),
            (None, Some(missing)) => Err(missing.into()),
            (None, None) => {
                let loss = self.first_loss(context, &action.dangers)?;
                let in_project =
                    if loss.is_none() && self.scripts { self.in_project(context, action)? } else { None };
                match loss.or(in_project) {
                    Some(verdict) => Ok(verdict),
                    None => Ok(self.contained(context, action, in_files)?),
                }
            }
        }
    }

    /// Records the files and folders that the agent creates, and its databases, containers and other things.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if effect.allows() && context.event.tool.is_some() {
            if context.event.kind == EventKind::BeforeTool {
                own_files::observe(context, changes)?;
            }
            own_things::observe(context, changes)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool, EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn can_retry(&self, _: EventKind) -> bool {
        // Where there is no sandbox, the answer is to start one.
        self.unknown == UnknownCode::RequireBox
    }

    fn summary(&self) -> Option<String> {
        Some("Do not run commands or statements that destroy files, history, data or systems.".to_owned())
    }
}

fn is_expendable(place: &str, folders: &[String]) -> bool {
    (is_inside(place) && command::is_expendable(place))
        || is_temporary(place)
        || folders.iter().any(|folder| is_below(folder, place) && place.len() > folder.len())
}

/// A phrase as a sentence.
fn sentence(phrase: &str) -> String {
    let end = if phrase.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{end}", capitalize(phrase))
}
