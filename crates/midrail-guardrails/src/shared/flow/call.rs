//! What a call does and where it goes: its classes and destinations, from the policy's rows and from what the call is known to do.

use std::collections::BTreeSet;

use midrail_core::{
    Action, ActionType, CallClass, Context, GitState, Missing, NetworkUse, TRUSTED, UNTRUSTED, glob,
};
use midrail_scan::names;
use midrail_shell::action::is_local_file_tool;
use serde_json::Value;

use super::available::available;
use super::files::FileLabels;
use super::named::Named;
use super::rows::{is_trusted_for_now, names_tool, rows};
use super::words;
use crate::shared::data::FLOW;
use crate::shared::file_access::known_actions;
use crate::shared::file_paths::is_temporary;

/// The most destinations of a call that are checked. A call with more counts as one whose destinations are not all known.
const MAX_DESTINATIONS: usize = 64;

/// The session variable with destinations that an approver named for the session.
pub const NAMED_DESTINATIONS: &str = "named_destinations";

/// What a call does, and where it goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    /// Its classes.
    pub(crate) classes: BTreeSet<CallClass>,
    /// Whether it may send and change as well: it is a tool that nothing is known about.
    pub(crate) is_unclear: bool,
    /// Where it sends to.
    pub(crate) sends: Destinations,
    /// What it changes.
    pub(crate) changes: Destinations,
    /// The files that it runs.
    pub(crate) files: Vec<String>,
}

/// Destinations of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destinations {
    /// Those that are known.
    pub(crate) list: Vec<String>,
    /// Whether they are all.
    pub(crate) is_complete: bool,
}

impl Default for Destinations {
    fn default() -> Self {
        Destinations { list: Vec::new(), is_complete: true }
    }
}

impl Destinations {
    fn add(&mut self, destination: &str) {
        if names::is_local(destination) || self.list.iter().any(|known| known == destination) {
            return;
        }
        if self.list.len() < MAX_DESTINATIONS {
            self.list.push(destination.to_owned());
        } else {
            self.is_complete = false;
        }
    }
}

