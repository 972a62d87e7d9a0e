//! vouch: knows calls about which no person needs to be asked.

mod bounded;
mod contained;
mod line;
mod patterns;
mod places;
mod programs;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeSet;

use midrail_core::{
    Action, CommandCall, Grounds, OpaqueCode, OpaqueKind, SandboxNetwork, SandboxRequest, ToolCall,
};

use self::bounded::bounded;
use self::contained::contained;
use self::line::{Joint, simple_commands};
use self::patterns::{lists_edit, lists_folder, lists_read};
use self::places::{here_if_empty, is_in_project, is_top, names_only_own_folders};
use self::programs::{Known, known};
use self::tools::{KnownTool, known_tool};
use crate::prelude::*;
use crate::shared::file_access::accessed_files;
use crate::shared::file_paths::{is_device, is_temporary};
use crate::shared::flow::labels::Labels;
use crate::shared::flow::observe::{OBSERVED, observe};
use crate::shared::one_or_many::OneOrMany;
use crate::shared::own_files::is_own;
use crate::shared::settings::{Pattern, any_matches};

/// The guardrail comes last: it withholds nothing, and a call that is stopped needs no grounds.
const PRIORITY: u32 = 99;

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<Vouch>("vouch", Category::Safety, PRIORITY, &[EventKind::BeforeTool]);

/// The calls about which no person needs to be asked if no guardrail objects. It never weakens a guardrail.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Vouch {
    /// Commands: the program and its leading words, or `{exact: LINE}`. Every command of a line must be known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: OneOrMany<VouchedCommand>,
    /// Files that may be read, by tools and by commands that only read: path patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: OneOrMany<Pattern>,
    /// Files of the project that may be changed, if it is in a repository: path patterns. A wildcard matches no name that begins with a
    /// dot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edits: OneOrMany<Pattern>,
    /// Hosts that may be contacted without sending them anything: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: OneOrMany<Pattern>,
    /// Tools: names or glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: OneOrMany<Pattern>,
    /// Build tools and tests of the project, in a sandbox without a network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub builds: bool,
    /// Other lines of known commands run in a sandbox. If they only read, or change files of `edits`, in one that permits no more, no
    /// person needs to be asked; `reads` must list the whole project. Otherwise a person is asked about what the sandbox leaves: the
    /// project, and the network without the user's credentials.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
}

/// A command about which no person needs to be asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields, expecting = "expected a command, or `{exact: COMMAND}`")]
pub enum VouchedCommand {
    /// The program and its leading words. Further arguments may follow.
    Words(String),
    /// The whole command.
    Exact {
        /// The command, without further arguments.
        exact: String,
    },
}

impl VouchedCommand {
    /// The command.
    pub fn text(&self) -> &str {
        match self {
            VouchedCommand::Words(text) | VouchedCommand::Exact { exact: text } => text,
        }
    }

    /// Whether a call is this command. The word `*` stands for any argument.
    fn is(&self, call: &CommandCall) -> bool {
        let mut words = self.text().split_whitespace();
        let program = call.path.as_deref().unwrap_or(&call.program);
        if words.next() != Some(program) || call.has_more_args || !call.splits.is_empty() {
            return false;
        }
        let words: Vec<&str> = words.collect();
        let is_long_enough = match self {
            VouchedCommand::Words(_) => call.args.len() >= words.len(),
            VouchedCommand::Exact { .. } => call.args.len() == words.len() && call.unknown.is_empty(),
        };
        let fits = |(at, (word, arg)): (usize, (&&str, &String))| {
            *word == "*" || (*word == arg && !call.unknown.contains(&at))
        };
        is_long_enough && words.iter().zip(&call.args).enumerate().all(fits)
    }
}

/// What is known about a call, or about a command of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Basis<'a> {
    /// It only prints.
    Prints,
    /// It reads files.
    Reads,
    /// It changes files.
    Edits,
    /// It fetches from another machine.
    Fetches,
    /// The pack lists it.
    Listed(&'a str),
    /// It is a build tool of the project.
    Builds,
}

