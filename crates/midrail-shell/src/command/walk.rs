//! The walk through a parsed command line: follows folders, variables and pipes, and analyses every program that is
//! started. What each program is goes to the tables of [`super::danger`]; what lies around it is judged here.

mod builtins;
mod containers;
mod databases;
mod each;
mod exfiltration;
mod flow;
mod git;
mod inline;
mod interpreters;
mod invoke;
mod listing;
mod origins;
mod output;
mod recipes;
mod redirect;
mod settings;
mod shells;
mod simple;
mod sourced;
mod state;
mod stream;
mod sweeps;
mod tools;
mod unknown_programs;
mod windows;
mod wrap;

use midrail_core::Action;

use super::ast::{Command, CommandKind, Item, Joint, List, Substitution, Trouble, Word};
use super::file::File;
use super::invocation::{Arg, Folder, Invocation};
use super::parse::{bounded, parse};
use super::scope::Scope;
use super::snippet::Language;
use super::windows::Dialect;
use crate::sql;
use simple::Simple;
pub(crate) use state::Walk;
use state::{Listed, MAX_DEPTH, MAX_LOOP};
use stream::Content;
pub(crate) use stream::Stream;

impl Walk {
    /// Analyses a file of another language.
    pub(crate) fn script(mut self, language: Language, code: &str) -> Action {
        self.span = (0, code.len());
        self.is_nested = true;
        self.snippet(language, code, &Scope::default());
        self.list_origins(Vec::new());
        self.conclude();
        self.analysis
    }

    /// The same walk, through a script of a shell.
    pub(crate) fn into_script(self) -> Self {
        Walk { is_script: true, ..self }
    }

    /// A walk through a line that finds these files there.
    pub(crate) fn with(files: &[File]) -> Self {
        let content = |file: &File| match &file.text {
            Some(text) => Content::Known(Arg::known(text.as_str())),
            None => Content::Remote,
        };
        let files = files.iter().map(|file| (file.path.clone(), content(file))).collect();
        Walk { files, ..Walk::default() }
    }

    /// A walk that keeps the programs it meets.
    pub(crate) fn keeping() -> Self {
        Walk { keeps: true, ..Walk::default() }
    }

    /// Walks through a whole command line, which starts in a folder.
    pub(crate) fn line(mut self, text: &str, folder: Option<&str>) -> (Action, Vec<Invocation>) {
        self.span = (0, text.len());
        let mut scope = Scope::default();
        if let Some(folder) = folder {
            scope.folder = Folder::Known(folder.trim_start_matches("./").to_owned());
        }
        self.is_script |= text.starts_with("#!");
        let head = bounded(text);
        // A line that is no shell's is not parsed as one.
        if sql::looks_like_sql(head) {
            self.statements(head, &scope);
        }
        match super::windows::dialect(head) {
            Some(Dialect::PowerShell) => self.translated(super::windows::powershell(head), &scope),
            Some(Dialect::Cmd) => self.translated(super::windows::cmd(head), &scope),
            None => {}
        }
        let script = parse(text);
        let shown = self.list(&script.list, &mut scope, &Stream::default()).shown;
        self.span = (0, text.len());
        self.uncalled(&scope);
        self.trouble(script.trouble, text);
        if self.is_exhausted() {
            self.span = (0, text.len());
            self.analysis.is_partial = true;
            self.opaque("the command line takes more work than Midrail spends on it");
        } else if scope.has_forgotten.get() || self.analysis.is_partial {
            self.analysis.is_partial = true;
            self.opaque("the command line sets more values than Midrail remembers");
        }
        self.follow_links();
        self.list_fed();
        self.list_origins(shown);
        self.conclude();
        (self.analysis, self.kept)
    }

    /// What is done to a link that the line makes itself is done to what it leads to: `ln -s ~ x; rm -rf x/*`.
    fn follow_links(&mut self) {
        if self.links.is_empty() {
            return;
        }
        let links = std::mem::take(&mut self.links);
        let beyond = |path: &String| {
            let (to, rest) = links.iter().find_map(|(link, to)| {
                let rest = path.strip_prefix(link.as_str())?;
                (rest.is_empty() || rest.starts_with('/')).then_some((to, rest))
            })?;
            Some(format!("{}{rest}", to.trim_end_matches('/')))
        };
        for danger in &mut self.analysis.dangers {
            let found: Vec<String> = danger.targets.iter().filter_map(beyond).collect();
            danger.is_inside &= found.iter().all(|path| super::danger::is_expendable(path));
            danger.targets.extend(found);
        }
        for (listed, paths) in [(Listed::Read, &self.analysis.reads), (Listed::Write, &self.analysis.writes)]
            .map(|(listed, paths)| (listed, paths.iter().filter_map(beyond).collect::<Vec<_>>()))
        {
            for path in paths {
                self.note(listed, &path);
            }
        }
    }