impl Call {
    /// What the call of the event does.
    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        let mut call = Call::default();
        let Some(tool) = &context.event.tool else { return Ok(call) };
        let action = context.action()?;
        let mut arguments: Vec<&str> = Vec::new();
        let mut is_known = is_local_file_tool(&tool.name) || action.kind == ActionType::Network;
        for row in rows(context) {
            let is_host =
                |pattern: &String| action.hosts.iter().any(|host| glob::name_matches(pattern, host));
            let names_it = names_tool(row, context);
            is_known |= names_it && !(row.does.is_empty() && row.seen.is_empty());
            if names_it || (!row.does.is_empty() && row.hosts.iter().any(is_host)) {
                call.classes.extend(&row.does);
                arguments.extend(row.to.iter().map(String::as_str));
            }
        }
        call.add_actions(context)?;
        if !is_known && action.programs.is_empty() {
            call.add_by_name(&tool.name);
        }
        if call.is_unclear
            || call.classes.contains(&CallClass::Send)
            || call.classes.contains(&CallClass::Change)
        {
            call.add_arguments(&tool.args, &arguments, action);
        }
        Ok(call)
    }

    /// The destinations of some classes.
    pub(crate) fn destinations(&self, classes: &BTreeSet<CallClass>) -> Destinations {
        let mut all = Destinations::default();
        for class in classes {
            let files = Destinations { list: self.files.clone(), is_complete: true };
            let one = match class {
                CallClass::Send => &self.sends,
                CallClass::Change => &self.changes,
                CallClass::Run => &files,
            };
            one.list.iter().for_each(|destination| all.add(destination));
            all.is_complete &= one.is_complete;
        }
        all
    }

    /// Adds what the commands and files of the call do, and of the scripts that the agent wrote and that it runs.
    fn add_actions(&mut self, context: &Context<'_>) -> Result<(), Missing> {
        let action = context.action()?;
        let Some(actions) = available(context, known_actions(context))? else {
            // What is too long to analyse may send anything anywhere.
            self.classes.extend([CallClass::Send, CallClass::Run]);
            self.sends.is_complete = false;
            return Ok(());
        };
        for (_, action) in &actions {
            for sending in action.network.iter().filter(|it| it.sends) {
                self.classes.insert(CallClass::Send);
                self.add_network(context, sending, action)?;
            }
            for path in &action.writes {
                let place = context.real_place(path, None)?;
                if !place.inside && !is_temporary(&place.key) && !place.key.starts_with("/dev/") {
                    self.classes.insert(CallClass::Change);
                    self.changes.add(path);
                }
            }
        }
        if action.kind == ActionType::Command || !action.programs.is_empty() {
            self.classes.insert(CallClass::Run);
            self.files = action.scripts.iter().chain(&action.feeds).chain(&action.patches).cloned().collect();
        }
        Ok(())
    }

    fn add_network(
        &mut self,
        context: &Context<'_>,
        sending: &NetworkUse,
        action: &Action,
    ) -> Result<(), Missing> {
        sending.addresses.iter().for_each(|address| self.sends.add(&names::as_host(address)));
        self.sends.is_complete &=
            !sending.has_unknown_addresses && !leads_elsewhere(action, &sending.program);
        if let Some(remote) = &sending.remote {
            let git = available(context, context.git())?.flatten();
            let is_other = changes_remotes(action) || !is_in_project(context, action)?;
            match git.filter(|_| !is_other).and_then(|git| remote_url(git, remote)) {
                Some(url) => self.sends.add(url),
                None => self.sends.is_complete = false,
            }
        }
        Ok(())
    }

    /// Adds what a tool without a row does by its name.
    fn add_by_name(&mut self, tool: &str) {
        if words::only_reads(tool) {
            return;
        }
        if words::has_word(tool, "sending words") {
            self.classes.insert(CallClass::Send);
        } else if tool.starts_with("mcp__") {
            self.is_unclear = true;
        } else if words::has_word(tool, "changing words") {
            self.classes.insert(CallClass::Change);
        }
    }

    /// Adds the destinations in arguments: those that rows name, or those with a usual name.
    fn add_arguments(&mut self, args: &serde_json::Map<String, Value>, named: &[&str], action: &Action) {
        let is_derived = !self.sends.list.is_empty()
            || !self.sends.is_complete
            || !self.changes.list.is_empty()
            || !action.network.is_empty();
        let usual = FLOW.list("destination arguments");
        let names = if named.is_empty() { usual } else { named };
        if named.is_empty() && is_derived {
            return;
        }
        let mut found = false;
        for value in args
            .iter()
            .filter(|(name, _)| {
                names.contains(&name.to_ascii_lowercase().as_str()) || names.contains(&name.as_str())
            })
            .map(|(_, value)| value)
        {
            for text in texts(value) {
                for destination in names::destinations(&text) {
                    self.sends.add(&destination);
                    self.changes.add(&destination);
                    found = true;
                }
            }
        }
        if !found && !is_derived {
            self.sends.is_complete = false;
            self.changes.is_complete = false;
        }
    }
}

/// Whether a program may contact another host than its words name: over a proxy, by settings of its own, or as the line changes what
/// names of hosts mean.
fn leads_elsewhere(action: &Action, program: &str) -> bool {
    let has_entry =
        |section: &str, matches: &dyn Fn(&str) -> bool| FLOW.list(section).iter().any(|it| matches(it));
    let is_set = |pattern: &str| {
        let is_it = |name: &String| glob::name_matches(pattern, name) || pattern.eq_ignore_ascii_case(name);
        action.sets.iter().any(is_it)
    };
    let is_written = |file: &str| action.writes.iter().any(|path| path.ends_with(file));
    let options = FLOW.row("leading options", program).unwrap_or_default();
    let is_given = |arg: &String| {
        let lower = arg.to_ascii_lowercase();
        options.iter().any(|option| {
            if option.starts_with('-') { arg.starts_with(option) } else { lower.contains(option) }
        })
    };
    has_entry("leading variables", &is_set)
        || has_entry("leading files", &is_written)
        || action.commands.iter().any(|call| call.program == program && call.args.iter().any(is_given))
}

