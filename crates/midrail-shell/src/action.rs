//! What a tool call does, whatever its host calls it: the kind of action, the files and hosts it touches, its command
//! line and what that does, and what it might destroy.

mod args;
mod named;
mod names;
mod readable;
mod seen;

use std::collections::BTreeSet;

use midrail_core::{Action, ActionType, Confidence, Danger, Event, EventKind, HostLimit, Severity, ToolCall};
use serde_json::Value;

use self::args::{Args, MAX_TARGETS};
use self::names::{file_ending, has_word, kind_by_words, known};
use crate::command::notebook::{self, Cell};
use crate::{command, patch, sql};

pub use self::names::{bare_name, is_local_file_tool, known_tools};

/// Argument names under which tools take one path.
pub const PATH_ARGS: &[&str] = tools::PATH_ARGS.all();
use crate::words::tools::{self, DATABASE_WORDS, EDITORS, GIT_PATCHERS, PATCHERS, SEARCH_WORDS, SEARCHES};

/// Why the action of an event is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// It is a tool call without a tool.
    #[error("the event names no tool")]
    NoTool,
    /// Its arguments are more than Midrail reads.
    #[error("`{0}` names more than Midrail analyses")]
    TooMuch(String),
}

/// Derives the action of an event. Events that are no tool calls do nothing to files.
pub fn derive(event: &Event) -> Result<Action, ActionError> {
    let is_call = matches!(event.kind, EventKind::BeforeTool | EventKind::AfterTool);
    let tool = match event.tool.as_ref().filter(|tool| !tool.name.is_empty()) {
        Some(tool) => tool,
        None if is_call => return Err(ActionError::NoTool),
        None => return Ok(Action { target_files: Some(Vec::new()), ..Action::default() }),
    };
    let name = bare_name(&tool.name);
    let mut args = collect_args(tool);
    let analyses = analyses(tool, &args, &[]);
    let patched = add_patches(name, &mut args, &analyses);
    if args.is_too_much {
        return Err(ActionError::TooMuch(tool.name.clone()));
    }
    let kind = action_kind(tool, &args, !patched.is_empty(), &analyses);
    let files = std::mem::take(&mut args.files);
    let command = args.split.take().or_else(|| command_line(tool));
    let mut action = Action { kind, command, ..Action::default() };
    action.target_files = match (files.is_empty(), kind) {
        (false, _) => Some(files),
        // A search without a path searches the folder that the agent is in.
        (true, ActionType::FileRead) if SEARCHES.contains(name) => Some(vec![".".to_owned()]),
        (true, ActionType::FileRead | ActionType::FileWrite) => None,
        (true, ActionType::Command | ActionType::Network | ActionType::Other) => Some(Vec::new()),
    };
    match kind {
        ActionType::FileRead => action.reads = action.target_files.clone().unwrap_or_default(),
        ActionType::FileWrite => action.writes = action.target_files.clone().unwrap_or_default(),
        // A command that reads a patch writes the files that it names.
        ActionType::Command => action.writes = patched,
        ActionType::Network | ActionType::Other => {}
    }
    action.seen = seen::known_files(tool, &action);
    let runs = !analyses.is_empty();
    for analysis in analyses {
        add(&mut action, analysis);
    }
    // Midrail does not see what such a host types into an open program.
    if runs && event.host.as_ref().is_some_and(|host| host.limits.contains(&HostLimit::Typing)) {
        action.dangers.extend(args.commands.iter().filter_map(|line| command::prompt::danger(line)));
    }
    let is_search = !args.statements.is_empty() && (kind == ActionType::Network || searches(&tool.name));
    let statements =
        args.statements.iter().filter(|(_, is_query)| !is_search || !is_query).map(|(text, _)| *text);
    for text in statements.filter(|text| sql::looks_like_sql(text)) {
        action.dangers.extend(sql::scan(text).into_iter().map(|hit| sql::danger(text, &hit)));
    }
    if event.kind == EventKind::BeforeTool && !readable::is_readable(&args, tool) {
        action.dangers.push(unreadable(tool));
    }
    add_addresses(&mut action, &args.addresses);
    let named = named::danger(tool, &action);
    action.dangers.extend(named);
    if action.target_files.as_ref().is_some_and(|files| files.len() > MAX_TARGETS) {
        return Err(ActionError::TooMuch(tool.name.clone()));
    }
    Ok(action)
}

