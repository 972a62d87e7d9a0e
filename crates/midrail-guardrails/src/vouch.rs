//! vouch: knows calls about which no person needs to be asked.

mod patterns;
mod programs;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use midrail_core::{
    Action, ActionType, CommandCall, Grounds, NetworkUse, OpaqueCode, OpaqueKind, SandboxNetwork,
};

use self::patterns::{has_hidden_part, lists_edit, lists_folder, lists_read};
use self::programs::{Known, is_plain_wrapper, is_safe_variable, known};
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
    /// It only prints, or reads files.
    Reads,
    /// It changes files.
    Edits,
    /// It fetches from other machines.
    Fetches,
    /// The pack lists it.
    Listed(&'a str),
    /// It is a build tool of the project.
    Builds,
}

impl Basis<'_> {
    fn describe(self) -> String {
        match self {
            Basis::Reads => "it only reads".to_owned(),
            Basis::Edits => "it changes files that may be changed".to_owned(),
            Basis::Fetches => "it fetches from a listed host".to_owned(),
            Basis::Listed(name) => format!("`{name}` is listed"),
            Basis::Builds => "it builds or tests the project in a sandbox".to_owned(),
        }
    }
}

impl Vouch {
    /// Whether it lists no call.
    pub fn is_empty(&self) -> bool {
        let Vouch { commands, reads, edits, hosts, tools, builds } = self;
        let has_patterns = [reads, edits, hosts, tools].iter().any(|patterns| !patterns.is_empty());
        commands.is_empty() && !has_patterns && !builds
    }

    /// Why no person needs to be asked about the call of the event, if so.
    fn grounds(&self, context: &Context<'_>) -> Result<Option<Grounds>, Missing> {
        let Some(tool) = context.event.tool_name() else { return Ok(None) };
        let action = context.action()?;
        let is_unclear = action.is_partial || action.has_more_commands || action.has_unknown_programs;
        if is_unclear || !action.dangers.is_empty() {
            return Ok(None);
        }
        let listed = any_matches(&self.tools, tool).then_some(Basis::Listed(tool));
        let bases = match (listed, action.commands.is_empty()) {
            (Some(listed), _) => Some(BTreeSet::from([listed])),
            (None, true) => tool_basis(tool, action).map(|basis| BTreeSet::from([basis])),
            (None, false) => self.line_bases(context, action)?,
        };
        let Some(mut bases) = bases.filter(|bases| !bases.is_empty()) else { return Ok(None) };
        // `cat a > b` consists of a command that only reads.
        if action.writes.iter().any(|file| !is_device(file)) && !is_theirs(&bases) {
            bases.insert(Basis::Edits);
        }
        let Some(sandbox) = needed_sandbox(action, &bases) else { return Ok(None) };
        let is_offline = sandbox == Some(SandboxNetwork::None);
        let has_labels = || Ok(Labels::from_context(context)?.names().next().is_some());
        let only_reads = bases.iter().all(|basis| *basis == Basis::Reads);
        let is_vouched = (sandbox.is_some() || action.sets.iter().all(|name| is_safe_variable(name)))
            && (is_offline || self.allows_network(action, &bases))
            && self.allows_files(context, action, &bases)?
            && (is_offline || only_reads || !has_labels()?);
        let reasons: Vec<String> = bases.into_iter().map(Basis::describe).collect();
        Ok(is_vouched.then(|| Grounds { reason: reasons.join(", and "), sandbox }))
    }

