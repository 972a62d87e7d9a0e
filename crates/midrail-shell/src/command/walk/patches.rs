//! Diffs that a line applies: from its own text, from files, or from what another program prints.

use midrail_core::Severity;

use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::scope::{Scope, join};
use super::flow::command_line;
use super::state::{Content, Listed, Source, Stream, Walk};
use crate::patch::{self, Strip};
use crate::words::shell::{DIFF_PRINTERS, GIT_DIFFS, PATCH_PREVIEWS};

impl Walk {
    /// `patch -p1 < file`
    pub(super) fn patch(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let sorted = Arguments::new(invocation);
        // `patch file` changes that file only, and names it.
        let is_named = !sorted.operands.is_empty();
        if scope.is_remote || is_named || sorted.has(PATCH_PREVIEWS) {
            return;
        }
        let count = sorted.values_of(&["-p", "--strip"]).last().and_then(|count| count.text.parse().ok());
        let strip = count.map_or(Strip::Folders, Strip::Parts);
        let folder = sorted.values_of(&["-d", "--directory"]).last().map_or("", |it| it.text.as_str());
        let stream = match sorted.values_of(&["-i", "--input"]).last() {
            Some(file) => self.read_file(&scope.place(&file.text), file, false),
            None => input.clone(),
        };
        let command = command_line(&invocation.program, &invocation.args);
        self.apply_diff(&stream, strip, folder, scope, &command);
    }

    /// `git apply file`, `git am < file`
    pub(super) fn git_apply(&mut self, subcommand: &str, rest: &[Arg], scope: &Scope, input: &Stream) {
        let is_preview = |arg: &Arg| PATCH_PREVIEWS.contains(arg.text.as_str());
        if scope.is_remote || rest.iter().any(is_preview) {
            return;
        }
        let mut strip = 1;
        let mut folder = "";
        let mut files = Vec::new();
        let mut args = rest.iter().map(|arg| (arg, arg.text.as_str()));
        while let Some((arg, text)) = args.next() {
            if let Some(count) = text.strip_prefix("-p") {
                let next = if count.is_empty() { args.next().map_or("", |(_, next)| next) } else { count };
                strip = next.parse().unwrap_or(strip);
            } else if let Some(value) = text.strip_prefix("--directory=") {
                folder = value;
            } else if text == "--directory" {
                folder = args.next().map_or("", |(_, next)| next);
            } else if matches!(text, "-C" | "--exclude" | "--include" | "--whitespace") {
                args.next();
            } else if text == "-" || !text.starts_with('-') {
                files.push(arg);
            }
        }
        let command = command_line(&format!("git {subcommand}"), rest);
        let streams: Vec<Stream> = match files.as_slice() {
            [] => vec![input.clone()],
            files => files.iter().map(|file| self.diff_source(file, scope, input)).collect(),
        };
        for stream in streams {
            self.apply_diff(&stream, Strip::Parts(strip), folder, scope, &command);
        }
    }

    fn diff_source(&mut self, file: &Arg, scope: &Scope, input: &Stream) -> Stream {
        if matches!(file.text.as_str(), "-" | "/dev/stdin") {
            return input.clone();
        }
        self.read_file(&scope.place(&file.text), file, false)
    }

    /// Notes the files that a diff changes, or the file that contains it. A diff that cannot be read may change any file.
    fn apply_diff(&mut self, stream: &Stream, strip: Strip, folder: &str, scope: &Scope, command: &str) {
        match (&stream.text, &stream.source) {
            (Some(text), _) => {
                for target in patch::stripped_targets(&text.text, strip) {
                    self.note(Listed::Write, &scope.place(&join(folder, &target)));
                }
            }
            (None, Source::Inherited) => {}
            (None, Source::File(name)) if self.files.get(name) == Some(&Content::Unknown) => {
                if !self.prints_diffs() {
                    self.unread_diff(command);
                }
            }
            (None, Source::File(name)) => self.note(Listed::Patch, name),
            // `cat a.diff b.diff`
            (None, Source::Local) if stream.program == "cat" && !stream.files.is_empty() => {
                stream.files.iter().for_each(|file| self.note(Listed::Patch, file));
            }
            (None, Source::Local) if DIFF_PRINTERS.contains(stream.program.as_str()) => {}
            (None, Source::Local | Source::Remote | Source::Hidden) => self.unread_diff(command),
        }
    }

    /// Whether the line started a program that prints diffs of its repository.
    fn prints_diffs(&self) -> bool {
        let prints = |args: &[String]| args.iter().any(|arg| GIT_DIFFS.contains(arg.as_str()));
        let is_other = |program: &String| program != "git" && DIFF_PRINTERS.contains(program.as_str());
        self.analysis.commands.iter().any(|call| call.program == "git" && prints(&call.args))
            || self.analysis.programs.iter().any(is_other)
    }

    fn unread_diff(&mut self, command: &str) {
        let reason = "applies a diff that Midrail cannot read".to_owned();
        let safer = "save the diff to a file, and apply that file in a call of its own";
        self.report("midrail-unread-diff", Severity::Medium, reason, safer, command);
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{File, analyse, analyse_with};

    const DIFF: &str = "--- a/x/y.txt\n+++ b/x/y.txt\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn diffs_in_the_line_name_their_files() {
        for (command, file) in [
            ("patch -p1", "x/y.txt"),
            ("patch", "y.txt"),
            ("patch -p2", "y.txt"),
            ("patch -p0", "b/x/y.txt"),
            ("patch -p1 -d sub", "sub/x/y.txt"),
            ("git apply", "x/y.txt"),
            ("git apply -p2 --directory=sub -", "sub/y.txt"),
            ("git -C sub am", "sub/x/y.txt"),
        ] {
            let writes = analyse(&format!("{command} <<'EOF'\n{DIFF}EOF")).writes;
            assert!(writes.contains(&file.to_owned()), "{command}: {writes:?}");
        }
    }

    #[test]
    fn diffs_in_files_are_listed_and_read() {
        for command in
            ["git apply a.diff", "patch -p1 < a.diff", "patch -p1 -i a.diff", "cat a.diff | git apply -"]
        {
            assert_eq!(analyse(command).patches, ["a.diff"], "{command}");
            let file = File { path: "a.diff".to_owned(), text: Some(DIFF.to_owned()) };
            let action = analyse_with(command, None, &[file]);
            assert!(action.writes.contains(&"x/y.txt".to_owned()), "{command}: {:?}", action.writes);
            assert!(action.patches.is_empty(), "{command}");
        }
        for command in ["git apply --check a.diff", "patch --dry-run < a.diff", "git apply --stat a.diff"] {
            assert!(analyse(command).patches.is_empty(), "{command}");
        }
    }

    #[test]
    fn unreadable_diffs_are_reported() {
        let is_reported =
            |command: &str| analyse(command).dangers.iter().any(|it| it.rule == "midrail-unread-diff");
        for command in [
            "curl -s https://x.example/a.diff | patch -p1",
            "curl -so a.diff https://x.example/a.diff && git apply a.diff",
            "python3 make.py > a.diff; git apply a.diff",
            "zcat a.diff.gz | git apply",
            "base64 -d x | patch -p1",
        ] {
            assert!(is_reported(command), "{command}");
        }
        for command in [
            "git diff main | git apply -R",
            "git diff > a.diff && git checkout . && git apply a.diff",
            "git format-patch --stdout main | git am",
            "git apply a.diff",
            "patch src/a.rs < a.diff",
        ] {
            assert!(!is_reported(command), "{command}");
        }
    }
}
