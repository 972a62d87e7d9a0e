//! One call of git, split into options of git itself, the command, its options and its operands.

use midrail_core::CommandCall;

use super::refs::from_here;
use crate::shared::data::GIT;

/// A word, and whether it is completely known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_known: bool,
}

/// A call of git with its parts.
#[derive(Debug)]
pub(crate) struct GitCall<'a> {
    /// The whole call.
    pub(crate) call: &'a CommandCall,
    /// `push`, or the expansion of an alias that the same line defines.
    pub(crate) command: &'a str,
    /// Whether the command is unknown.
    pub(crate) is_unknown: bool,
    /// Folders of `-C`, in order.
    pub(crate) folders: Vec<Word<'a>>,
    /// Whether `--git-dir` or `--work-tree` names another repository.
    pub(crate) names_repository: bool,
    /// Settings of `-c`.
    pub(crate) settings: Vec<&'a str>,
    /// Options with their values, short ones as `-d`, long ones in full.
    options: Vec<(String, Option<Word<'a>>)>,
    pub(crate) operands: Vec<Word<'a>>,
    /// The number of operands before a `--`. `None`: there is none.
    pub(crate) before_dashes: Option<usize>,
}

impl<'a> GitCall<'a> {
    /// Splits a call.
    pub(crate) fn new(call: &'a CommandCall) -> Self {
        let word = |at: usize, text: &'a String| Word { text, is_known: !call.unknown.contains(&at) };
        let mut rest: Vec<Word<'a>> = call.args.iter().enumerate().map(|(at, text)| word(at, text)).collect();
        rest.reverse();
        let mut git = GitCall {
            call,
            command: "",
            is_unknown: false,
            folders: Vec::new(),
            names_repository: false,
            settings: Vec::new(),
            options: Vec::new(),
            operands: Vec::new(),
            before_dashes: None,
        };
        git.take_globals(&mut rest);
        let Some(command) = rest.pop() else {
            git.is_unknown = call.has_more_args;
            return git;
        };
        git.is_unknown = !command.is_known;
        git.command = command.text;
        git.expand_alias(&mut rest);
        git.take_options(rest);
        if call.has_more_args {
            git.operands.push(Word { text: "…", is_known: false });
        }
        git
    }

    /// The folder in which it runs, relative to the start of the action.
    pub(crate) fn folder(&self) -> String {
        let start = self.call.folder.clone().unwrap_or_default();
        self.folders.iter().fold(start, |folder, next| {
            match from_here(next.text).filter(|_| !next.is_known).unwrap_or(next.text) {
                text if text.starts_with(['/', '~']) || folder.is_empty() => text.to_owned(),
                text => format!("{folder}/{text}"),
            }
        })
    }

    /// An operand by its position.
    pub(crate) fn operand(&self, at: usize) -> Option<Word<'a>> {
        self.operands.get(at).copied()
    }

    fn take_globals(&mut self, rest: &mut Vec<Word<'a>>) {
        while let Some(word) = rest.pop_if(|word| word.text.starts_with('-')) {
            let (name, own) = match word.text.split_once('=').filter(|_| word.text.starts_with("--")) {
                Some((name, value)) => (name, Some(Word { text: value, ..word })),
                None => (word.text, None),
            };
            let value =
                own.or_else(|| GIT.has("global options with a value", name).then(|| rest.pop()).flatten());
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
        let values = GIT.row("options with a value", self.command).unwrap_or_default();
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
                self.options.push((name.to_owned(), value));
            } else if text.starts_with('-') && text.len() > 1 {
                self.cluster(word, &values, &mut rest);
            } else {
                self.operands.push(word);
            }
        }
    }

    /// `-uf` and `-bname`.
    fn cluster(&mut self, word: Word<'a>, values: &[&str], rest: &mut Vec<Word<'a>>) {
        for (at, c) in word.text.char_indices().skip(1) {
            let end = at + c.len_utf8();
            let flag = format!("-{c}");
            if values.contains(&flag.as_str()) {
                let own = word.text.get(end..).filter(|own| !own.is_empty());
                let value = own.map(|text| Word { text, ..word }).or_else(|| rest.pop());
                self.options.push((flag, value));
                return;
            }
            self.options.push((flag, None));
        }
    }

    /// Whether it has one of these options.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The value of the last of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<Word<'a>> {
        self.options
            .iter()
            .rev()
            .find(|(name, _)| names.contains(&name.as_str()))
            .and_then(|(_, value)| *value)
    }
}

/// The full name of an abbreviated long option.
fn in_full(name: &str) -> &str {
    let known = GIT.list("long options");
    if known.contains(&name) || name.len() < 4 {
        return name;
    }
    known.iter().find(|long| long.starts_with(name)).copied().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> CommandCall {
        midrail_shell::command::analyse(line).commands.pop().unwrap()
    }

    #[test]
    fn options_of_git_come_before_its_command() {
        let call = call("git -C sub -c a.b=c --no-pager --git-dir=x push -uf origin main");
        let words = GitCall::new(&call);
        assert_eq!((words.command, words.folders[0].text, words.names_repository), ("push", "sub", true));
        assert!(words.has(&["-u"]) && words.has(&["-f"]) && !words.has(&["-d"]));
        let operands: Vec<&str> = words.operands.iter().map(|word| word.text).collect();
        assert_eq!(operands, ["origin", "main"]);
    }

    #[test]
    fn values_abbreviations_and_aliases_are_parsed() {
        let commit = call("git commit -am 'push origin main' -- a");
        let words = GitCall::new(&commit);
        assert_eq!((words.operands.len(), words.before_dashes), (1, Some(0)));
        let push = call("git push --del origin main");
        assert!(GitCall::new(&push).has(&["--delete"]));
        let alias = call("git -c alias.p='push origin' p main");
        let words = GitCall::new(&alias);
        assert_eq!((words.command, words.operands.len()), ("push", 2));
    }
}