    /// What is known about the commands of a line. `None`: nothing is known about one of them.
    fn line_bases<'a>(
        &'a self,
        context: &Context<'_>,
        action: &Action,
    ) -> Result<Option<BTreeSet<Basis<'a>>>, Missing> {
        let mut bases = BTreeSet::new();
        let mut is_in_listed = false;
        for call in &action.commands {
            let listed = self.commands.iter().find(|command| command.is(call));
            let basis = match listed {
                Some(command) => Some(Basis::Listed(command.text())),
                // What a listed command starts belongs to it: `x.sh` in `bash x.sh`.
                None if is_in_listed => None,
                None if is_plain_wrapper(call) => continue,
                None => match self.command_basis(context, action, call)? {
                    Some(basis) => Some(basis),
                    None => return Ok(None),
                },
            };
            if !is_in_project(context, call)? {
                return Ok(None);
            }
            is_in_listed = call.wraps && (listed.is_some() || is_in_listed);
            bases.extend(basis);
        }
        Ok(Some(bases))
    }

    /// What is known about a command that is not listed.
    fn command_basis<'a>(
        &self,
        context: &Context<'_>,
        action: &Action,
        call: &CommandCall,
    ) -> Result<Option<Basis<'a>>, Missing> {
        let folder = call.folder.as_deref().unwrap_or_default();
        let reads_here =
            || Ok(lists_folder(&self.reads, &context.real_place(here_if_empty(folder), None)?.key));
        let (has_reads, has_edits) = (!self.reads.is_empty(), !self.edits.is_empty());
        let (is_known, basis) = match known(call) {
            Some(Known::Prints) => (true, Basis::Reads),
            Some(Known::Reads) => (has_reads, Basis::Reads),
            Some(Known::ReadsFolder) => (reads_here()?, Basis::Reads),
            Some(Known::Searches) => (reads_here()? && self.lists_paths(context, call)?, Basis::Reads),
            Some(Known::ReadsRepository) => {
                let is_ours = reads_here()? && is_top(context, folder)?;
                (is_ours && self.lists_paths(context, call)?, Basis::Reads)
            }
            Some(Known::Edits) => (has_edits, Basis::Edits),
            Some(Known::EditsRepository) => (has_edits && is_top(context, folder)?, Basis::Edits),
            Some(Known::Fetches) => (!self.hosts.is_empty(), Basis::Fetches),
            None => {
                let is_build =
                    |part: &OpaqueCode| part.kind == OpaqueKind::Project && part.what == call.program;
                (self.builds && action.opaque.iter().any(is_build), Basis::Builds)
            }
        };
        Ok(is_known.then_some(basis))
    }

    /// Whether every argument that can be a path elsewhere is one that may be read.
    fn lists_paths(&self, context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
        let can_be_elsewhere =
            |arg: &&String| arg.starts_with(['/', '~']) || arg.split('/').any(|part| part == "..");
        for arg in call.args.iter().filter(can_be_elsewhere) {
            if !context.known_place(arg)?.is_some_and(|place| lists_read(&self.reads, &place.key)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no person needs to be asked about what the call exchanges with other machines.
    fn allows_network(&self, action: &Action, bases: &BTreeSet<Basis<'_>>) -> bool {
        let is_listed = bases.iter().any(|basis| matches!(basis, Basis::Listed(_)));
        if !bases.contains(&Basis::Fetches) {
            return is_listed || (action.hosts.is_empty() && action.network.is_empty());
        }
        let only_receives = |network: &NetworkUse| !network.sends && !network.has_unknown_addresses;
        !action.has_unknown_hosts
            && action.hosts.iter().all(|host| any_matches(&self.hosts, host))
            && action.network.iter().all(only_receives)
    }

    /// Whether no person needs to be asked about the files that the call reads and changes.
    fn allows_files(
        &self,
        context: &Context<'_>,
        action: &Action,
        bases: &BTreeSet<Basis<'_>>,
    ) -> Result<bool, Missing> {
        let is_theirs = is_theirs(bases);
        let is_saved = is_theirs || (!self.edits.is_empty() && context.git()?.is_some());
        for access in accessed_files(context)? {
            let Some(place) = context.known_place(access.file)? else { return Ok(false) };
            let is_allowed = match access.is_write {
                _ if is_device(&place.key) => true,
                true if is_temporary(&place.key) => is_theirs || !self.edits.is_empty(),
                true => {
                    let is_listed = lists_edit(&self.edits, &place.key) && place.inside;
                    is_saved && (is_listed || (is_theirs && place.inside && !has_hidden_part(&place.key)))
                }
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
        Ok(action.sweeps.is_empty() || is_theirs)
    }
}

/// Whether what a call does within the project belongs to a listed command or a build.
fn is_theirs(bases: &BTreeSet<Basis<'_>>) -> bool {
    bases.iter().any(|basis| matches!(basis, Basis::Listed(_) | Basis::Builds))
}

/// What is known about a tool that starts no program.
fn tool_basis<'a>(tool: &str, action: &Action) -> Option<Basis<'a>> {
    // A server's tool does what the server wants, whatever its name says.
    let is_of_server = tool.starts_with("mcp__") || !action.opaque.is_empty();
    match action.kind {
        _ if is_of_server => None,
        ActionType::FileRead => Some(Basis::Reads),
        ActionType::FileWrite => Some(Basis::Edits),
        ActionType::Network => Some(Basis::Fetches),
        ActionType::Command | ActionType::Other => None,
    }
}

/// The sandbox without which the grounds do not count, if any. `None`: there are no grounds, whatever the sandbox.
fn needed_sandbox(action: &Action, bases: &BTreeSet<Basis<'_>>) -> Option<Option<SandboxNetwork>> {
    let mut needed = None;
    for part in &action.opaque {
        match part.kind {
            OpaqueKind::Dynamic => return None,
            // Somebody listed this program by its name.
            OpaqueKind::Program => {}
            OpaqueKind::Script | OpaqueKind::Code | OpaqueKind::Project | OpaqueKind::Install => {
                needed = Some(SandboxNetwork::All);
            }
        }
    }
    if bases.contains(&Basis::Builds) { Some(Some(SandboxNetwork::None)) } else { Some(needed) }
}

/// Whether a command runs in a folder of the project.
fn is_in_project(context: &Context<'_>, call: &CommandCall) -> Result<bool, Missing> {
    match call.folder.as_deref().filter(|_| !call.program.is_empty()) {
        Some(folder) => Ok(context.real_place(here_if_empty(folder), None)?.inside),
        None => Ok(false),
    }
}

/// Whether a folder is the top of the project's repository. Another repository has settings of its own, which start programs.
fn is_top(context: &Context<'_>, folder: &str) -> Result<bool, Missing> {
    let Some(git) = context.git()? else { return Ok(false) };
    let place = context.real_place(here_if_empty(folder), None)?;
    Ok(context.real_place(&git.top, None)?.key == place.key)
}

fn here_if_empty(folder: &str) -> &str {
    if folder.is_empty() { "." } else { folder }
}

impl Guardrail for Vouch {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // What is not known is no reason to stop a call, but one to ask about it.
        match self.grounds(context) {
            Err(missing) if context.has_pending_needs() => Err(missing.into()),
            Ok(Some(grounds)) => Ok(Verdict::vouch(grounds)),
            Ok(None) | Err(_) => Ok(Verdict::allow()),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        observe(context, effect, changes)
    }

    fn observes(&self) -> &[EventKind] {
        OBSERVED
    }

    fn max_effect(&self) -> Effect {
        Effect::Allow
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn summary(&self) -> Option<String> {
        Some("Vouch for listed calls, so that no user is asked about them.".to_owned())
    }
}
