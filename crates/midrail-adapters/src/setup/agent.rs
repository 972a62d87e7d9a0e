//! The coding agents that Midrail can be put into, and what is to be known of each.

use std::path::PathBuf;

use super::command;
use super::files::SettingsError;
use super::jsonc::{self, Field};
use super::places::Environment;
use super::strict::{self, Reads};
use super::{claude_code, codex, copilot_cli, cursor, gemini_cli, opencode, toml};

/// A coding agent that calls Midrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// GitHub Copilot CLI.
    CopilotCli,
    /// Cursor.
    Cursor,
    /// OpenCode.
    OpenCode,
}

/// For whom an agent is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallScope {
    /// Whoever works on this project.
    Project,
    /// One user, in all projects.
    User,
    /// Everyone on this machine, by files that only its administrator writes.
    Managed,
}

impl InstallScope {
    /// All of them.
    pub const ALL: [InstallScope; 3] = [InstallScope::Project, InstallScope::User, InstallScope::Managed];

    /// What `midrail init` and `uninstall` are told for it, with a space before it.
    pub fn flag(self) -> &'static str {
        match self {
            InstallScope::Project => "",
            InstallScope::User => " --user",
            InstallScope::Managed => " --managed",
        }
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            InstallScope::Project => "project",
            InstallScope::User => "user",
            InstallScope::Managed => "managed",
        }
    }
}

impl Agent {
    /// All of them.
    pub const ALL: [Agent; 6] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::GeminiCli,
        Agent::CopilotCli,
        Agent::Cursor,
        Agent::OpenCode,
    ];

    /// The name by which `midrail hook` knows it.
    pub fn name(self) -> &'static str {
        self.host().name
    }

    /// The name that its makers gave it.
    pub fn title(self) -> &'static str {
        self.host().title
    }

    /// The agent of a name; short forms such as `claude` count.
    pub fn named(name: &str) -> Option<Agent> {
        let is_it = |agent: &Agent| {
            let host = agent.host();
            host.name == name || host.programs.contains(&name)
        };
        Agent::ALL.into_iter().find(is_it)
    }

    /// Whether it is installed, or set up for this project or user.
    pub fn is_here(self, places: &Environment) -> bool {
        self.program(places).is_some() || (self.host().traces)(places).iter().any(|trace| trace.exists())
    }

    /// Its program on the search path.
    pub(super) fn program(self, places: &Environment) -> Option<PathBuf> {
        self.host().programs.iter().find_map(|name| places.on_path(name))
    }

    pub(super) fn host(self) -> &'static Host {
        match self {
            Agent::ClaudeCode => &claude_code::HOST,
            Agent::Codex => &codex::HOST,
            Agent::GeminiCli => &gemini_cli::HOST,
            Agent::CopilotCli => &copilot_cli::HOST,
            Agent::Cursor => &cursor::HOST,
            Agent::OpenCode => &opencode::HOST,
        }
    }
}

/// What is to be known of an agent.
pub(super) struct Host {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Its programs, the first that is found counts.
    pub(super) programs: &'static [&'static str],
    /// Files and folders that tell that it is used.
    pub(super) traces: fn(&Environment) -> Vec<PathBuf>,
    /// The file in which hooks are registered. `None`: there is no such scope.
    pub(super) file: fn(&Environment, InstallScope) -> Option<PathBuf>,
    /// How that file is written.
    pub(super) format: fn(InstallScope) -> Format,
    /// What is asked of Midrail, and when.
    pub(super) events: &'static [Hooked],
    /// One registration, as the agent wants it.
    pub(super) handler: fn(&Hooked, command: String) -> Vec<(&'static str, Field)>,
    /// What a person has to know or do after hooks were registered.
    pub(super) remarks: fn(&Environment, InstallScope) -> Vec<String>,
    /// What it takes of a file in JSON.
    pub(super) reads: Reads,
    /// A command that might be run by a shell that is none of the family of `sh`.
    pub(super) any_shell: bool,
}

/// How hooks are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON: lists of groups, each with a list of hooks.
    Groups,
    /// JSON with a version: lists of hooks.
    Flat,
    /// TOML, with the switch that keeps hooks on.
    Toml,
    /// A program of our own.
    Plugin,
}

/// An event that Midrail is asked about.
pub(super) struct Hooked {
    /// The agent's own name of it.
    pub(super) event: &'static str,
    pub(super) moment: Moment,
    /// How long the agent waits for an answer.
    pub(super) seconds: u32,
}

