//! A map of checks: its requirements in words, and its command.

use std::sync::LazyLock;

use midrail_core::{Context, Effect};

use super::content::requirement;
use super::settings::Completion;
use crate::shared::durations::Timeout;
use crate::shared::one_or_many::OneOrMany;
use crate::shared::required_command::{RequiredCommand, all_files};
use crate::shared::settings::Pattern;

/// The files after whose change a command runs again, unless the settings name others.
static ALL_FILES: LazyLock<Vec<Pattern>> = LazyLock::new(all_files);

/// The name of the state of a check in the map at a place.
pub(super) fn state_name(check: &str, at: &str) -> String {
    format!("{check}{}", at.replace('/', "-"))
}

impl Completion {
    pub(super) fn has_todos(&self) -> bool {
        self.maps().iter().any(|(_, checks)| checks.todos.is_some())
    }

    /// The command of the map at a place, with the context that contains its state.
    pub(super) fn required<'a>(
        &self,
        at: &str,
        context: &Context<'a>,
    ) -> Option<(RequiredCommand<'_>, Context<'a>)> {
        let required = RequiredCommand {
            run: self.command.as_ref()?,
            timeout: self.timeout.unwrap_or(Timeout::seconds::<600>()),
            files: self.when_changed.as_deref().unwrap_or(&ALL_FILES),
            tries_again: true,
            effect: Effect::Retry,
            wrong: "A required command failed",
            advice: String::new(),
        };
        Some((required, context.part(&state_name("command", at))))
    }

    /// The requirements in words. `None`: there are none, so that it always passes.
    pub(super) fn description(&self) -> Option<String> {
        let quoted = |files: &Vec<String>| files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>();
        let changes = |what: &str, files: Option<&OneOrMany<Pattern>>| {
            joined(files?.iter().map(|pattern| format!("{what} `{}`", pattern.0)), ", ")
        };
        let parts = [
            self.files.as_ref().and_then(|files| joined(quoted(files), ", ")),
            self.glob.as_ref().map(|glob| format!("{} of `{}`", self.at_least.unwrap_or(1), glob.0)),
            changes("a change of", self.changed.as_ref()),
            changes("no change of", self.unchanged.as_ref()),
            joined(
                self.wanted_texts()
                    .iter()
                    .map(|(file, wanted)| format!("`{file}` that {}", requirement(wanted))),
                ", ",
            ),
            self.todos.map(|_| "no open item on the to-do list".to_owned()),
            self.output.as_ref().map(|_| "an output that conforms to its schema".to_owned()),
            self.check.as_ref().map(|check| check.trim().to_owned()),
            self.all.as_ref().and_then(|all| joined(all.iter().filter_map(Completion::description), "; ")),
            self.any.as_deref().and_then(alternatives),
            self.command.as_ref().map(|run| format!("a successful run of `{}`", run.0)),
            self.ask.as_ref().map(|_| "the approval of the judge".to_owned()),
        ];
        joined(parts.into_iter().flatten(), "; ")
    }
}

/// The alternatives of `any` in words. An alternative without requirements is always met.
fn alternatives(any: &[Completion]) -> Option<String> {
    let parts: Vec<String> = any.iter().map(Completion::description).collect::<Option<_>>()?;
    match parts.as_slice() {
        [] => Some("one of no checks".to_owned()),
        [one] => Some(one.clone()),
        parts => Some(format!("one of these ({})", parts.join(", or "))),
    }
}

/// The parts as one text. `None`: there are none.
fn joined(parts: impl IntoIterator<Item = String>, word: &str) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().collect();
    (!parts.is_empty()).then(|| parts.join(word))
}
