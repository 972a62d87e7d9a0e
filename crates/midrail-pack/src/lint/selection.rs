//! Guardrails that select other calls than their author means: no call at all, or every call.

use midrail_guardrails::CommandPattern;

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

fn patterns(commands: &[CommandText]) -> Vec<CommandPattern> {
    commands
        .iter()
        .flat_map(CommandText::texts)
        .filter_map(|text| CommandPattern::parse(&text).ok())
        .collect()
}