impl Basis<'_> {
    fn describe(self) -> String {
        match self {
            Basis::Prints => "it only prints".to_owned(),
            Basis::Reads => "it only reads".to_owned(),
            Basis::Edits => "it changes files that may be changed".to_owned(),
            Basis::Fetches => "it fetches from a listed host".to_owned(),
            Basis::Listed(name) => format!("`{name}` is listed"),
            Basis::Builds => "it builds or tests the project in a sandbox".to_owned(),
        }
    }

    /// Whether what it does within the project belongs to it.
    fn is_own(self) -> bool {
        matches!(self, Basis::Prints | Basis::Listed(_) | Basis::Builds)
    }
}

/// What is known about every command of a line.
type Bases<'a> = BTreeSet<Basis<'a>>;

impl Vouch {
    /// Whether it lists no call.
    pub fn is_empty(&self) -> bool {
        let Vouch { commands, reads, edits, hosts, tools, builds, contained } = self;
        let has_patterns = [reads, edits, hosts, tools].iter().any(|patterns| !patterns.is_empty());
        commands.is_empty() && !has_patterns && !builds && !contained
    }

    /// The verdict on a call: grounds why no person needs to be asked about it, if there are some.
    fn verdict(&self, context: &Context<'_>) -> Result<Verdict, Missing> {
        let Some(tool) = &context.event.tool else { return Ok(Verdict::allow()) };
        let action = context.action()?;
        if action.is_partial || action.has_more_commands || action.has_unknown_programs {
            return Ok(Verdict::allow());
        }
        let is_harmless = action.dangers.is_empty() && action.sweeps.is_empty();
        if is_harmless && let Some(grounds) = self.grounds(context, tool, action)? {
            return Ok(Verdict::vouch(grounds));
        }
        if !self.contained || !matches!(known_tool(tool), Some(KnownTool::Command(_))) {
            return Ok(Verdict::allow());
        }
        if is_harmless && let Some((rules, grounds)) = contained(&self.reads, &self.edits, context, action)? {
            return Ok(Verdict {
                sandbox: Some(SandboxRequest::Rules(Box::new(rules))),
                grounds: Some(grounds),
                ..Verdict::new(Effect::Contain, "The line runs in a sandbox that permits what it says.")
            });
        }
        Ok(bounded(context, action)?.map_or_else(Verdict::allow, |name| Verdict {
            sandbox: Some(name.into()),
            ..Verdict::new(Effect::Contain, "The line does its work in a sandbox.")
        }))
    }

    /// Why no person needs to be asked about the call of the event, if so.
    fn grounds(
        &self,
        context: &Context<'_>,
        tool: &ToolCall,
        action: &Action,
    ) -> Result<Option<Grounds>, Missing> {
        let bases = if any_matches(&self.tools, &tool.name) && action.commands.is_empty() {
            Some(Bases::from([Basis::Listed(&tool.name)]))
        } else {
            match known_tool(tool) {
                Some(KnownTool::Command(line)) => self.line_bases(context, action, line)?,
                Some(KnownTool::Reads) => Some(Bases::from([Basis::Reads])),
                Some(KnownTool::Edits) => Some(Bases::from([Basis::Edits])),
                Some(KnownTool::Fetches(host)) => {
                    any_matches(&self.hosts, &host).then(|| Bases::from([Basis::Fetches]))
                }
                None => None,
            }
        };
        let Some(bases) = bases.filter(|bases| !bases.is_empty()) else { return Ok(None) };
        let Some(sandbox) = needed_sandbox(action, &bases) else { return Ok(None) };
        let is_offline = sandbox == Some(SandboxNetwork::None);
        let only_reads = bases.iter().all(|basis| matches!(basis, Basis::Prints | Basis::Reads));
        let is_vouched = (is_offline || allows_network(action, &bases))
            && self.allows_files(context, &bases)?
            && (is_offline || only_reads || Labels::from_context(context)?.names().next().is_none());
        let reasons: Vec<String> = bases.into_iter().map(Basis::describe).collect();
        Ok(is_vouched.then(|| Grounds { reason: reasons.join(", and "), sandbox }))
    }

