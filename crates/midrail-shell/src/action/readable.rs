//! Whether the arguments of a call of a shell were read completely: its command, its folder and its environment.

use std::collections::BTreeSet;

use midrail_core::ToolCall;
use serde_json::{Map, Value};

use super::args::{Args, are_words};
use super::names::{bare_name, has_word, is_shell};
use crate::command::invocation::quoted;
use crate::words::tools::{
    COMMAND_ARGS, COMPANION_ARGS, ENVIRONMENT_ARGS, FOLDER_ARGS, SHELL_WORDS, TYPING_WORDS, WORD_LIST_ARGS,
};

/// Whether the command of a call was read, if the tool is a shell: under a known name, as a text or as a list of words, without
/// bytes that end it early. A call of a shell without a command is not: it may be under a name that Midrail does not know.
pub(super) fn is_readable(args: &Args<'_>, tool: &ToolCall) -> bool {
    let is_known = is_shell(bare_name(&tool.name));
    if !is_known && !SHELL_WORDS.iter().any(|word| has_word(&tool.name, word)) {
        return true;
    }
    let commands = tool.args.iter().filter(|(name, _)| is_command(name));
    if !commands.into_iter().all(|(name, value)| is_text_command(name, value)) {
        return false;
    }
    !is_known
        || (has_command(args, tool) && has_readable_words(tool) && environment(&tool.args).is_some())
            && folder(&tool.args).is_ok()
}

