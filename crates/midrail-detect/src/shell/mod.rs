//! What a command line does: which programs it starts, which files and hosts it touches, and what it might destroy.

pub mod danger;
pub mod decode;
pub mod invocation;
pub mod prompt;
pub mod snippet;
pub mod windows;

mod arithmetic;
mod ast;
mod braces;
mod compound;
mod expand;
mod files;
mod hosts;
mod lex;
pub(crate) mod notebook;
mod options;
mod parse;
mod pattern;
mod redirects;
mod repository;
mod scope;
mod script;
mod walk;
mod wrappers;

use midrail_core::{Copied, Danger, RepositoryCall};

use crate::sql;

/// What a command line does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    /// What it might destroy. Those that are harmless by the spelling of their targets are told too, with `is_inside`.
    pub dangers: Vec<Danger>,
    /// Files that it reads, relative to the folder that it starts in.
    pub reads: Vec<String>,
    /// Files that it creates, changes or removes.
    pub writes: Vec<String>,
    /// Files among those whose whole content it replaces, by `>` and by the like of it in code.
    pub overwrites: Vec<String>,
    /// Places among those that are folders, or become some.
    pub folders: Vec<String>,
    /// Folders and patterns of files that it changes or removes without naming them: by what `find` finds there, by what
    /// `xargs` is handed, by what is unpacked into them.
    pub sweeps: Vec<String>,
    /// Files among those that it reads or writes of which it only uses the name, or which it hands to a program as a key:
    /// their content is neither shown nor changed.
    pub named: Vec<String>,
    /// Hosts that it talks to.
    pub hosts: Vec<String>,
    /// Programs that it starts.
    pub programs: Vec<String>,
    /// Files that it runs as scripts or programs, and whose content it does not tell.
    pub scripts: Vec<String>,
    /// Files that it runs on the way, where they are there: the hooks of git.
    pub hooks: Vec<String>,
    /// Files that it reads where something runs what it reads, or takes its targets from there.
    pub feeds: Vec<String>,
    /// Files that it writes with what comes from the network. One that ends with `/` is a folder, with all that is in it.
    pub fetched: Vec<String>,
    /// Files that are known from then on: it shows all of them, or says what stands in them.
    pub seen: Vec<String>,
    /// Files that get what stands in others.
    pub copies: Vec<Copied>,
    /// What it asks of git and of the programs of forges, in order.
    pub repository: Vec<RepositoryCall>,
    /// It is longer, deeper or more work than is looked into: what it does is not all here.
    pub is_partial: bool,
}

/// Looks into a command line, or into a script of a shell.
pub fn analyse(command: &str) -> Analysis {
    analyse_with(command, None, &[])
}

/// A file of which it is known what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As command lines spell it, seen from the folder that they start in.
    pub path: String,
    /// Its text. None: it came from the network, and nobody has looked at it.
    pub text: Option<String>,
}

/// The same for a command line that starts in another folder than the one that its findings speak of, and finds these
/// files there.
pub fn analyse_with(command: &str, folder: Option<&str>, files: &[File]) -> Analysis {
    walk::Walk::with(files).line(command, folder).0
}

/// What a file does if it is run, by its name and its content, and finds these files there.
pub fn analyse_script(name: &str, content: &str, files: &[File]) -> Analysis {
    match script::kind(name, content) {
        script::Kind::Shell => walk::Walk::with(files).into_script().line(content, None).0,
        script::Kind::Code(language) => walk::Walk::with(files).script(language, content),
        script::Kind::Sql => Analysis {
            dangers: sql::scan(content).iter().map(|hit| sql::danger(content, hit)).collect(),
            ..Analysis::default()
        },
    }
}

/// Whether a rule is about Midrail itself, and so a matter of self-protection.
pub fn is_about_midrail(rule: &str) -> bool {
    rule.starts_with("midrail-")
}

/// Whether a target may be destroyed that is spelt so and lies at a place in the sandbox: it is not the sandbox itself,
/// nor git's or Midrail's files.
pub fn is_expendable(place: &str) -> bool {
    danger::is_expendable(place)
}

/// The programs that a command line starts, with their words resolved, in the order in which they are met.
pub fn invocations(command: &str) -> Vec<invocation::Invocation> {
    walk::Walk::keeping().line(command, None).1
}

#[cfg(test)]
mod tests;
