//! Programs that nobody knows, with words behind them that are a command which destroys: `runner -- rm -rf /etc`.

use midrail_core::Severity;

use super::super::danger;
use super::super::files;
use super::super::invocation::Invocation;
use super::Walk;
use super::flow::{base_name, line_of};

/// Programs that destroy and whose names mean nothing else.
const DESTROYERS: &[&str] = &[
    "rm",
    "grm",
    "shred",
    "srm",
    "dd",
    "mkfs",
    "wipefs",
    "blkdiscard",
    "chmod",
    "chown",
    "mkswap",
    "sgdisk",
];

/// Programs that take words for what they are: they print, search, explain, translate or note them.
const OF_WORDS: &[&str] = &[
    "echo",
    "printf",
    "print",
    "say",
    "espeak",
    "figlet",
    "toilet",
    "cowsay",
    "banner",
    "logger",
    "notify-send",
    "osascript",
    "wall",
    "write",
    "mail",
    "mailx",
    "man",
    "info",
    "help",
    "tldr",
    "cheat",
    "navi",
    "whatis",
    "apropos",
    "which",
    "whereis",
    "type",
    "where",
    "whence",
    "hash",
    "alias",
    "unalias",
    "explain",
    "explainshell",
    "howdoi",
    "how2",
    "test",
    "[",
    "[[",
    "expr",
    "let",
    "set",
    "true",
    "false",
    ":",
    "return",
    "exit",
    "trap",
    "complete",
    "compgen",
    "compdef",
    "history",
    "fc",
    "bind",
    "local",
    "export",
    "declare",
    "readonly",
    "jot",
    "task",
    "todo",
    "todo.sh",
    "note",
    "nb",
    "jrnl",
    "taskwarrior",
    "timew",
    "watson",
    "llm",
    "aichat",
    "sgpt",
    "chatgpt",
    "ollama",
    "aider",
    "claude",
    "codex",
    "gemini",
    "mods",
    "pytest",
    "jest",
    "mocha",
    "vitest",
    "bats",
    "shellspec",
    "shunit2",
    "assert",
    "rspec",
    "phpunit",
    "ava",
    "tape",
    "shellcheck",
    "shfmt",
    "dict",
    "trans",
    "whois",
    "pydoc",
    "ri",
    "apt-file",
    "dpkg",
    "rpm",
    "locate",
    "yes",
    "seq",
    "tput",
    "dialog",
    "whiptail",
    "zenity",
    "gum",
    "case",
    "jira",
    "confirm",
    "read",
    "select",
    "autoload",
    "zstyle",
    "abbr",
    "dirs",
    "bashdb",
    "commandlinefu",
    "detect",
];

impl Walk {
    /// Words behind a program that nobody knows: what they say may well be run.
    pub(super) fn stranger(&mut self, invocation: &Invocation) {
        let program = invocation.program.as_str();
        let is_destroyer = |text: &str| {
            let name = base_name(text);
            DESTROYERS.contains(&name) || name.starts_with("mkfs.")
        };
        let args = invocation.args.as_slice();
        let Some(at) = args.iter().position(|arg| arg.is_known() && is_destroyer(&arg.text)) else { return };
        if OF_WORDS.contains(&program) || danger::is_known(program) || files::is_known(program) {
            return;
        }
        let inner = Invocation {
            program: args.get(at).map_or("", |arg| base_name(&arg.text)).to_owned(),
            args: args.get(at + 1..).unwrap_or(&[]).to_vec(),
            ..invocation.clone()
        };
        let is_bad = |danger: &midrail_core::Danger| {
            danger.severity >= Severity::High && !danger.is_inside && !danger.targets.is_empty()
        };
        if danger::judge(&inner).iter().any(is_bad) {
            let reason = format!(
                "what `{program}` does with these words is not known, and they are a command that destroys"
            );
            self.opaque_command(&reason, &line_of(program, args));
        }
    }
}