/// Adds the hosts of addresses. One without a host that can be read, and a call of the network without an address, may contact
/// any host.
fn add_addresses(action: &mut Action, addresses: &[&str]) {
    let hosts: BTreeSet<Option<String>> =
        addresses.iter().map(|address| command::url_host(address).map(str::to_ascii_lowercase)).collect();
    for host in hosts {
        match host {
            Some(host) if action.hosts.contains(&host) => {}
            Some(host) => action.hosts.push(host),
            None => action.has_unknown_hosts = true,
        }
    }
    action.has_unknown_hosts |= action.kind == ActionType::Network && action.hosts.is_empty();
}

/// The finding for a call of a shell whose command cannot be read: what it runs may be anything.
fn unreadable(tool: &ToolCall) -> Danger {
    Danger {
        rule: "unreadable-command".to_owned(),
        severity: Severity::Medium,
        confidence: Confidence::High,
        reason: format!("the command of this call of `{}` cannot be read", tool.name),
        safer: "pass the command as one text".to_owned(),
        command: tool.name.clone(),
        ..Danger::default()
    }
}

fn collect_args(tool: &ToolCall) -> Args<'_> {
    let name = bare_name(&tool.name);
    let may_run = !EDITORS.contains(name) && known(name).is_none_or(|kind| kind == ActionType::Command);
    Args::collect(name, may_run.then_some(tool.name.as_str()), &tool.args)
}

/// Whether the name of a tool says that its queries are people's words.
fn searches(tool: &str) -> bool {
    let name = bare_name(tool);
    let server = tool.strip_suffix(name).unwrap_or_default();
    let name = name.to_ascii_lowercase();
    SEARCH_WORDS.iter().any(|word| name.contains(word))
        || (SEARCH_WORDS.iter().any(|word| has_word(server, word))
            && !DATABASE_WORDS.iter().any(|word| has_word(tool, word)))
}

/// The argument with the command line of a call, and the line with words added to each command that matches a pattern and lacks
/// them. `None`: no command does. `Err`: why they cannot be added.
pub fn with_words(
    tool: &ToolCall,
    patterns: &[command::CommandPattern],
    words: &[String],
) -> Result<Option<(String, String)>, &'static str> {
    let lines = collect_args(tool).commands;
    let argument = |line: &String| {
        let mut texts = tool.args.iter().filter(|(_, value)| value.as_str() == Some(line));
        texts.next().map(|(name, _)| name.clone())
    };
    let mut changed = None;
    for line in &lines {
        let Some(new) = command::with_words(line, patterns, words)? else { continue };
        let Some(name) = argument(line) else { return Err("the command is not one argument") };
        if changed.replace((name, new)).is_some() {
            return Err("the call has several command lines");
        }
    }
    Ok(changed)
}

/// What an event does beyond its own text where its commands find these files.
pub fn with_files(event: &Event, files: &[command::File]) -> Action {
    let Some(tool) = &event.tool else { return Action::default() };
    let args = collect_args(tool);
    let done = |files: &[command::File]| {
        let mut action =
            Action { kind: ActionType::Command, target_files: Some(Vec::new()), ..Action::default() };
        analyses(tool, &args, files).into_iter().for_each(|analysis| add(&mut action, analysis));
        action
    };
    beyond(done(files), done(&[]))
}

/// What one action does that the other does not. Its calls of git stay all, because their order counts.
fn beyond(mut action: Action, mut known: Action) -> Action {
    for (list, known) in touched(&mut action).into_iter().zip(touched(&mut known)) {
        let known: BTreeSet<&String> = known.iter().collect();
        list.retain(|it| !known.contains(it));
    }
    let key = |danger: &Danger| (danger.rule.clone(), danger.command.clone(), danger.start);
    let known_dangers: BTreeSet<_> = known.dangers.iter().map(key).collect();
    action.dangers.retain(|danger| !known_dangers.contains(&key(danger)));
    action.is_partial &= !known.is_partial;
    action.has_unknown_hosts &= !known.has_unknown_hosts;
    action.has_unknown_programs &= !known.has_unknown_programs;
    action
}

