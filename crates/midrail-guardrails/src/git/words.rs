//! The words of one call of git: options of git itself, the command, its options and its operands.

use midrail_core::RepositoryCall;

/// A word, and whether it is wholly known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_known: bool,
}

/// A command of git with its options and operands told apart.
#[derive(Debug, Default)]
pub(crate) struct Words<'a> {
    /// `push`, or what an alias of the same line stands for.
    pub(crate) command: &'a str,
    /// The command is not known.
    pub(crate) is_unknown: bool,
    /// Folders of `-C`, in order.
    pub(crate) folders: Vec<Word<'a>>,
    /// Another repository is named by `--git-dir` or `--work-tree`.
    pub(crate) names_repository: bool,
    /// Settings of `-c`.
    pub(crate) settings: Vec<&'a str>,
    /// Options with their values, short ones as `-d`, long ones in full.
    options: Vec<(&'a str, Option<Word<'a>>)>,
    pub(crate) operands: Vec<Word<'a>>,
    /// How many operands stand before a `--`. `None`: there is none.
    pub(crate) before_dashes: Option<usize>,
}

/// Options of git itself that take the next word.
const GLOBAL_VALUES: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"];

/// Options of commands that take the next word.
const VALUES: &[(&str, &[&str])] = &[
    ("push", &["-o", "--push-option", "--repo", "--receive-pack", "--exec"]),
    (
        "commit",
        &[
            "-m",
            "-F",
            "-C",
            "-c",
            "-t",
            "--message",
            "--file",
            "--author",
            "--date",
            "--reuse-message",
            "--fixup",
            "--squash",
            "--trailer",
            "--template",
            "--reedit-message",
            "--cleanup",
            "--pathspec-from-file",
        ],
    ),
    ("merge", &["-m", "-F", "-s", "-X", "--strategy", "--strategy-option", "--file", "--into-name"]),
    ("pull", &["-s", "-X", "--strategy", "--strategy-option", "--depth", "-o", "-j", "--upload-pack"]),
    ("fetch", &["--depth", "-o", "-j", "--upload-pack", "--refmap"]),
    ("checkout", &["-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"]),
    ("switch", &["-c", "-C", "--create", "--force-create", "--orphan", "--conflict"]),
    (
        "branch",
        &["-u", "--set-upstream-to", "--contains", "--no-contains", "--points-at", "--sort", "--format"],
    ),
    ("worktree", &["-b", "-B", "--reason"]),
    ("rebase", &["-s", "-X", "-x", "--onto", "--exec", "--strategy", "--strategy-option"]),
    ("reset", &["--pathspec-from-file"]),
    ("restore", &["-s", "--source", "--conflict", "--pathspec-from-file"]),
    ("am", &["-C", "-p", "--directory", "--exclude", "--include", "--patch-format", "--whitespace"]),
    ("apply", &["-C", "-p", "--directory", "--exclude", "--include", "--whitespace"]),
    ("read-tree", &["--prefix", "--index-output", "--exclude-per-directory"]),
    ("cherry-pick", &["-m", "--mainline", "-X", "--strategy", "--strategy-option", "--cleanup"]),
    ("revert", &["-m", "--mainline", "-X", "--strategy", "--strategy-option", "--cleanup"]),
    ("stash", &["-m", "--message", "--pathspec-from-file"]),
    ("update-ref", &["-m"]),
    ("symbolic-ref", &["-m"]),
    ("subtree", &["-P", "--prefix", "-b", "--branch", "-m", "--message"]),
];

/// Long options that matter, so that their abbreviations are known.
const LONGS: &[&str] = &[
    "--abort",
    "--all",
    "--author",
    "--branches",
    "--cached",
    "--check",
    "--contains",
    "--continue",
    "--copy",
    "--create",
    "--date",
    "--delete",
    "--detach",
    "--dry-run",
    "--edit-description",
    "--exec",
    "--file",
    "--fixup",
    "--force",
    "--force-create",
    "--force-with-lease",
    "--format",
    "--hard",
    "--help",
    "--keep",
    "--list",
    "--merge",
    "--merged",
    "--message",
    "--mirror",
    "--mixed",
    "--move",
    "--no-commit",
    "--no-contains",
    "--no-merged",
    "--onto",
    "--orphan",
    "--patch",
    "--points-at",
    "--prefix",
    "--prune",
    "--push-option",
    "--quit",
    "--receive-pack",
    "--remotes",
    "--repo",
    "--set-upstream",
    "--set-upstream-to",
    "--show-current",
    "--skip",
    "--soft",
    "--sort",
    "--source",
    "--staged",
    "--stdin",
    "--strategy",
    "--tags",
    "--track",
    "--unset-upstream",
];

impl<'a> Words<'a> {
    /// Takes a call of git apart.
    pub(crate) fn of(call: &'a RepositoryCall) -> Self {
        let word = |at: usize, text: &'a String| Word { text, is_known: !call.unknown.contains(&at) };
        let mut rest: Vec<Word<'a>> = call.args.iter().enumerate().map(|(at, text)| word(at, text)).collect();
        rest.reverse();
        let mut words = Words::default();
        words.take_globals(&mut rest);
        let Some(command) = rest.pop() else {
            words.is_unknown = call.has_more_args;
            return words;
        };
        words.is_unknown = !command.is_known;
        words.command = command.text;
        words.expand_alias(&mut rest);
        words.take_options(rest);
        if call.has_more_args {
            words.operands.push(Word { text: "…", is_known: false });
        }
        words
    }