    /// What is known about the commands of a line. `None`: the line is not simple, or nothing is known about one of its commands.
    fn line_bases<'a>(
        &'a self,
        context: &Context<'_>,
        action: &Action,
        line: &str,
    ) -> Result<Option<Bases<'a>>, Missing> {
        let Some(commands) = simple_commands(line) else { return Ok(None) };
        if !action.sets.iter().all(|name| name == "MAKE") {
            return Ok(None);
        }
        let mut calls = action.commands.iter().peekable();
        let mut bases = Bases::new();
        for (at, (words, joint)) in commands.iter().enumerate() {
            let words = without_timeout(words);
            if words.len() < commands.get(at).map_or(0, |(all, _)| all.len()) {
                // The analysis lists `timeout` itself.
                calls.next();
            }
            let Some(name) = words.first() else { return Ok(None) };
            let Some(call) = calls.next().filter(|call| is_called(call, name)) else { return Ok(None) };
            if !self.has_only_listed_paths(context, words)? {
                return Ok(None);
            }
            if name == "cd" {
                // If it fails, the rest must not run elsewhere.
                let is_first = at == 0 && *joint == Joint::And;
                let is_plain = words.len() == 2 && words.iter().all(|word| !word.starts_with('-'));
                let has_alternative =
                    commands.iter().rev().skip(1).any(|(_, it)| !matches!(it, Joint::And | Joint::Pipe));
                if !is_first || !is_plain || has_alternative || !is_in_project(context, call)? {
                    return Ok(None);
                }
                bases.insert(Basis::Prints);
                continue;
            }
            let Some(basis) = self.command_basis(context, action, call)? else { return Ok(None) };
            // What a listed command starts belongs to it: `x.sh` in `bash x.sh`.
            while matches!(basis, Basis::Listed(_))
                && call.wraps
                && calls.next_if(|next| !is_next(&commands, at, next)).is_some()
            {}
            bases.insert(basis);
        }
        Ok(Some(bases).filter(|_| calls.next().is_none()))
    }

    /// What is known about a command.
    fn command_basis<'a>(
        &'a self,
        context: &Context<'_>,
        action: &Action,
        call: &CommandCall,
    ) -> Result<Option<Basis<'a>>, Missing> {
        if !is_in_project(context, call)? || !call.unknown.is_empty() || !call.splits.is_empty() {
            return Ok(None);
        }
        let folder = here_if_empty(call.folder.as_deref().unwrap_or_default());
        if let Some(command) = self.commands.iter().find(|command| command.is(call)) {
            // Another repository has hooks and settings of its own.
            let is_ours = call.program != "git" || is_top(context, folder)?;
            return Ok(is_ours.then_some(Basis::Listed(command.text())));
        }
        let lists_here = || Ok(lists_folder(&self.reads, &context.real_place(folder, None)?.key));
        if !names_only_own_folders(context, call)? || self.hides_more(context, call)? {
            return Ok(None);
        }
        let (is_known, basis) = match known(call) {
            Some(Known::Prints) => (true, Basis::Prints),
            Some(Known::Reads) => (!self.reads.is_empty(), Basis::Reads),
            Some(Known::ReadsFolder) => (lists_here()?, Basis::Reads),
            Some(Known::ReadsRepository) => (lists_here()? && is_top(context, folder)?, Basis::Reads),
            Some(Known::Creates) => (!self.edits.is_empty(), Basis::Edits),
            None => {
                let is_build =
                    |part: &OpaqueCode| part.kind == OpaqueKind::Project && part.what == call.program;
                (self.builds && action.opaque.iter().any(is_build), Basis::Builds)
            }
        };
        Ok(is_known.then_some(basis))
    }

    /// Whether a sandbox would hide something from a command that shows the content of whole folders: credentials. Then it has to run in
    /// one.
    fn hides_more(&self, context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
        let is_recursive = call.program == "rg"
            || (call.program.ends_with("grep")
                && call.args.iter().any(|arg| {
                    arg.starts_with("--recursive")
                        || arg.starts_with("--dereference-recursive")
                        || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['r', 'R']))
                }));
        Ok(self.contained && is_recursive && context.has_sandbox()?)
    }

    /// Whether every path in the words of a command is spelled plainly, and every absolute one may be read or is in the project.
    fn has_only_listed_paths(&self, context: &Context<'_>, words: &[String]) -> Result<bool, Missing> {
        for word in words.iter().skip(1) {
            if word.split(['/', '=', ':', ',']).any(|part| part == "..") || word.contains('~') {
                return Ok(false);
            }
            // A path may follow an option without a space, or an `=`.
            let starts = word.match_indices('/').map(|(at, _)| at);
            let is_start = |at: usize| {
                let before = word.get(..at).and_then(|text| text.chars().next_back());
                at == 0 || word.starts_with('-') || before.is_some_and(|char| "=:,@%+".contains(char))
            };
            if let Some(at) = starts.into_iter().find(|at| is_start(*at)) {
                let path = word.get(at..).unwrap_or_default();
                let place = context.known_place(path)?;
                if !place.is_some_and(|place| place.inside || lists_read(&self.reads, &place.key)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether no person needs to be asked about the files that the call reads and changes.
    fn allows_files(&self, context: &Context<'_>, bases: &Bases<'_>) -> Result<bool, Missing> {
        // Which command of a line accesses a file is not known.
        let is_theirs = bases.iter().all(|basis| basis.is_own());
        for access in accessed_files(context)? {
            if access.file.split('/').any(|part| part == "..") {
                return Ok(false);
            }
            let Some(place) = context.known_place(access.file)? else { return Ok(false) };
            let is_allowed = match access.is_write {
                _ if is_device(&place.key) => true,
                true if is_temporary(&place.key) => is_theirs,
                true if is_theirs => place.inside,
                true => place.inside && lists_edit(&self.edits, &place.key) && context.git()?.is_some(),
                false => {
                    lists_read(&self.reads, &place.key)
                        || (is_theirs && place.inside)
                        || is_own(context, access.file)?
                }
            };
            if !is_allowed {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The words of a command without `timeout 5` in front of it.
fn without_timeout(words: &[String]) -> &[String] {
    let is_duration = |text: &String| {
        let number = text.trim_end_matches(['s', 'm']);
        !number.is_empty() && number.chars().all(|char| char.is_ascii_digit())
    };
    match words {
        [name, duration, rest @ ..] if name == "timeout" && is_duration(duration) && !rest.is_empty() => rest,
        _ => words,
    }
}

/// Whether a call is that of a command with this first word.
fn is_called(call: &CommandCall, name: &str) -> bool {
    !call.has_more_args
        && (call.path.as_deref() == Some(name) || (call.path.is_none() && call.program == name))
}

/// Whether a call is that of the command after the one at this index.
fn is_next(commands: &[(Vec<String>, Joint)], at: usize, call: &CommandCall) -> bool {
    let next = commands.get(at.saturating_add(1)).and_then(|(words, _)| words.first());
    next.is_some_and(|name| name == "timeout" && call.program == "timeout" || is_called(call, name))
}

/// Whether no person needs to be asked about what the call exchanges with other machines.
fn allows_network(action: &Action, bases: &Bases<'_>) -> bool {
    // A listed command may contact what it contacts. The host of a fetch is listed.
    let is_theirs = bases.iter().all(|basis| basis.is_own() || *basis == Basis::Fetches);
    is_theirs || (action.hosts.is_empty() && action.network.is_empty() && !action.has_unknown_hosts)
}

/// The sandbox without which the grounds do not count, if any. `None`: there are no grounds, whatever the sandbox.
fn needed_sandbox(action: &Action, bases: &Bases<'_>) -> Option<Option<SandboxNetwork>> {
    let mut needed = None;
    for part in &action.opaque {
        match part.kind {
            OpaqueKind::Dynamic => return None,
            // The pack lists this program by its name.
            OpaqueKind::Program => {}
            OpaqueKind::Script | OpaqueKind::Code | OpaqueKind::Project | OpaqueKind::Install => {
                needed = Some(SandboxNetwork::All);
            }
        }
    }
    if bases.contains(&Basis::Builds) { Some(Some(SandboxNetwork::None)) } else { Some(needed) }
}

impl Guardrail for Vouch {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // What is not known is no reason to stop a call, but one to ask about it.
        match self.verdict(context) {
            Err(missing) if context.has_pending_needs() => Err(missing.into()),
            verdict => Ok(verdict.unwrap_or_default()),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        observe(context, effect, changes)
    }

    fn observes(&self) -> &[EventKind] {
        OBSERVED
    }

    fn max_effect(&self) -> Effect {
        if self.contained { Effect::Contain } else { Effect::Allow }
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn summary(&self) -> Option<String> {
        Some("Vouch for listed calls, so that no user is asked about them.".to_owned())
    }
}
