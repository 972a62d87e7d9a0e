//! modify: changes the arguments of a call before it is made.

use midrail_core::{ArgumentChange, ModifiedArgument};
use midrail_shell::action::with_words;
use midrail_shell::command::CommandPattern;
use serde_json::Value;

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::text::shorten;

pub(crate) const BUILTIN: Builtin = Builtin {
    redacts: true,
    pack_key: PackKey::Modify,
    ..Builtin::without_settings::<Modify>("modify", Category::Compliance, 61, &[EventKind::BeforeTool])
};

/// The most bytes of a value that a message shows.
const MAX_SHOWN: usize = 80;

/// The changes of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Modify {
    /// Arguments and their values. Without a value, an argument is removed.
    pub arguments: Vec<(String, Option<Value>)>,
    /// Words that are added to commands.
    pub words: Vec<String>,
    /// The commands that they are added to.
    pub commands: Vec<CommandPattern>,
}

impl Modify {
    /// The change of the argument that holds the command line.
    fn command_line(&self, context: &Context<'_>) -> Result<Option<ArgumentChange>, &'static str> {
        let Some(tool) = context.event.tool.as_ref().filter(|_| !self.words.is_empty()) else {
            return Ok(None);
        };
        Ok(with_words(tool, &self.commands, &self.words)?.map(|(argument, line)| {
            let mut pointer = "/".to_owned();
            midrail_core::json_pointer::push_token(&mut pointer, &argument);
            ArgumentChange::Set { argument: pointer, value: Some(line.into()) }
        }))
    }

    fn shown_words(&self) -> String {
        format!("`{}`", self.words.join(" "))
    }

    /// What a change requires: "`limit` must be 100, not 5000".
    fn requirement(&self, change: &ModifiedArgument) -> String {
        let is_set = self.arguments.iter().any(|(name, _)| *name == change.argument);
        if !is_set {
            let commands: Vec<String> = self.commands.iter().map(|command| format!("`{command}`")).collect();
            return format!("{} must run with {}", commands.join(" and "), self.shown_words());
        }
        let name = change.argument.trim_start_matches('/').replace('/', ".");
        match (&change.before, &change.after) {
            (Some(before), Some(after)) => {
                format!("`{name}` must be {}, not {}", shown(after), shown(before))
            }
            (None, Some(after)) => format!("`{name}` must be {}", shown(after)),
            (_, None) => format!("`{name}` must be left out"),
        }
    }
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string(), MAX_SHOWN)
}

impl Guardrail for Modify {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let changes = context.modification()?;
        if let Some((change, other)) = changes.iter().find_map(|it| Some((it, it.conflicts_with.as_ref()?))) {
            let reason = format!("{}, but `{other}` changes it differently.", self.requirement(change));
            return Ok(Verdict::new(Effect::Escalate, reason)
                .advise("An approver decides whether the call is made as it is. The owner of the pack should settle it."));
        }
        if let Err(why) = self.command_line(context) {
            let reason = format!("{} cannot be added to the command: {why}.", self.shown_words());
            return Ok(Verdict::block(reason)
                .advise(format!("Add {} yourself, and write the command out.", self.shown_words())));
        }
        if changes.is_empty() {
            return Ok(Verdict::allow());
        }
        let requirements: Vec<String> = changes.iter().map(|change| self.requirement(change)).collect();
        let reason = format!("{}.", requirements.join("; "));
        Ok(Verdict::new(Effect::Redact, reason).advise("If the call was not made, make it like this."))
    }

    fn can_modify(&self) -> bool {
        true
    }

    fn modify(&self, context: &Context<'_>) -> Result<Vec<ArgumentChange>, Fault> {
        // If words cannot be added, the verdict on the call says so.
        let line = self.command_line(context).ok().flatten();
        let set = |(argument, value): &(String, Option<Value>)| ArgumentChange::Set {
            argument: argument.clone(),
            value: value.clone(),
        };
        Ok(self.arguments.iter().map(set).chain(line).collect())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn default_effect(&self) -> Effect {
        Effect::Redact
    }
}
