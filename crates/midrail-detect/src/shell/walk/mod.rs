//! The walk through a parsed command line: follows folders, variables and pipes, and looks at every program that is
//! started. What each program is goes to the tables of [`super::danger`]; what lies around it is judged here.

mod builtins;
mod containers;
mod databases;
mod each;
mod fed;
mod finds;
mod fleet;
mod flow;
mod git;
mod inline;
mod interpreters;
mod invoke;
mod later;
mod leaks;
mod listing;
mod origins;
mod output;
mod recipes;
mod redirect;
mod settings;
mod shells;
mod simple;
mod sourced;
mod strangers;
mod stream;
mod tools;
mod windows;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Danger, Severity};

use super::ast::{Command, Item, Joint, Kind, List, Substitution, Trouble, Word};
use super::invocation::{Arg, Folder, Invocation};
use super::parse::{bounded, parse};
use super::scope::Scope;
use super::snippet::Language;
use super::windows::Dialect;
use super::{Analysis, File};
use crate::sql;
use simple::Simple;
pub(in crate::shell) use stream::Stream;
use stream::{Content, Source, concat};

/// How much work one command line may make.
const FUEL: usize = 600_000;

/// How deep code may run code.
const MAX_DEPTH: usize = 40;

/// How many values of a loop are tried.
const MAX_LOOP: usize = 64;

/// How many values of the variables of one command are tried.
const MAX_ROUNDS: usize = 8;

/// A walk through one command line.
#[derive(Default)]
pub(in crate::shell) struct Walk {
    pub(in crate::shell) analysis: Analysis,
    /// What was put into the lists of the analysis.
    seen: [BTreeSet<String>; 9],
    /// What has been told, so that nothing is told twice.
    told: BTreeSet<(String, String, usize)>,
    /// The programs that were met, where they are asked for.
    kept: Vec<Invocation>,
    keeps: bool,
    spent: usize,
    depth: usize,
    /// The bytes of the command that is looked at.
    span: (usize, usize),
    /// The code that is walked is not the text of the line: places in it mean nothing.
    is_nested: bool,
    /// Files whose content was neither shown nor changed so far.
    named: BTreeSet<String>,
    /// Files with settings that the line made its own, and what came of it.
    sourced: sourced::Sourced,
    /// Files that the line wrote.
    files: BTreeMap<String, Content>,
    /// Links that the line made, with what they lead to.
    links: Vec<(String, String)>,
    /// Their own places.
    made_links: Vec<String>,
    processes: usize,
    /// Substitutions that stand for credentials, as they are written.
    secrets: BTreeMap<String, leaks::Secret>,
    /// What the command reads whose words are expanded.
    flowing: Stream,
    /// Where files come from.
    origins: origins::Origins,
    /// Functions that were called.
    called: BTreeSet<String>,
    /// Something from the network was unpacked.
    has_unpacked: bool,
    /// A word would have become more words than are looked into.
    pub(in crate::shell) is_given_up: bool,
    /// Which value of variables with several is looked at in this round.
    pub(in crate::shell) choice: usize,
    /// How many values there are.
    pub(in crate::shell) choices: usize,
    /// A shell that reads its commands from a pipe was just walked.
    is_piped_shell: bool,
    /// A descriptor was opened to the network: `exec 5<>/dev/tcp/…`.
    has_socket: bool,
    /// The redirections of the command that is looked at lead to the network.
    is_on_socket: bool,
    /// How the code of another language is started that is looked into next.
    start: super::snippet::Start,
    /// What is walked is a script, and not what an agent types.
    is_script: bool,
}

/// Which list of the analysis something belongs to.
#[derive(Clone, Copy)]
enum Listed {
    Read,
    Write,
    Host,
    Program,
    Script,
    Overwrite,
    Sweep,
    Folder,
    Hook,
}