/// The lists of what an action touches.
fn touched(action: &mut Action) -> [&mut Vec<String>; 10] {
    [
        &mut action.reads,
        &mut action.writes,
        &mut action.overwrites,
        &mut action.folders,
        &mut action.sweeps,
        &mut action.hosts,
        &mut action.scripts,
        &mut action.feeds,
        &mut action.patches,
        action.target_files.get_or_insert_default(),
    ]
}

/// What the command lines and the code of a call do.
fn analyses(tool: &ToolCall, args: &Args<'_>, files: &[command::File]) -> Vec<Action> {
    let name = bare_name(&tool.name);
    let known = known(name);
    let is_editor = EDITORS.contains(name) || operation(tool, args).is_some();
    if is_editor || known.is_some_and(|kind| kind != ActionType::Command) {
        return Vec::new();
    }
    let folder = readable::folder(&tool.args).ok().flatten();
    let look = |line: &str| command::analyse_with(line, folder, files);
    let mut analyses: Vec<Action> = args.commands.iter().map(|line| look(line)).collect();
    if let Some(variables) = readable::environment(&tool.args).filter(|it| !it.is_empty()) {
        for (line, analysis) in args.commands.iter().zip(&mut analyses) {
            add_environment(analysis, look(&format!("export {variables}; {line}")));
        }
    }
    if known.is_some() {
        analyses.extend(args.typed.iter().map(|line| look(line)));
    }
    for code in &args.codes {
        let ending = file_ending(&tool.name).unwrap_or("sh");
        let cell = if ending == "py" { notebook::cell(code) } else { Cell::default() };
        analyses.extend(cell.commands.iter().map(|line| look(line)));
        let code = cell.code.as_deref().unwrap_or(code);
        analyses.push(command::analyse_script(&format!("code.{ending}"), code, files));
    }
    analyses
}

/// Adds what a command line does because of the environment that it is given.
fn add_environment(action: &mut Action, within: Action) {
    let key = |danger: &Danger| (danger.rule.clone(), danger.command.clone());
    let known: BTreeSet<_> = action.dangers.iter().map(key).collect();
    action.dangers.extend(within.dangers.into_iter().filter(|danger| !known.contains(&key(danger))).map(
        |it| {
            // Its place is one in the line with the assignments.
            Danger { start: 0, end: 0, ..it }
        },
    ));
    action.is_partial |= within.is_partial;
    action.has_unknown_hosts |= within.has_unknown_hosts;
    action.has_unknown_programs |= within.has_unknown_programs;
}

/// Adds the files that patches among the arguments name. A command line holds a patch only where it starts a program that
/// reads one: elsewhere it is text.
fn add_patches(name: &str, args: &mut Args<'_>, analyses: &[Action]) -> Vec<String> {
    let starts = |name: &str| analyses.iter().flat_map(|it| &it.programs).any(|it| it == name);
    let says = |words: &&str| args.commands.iter().any(|command| command.contains(*words));
    let starts_patcher =
        PATCHERS.iter().any(|name| starts(name)) || (starts("git") && GIT_PATCHERS.iter().any(says));
    let is_file_tool = known(name) == Some(ActionType::FileWrite);
    let texts: Vec<String> = if starts_patcher { args.commands.clone() } else { Vec::new() };
    let given = args.patches.iter().filter(|(_, is_command)| !is_command || is_file_tool);
    let files: Vec<String> = given
        .map(|(text, _)| *text)
        .chain(texts.iter().map(String::as_str))
        .flat_map(patch::targets)
        .collect();
    for file in &files {
        args.add_file(file);
    }
    files
}

/// Adds the files that a command line only names. What else opens them counts for more.
fn add_named(action: &mut Action, analysis: &Action) {
    let named: BTreeSet<&String> = analysis.named.iter().collect();
    let touched: BTreeSet<&String> = analysis.reads.iter().chain(&analysis.writes).collect();
    action.named.retain(|file| named.contains(file) || !touched.contains(file));
    let before: BTreeSet<&String> = action.named.iter().collect();
    let opened: BTreeSet<&String> =
        action.target_files.iter().flatten().filter(|file| !before.contains(file)).collect();
    let new = named.into_iter().filter(|file| !opened.contains(file) && !before.contains(file));
    let new: Vec<String> = new.cloned().collect();
    action.named.extend(new);
}