fn is_command(name: &str) -> bool {
    COMMAND_ARGS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a command is a text or a list of words, under a name that is spelled as hosts spell it.
fn is_text_command(name: &str, value: &Value) -> bool {
    let has_nul = |word: &Value| word.as_str().is_some_and(|word| word.contains('\0'));
    match value {
        Value::Null => true,
        Value::String(_) => COMMAND_ARGS.contains(name) && !has_nul(value),
        Value::Array(words) => {
            // One word with blanks in it is a command line in the wrong form.
            let is_line = words.len() == 1 && name != "commands";
            let is_line = is_line && words.iter().any(|it| it.as_str().is_some_and(|it| it.contains(' ')));
            COMMAND_ARGS.contains(name) && are_words(words) && !is_line && !words.iter().any(has_nul)
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Whether a call has a command, or types into a running program, or only restarts the shell.
fn has_command(args: &Args<'_>, tool: &ToolCall) -> bool {
    let has_text_besides = || {
        let is_other =
            |(name, value): (&String, &Value)| !COMPANION_ARGS.contains(name.as_str()) && has_text(value);
        tool.args.iter().any(is_other)
    };
    if args.commands.iter().any(|line| !line.is_empty()) || !args.codes.is_empty() {
        return true;
    }
    let name = bare_name(&tool.name).to_ascii_lowercase();
    let types = TYPING_WORDS.iter().any(|word| name.contains(word));
    if types && !args.typed.is_empty() {
        return true;
    }
    // An empty command runs nothing.
    let is_idle = !args.commands.is_empty() || (types && !tool.args.is_empty()) || restarts(&tool.args);
    is_idle && !has_text_besides()
}

/// Whether a call restarts the shell instead of running a command.
fn restarts(args: &Map<String, Value>) -> bool {
    args.get("restart") == Some(&Value::Bool(true))
}

/// Whether the arguments of a program that are in a list of their own can be read.
fn has_readable_words(tool: &ToolCall) -> bool {
    WORD_LIST_ARGS.iter().filter_map(|name| tool.args.get(*name)).all(|value| match value {
        Value::Array(words) => words.is_empty() || are_words(words),
        Value::String(_) | Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    })
}

/// The folder that a call runs its command in. An error: it cannot be read, or there are several.
pub(super) fn folder(args: &Map<String, Value>) -> Result<Option<&str>, ()> {
    let is_folder = |name: &str| FOLDER_ARGS.iter().any(|known| is_spelling(name, known));
    let mut folders = BTreeSet::new();
    for (_, value) in args.iter().filter(|(name, _)| is_folder(name)) {
        match value {
            Value::Null => {}
            Value::String(folder) if folder.contains('\0') => return Err(()),
            Value::String(folder) if folder.is_empty() => {}
            Value::String(folder) => {
                folders.insert(folder.as_str());
            }
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => return Err(()),
        }
    }
    if folders.len() > 1 { Err(()) } else { Ok(folders.first().copied()) }
}

/// Whether a name is this one, which is in lower case, perhaps with capitals or separators.
fn is_spelling(name: &str, known: &str) -> bool {
    let letters = name.bytes().filter(|letter| !matches!(letter, b'_' | b'-'));
    letters.map(|letter| letter.to_ascii_lowercase()).eq(known.bytes())
}

/// The environment of a call, as the assignments of a shell. `None`: it cannot be read. Empty: it has none.
pub(super) fn environment(args: &Map<String, Value>) -> Option<String> {
    let is_environment = |name: &str| ENVIRONMENT_ARGS.iter().any(|known| is_spelling(name, known));
    let mut assignments = Vec::new();
    for (_, value) in args.iter().filter(|(name, _)| is_environment(name)) {
        match value {
            // Some tools take the name of an environment.
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Some((name, value)) = text.split_once('=') {
                    assignments.push(assignment(name, value)?);
                }
            }
            Value::Array(items) => {
                for item in items {
                    let (name, value) = item.as_str()?.split_once('=')?;
                    assignments.push(assignment(name, value)?);
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    let value = match value {
                        Value::String(text) => text.clone(),
                        Value::Null => String::new(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        Value::Array(_) | Value::Object(_) => return None,
                    };
                    assignments.push(assignment(name, &value)?);
                }
            }
        }
    }
    Some(assignments.join(" "))
}

fn assignment(name: &str, value: &str) -> Option<String> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !value.contains('\0')).then(|| format!("{name}={}", quoted(value)))
}

/// Whether a value contains a text that is not empty.
fn has_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(has_text),
        Value::Object(map) => map.values().any(has_text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use midrail_core::{Action, Event};
    use serde_json::{Value, json};

    fn action(tool: &str, args: Value) -> Action {
        crate::action::derive(&Event::before_tool(tool, args)).unwrap()
    }

    fn is_unreadable(tool: &str, args: Value) -> bool {
        action(tool, args).dangers.iter().any(|danger| danger.rule == "unreadable-command")
    }

    #[test]
    fn commands_of_shells_that_cannot_be_read_are_found() {
        for args in [
            json!({}),
            json!({"command": null}),
            json!({"Command": "rm -rf ~"}),
            json!({"command": ["rm -rf ~"]}),
            json!({"command": {"a": "rm -rf ~"}}),
            json!({"command": "ls\0rm -rf ~"}),
            json!({"command": ["ls", "a\0b"]}),
            json!({"command": 7}),
            json!({"x": "rm -rf ~"}),
            json!({"command": "", "x": "rm -rf ~"}),
            json!({"input": "{\"command\": \"ls\", \"command\": \"rm -rf ~\"}"}),
            json!({"value": ["rm -rf ~"]}),
            json!({"command": "ls", "COMMAND": "rm -rf ~"}),
            json!({"command": "rm -rf etc", "cwd": ["/"]}),
            json!({"command": "rm -rf etc", "cwd": "/", "workdir": "/tmp"}),
            json!({"command": "rm", "args": ["-rf", "~", {}]}),
            json!({"command": "ls", "env": {"A B": "x"}}),
            json!({"description": "Delete all"}),
        ] {
            assert!(is_unreadable("Bash", args.clone()), "{args}");
        }
        for tool in ["BASH", "PowerShell", "sh", "run_in_terminal", "execute_bash", "mcp__shell__run"] {
            assert!(is_unreadable(tool, json!({"command": {"a": "rm -rf ~"}})), "{tool}");
        }
        assert!(is_unreadable("BASH", json!({})) && is_unreadable("write_stdin", json!({})));
    }

    #[test]
    fn calls_that_can_be_read_are_not_found() {
        for (tool, args) in [
            ("Bash", json!({"command": "ls", "description": "List files", "timeout": 5})),
            ("Bash", json!({"command": "ls", "env": {"CI": "1"}, "cwd": "/x", "run_in_background": true})),
            ("Bash", json!({"command": ""})),
            ("Bash", json!({"restart": true})),
            ("shell", json!({"command": ["bash", "-lc", "ls -la"], "workdir": "/x"})),
            ("shell", json!({"command": ["ls"]})),
            ("shell", json!({"command": ["sleep", 1]})),
            ("write_stdin", json!({"session_id": 1, "chars": "ls\n"})),
            ("write_stdin", json!({"session_id": 1, "chars": ""})),
            ("write_stdin", json!({"session_id": 1})),
            ("write_bash", json!({"shellId": "a", "input": "ls\n"})),
            ("KillShell", json!({"shell_id": "a"})),
            ("BashOutput", json!({"bash_id": "a"})),
            ("TodoWrite", json!({})),
            ("mcp__shell__list_sessions", json!({})),
            ("Read", json!({"file_path": "x"})),
            ("my_tool", json!({"text": "rm -rf ~"})),
            ("my_tool", json!({"command": {"a": "b"}})),
        ] {
            assert!(!is_unreadable(tool, args.clone()), "{tool} {args}");
        }
    }

    #[test]
    fn the_folder_of_a_call_is_read_in_every_spelling() {
        for name in ["cwd", "CWD", "workingDirectory", "working_directory", "workdir", "WorkDir"] {
            let targets = |folder: &str| {
                let done = action("Bash", json!({"command": "rm -rf etc", name: folder}));
                done.dangers.iter().flat_map(|danger| danger.targets.clone()).collect::<Vec<_>>()
            };
            assert_eq!(targets("/"), ["/etc"], "{name}");
        }
    }

    #[test]
    fn the_environment_of_a_call_is_read() {
        for env in [json!({"LD_PRELOAD": "./x.so"}), json!(["LD_PRELOAD=./x.so"]), json!("LD_PRELOAD=./x.so")]
        {
            let done = action("Bash", json!({"command": "ls", "env": env}));
            assert!(done.dangers.iter().any(|danger| danger.rule == "opaque"), "{env}");
            assert!(done.has_unknown_programs);
        }
        assert!(action("Bash", json!({"command": "ls", "env": {"CI": "1"}})).dangers.is_empty());
    }

    #[test]
    fn numbers_are_words() {
        let done = action("Bash", json!({"command": "rm", "args": ["-rf", "~", 7]}));
        assert!(!done.dangers.is_empty());
    }
}