impl Walk {
    /// Looks into a file of another language.
    pub(in crate::shell) fn script(mut self, language: Language, code: &str) -> Analysis {
        self.span = (0, code.len());
        self.is_nested = true;
        self.snippet(language, code, &Scope::default());
        self.list_origins(Vec::new());
        self.conclude();
        self.analysis
    }

    /// The same walk, through a script of a shell.
    pub(in crate::shell) fn into_script(self) -> Self {
        Walk { is_script: true, ..self }
    }

    /// A walk through a line that finds these files there.
    pub(in crate::shell) fn with(files: &[File]) -> Self {
        let content = |file: &File| match &file.text {
            Some(text) => Content::Known(Arg::known(text.as_str())),
            None => Content::Remote,
        };
        let files = files.iter().map(|file| (file.path.clone(), content(file))).collect();
        Walk { files, ..Walk::default() }
    }

    /// A walk that keeps the programs it meets.
    pub(in crate::shell) fn keeping() -> Self {
        Walk { keeps: true, ..Walk::default() }
    }

    /// Walks through a whole command line, which starts in a folder.
    pub(in crate::shell) fn line(mut self, text: &str, folder: Option<&str>) -> (Analysis, Vec<Invocation>) {
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
            self.opaque("the command line makes more work than is looked into");
        } else if scope.has_forgotten.get() || self.analysis.is_partial {
            self.analysis.is_partial = true;
            self.opaque("the command line tells more than is kept in mind");
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

    /// Counts work. Once it is used up nothing more is walked.
    pub(in crate::shell) fn spend(&mut self, work: usize) {
        self.spent = self.spent.saturating_add(work);
    }

    fn is_exhausted(&self) -> bool {
        self.spent > FUEL
    }

    fn note(&mut self, listed: Listed, text: &str) {
        let (set, list) = match listed {
            Listed::Read => (0, &mut self.analysis.reads),
            Listed::Write => (1, &mut self.analysis.writes),
            Listed::Host => (2, &mut self.analysis.hosts),
            Listed::Program => (3, &mut self.analysis.programs),
            Listed::Script => (4, &mut self.analysis.scripts),
            Listed::Overwrite => (5, &mut self.analysis.overwrites),
            Listed::Sweep => (6, &mut self.analysis.sweeps),
            Listed::Folder => (7, &mut self.analysis.folders),
            Listed::Hook => (8, &mut self.analysis.hooks),
        };
        if text.is_empty() || text.starts_with("/dev/fd/") {
            return;
        }
        if let Some(seen) = self.seen.get_mut(set)
            && !seen.contains(text)
        {
            seen.insert(text.to_owned());
            list.push(text.to_owned());
        }
        if matches!(listed, Listed::Read | Listed::Write) {
            self.named.remove(text);
        }
    }

    fn tell(&mut self, danger: Danger) {
        if self.told.insert((danger.rule.clone(), danger.command.clone(), danger.start)) {
            self.analysis.dangers.push(danger);
        }
    }

    fn found(&mut self, rule: &str, severity: Severity, reason: String, safer: &str, command: &str) {
        let danger = Danger {
            rule: rule.to_owned(),
            severity,
            reason,
            safer: safer.to_owned(),
            command: shorten(command),
            start: self.span.0,
            end: self.span.1,
            ..Danger::default()
        };
        self.tell(danger);
    }

    /// What could not be parsed is told if it looks as if it might destroy.
    fn trouble(&mut self, trouble: Trouble, text: &str) {
        self.analysis.is_partial |= trouble.is_too_deep || trouble.is_too_long;
        if trouble.is_too_deep {
            self.opaque("the command nests deeper than is looked into");
        } else if trouble.is_too_long {
            self.opaque("the command is longer than is looked into");
        } else if trouble.is_broken && flow::mentions_destruction(text) {
            self.opaque("the command cannot be parsed, and mentions programs that destroy");
        }
    }

    /// Walks code that is not a part of the line's own text.
    pub(in crate::shell) fn code(&mut self, text: &str, scope: &mut Scope, input: &Stream) -> Stream {
        if self.depth >= MAX_DEPTH {
            self.analysis.is_partial = true;
            self.opaque("code runs code deeper than is looked into");
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
    pub(in crate::shell) fn substitution(
        &mut self,
        list: &List<'_>,
        scope: &Scope,
        input: &Stream,
    ) -> Stream {
        self.spend(5);
        if self.depth >= MAX_DEPTH {
            self.opaque("substitutions nest deeper than is looked into");
            return Stream::default();
        }
        let outer = (self.span, self.choice, self.choices);
        self.depth += 1;
        let stream = self.list(list, &mut scope.clone(), input);
        self.depth -= 1;
        (self.span, self.choice, self.choices) = outer;
        stream
    }

    /// The name that stands for `<(…)`.
    pub(in crate::shell) fn process(&mut self, substitution: &Substitution<'_>, scope: &Scope) -> String {
        // What a program writes to `>(…)` is most often what it reads: `tee >(sh)`.
        let input = if substitution.is_sink { self.flowing.clone() } else { Stream::default() };
        let stream = self.substitution(&substitution.list, scope, &input);
        self.processes += 1;
        let name = format!("/dev/fd/{}", 64 + self.processes);
        let content = if substitution.is_sink { Content::Unknown } else { Content::of(&stream) };
        self.files.insert(name.clone(), content);
        name
    }

    fn command(&mut self, command: &Command<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        self.spend(4);
        if self.depth >= MAX_DEPTH {
            self.opaque("the command nests deeper than is looked into");
            return Stream::default();
        }
        if let Kind::Simple { assignments, words } = &command.kind {
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

    fn compound(&mut self, kind: &Kind<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        match kind {
            Kind::Simple { .. } => Stream::silent(),
            Kind::Group(list) => self.list(list, scope, input),
            Kind::Subshell(list) => self.list(list, &mut scope.clone(), input),
            Kind::If { arms, otherwise } => {
                let before = scope.clone();
                let mut stream = Stream::silent();
                for (test, body) in arms {
                    let _ = self.list(test, scope, input);
                    stream = stream.and(self.branch(body, scope, &before, input));
                }
                stream.and(self.branch(otherwise, scope, &before, input))
            }
            Kind::While { test, body } => {
                let before = scope.clone();
                let _ = self.list(test, scope, input);
                let stream = self.list(body, scope, input);
                scope.may_have_been(&before);
                Stream { text: None, ..stream }
            }
            Kind::For { name, words, body } => self.for_loop(name, words.as_deref(), body, scope, input),
            Kind::Repeat { head, body } => {
                let _ = self.expand_one(&head.parts, scope);
                let stream = self.list(body, scope, input);
                Stream { text: None, ..stream }
            }
            Kind::Case { subject, arms } => {
                let _ = self.expand_one(&subject.parts, scope);
                let before = scope.clone();
                let mut stream = Stream::silent();
                for (_, body) in arms {
                    stream = stream.and(self.branch(body, scope, &before, input));
                }
                Stream { text: None, ..stream }
            }
            Kind::Function { name, body, command } => {
                if flow::is_fork_bomb(name, command) {
                    self.fork_bomb(name);
                }
                scope.define(name, body);
                Stream::silent()
            }
            Kind::Test(words) => {
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
        let mut values = Vec::new();
        let is_known = match words {
            Some(words) => {
                for word in words {
                    values.extend(self.expand(word, scope));
                }
                true
            }
            None => match &scope.positional {
                Some(positional) => {
                    values.extend(positional.iter().skip(1).cloned());
                    true
                }
                None => false,
            },
        };
        let before = scope.clone();
        let mut stream = Stream::silent();
        if !is_known || values.is_empty() {
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

/// A command for a report: not longer than a person reads.
fn shorten(command: &str) -> String {
    const MOST: usize = 300;
    match command.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", command.get(..at).unwrap_or("")),
        None => command.to_owned(),
    }
}