/// Adds what a command line or script does.
fn add(action: &mut Action, mut analysis: Action) {
    add_named(action, &analysis);
    let opened = analysis.reads.iter().chain(&analysis.writes);
    let mut known: BTreeSet<&String> = action.target_files.iter().flatten().collect();
    analysis.target_files = Some(opened.filter(|file| known.insert(file)).cloned().collect());
    for (list, more) in touched(action).into_iter().zip(touched(&mut analysis)) {
        list.append(more);
    }
    action.programs.extend(analysis.programs);
    action.hooks.extend(analysis.hooks);
    action.fetched.extend(analysis.fetched);
    action.seen.extend(analysis.seen);
    action.copies.extend(analysis.copies);
    action.dangers.extend(analysis.dangers);
    action.opaque.extend(analysis.opaque);
    action.commands.extend(analysis.commands);
    action.network.extend(analysis.network);
    action.sets.extend(analysis.sets);
    action.has_more_commands |= analysis.has_more_commands;
    action.is_partial |= analysis.is_partial;
    action.has_unknown_hosts |= analysis.has_unknown_hosts;
    action.has_unknown_programs |= analysis.has_unknown_programs;
}

/// What a tool that does several things says in an argument that one call of it does.
fn operation(tool: &ToolCall, args: &Args<'_>) -> Option<ActionType> {
    let text = ["operation", "command", "action"].iter().find_map(|arg| tool.args.get(*arg)?.as_str())?;
    let is_word = text.len() < 32 && !text.contains(' ');
    Some(text).filter(|_| is_word && !args.files.is_empty()).and_then(kind_by_words)
}

fn action_kind(tool: &ToolCall, args: &Args<'_>, has_patch: bool, analyses: &[Action]) -> ActionType {
    let name = bare_name(&tool.name);
    let is_only_patch = has_patch && analyses.iter().all(|it| it.programs.as_slice() == ["apply_patch"]);
    if is_only_patch && (known(name) != Some(ActionType::Command) || !analyses.is_empty()) {
        return ActionType::FileWrite;
    }
    if SEARCHES.contains(name) {
        return ActionType::FileRead;
    }
    // What is known about a tool counts more than its arguments.
    if let Some(kind) = known(name) {
        return kind;
    }
    // Of the name and the argument, what does more counts.
    let operation_kind = operation(tool, args);
    let has_files = !args.files.is_empty();
    let has_command = !args.commands.is_empty() || !args.codes.is_empty();
    match (operation_kind, kind_by_words(name).filter(|_| has_files)) {
        (Some(ActionType::FileRead), Some(ActionType::FileWrite)) if EDITORS.contains(name) => {
            ActionType::FileRead
        }
        (Some(ActionType::FileWrite), _) | (_, Some(ActionType::FileWrite)) => ActionType::FileWrite,
        _ if has_command && operation_kind.is_none() => ActionType::Command,
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => ActionType::Other,
    }
}

/// The arguments under which tools take a command line.
const COMMAND_ARGS: [&str; 4] = ["command", "cmd", "script", "code"];

/// The argument with the command line of a host's own tool that runs it in a POSIX shell on this machine.
pub fn shell_argument(tool: &ToolCall) -> Option<&'static str> {
    let is_shell = tools::POSIX_SHELLS.contains(tool.name.as_str());
    COMMAND_ARGS.into_iter().find(|arg| is_shell && tool.args.contains_key(*arg))
}