/// What kind of moment an event is: what follows where there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// A person's words to the agent: they are not passed on.
    Prompt,
    /// The same, where only JSON keeps them back.
    PromptByJson,
    /// An action: it does not happen.
    Before,
    /// The result of an action: it is withheld where the agent knows how.
    After,
    /// The end of the work: it ends. Nobody is to be kept at work for ever by a program that fails.
    Stop,
    /// Something to take note of: it goes on.
    Note,
}

impl Moment {
    /// Whether something that ought to be stopped might pass here.
    pub(super) fn is_gate(self) -> bool {
        match self {
            Moment::Prompt | Moment::PromptByJson | Moment::Before | Moment::After => true,
            Moment::Stop | Moment::Note => false,
        }
    }
}

/// A moment of a session that is only taken note of.
pub(super) const fn note(event: &'static str) -> Hooked {
    Hooked { event, moment: Moment::Note, seconds: 60 }
}

/// What a person says.
pub(super) const fn prompt(event: &'static str) -> Hooked {
    Hooked { event, moment: Moment::Prompt, seconds: 60 }
}

/// An action. A person may be waited for.
pub(super) const fn before(event: &'static str) -> Hooked {
    Hooked { event, moment: Moment::Before, seconds: 330 }
}

/// A result. A script may take ten minutes over it, to run tests.
pub(super) const fn after(event: &'static str) -> Hooked {
    Hooked { event, moment: Moment::After, seconds: 660 }
}

/// The end. Tests may be run.
pub(super) const fn stop(event: &'static str) -> Hooked {
    Hooked { event, moment: Moment::Stop, seconds: 600 }
}

impl Host {
    /// The commands of all events.
    pub(super) fn commands(&'static self, program: &str) -> Vec<(&'static Hooked, String)> {
        let command = |hooked: &'static Hooked| (hooked, command::line(program, self, hooked));
        self.events.iter().map(command).collect()
    }

    /// A file with the hooks in it, made from what is there.
    pub(super) fn installed(
        &'static self,
        scope: InstallScope,
        text: &str,
        program: &str,
    ) -> Result<String, jsonc::Flaw> {
        let wanted: Vec<_> = self
            .commands(program)
            .into_iter()
            .map(|(hooked, command)| (hooked.event, (self.handler)(hooked, command)))
            .collect();
        let installed = match (self.format)(scope) {
            Format::Groups => jsonc::install(text, self, true, &wanted),
            Format::Flat => jsonc::install(text, self, false, &wanted),
            Format::Toml => toml::install(text, self, &wanted),
            Format::Plugin => Ok(opencode::plugin(program)),
        }?;
        self.check(scope, text)?;
        Ok(installed)
    }

    /// Whether the agent itself takes a file.
    pub(super) fn check(&self, scope: InstallScope, text: &str) -> Result<(), jsonc::Flaw> {
        match (self.format)(scope) {
            Format::Groups | Format::Flat if !text.trim().is_empty() => strict::check(text, self),
            Format::Groups | Format::Flat | Format::Toml | Format::Plugin => Ok(()),
        }
    }

    /// A file without our hooks; `None` if there are none in it. `before` is what the file was without them, if that is
    /// known: containers that it had stay.
    pub(super) fn removed(
        &self,
        scope: InstallScope,
        text: &str,
        before: Option<&str>,
    ) -> Result<Option<String>, jsonc::Flaw> {
        match (self.format)(scope) {
            Format::Groups => jsonc::remove(text, self, true, before),
            Format::Flat => jsonc::remove(text, self, false, before),
            Format::Toml => toml::remove(text, self, before),
            Format::Plugin => Ok(opencode::is_ours(text).then(String::new)),
        }
    }

    /// The registrations of ours in a file: event and command.
    pub(super) fn registered(
        &self,
        scope: InstallScope,
        text: &str,
    ) -> Result<Vec<(String, serde_json::Value)>, jsonc::Flaw> {
        match (self.format)(scope) {
            Format::Groups => jsonc::registered(text, self, true),
            Format::Flat => jsonc::registered(text, self, false),
            Format::Toml => toml::registered(text, self),
            Format::Plugin => Ok(opencode::registered(text)),
        }
    }

    /// Whether a file of a scope has no other purpose than hooks, and may go when they go.
    pub(super) fn is_only_for_hooks(&self, path: &std::path::Path) -> bool {
        path.file_name()
            .is_some_and(|name| name == "hooks.json" || name == "midrail.json" || name == "midrail.js")
    }

    /// Whether a command is one of ours.
    pub(super) fn is_ours(&self, command: &str) -> bool {
        command::is_ours(command, self.name)
    }
}

/// A file that cannot be worked with.
pub(super) fn trouble(path: &std::path::Path, flaw: jsonc::Flaw) -> SettingsError {
    SettingsError { path: path.to_owned(), place: flaw.place, what: flaw.what, help: flaw.help }
}
