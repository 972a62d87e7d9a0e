//! What a command line does: which programs it starts, which files and hosts it touches, and what it might destroy.

mod inner_command;
pub mod invocation;
pub mod prompt;
mod proof;

mod added_words;
mod arithmetic;
mod ast;
mod braces;
mod calls;
mod command_pattern;
mod compound;
mod condition;
mod danger;
pub(crate) mod decode;
mod expand;
mod files;
mod hosts;
mod launch;
mod lex;
mod libraries;
pub(crate) mod named;
mod network;
pub(crate) mod notebook;
mod options;
mod parse;
mod pattern;
mod programs;
mod redirects;
mod scope;
mod script;
mod shell_options;
mod snippet;
mod tree_changes;
mod usual_name;
mod walk;
mod windows;

pub(crate) use self::added_words::with_words;
pub use self::command_pattern::{CommandPattern, Fit};
pub use self::danger::is_expendable;
pub use self::files::cloned_name;
pub use self::hosts::is_registry;
pub(crate) use self::hosts::url_host;
pub use self::invocation::File;
pub use self::proof::{named_folders, only_describes};
pub use self::tree_changes::may_change_any_file;

use midrail_core::Action;

use crate::{sql, tables};

/// Analyses a command line or a shell script.
pub fn analyse(command: &str) -> Action {
    analyse_with(command, None, &[])
}

/// The same for a command line that starts in another folder than the one that its findings speak of, and finds these
/// files there.
pub fn analyse_with(command: &str, folder: Option<&str>, files: &[File]) -> Action {
    walk::Walk::with(files).line(command, folder).0
}

/// What a file does if it is run, by its name and its content, and finds these files there.
pub fn analyse_script(name: &str, content: &str, files: &[File]) -> Action {
    match script::kind(name, content) {
        script::ScriptKind::Shell => walk::Walk::with(files).into_script().line(content, None).0,
        script::ScriptKind::Code(language) => walk::Walk::with(files).script(language, content),
        script::ScriptKind::Sql => Action {
            dangers: sql::scan(content).iter().map(|hit| sql::danger(content, hit)).collect(),
            ..Action::default()
        },
    }
}

/// The variables that move the settings of agents or the state of Midrail.
pub fn settings_variables() -> impl Iterator<Item = &'static str> {
    walk::settings_variables()
}

/// Whether a text names a destructive program where a command can begin.
pub fn mentions_destruction(text: &str) -> bool {
    walk::mentions_destruction(text)
}

/// Whether a rule is about Midrail itself, and so a matter of self-protection.
pub fn is_about_midrail(rule: &str) -> bool {
    rule.starts_with("midrail-")
}

/// The rules whose findings are not in the rows of programs.
const OTHER_RULES: &[&str] = &[
    "opaque",
    "remote-code",
    "reverse-shell",
    "fork-bomb",
    "credential-exfiltration",
    "unreadable-command",
    "midrail-typing",
];

/// The rules that dangers name.
pub fn danger_rules() -> std::collections::BTreeSet<&'static str> {
    let rows = tables::PROGRAMS.values().flat_map(|row| row.dangers).map(|rule| rule.id);
    let windows = tables::WINDOWS_RULES.iter().map(|rule| rule.id);
    let libraries = tables::LIBRARIES.iter().map(|row| row.id);
    rows.chain(windows)
        .chain(libraries)
        .chain(tables::SQL_RULES.keys().copied())
        .chain(OTHER_RULES.iter().copied())
        .collect()
}

/// Whether Midrail knows a program by its name. The wrappers of build tools are files of a project.
pub fn is_known_program(name: &str) -> bool {
    !matches!(name, "gradlew" | "mvnw") && programs::find(name).is_some()
}

/// The programs that a command line starts, with their words resolved, in the order in which they are met.
pub fn invocations(command: &str) -> Vec<invocation::Invocation> {
    walk::Walk::keeping().line(command, None).1
}

#[cfg(test)]
mod tests;
