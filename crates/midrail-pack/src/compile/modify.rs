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
                None if name == "args" => {
                    let help = "write the name with its place: `modify: {args.limit: 100}`";
                    self.issue(place, "`args` is not an argument", help);
                }
                None => {
                    let message = format!("`{}` is not an argument", excerpt(name));
                    let help = match name.as_str() {
                        "append" | "insert" | "prepend" | "words" | "options" | "flags" => {
                            "words are added with `add: --dry-run`".to_owned()
                        }
                        "remove" | "delete" | "drop" | "unset" => {
                            "an argument is removed with `args.NAME: null`; words of a command are not removed: block the command"
                                .to_owned()
                        }
                        "set" | "arguments" | "input" | "tool_input" => {
                            "write each argument with its place: `modify: {args.limit: 100}`".to_owned()
                        }
                        name => {
                            let name = name.strip_prefix("tool.args.").unwrap_or(name);
                            format!("write `args.{}: VALUE`, or `add: --dry-run`", excerpt(name))
                        }
                    };
                    self.issue(place, message, help);
                }
            }
        }
        if !modify.words.is_empty() && !modify.arguments.is_empty() {
            let message = "`add` cannot be combined with changes of arguments";
            self.issue(format!("{at}/{ADD}"), message, "make it a separate guardrail");
        }
        for (inner, outer) in nested(&modify.arguments) {
            let message = format!("`{}` is a part of `{}`", shown(inner), shown(outer));
            self.issue(format!("{at}/{}", pointer_key(&shown(inner))), message, "set one of them");
        }
        if changes.is_empty() {
            self.issue(at, "there is nothing to change", "write `modify: {args.NAME: VALUE}`");
        }
        self.at_least_redact(at.trim_end_matches("/modify"), guard);
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

    /// Reports an effect with which a change would not reach a host.
    fn at_least_redact(&mut self, at: &str, guard: &Guard) {
        if let Some(effect) = guard.effect.filter(|effect| *effect < Effect::Redact) {
            let message = format!("a change has at least the effect `redact`, not `{}`", effect.as_str());
            let help = "leave `effect` out; `mode: shadow` only records what would be changed";
            self.issue(format!("{at}/effect"), message, help);
        }
    }

    /// Texts that are replaced.
    pub(super) fn redact(&mut self, at: &str, redact: &Redact, guard: &Guard) -> Option<Arc<dyn Guardrail>> {
        self.at_least_redact(at.trim_end_matches("/redact"), guard);
        if redact.0.is_empty() {
            self.issue(at, "the list is empty", "write `redact: [{match: \"CUST-*\"}]`");
            return None;
        }
        Some(Arc::new(redact.clone()))
    }
}

/// The arguments inside of others, each with the other.
fn nested(arguments: &[(String, Option<Value>)]) -> Vec<(&str, &str)> {
    let all = || arguments.iter().map(|(argument, _)| argument.as_str());
    let is_inside =
        |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    let pairs = all().flat_map(|inner| all().map(move |outer| (inner, outer)));
    pairs.filter(|(inner, outer)| is_inside(inner, outer)).collect()
}

/// The name of an argument in the pack.
fn shown(pointer: &str) -> String {
    format!("args{}", pointer.replace('/', "."))
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
