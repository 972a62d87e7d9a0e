//! Changes of calls, and texts that are replaced.

use std::collections::BTreeMap;
use std::sync::Arc;

use midrail_core::{Effect, Guardrail, json_pointer};
use midrail_guardrails::{CommandPattern, Modify, Redact};
use serde_json::Value;

use crate::compile::compiler::Compiler;
use crate::diagnostic::excerpt;
use crate::issue::pointer_key;
use crate::raw::{CommandText, Guard};

/// The prefix of the names of arguments.
const ARGS: &str = "args.";

/// The key for words that are added to commands.
const ADD: &str = "add";

impl Compiler<'_> {
    /// Changes of a call.
    pub(super) fn modify(
        &mut self,
        at: &str,
        changes: &BTreeMap<String, Value>,
        guard: &Guard,
    ) -> Option<Arc<dyn Guardrail>> {
        let before = self.issues.len();
        let mut modify = Modify::default();
        for (name, value) in changes {
            let place = format!("{at}/{}", pointer_key(name));
            match name.strip_prefix(ARGS).filter(|path| path.split('.').all(|part| !part.is_empty())) {
                Some(path) => {
                    let value = Some(value.clone()).filter(|value| !value.is_null());
                    modify.arguments.push((pointer(path), value));
                }
                None if name == ADD => modify.words = self.added_words(&place, value, guard),
                None => {
                    let message = format!("`{}` is not an argument", excerpt(name));
                    let help = format!("write `args.{}: VALUE`, or `add: --dry-run`", excerpt(name));
                    self.issue(place, message, help);
                }
            }
        }
        if changes.is_empty() {
            self.issue(at, "there is nothing to change", "write `modify: {args.NAME: VALUE}`");
        }
        if let Some(effect) = guard.effect.filter(|effect| *effect < Effect::Redact) {
            let message =
                format!("a changed call has at least the effect `redact`, not `{}`", effect.as_str());
            let place = format!("{}/effect", at.trim_end_matches("/modify"));
            self.issue(
                place,
                message,
                "leave `effect` out; `mode: shadow` only records what would be changed",
            );
        }
        let commands = guard.command.iter().flat_map(CommandText::texts);
        modify.commands = commands.filter_map(|text| CommandPattern::parse(&text).ok()).collect();
        if self.issues.len() == before { Some(Arc::new(modify)) } else { None }
    }

    fn added_words(&mut self, at: &str, value: &Value, guard: &Guard) -> Vec<String> {
        let words: Vec<String> = match value {
            Value::String(word) => vec![word.clone()],
            Value::Array(words) => {
                for other in words.iter().filter(|word| !word.is_string()) {
                    let help = format!("write it in quotes: `\"{other}\"`");
                    self.issue(at, format!("`{other}` is not a text"), help);
                }
                words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        if words.is_empty() {
            self.issue(at, "`add` names no word", "write `add: --dry-run`");
        }
        let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,@+%".contains(c);
        for word in
            words.iter().filter(|word| word.trim_matches('-').is_empty() || !word.chars().all(is_plain))
        {
            let message = format!("`{}` is not one word of a command", excerpt(word));
            self.issue(at, message, "write words without blanks and quotes: `add: [--env, prod]`");
        }
        if guard.command.is_empty() {
            let help = "add `command: TEXT`, such as `command: kubectl apply`";
            self.issue(at, "`add` needs the commands that it adds to", help);
        }
        words
    }

    /// Texts that are replaced.
    pub(super) fn redact(&mut self, at: &str, redact: &Redact) -> Option<Arc<dyn Guardrail>> {
        if redact.0.is_empty() {
            self.issue(at, "the list is empty", "write `redact: [{match: \"CUST-*\"}]`");
            return None;
        }
        Some(Arc::new(redact.clone()))
    }
}

/// The pointer of `options.limit`.
fn pointer(path: &str) -> String {
    let mut pointer = String::new();
    for name in path.split('.') {
        pointer.push('/');
        json_pointer::push_token(&mut pointer, name);
    }
    pointer
}
