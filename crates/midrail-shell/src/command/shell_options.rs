//! The options of POSIX shells.

use super::invocation::Arg;
use crate::words::shell::LONG_SHELL_OPTIONS;

/// What the options of a shell ask for.
#[derive(Default)]
pub(super) struct ShellOptions {
    /// The first argument that is no option.
    pub(super) end: usize,
    pub(super) runs_text: bool,
    pub(super) reads_input: bool,
    pub(super) is_interactive: bool,
    /// `-n`: what it reads is checked, and not run.
    pub(super) is_check: bool,
    /// Files that run first.
    pub(super) files: Vec<Arg>,
}

impl ShellOptions {
    /// Reads the options in front of the first argument that is none.
    pub(super) fn parse(args: &[Arg]) -> Self {
        let values = ["-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-rcfile", "-init-file"];
        let mut options = ShellOptions::default();
        while let Some(arg) = args.get(options.end) {
            let text = arg.text.as_str();
            if values.contains(&text) {
                let value = args.get(options.end + 1);
                if text.ends_with('o') && value.is_some_and(|value| value.text == "noexec") {
                    options.is_check = text == "-o";
                }
                options.files.extend(value.filter(|_| text.ends_with("file")).cloned());
                options.end += 2;
                continue;
            }
            if text == "--" || text == "-" {
                options.end += 1;
                break;
            }
            if !text.starts_with(['-', '+']) || text.len() < 2 {
                break;
            }
            // `-norc` and the like are long options with one dash.
            let is_cluster = !text.starts_with("--") && !LONG_SHELL_OPTIONS.contains(text);
            let has = |flag| is_cluster && text.starts_with('-') && text.contains(flag);
            options.runs_text |= text == "--command" || has('c');
            options.reads_input |= is_cluster && text.contains('s');
            options.is_interactive |= has('i');
            if is_cluster && text.len() <= 4 && text.contains('n') {
                options.is_check = text.starts_with('-');
            }
            options.end += 1;
        }
        options
    }

    /// Whether nothing runs. An interactive shell ignores `-n`.
    pub(super) fn only_reads(&self) -> bool {
        self.is_check && !self.is_interactive
    }
}

/// Whether a file is what the shell reads anyway.
pub(super) fn is_standard_input(file: &str) -> bool {
    matches!(file, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
