//! safety-001: commands, scripts and statements that destroy are stopped, or a person is asked first.

use midrail_core::{Confidence, Context, Danger, Effect, Fault, Guardrail, Missing, Severity, Verdict};
use midrail_detect::shell;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::places::{is_below, is_inside, is_temporary};
use crate::settings::{Folder, Pattern};
use crate::touched::scripts;

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
    /// What is this bad, or worse, is blocked. What is less bad is put before a person.
    pub block_from: Severity,
    /// Whether scripts that the agent wrote in this session are judged by their content when they are run.
    pub scripts: bool,
}

impl Default for DestructiveCommand {
    fn default() -> Self {
        DestructiveCommand {
            allow: Vec::new(),
            ignore: Vec::new(),
            expendable: Vec::new(),
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
        let scripts = if self.scripts { scripts(context, action) } else { Ok(Vec::new()) };
        let mut found = own.as_ref().ok().copied().flatten().map(|danger| (danger, None));
        let mut fault = own.err();
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
            (None, None) => Ok(Verdict::allow()),
        }
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not run commands or statements that destroy files, history, data or systems.".to_owned())
    }
}

fn is_expendable(place: &str, folders: &[String]) -> bool {
    (is_inside(place) && shell::is_expendable(place))
        || is_temporary(place)
        || folders.iter().any(|folder| is_below(folder, place) && place.len() > folder.len())
}

/// A phrase of the tables as a sentence.
fn sentence(phrase: &str) -> String {
    let mut letters = phrase.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if phrase.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