/// The command line as it is shown and compared. One that is given as a list of words is joined by blanks.
fn command_line(tool: &ToolCall) -> Option<String> {
    COMMAND_ARGS.iter().find_map(|arg| match tool.args.get(*arg)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" ")).filter(|text| !text.is_empty())
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(name: &str, args: Value) -> (ActionType, Option<Vec<String>>) {
        let action = derive(&Event::before_tool(name, args)).unwrap();
        (action.kind, action.target_files)
    }

    fn files(names: &[&str]) -> Option<Vec<String>> {
        Some(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn hosts_names_mean_the_same() {
        assert_eq!(action("Write", json!({"file_path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(action("write_file", json!({"path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(
            action("mcp__fs__read_text_file", json!({"path": "a"})),
            (ActionType::FileRead, files(&["a"]))
        );
        assert_eq!(
            action("NotebookEdit", json!({"notebook_path": "n"})),
            (ActionType::FileWrite, files(&["n"]))
        );
        assert_eq!(action("Bash", json!({"command": "ls"})), (ActionType::Command, files(&[])));
        assert_eq!(action("deploy", json!({"env": "prod"})), (ActionType::Other, files(&[])));
    }

    #[test]
    fn a_servers_tool_is_known_by_every_hosts_name_for_it() {
        for name in
            ["mcp_fs_read_text_file", "fs_read_text_file", "fs-read_text_file", "my-fs/read_text_file"]
        {
            assert_eq!(bare_name(name), "read_text_file", "{name}");
            assert!(is_local_file_tool(name), "{name}");
            assert_eq!(action(name, json!({"path": "a"})), (ActionType::FileRead, files(&["a"])), "{name}");
        }
        assert_eq!(action("fs_write_file", json!({"path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(action("fs-list_directory", json!({})), (ActionType::FileRead, files(&["."])));
        for name in [
            "notion_create",
            "vfs_read_file",
            "run_shell_command",
            "web_search",
            "create",
            "read_text_file_now",
        ] {
            assert_eq!(bare_name(name), name);
        }
    }

    #[test]
    fn unlisted_names_are_read_by_their_words() {
        assert_eq!(action("saveDocument", json!({"path": "a"})), (ActionType::FileWrite, files(&["a"])));
        assert_eq!(action("fs.view_text", json!({"path": "a"})), (ActionType::FileRead, files(&["a"])));
        assert_eq!(action("credit_check", json!({"path": "a"})), (ActionType::Other, files(&["a"])));
        assert_eq!(action("runner", json!({"command": "ls"})), (ActionType::Command, files(&[])));
    }

    #[test]
    fn an_argument_can_name_the_operation() {
        assert_eq!(action("file_ops", json!({"operation": "write", "path": "f"})).0, ActionType::FileWrite);
        assert_eq!(
            action("str_replace_editor", json!({"command": "view", "path": "f"})).0,
            ActionType::FileRead
        );
        assert_eq!(
            action("str_replace_editor", json!({"command": "create", "path": "f"})).0,
            ActionType::FileWrite
        );
    }

    #[test]
    fn a_write_without_a_path_has_unknown_targets() {
        assert_eq!(action("write_file", json!({"content": "x"})), (ActionType::FileWrite, None));
    }

    #[test]
    fn patches_name_their_files() {
        let diff = "--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-x\n+y\n";
        assert_eq!(action("patch", json!({"unified_diff": diff})), (ActionType::FileWrite, files(&["a.ts"])));
        let body = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch";
        assert_eq!(
            action("apply_patch", json!({"command": body})),
            (ActionType::FileWrite, files(&["src/a.rs"]))
        );
        assert_eq!(
            action("MultiEdit", json!({"edits": [{"file_path": "b"}]})),
            (ActionType::FileWrite, files(&["b"]))
        );
    }

    #[test]
    fn an_argument_never_makes_a_known_tool_harmless() {
        let args = json!({"file_path": ".midrail/p.yaml", "content": "", "action": "view"});
        assert_eq!(action("Write", args).0, ActionType::FileWrite);
        assert_eq!(
            action("Bash", json!({"command": "rm -rf /", "operation": "read", "path": "x"})).0,
            ActionType::Command
        );
    }

    #[test]
    fn files_are_found_wherever_they_are_named() {
        assert_eq!(
            action("mcp__fs__write_files", json!({"files": [{"file_path": ".env"}]})).1,
            files(&[".env"])
        );
        assert_eq!(
            action("mcp__fs__save", json!({"request": {"target": {"path": ".env"}}})).1,
            files(&[".env"])
        );
        let patch = ["apply_patch", "*** Begin Patch\n*** Update File: .env\n*** End Patch"];
        assert_eq!(action("shell", json!({"command": patch})), (ActionType::FileWrite, files(&[".env"])));
        assert_eq!(action("mcp__my__fs__write_file", json!({"path": "a"})).0, ActionType::FileWrite);
    }

    #[test]
    fn a_search_without_a_path_is_of_the_folder() {
        assert_eq!(action("Grep", json!({"pattern": "x"})), (ActionType::FileRead, files(&["."])));
    }

    #[test]
    fn a_call_without_a_tool_is_not_known() {
        assert!(derive(&Event::new(EventKind::BeforeTool)).is_err());
        assert!(derive(&Event::before_tool("", json!({}))).is_err());
        assert!(derive(&Event::new(EventKind::BeforeModel)).is_ok());
    }
}