/// Whether a destination was named by the user, by a trusted result, or by a row for a trusted host.
pub(crate) fn is_named(context: &Context<'_>, named: &Named, destination: &str) -> Result<bool, Missing> {
    let host = names::host(destination).unwrap_or_default();
    let is_trusted = rows(context)
        .filter(|row| row.seen.iter().all(|label| label == TRUSTED) && !row.seen.is_empty())
        .flat_map(|row| &row.hosts)
        .any(|pattern| glob::name_matches(&pattern.to_ascii_lowercase(), &host));
    // The host of a mail address is not its owner's choice.
    let is_host = !host.is_empty() && (!destination.contains('@') || destination.contains("://"));
    if is_host && (is_trusted || is_trusted_for_now(context, &host)?) {
        return Ok(true);
    }
    if named.contains_any(context, context.destination_digests(destination)?)? {
        return Ok(true);
    }
    let added = context.variable(NAMED_DESTINATIONS)?.and_then(Value::as_array);
    let added = added.into_iter().flatten().filter_map(Value::as_str).flat_map(names::spellings);
    let added: BTreeSet<String> = added.collect();
    Ok(names::spellings(destination).iter().any(|spelling| added.contains(spelling)))
}

/// Whether a destination matches one of some text patterns, by one of its spellings.
pub(crate) fn matches_any(patterns: &[String], destination: &str) -> bool {
    let spellings = names::spellings(destination);
    let mut texts = spellings.iter().map(String::as_str).chain([destination]);
    texts.any(|text| {
        patterns.iter().any(|pattern| glob::name_matches(&pattern.to_lowercase(), &text.to_lowercase()))
    })
}

/// The texts and numbers in an argument.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Number(number) => vec![number.to_string()],
        Value::Array(items) => items.iter().take(MAX_DESTINATIONS + 1).flat_map(texts).collect(),
        Value::Object(map) => map.values().take(MAX_DESTINATIONS).flat_map(texts).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

/// The address of a remote. An empty name is the default one.
fn remote_url<'g>(git: &'g GitState, name: &str) -> Option<&'g str> {
    let of_upstream = || git.upstream.as_deref()?.split_once('/').map(|(remote, _)| remote);
    let default = || git.push_remote.as_deref().or_else(of_upstream).unwrap_or("origin");
    let name = if name.is_empty() { default() } else { name };
    git.remotes.get(name).map(String::as_str)
}

/// Whether every git command works in a folder of the project that is no repository of its own, such as one that the agent cloned.
fn is_in_project(context: &Context<'_>, action: &Action) -> Result<bool, Missing> {
    let mut files = None;
    for call in action.commands.iter().filter(|call| call.program == "git") {
        let folder = call.folder.as_deref();
        if folder == Some("") && context.event.cwd.as_deref() == context.root() {
            continue;
        }
        let Some(folder) = folder else { return Ok(false) };
        let place = context.real_place(if folder.is_empty() { "." } else { folder }, None)?;
        let files = match &files {
            Some(files) => files,
            None => files.insert(FileLabels::from_context(context)?),
        };
        if !place.inside || files.labels_of(&place.key).contains(UNTRUSTED) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a command line may change what the remotes of the repository are, or use another repository.
fn changes_remotes(action: &Action) -> bool {
    let is_git = |program: &str| program == "git";
    let changes = |arg: &String| {
        matches!(arg.as_str(), "remote" | "config" | "-C" | "-c")
            || arg.starts_with("--git-dir")
            || arg.starts_with("--work-tree")
    };
    action.sets.iter().any(|name| name.starts_with("GIT_"))
        || action.commands.iter().any(|call| is_git(&call.program) && call.args.iter().take(6).any(changes))
}
