//! safety-001: commands, scripts and statements that destroy are stopped, or a person is asked first.

use midrail_core::{
    Changes, Confidence, Context, Danger, Effect, EventKind, Fault, FileState, Guardrail, Missing, Severity,
    Unsaved, Verdict,
};
use midrail_detect::shell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::git::spelled_out;
use crate::places::{is_below, is_inside, is_temporary};
use crate::settings::{Folder, Pattern};
use crate::touched::scripts_and_hooks;

/// The settings of safety-001.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DestructiveCommand {
    /// Command lines that pass whatever is found in them: exactly these texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules that are not looked at: names such as `git-push-force`, or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<Pattern>,
    /// Further folders whose content may be destroyed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expendable: Vec<Folder>,
    /// What becomes of files inside the project that are nowhere else: in no commit as they are, and not written by the
    /// agent in this session.
    pub unsaved: Losses,
    /// What is this bad, or worse, is blocked. What is less bad is put before a person.
    pub block_from: Severity,
    /// Whether scripts that the agent wrote in this session are judged by their content when they are run.
    pub scripts: bool,
}

/// What becomes of files that are nowhere else, where a command would take their whole folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Losses {
    /// A person is asked.
    #[default]
    Ask,
    /// The command is blocked.
    Block,
    /// They may go.
    Allow,
}

impl Default for DestructiveCommand {
    fn default() -> Self {
        DestructiveCommand {
            allow: Vec::new(),
            ignore: Vec::new(),
            expendable: Vec::new(),
            unsaved: Losses::Ask,
            block_from: Severity::High,
            scripts: true,
        }
    }
}

impl DestructiveCommand {
    /// Whether a danger is one: not ignored, and not harmless where its targets really lie.
    fn is_real(&self, context: &Context<'_>, danger: &Danger) -> Result<bool, Missing> {
        if shell::is_about_midrail(&danger.rule) || self.ignore.iter().any(|it| it.fits_name(&danger.rule)) {
            return Ok(false);
        }
        if !danger.harmless_inside || danger.targets.is_empty() {
            return Ok(true);
        }
        // What a variable would lead to is not on the disk to be asked about: the spelling alone decides.
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
        // Every target is asked about before giving up, so that all facts are fetched in one go.
        let names: Vec<_> = known.into_iter().map(|target| context.names_of(target)).collect();
        for names in names {
            if !names?.iter().all(|name| is_expendable(name, &expendable)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Files inside the project that a danger would take and nobody could bring back.
    fn losses(&self, context: &Context<'_>, danger: &Danger) -> Result<Vec<String>, Missing> {
        let has_folder = context.root().is_some() || context.event.cwd.is_some();
        let takes_folders = danger.harmless_inside && danger.severity >= Severity::High;
        let is_ignored = self.ignore.iter().any(|it| it.fits_name(&danger.rule));
        if self.unsaved == Losses::Allow || !takes_folders || !has_folder || is_ignored {
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
            if place.inside && !is_named && !is_product(&place.key) {
                asked.push(context.unsaved(&place.key));
            }
        }
        let mut lost = Vec::new();
        for unsaved in asked {
            let Unsaved { files, more } = unsaved?;
            let files = files.iter().filter(|file| !is_product(file));
            // Who made a file, or a folder that it is in, may take it away again.
            let own: Vec<_> = files.map(|file| (file, is_made(context, file))).collect();
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
        let effect = if self.unsaved == Losses::Block { Effect::Block } else { Effect::Escalate };
        let reason = format!(
            "`{}` would take files that nobody could bring back: {}{more}. No commit holds them as they are, and this agent \
             did not write them.",
            danger.command,
            shown.join(", ")
        );
        Verdict::new(effect, reason)
            .advise("Instead: commit them first, or name only what you made yourself.")
            .with("rule", danger.rule.as_str())
            .with("severity", danger.severity.word())
            .with("command", danger.command.as_str())
            .with("targets", json!(danger.targets))
    }

    /// The first danger that takes files which are nowhere else.
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

    /// The worst of the dangers that are real.
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
        // What comes from the network nobody here wrote.
        let script = script.filter(|_| danger.rule != "remote-code");
        let place =
            script.map(|script| format!(" in `{script}`, which this agent wrote")).unwrap_or_default();
        let advice = match danger.safer.as_str() {
            "" => "If this is meant, ask a person to run or approve it.".to_owned(),
            safer => format!("Instead: {safer}"),
        };
        let reason = format!("`{}`{place}: {}", danger.command, sentence(&danger.reason));
        Verdict::new(self.effect(danger), reason)
            .advise(advice)
            .with("rule", danger.rule.as_str())
            .with("severity", danger.severity.word())
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
        // What was found stands, whatever else is not known.
        let own = self.worst(context, &action.dangers);
        let named = spelled_out(context, action);
        let named: Vec<Danger> = named.iter().flat_map(|line| shell::analyse(line).dangers).collect();
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

    /// Remembers what the agent makes: files and folders that were not there before.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let has_folder = context.root().is_some() || context.event.cwd.is_some();
        if self.unsaved == Losses::Allow || !effect.goes_on() || !has_folder || context.event.tool.is_none() {
            return Ok(());
        }
        let written = context.action()?.writes.iter().filter(|path| !path.contains(['$', '`', '*', '?']));
        let places: Vec<_> = written.map(|path| context.real_place(path, None)).collect();
        let inside = places.into_iter().flatten().filter(|place| place.inside && !place.key.is_empty());
        let states: Vec<_> = inside.map(|place| (context.file(&place).cloned(), place.key)).collect();
        for (state, key) in states {
            // What cannot be looked at was not made.
            if let Ok(FileState::Absent) = state {
                changes.set(context.key(&made_key(&key)), true);
            }
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not run commands or statements that destroy files, history, data or systems.".to_owned())
    }
}

fn made_key(place: &str) -> String {
    format!("made/{place}")
}

/// Whether the agent made a file in this session, or a folder that it lies in.
fn is_made(context: &Context<'_>, file: &str) -> Result<bool, Missing> {
    let ends = file.match_indices('/').map(|(at, _)| at).chain([file.len()]);
    let folders: Vec<_> =
        ends.filter_map(|end| file.get(..end)).map(|part| context.state(&made_key(part))).collect();
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
    (is_inside(place) && shell::is_expendable(place))
        || is_temporary(place)
        || folders.iter().any(|folder| is_below(folder, place) && place.len() > folder.len())
}

/// Names of folders that hold what programs make, and make again.
const PRODUCTS: &[&str] = &[
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

/// Endings of such names.
const PRODUCT_ENDINGS: &[&str] = &[".egg-info", ".dSYM", ".tmp", ".pyc", ".o", ".log"];

/// Whether a place is, or lies in, what programs make.
fn is_product(place: &str) -> bool {
    place.split('/').any(|part| {
        PRODUCTS.contains(&part)
            || PRODUCT_ENDINGS.iter().any(|ending| part.ends_with(ending))
            || part.starts_with("cmake-build-")
    })
}

/// A phrase of the tables as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if phrase.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
