//! Commands that run others elsewhere, or with variables that the command line does not show.

use midrail_core::CommandCall;

/// Programs that run others on another machine, in a container or as another user: with other variables and settings.
const ELSEWHERE: &[&str] = &[
    "ssh",
    "mosh",
    "docker",
    "podman",
    "nerdctl",
    "vagrant",
    "chroot",
    "nsenter",
    "lxc",
    "sudo",
    "su",
    "doas",
    "runuser",
    "pkexec",
    "machinectl",
    "flatpak-spawn",
    "distrobox",
    "distrobox-enter",
    "toolbox",
    "fish",
    "csh",
    "tcsh",
    "nu",
    "xonsh",
    "pwsh",
    "powershell",
    "cmd",
];

/// Programs that load variables and then run another one.
const LOADERS: &[&str] = &[
    "direnv",
    "mise",
    "asdf",
    "dotenv",
    "dotenvx",
    "op",
    "aws-vault",
    "chamber",
    "doppler",
    "infisical",
    "teller",
    "envchain",
    "systemd-run",
    "vault",
    "sops",
    "envconsul",
    "summon",
    "nix-shell",
    "nix",
];

/// Commands of a shell whose arguments are names of variables.
pub(super) const NAMING: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "set",
];

/// Languages whose code, as an argument, can set variables before it runs a command.
const LANGUAGES: &[&str] =
    &["python", "python3", "perl", "ruby", "node", "awk", "gawk", "mawk", "php", "lua", "deno", "bun"];

/// Options whose value is code.
const CODE_OPTIONS: &[&str] = &["-c", "-e", "-E", "-r", "--eval", "-p", "--print", "eval"];

/// Programs that only print, or that only change the folder.
pub(super) const PASSIVE: &[&str] = &[
    "echo", "printf", "true", ":", "cd", "pwd", "ls", "cat", "head", "tail", "grep", "rg", "wc", "sort",
    "less", "sleep", "date", "test", "[",
];

/// Subcommands of git that only print or fetch.
pub(super) const PASSIVE_GIT: &[&str] =
    &["status", "log", "diff", "show", "fetch", "rev-parse", "describe", "blame", "ls-files", "shortlog"];

pub(super) fn is_elsewhere(call: &CommandCall) -> bool {
    ELSEWHERE.contains(&call.program.as_str())
}

/// Whether a call may set any variable: from a file that the line does not contain, by an unknown name, or in code of a language.
pub(super) fn sets_unknown(call: &CommandCall) -> bool {
    let program = call.program.as_str();
    let names_unknown = |args: &[String]| {
        let mut args = args.iter().enumerate().filter(|(at, _)| call.unknown.contains(at));
        args.any(|(_, arg)| !names_variable(arg)) || call.has_more_args
    };
    match program {
        "source" | "." => true,
        "eval" => !call.unknown.is_empty(),
        "env" => {
            let is_own = |arg: &String| arg.starts_with(['-', '$', '`', '{']) || names_variable(arg);
            let own = call.args.iter().take_while(|arg| is_own(arg)).count();
            let own = call.args.get(..own).unwrap_or_default();
            names_unknown(own) || own.iter().any(|arg| arg.starts_with('{'))
        }
        "awk" | "gawk" | "mawk" => call.args.iter().any(|arg| arg.contains("system") || arg.contains('|')),
        _ if NAMING.contains(&program) => names_unknown(&call.args),
        _ if LANGUAGES.contains(&program) => call.args.iter().any(|arg| CODE_OPTIONS.contains(&arg.as_str())),
        _ => LOADERS.contains(&program) || call.args.iter().any(|arg| is_start_file(arg)),
    }
}

/// Whether a word is an assignment with a known name: `A=$B`.
fn names_variable(arg: &str) -> bool {
    let name = arg.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Options of shells that name a file to run first.
fn is_start_file(arg: &str) -> bool {
    matches!(arg.split('=').next(), Some("--rcfile" | "--init-file"))
}

/// Variables that name a file which shells run first.
pub(super) fn is_start_variable(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV" | "ZDOTDIR")
}