    /// Reports text that could not be parsed and mentions destructive programs.
    fn trouble(&mut self, trouble: Trouble, text: &str) {
        self.analysis.is_partial |= trouble.is_too_deep || trouble.is_too_long;
        if trouble.is_too_deep {
            self.opaque("the command nests deeper than Midrail analyses");
        } else if trouble.is_too_long {
            self.opaque("the command is longer than Midrail analyses");
        } else if trouble.is_broken && flow::mentions_destruction(text) {
            self.opaque("the command cannot be parsed, and mentions programs that destroy");
        }
    }

    /// Walks code that is not a part of the line's own text.
    pub(crate) fn code(&mut self, text: &str, scope: &mut Scope, input: &Stream) -> Stream {
        if self.depth >= MAX_DEPTH {
            self.analysis.is_partial = true;
            self.opaque("code runs code deeper than Midrail analyses");
            return Stream::default();
        }
        self.spend(10 + text.len() / 4);
        if self.is_exhausted() || text.trim().is_empty() {
            return Stream::silent();
        }
        let script = parse(text);
        let outer = (std::mem::replace(&mut self.is_nested, true), self.choice, self.choices);
        self.depth += 1;
        let stream = self.list(&script.list, scope, input);
        self.depth -= 1;
        (self.is_nested, self.choice, self.choices) = outer;
        self.trouble(script.trouble, text);
        stream
    }

    /// Walks code that runs in a shell of its own, without input.
    pub(crate) fn run(&mut self, code: &str, scope: &Scope) {
        let _ = self.code(code, &mut scope.clone(), &Stream::default());
    }

    fn list(&mut self, list: &List<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        let mut stream = Stream::silent();
        for item in &list.items {
            if self.is_exhausted() {
                break;
            }
            let next = if item.is_background {
                self.item(item, &mut scope.clone(), input)
            } else if item.joint == Joint::Then {
                self.item(item, scope, input)
            } else {
                let before = scope.clone();
                let next = self.item(item, scope, input);
                scope.may_have_been(&before);
                next
            };
            stream = stream.and(next);
        }
        stream
    }

    fn item(&mut self, item: &Item<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        if let [command] = item.commands.as_slice() {
            return self.command(command, scope, input);
        }
        let mut stream = input.clone();
        let mut commands = item.commands.iter().peekable();
        while let Some(command) = commands.next() {
            self.is_piped_shell = false;
            stream = self.command(command, &mut scope.clone(), &stream);
            let was_shell = std::mem::take(&mut self.is_piped_shell);
            if was_shell && commands.peek().is_some_and(|next| flow::is_network(next)) {
                self.reverse_shell("a shell whose output goes to the network");
            }
        }
        stream
    }

    /// What `$(…)` prints.
    pub(crate) fn substitution(&mut self, list: &List<'_>, scope: &Scope, input: &Stream) -> Stream {
        self.spend(5);
        if self.depth >= MAX_DEPTH {
            self.opaque("substitutions nest deeper than Midrail analyses");
            return Stream::default();
        }
        let outer = (self.span, self.choice, self.choices);
        self.depth += 1;
        let stream = self.list(list, &mut scope.clone(), input);
        self.depth -= 1;
        (self.span, self.choice, self.choices) = outer;
        stream
    }

    /// The file name that replaces `<(…)`.
    pub(crate) fn process(&mut self, substitution: &Substitution<'_>, scope: &Scope) -> String {
        // What a program writes to `>(…)` is most often what it reads: `tee >(sh)`.
        let input = if substitution.is_sink { self.flowing.clone() } else { Stream::default() };
        let stream = self.substitution(&substitution.list, scope, &input);
        self.processes += 1;
        let name = format!("/dev/fd/{}", 64 + self.processes);
        let content = if substitution.is_sink { Content::Unknown } else { Content::from_stream(&stream) };
        self.files.insert(name.clone(), content);
        name
    }

