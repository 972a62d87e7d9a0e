//! Guardrails that select other calls than their author means: no call at all, or every call.

use midrail_core::Effect;
use midrail_guardrails::CommandPattern;

use crate::diagnostic::DiagnosticLevel;
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::raw::{CommandText, Guard};

/// Tools of coding agents that run no commands.
const FILE_TOOLS: &[&str] = &[
    "Edit",
    "Write",
    "MultiEdit",
    "NotebookEdit",
    "Read",
    "NotebookRead",
    "Grep",
    "Glob",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "read_file",
    "write_file",
    "edit_file",
    "replace",
    "apply_patch",
    "search_file_content",
];

/// Commands of tools that run none.
pub(super) fn tools_without_commands(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let Guard { tools, command, .. } = found.guard.guard;
        let is_of_files = |tool: &String| FILE_TOOLS.contains(&tool.as_str());
        if command.is_empty() || tools.is_empty() || !tools.iter().all(is_of_files) {
            continue;
        }
        let message = format!("`{}` never applies: `{}` runs no commands", found.id(), tools.join("`, `"));
        let help = "remove `tools`: `command` applies to every tool that runs commands";
        out.warn("no-command-tool", found.document, Issue::new(found.at("tools"), message).help(help));
    }
}

/// Exceptions that leave nothing of a guardrail, or that are none of it.
pub(super) fn exceptions(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let commands = patterns(&found.guard.guard.command);
        for except in patterns(&found.guard.guard.except) {
            let is_unrelated = |command: &CommandPattern| {
                command.program().zip(except.program()).is_some_and(|(one, other)| one != other)
            };
            let (message, help) = if commands.iter().all(|command| except.covers(command)) {
                let message =
                    format!("`{}` never applies: `{except}` excepts all of its commands", found.id());
                (message, "name the exception more exactly, such as `npm publish --dry-run`")
            } else if commands.iter().all(is_unrelated) {
                let message = format!("`{except}` is none of the commands that `{}` applies to", found.id());
                (message, "name a command that `command` contains, or remove the exception")
            } else {
                continue;
            };
            out.warn("idle-exception", found.document, Issue::new(found.at("except"), message).help(help));
        }
    }
}

/// Changes of arguments of every tool.
pub(super) fn changes_of_all_tools(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let Guard { tools, command, modify, .. } = found.guard.guard;
        if modify.is_some() && tools.is_empty() && command.is_empty() {
            let message = format!("`{}` changes the arguments of every tool", found.id());
            let issue = Issue::new(found.at("modify"), message).help("add `tools: [NAME]`");
            out.warn("changes-all-tools", found.document, issue);
        }
    }
}

/// Values of `modify` that are meant as expressions or limits, and whole command lines.
pub(super) fn values_of_changes(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let Guard { command, when, modify, .. } = found.guard.guard;
        for (name, value) in modify.iter().flatten() {
            let place = found.at(&format!("modify/{}", crate::issue::pointer_key(name)));
            let limit =
                value.as_object().and_then(|map| map.keys().find(|key| LIMITS.contains(&key.as_str())));
            let is_call = |text: &str| text.ends_with(')') && text.contains("args.");
            let (message, help) = if let Some(limit) = limit {
                let message = format!("`{name}` becomes a map with the key `{limit}`");
                (
                    message,
                    format!(
                        "write the value, and when it applies: `when: tool.{name} > 100` and `modify: {{{name}: 100}}`"
                    ),
                )
            } else if value.as_str().is_some_and(is_call) {
                let message = format!("`{name}` becomes this text: values of `modify` are no expressions");
                (
                    message,
                    format!(
                        "write the value, and when it applies: `when: tool.{name} > 100` and `modify: {{{name}: 100}}`"
                    ),
                )
            } else if name == "args.command" && value.is_string() && when.is_none() && command.is_empty() {
                let message = format!("`{}` replaces every command line by this one", found.id());
                (message, "name the commands, and add words to them: `command: git push` and `modify: {add: --dry-run}`".to_owned())
            } else {
                continue;
            };
            out.warn("unusual-change", found.document, Issue::new(place, message).help(help));
        }
    }
}

/// Guardrails that are meant to permit something.
pub(super) fn permissions(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for found in &packs.guards {
        let guard = found.guard.guard;
        let selects = !guard.command.is_empty() || !guard.tools.is_empty();
        let checks = [
            guard.uses.is_some(),
            guard.check.is_some(),
            guard.require_before.is_some(),
            guard.count.is_some(),
            guard.flow.is_some(),
            guard.redact.is_some(),
            guard.modify.is_some(),
            guard.feedback.is_some(),
            guard.script.is_some(),
            guard.deep.is_some(),
            // A note with a text of its own.
            guard.reason.is_some(),
        ];
        if guard.effect != Some(Effect::Allow) || !selects || checks.contains(&true) {
            continue;
        }
        let message =
            format!("`{}` permits nothing: `effect: allow` only writes a note into the log", found.id());
        let help = "remove it: what no guardrail stops is allowed; `except` names exceptions of a guardrail";
        let issue = Issue::new(found.at("effect"), message).help(help);
        out.add("permits-nothing", DiagnosticLevel::Warning, found.document, issue);
    }
}

/// Words for limits, as keys of a map.
const LIMITS: &[&str] =
    &["max", "min", "maximum", "minimum", "at_most", "at_least", "less_than", "limit", "lte", "gte"];

fn patterns(commands: &[CommandText]) -> Vec<CommandPattern> {
    commands
        .iter()
        .flat_map(CommandText::texts)
        .filter_map(|text| CommandPattern::parse(&text).ok())
        .collect()
}