    fn take_globals(&mut self, rest: &mut Vec<Word<'a>>) {
        while let Some(word) = rest.pop_if(|word| word.text.starts_with('-')) {
            let (name, own) = match word.text.split_once('=').filter(|_| word.text.starts_with("--")) {
                Some((name, value)) => (name, Some(Word { text: value, ..word })),
                None => (word.text, None),
            };
            let value = own.or_else(|| GLOBAL_VALUES.contains(&name).then(|| rest.pop()).flatten());
            match (name, value) {
                ("-C", Some(folder)) => self.folders.push(folder),
                ("-c" | "--config-env", Some(setting)) => self.settings.push(setting.text),
                ("--git-dir" | "--work-tree", _) => self.names_repository = true,
                _ => {}
            }
        }
    }

    /// `git -c alias.p=push p` is a push.
    fn expand_alias(&mut self, rest: &mut Vec<Word<'a>>) {
        let name = self.command;
        let body = self.settings.iter().rev().find_map(|setting| {
            let (key, body) = setting.split_once('=')?;
            key.strip_prefix("alias.").filter(|alias| *alias == name).map(|_| body)
        });
        let Some(body) = body else { return };
        let mut words = body.split_whitespace();
        self.command = words.next().unwrap_or_default();
        self.is_unknown |= body.starts_with('!');
        let added: Vec<Word<'a>> = words.map(|text| Word { text, is_known: true }).collect();
        rest.extend(added.into_iter().rev());
    }

    fn take_options(&mut self, mut rest: Vec<Word<'a>>) {
        let values =
            VALUES.iter().find(|(command, _)| *command == self.command).map_or(&[][..], |(_, it)| it);
        while let Some(word) = rest.pop() {
            let text = word.text;
            if text == "--" && word.is_known {
                self.before_dashes = Some(self.operands.len());
                self.operands.extend(rest.drain(..).rev());
            } else if text.starts_with("--") {
                let (name, own) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(Word { text: value, ..word })),
                    None => (text, None),
                };
                let name = in_full(name);
                let value = own.or_else(|| values.contains(&name).then(|| rest.pop()).flatten());
                self.options.push((name, value));
            } else if text.starts_with('-') && text.len() > 1 {
                self.cluster(word, values, &mut rest);
            } else {
                self.operands.push(word);
            }
        }
    }

    /// `-uf` and `-bname`.
    fn cluster(&mut self, word: Word<'a>, values: &[&str], rest: &mut Vec<Word<'a>>) {
        for (at, c) in word.text.char_indices().skip(1) {
            let end = at + c.len_utf8();
            let Some(flag) = SHORTS.iter().find(|flag| flag.ends_with(c)) else { continue };
            if values.contains(flag) {
                let own = word.text.get(end..).filter(|own| !own.is_empty());
                let value = own.map(|text| Word { text, ..word }).or_else(|| rest.pop());
                self.options.push((flag, value));
                return;
            }
            self.options.push((flag, None));
        }
    }

    /// Whether one of these options stands there.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// The value of the last of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<Word<'a>> {
        self.options.iter().rev().find(|(name, _)| names.contains(name)).and_then(|(_, value)| *value)
    }
}

/// Short options by their letter.
const SHORTS: &[&str] = &[
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-i", "-j", "-k", "-l", "-m", "-n", "-o", "-p", "-q",
    "-r", "-s", "-t", "-u", "-v", "-w", "-x", "-z", "-A", "-B", "-C", "-D", "-F", "-M", "-N", "-P", "-S",
    "-X",
];

/// Git takes a long option by any beginning of it that is its alone.
fn in_full(name: &str) -> &str {
    if LONGS.contains(&name) || name.len() < 4 {
        return name;
    }
    LONGS.iter().find(|long| long.starts_with(name)).copied().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> RepositoryCall {
        midrail_shell::command::analyse(line).repository.pop().unwrap()
    }

    #[test]
    fn options_of_git_come_before_its_command() {
        let call = call("git -C sub -c a.b=c --no-pager --git-dir=x push -uf origin main");
        let words = Words::of(&call);
        assert_eq!((words.command, words.folders[0].text, words.names_repository), ("push", "sub", true));
        assert!(words.has(&["-u"]) && words.has(&["-f"]) && !words.has(&["-d"]));
        let operands: Vec<&str> = words.operands.iter().map(|word| word.text).collect();
        assert_eq!(operands, ["origin", "main"]);
    }

    #[test]
    fn values_abbreviations_and_aliases_are_understood() {
        let commit = call("git commit -am 'push origin main' -- a");
        let words = Words::of(&commit);
        assert_eq!((words.operands.len(), words.before_dashes), (1, Some(0)));
        let push = call("git push --del origin main");
        assert!(Words::of(&push).has(&["--delete"]));
        let alias = call("git -c alias.p='push origin' p main");
        let words = Words::of(&alias);
        assert_eq!((words.command, words.operands.len()), ("push", 2));
    }
}