    fn command(&mut self, command: &Command<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        self.spend(4);
        if self.depth >= MAX_DEPTH {
            self.opaque("the command nests deeper than Midrail analyses");
            return Stream::default();
        }
        if let CommandKind::Simple { assignments, words } = &command.kind {
            let outer = self.span;
            if !self.is_nested {
                self.span = (command.start, command.end);
            }
            let stream = self.rounds(Simple { command, assignments, words }, scope, input);
            self.span = outer;
            return stream;
        }
        let outer_socket = self.is_on_socket;
        let redirected = self.redirects(&command.redirects, scope);
        let input = redirected.input.as_ref().unwrap_or(input);
        self.depth += 1;
        let stream = self.compound(&command.kind, scope, input);
        self.depth -= 1;
        self.is_on_socket = outer_socket;
        self.redirect_output(&redirected, stream)
    }

    fn compound(&mut self, kind: &CommandKind<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        match kind {
            CommandKind::Simple { .. } => Stream::silent(),
            CommandKind::Group(list) => self.list(list, scope, input),
            CommandKind::Subshell(list) => self.list(list, &mut scope.clone(), input),
            CommandKind::If { arms, otherwise } => {
                let before = scope.clone();
                let mut stream = Stream::silent();
                for (test, body) in arms {
                    let _ = self.list(test, scope, input);
                    stream = stream.and(self.branch(body, scope, &before, input));
                }
                stream.and(self.branch(otherwise, scope, &before, input))
            }
            CommandKind::While { test, body } => {
                let before = scope.clone();
                let _ = self.list(test, scope, input);
                let stream = self.list(body, scope, input);
                scope.may_have_been(&before);
                Stream { text: None, ..stream }
            }
            CommandKind::For { name, words, body } => {
                self.for_loop(name, words.as_deref(), body, scope, input)
            }
            CommandKind::Repeat { head, body } => {
                let _ = self.expand_one(&head.parts, scope);
                let stream = self.list(body, scope, input);
                Stream { text: None, ..stream }
            }
            CommandKind::Case { subject, arms } => {
                let _ = self.expand_one(&subject.parts, scope);
                let before = scope.clone();
                let mut stream = Stream::silent();
                for (_, body) in arms {
                    stream = stream.and(self.branch(body, scope, &before, input));
                }
                Stream { text: None, ..stream }
            }
            CommandKind::Function { name, body, command } => {
                if flow::is_fork_bomb(name, command) {
                    self.fork_bomb(name);
                }
                scope.define(name, body);
                Stream::silent()
            }
            CommandKind::Test(words) => {
                for word in words {
                    let _ = self.expand_one(&word.parts, scope);
                }
                Stream::silent()
            }
        }
    }

    /// A branch that may or may not run: afterwards both is possible.
    fn branch(&mut self, body: &List<'_>, scope: &mut Scope, before: &Scope, input: &Stream) -> Stream {
        let mut inner = scope.clone();
        let folder = inner.folder.clone();
        let stream = self.list(body, &mut inner, input);
        inner.may_have_been(scope);
        inner.may_have_been(before);
        if inner.folder == folder {
            inner.folder = scope.folder.clone();
        }
        *scope = inner;
        stream
    }

    fn for_loop(
        &mut self,
        name: &str,
        words: Option<&[Word<'_>]>,
        body: &List<'_>,
        scope: &mut Scope,
        input: &Stream,
    ) -> Stream {
        // What is not known is walked like an empty list: once, with any value.
        let values: Vec<Arg> = match (words, &scope.positional) {
            (Some(words), _) => words.iter().flat_map(|word| self.expand(word, scope)).collect(),
            (None, Some(positional)) => positional.iter().skip(1).cloned().collect(),
            (None, None) => Vec::new(),
        };
        let before = scope.clone();
        let mut stream = Stream::silent();
        if values.is_empty() {
            scope.forget(name);
            stream = self.list(body, scope, input);
        }
        let is_cut = values.len() > MAX_LOOP;
        self.analysis.is_partial |= is_cut;
        for value in values.into_iter().take(MAX_LOOP) {
            scope.set(name, vec![value], false);
            stream = stream.and(self.list(body, scope, input));
        }
        if is_cut {
            scope.forget(name);
            stream = stream.and(self.list(body, scope, input));
            stream.text = None;
        }
        scope.may_have_been(&before);
        stream
    }
}
