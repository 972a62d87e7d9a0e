//! The walk through a parsed command line: follows folders, variables and pipes, and analyses every program that is
//! started. What each program is goes to the tables of [`super::danger`]; what lies around it is judged here.

mod builtins;
mod compose;
mod containers;
mod databases;
mod each;
mod embedded;
mod escapes;
mod evaluated;
mod exfiltration;
mod file_databases;
mod flow;
mod foreign;
mod git;
mod guards;
mod interpreters;
mod invoke;
mod listing;
mod loaded;
mod named;
mod origins;
mod output;
mod patches;
mod processes;
mod recipes;
mod redirect;
mod shells;
mod sourced;
mod started_later;
mod state;
mod sweeps;
mod tools;
mod unseen;
mod variables;
mod wrap;

use midrail_core::Action;

use super::ast::{
    Assignment, Command, CommandKind, Item, List, Substitution, Trouble, Value, Word, WordPart,
};
use super::invocation::{Arg, File, Folder, Invocation};
use super::parse::{bounded, parse};
use super::scope::Scope;
use super::snippet::Language;
use super::windows::Dialect;
use crate::sql;
pub(crate) use flow::mentions_destruction;
pub(crate) use guards::settings_variables;
use state::{Content, Listed, MAX_DEPTH, MAX_LOOP, MAX_ROUNDS};
pub(crate) use state::{Stream, Walk};

impl Walk {
    /// Analyses a file of another language.
    pub(crate) fn script(mut self, language: Language, code: &str) -> Action {
        self.span = (0, code.len());
        self.is_nested = true;
        let runs_more = self.snippet(language, code, &Scope::default());
        self.hide_code(language, code, runs_more);
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
            Some(Dialect::PowerShell) => self.powershell_code(head, &scope),
            Some(Dialect::Cmd) => self.translated(super::windows::cmd(head), &scope),
            None => {}
        }
        let script = parse(text);
        let shown = self.list(&script.list, &mut scope, &Stream::default()).shown;
        self.span = (0, text.len());
        self.end_shell(0, &scope);
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
        let reads: Vec<String> = self.analysis.reads.iter().filter_map(beyond).collect();
        let writes: Vec<String> = self.analysis.writes.iter().filter_map(beyond).collect();
        let sweeps: Vec<String> = self.analysis.sweeps.iter().filter_map(beyond).collect();
        reads.iter().for_each(|path| self.note(Listed::Read, path));
        sweeps.iter().for_each(|path| self.note(Listed::Sweep, path));
        writes.iter().for_each(|path| self.note(Listed::Write, path));
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
        let (mut inner, traps) = (scope.clone(), self.traps.len());
        let _ = self.code(code, &mut inner, &Stream::default());
        self.end_shell(traps, &inner);
    }

    fn list(&mut self, list: &List<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        let mut stream = Stream::silent();
        let was_unchecked = self.is_unchecked;
        let last_background = list.iter().rposition(|item| item.is_background);
        for (at, item) in list.iter().enumerate() {
            if self.is_exhausted() {
                break;
            }
            self.is_unchecked = was_unchecked
                || at + 1 < first_deciding(list, scope)
                || item.is_alternative
                || last_background.is_some_and(|last| at <= last)
                || item.is_negated;
            let next = if item.is_background {
                self.item(item, &mut scope.clone(), input)
            } else if !item.is_conditional {
                self.item(item, scope, input)
            } else {
                let before = scope.clone();
                let next = self.item(item, scope, input);
                scope.may_have_been(&before);
                next
            };
            stream = stream.and(next);
        }
        self.is_unchecked = was_unchecked;
        stream
    }

    fn item(&mut self, item: &Item<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        if let [command] = item.commands.as_slice() {
            return self.command(command, scope, input);
        }
        let mut stream = input.clone();
        let is_unchecked = self.is_unchecked;
        let mut commands = item.commands.iter().peekable();
        while let Some(command) = commands.next() {
            self.is_piped_shell = false;
            self.is_unchecked = is_unchecked || (commands.peek().is_some() && !scope.has_pipefail);
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
        let outer = (self.span, self.choice, self.choices, self.is_unchecked);
        self.depth += 1;
        self.is_unchecked = true;
        let stream = self.list(list, &mut scope.clone(), input);
        self.depth -= 1;
        (self.span, self.choice, self.choices, self.is_unchecked) = outer;
        stream
    }

    /// The file name that replaces `<(…)`.
    pub(crate) fn process(&mut self, substitution: &Substitution<'_>, scope: &Scope) -> String {
        // What a program writes to `>(…)` is most often what it reads: `tee >(sh)`.
        let input = if substitution.is_sink { self.flowing.clone() } else { Stream::default() };
        let stream = self.substitution(&substitution.list, scope, &input);
        self.processes += 1;
        let name = format!("/dev/fd/{}", redirect::FIRST_CHOSEN + self.processes);
        let is_secret = exfiltration::secret_in(&stream) == Some(state::Secret::Content);
        self.keep_secret_file(&name, false, is_secret && !substitution.is_sink);
        let content = match Content::from_stream(&stream) {
            _ if substitution.is_sink => Content::Unknown,
            Content::Unknown if flow::prints_settings(&substitution.list, &stream.program) => {
                Content::Known(Arg::default())
            }
            Content::Unknown => Content::Unseen(stream.program),
            content => content,
        };
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
        let was_unchecked = self.is_unchecked;
        let had_pipefail = scope.has_pipefail;
        let is_certain = matches!(command.kind, CommandKind::Group(_) | CommandKind::Subshell(_));
        self.is_unchecked |= !is_certain;
        let stream = self.compound(&command.kind, scope, input);
        scope.has_pipefail &= had_pipefail || is_certain;
        self.is_unchecked = was_unchecked;
        self.depth -= 1;
        self.is_on_socket = outer_socket;
        self.redirect_output(&redirected, stream, scope)
    }

    fn compound(&mut self, kind: &CommandKind<'_>, scope: &mut Scope, input: &Stream) -> Stream {
        match kind {
            CommandKind::Simple { .. } => Stream::silent(),
            CommandKind::Group(list) => self.list(list, scope, input),
            CommandKind::Subshell(list) => {
                let (mut inner, traps) = (scope.clone(), self.traps.len());
                let stream = self.list(list, &mut inner, input);
                self.end_shell(traps, &inner);
                stream
            }
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
                let stream = self.repeated(scope, |walk, scope| {
                    let _ = walk.list(test, scope, input);
                    walk.list(body, scope, input)
                });
                scope.may_have_been(&before);
                Stream { text: None, ..stream }
            }
            CommandKind::For { name, words, body } => {
                self.for_loop(name, words.as_deref(), body, scope, input)
            }
            CommandKind::Repeat { head, body } => {
                let _ = self.expand_one(&head.parts, scope);
                let before = scope.clone();
                let stream = self.repeated(scope, |walk, scope| walk.list(body, scope, input));
                scope.may_have_been(&before);
                Stream { text: None, ..stream }
            }
            CommandKind::Case { subject, arms } => {
                let _ = self.expand_one(&subject.parts, scope);
                let before = scope.clone();
                let mut stream = Stream::silent();
                for body in arms {
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
                    let value = self.expand_one(&word.parts, scope);
                    self.evaluated(&value, scope);
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

    /// Walks what a loop repeats. A loop that changes the folder ends anywhere, and its later rounds run anywhere.
    fn repeated(
        &mut self,
        scope: &mut Scope,
        mut round: impl FnMut(&mut Walk, &mut Scope) -> Stream,
    ) -> Stream {
        let before = scope.folder.clone();
        let stream = round(self, scope);
        if scope.folder == before {
            return stream;
        }
        scope.folder = Folder::lost();
        let stream = stream.and(round(self, scope));
        scope.folder = Folder::lost();
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
            stream = self.repeated(scope, |walk, scope| walk.list(body, scope, input));
        }
        let is_cut = values.len() > MAX_LOOP;
        self.analysis.is_partial |= is_cut;
        for value in values.into_iter().take(MAX_LOOP) {
            scope.set(name, vec![value]);
            stream = stream.and(self.list(body, scope, input));
        }
        if is_cut {
            scope.forget(name);
            stream = stream.and(self.repeated(scope, |walk, scope| walk.list(body, scope, input)));
            stream.text = None;
        }
        scope.may_have_been(&before);
        stream
    }

    /// Walks a simple command once for each value that its variables may have.
    fn rounds(&mut self, simple: Simple<'_, '_>, scope: &mut Scope, input: &Stream) -> Stream {
        let outer = (self.choice, self.choices, self.is_on_socket);
        (self.choice, self.choices) = (0, 1);
        let tries_unknown = simple.words.first().is_some_and(flow::runs_code) && !self.is_script;
        let tried_unknown = std::mem::replace(&mut self.tries_unknown, tries_unknown);
        if simple.words.is_empty() {
            let stream = self.simple(simple, scope, input);
            (self.choice, self.choices, self.is_on_socket) = outer;
            return stream;
        }
        let before = scope.clone();
        let stream = self.simple(simple, scope, input);
        let rounds = self.choices.min(MAX_ROUNDS);
        for choice in 1..rounds {
            self.choice = choice;
            if self.is_exhausted() {
                break;
            }
            let _ = self.simple(simple, &mut before.clone(), input);
        }
        (self.choice, self.choices, self.is_on_socket) = outer;
        self.tries_unknown = tried_unknown;
        stream
    }

    fn simple(&mut self, simple: Simple<'_, '_>, scope: &mut Scope, input: &Stream) -> Stream {
        let Simple { command, assignments, words } = simple;
        let mut argv = Vec::with_capacity(words.len());
        let outer = std::mem::take(&mut self.flowing);
        // Only then: the text may be long.
        if words.iter().any(has_sink) {
            self.flowing = input.clone();
        }
        for word in words {
            if self.is_exhausted() {
                break;
            }
            if let Some(assigned) = self.declared(word, &argv, scope) {
                argv.push(assigned);
                continue;
            }
            self.is_given_up = false;
            argv.extend(self.expand(word, scope));
            if self.is_given_up && argv.len() == 1 {
                self.opaque("the command expands to more words than Midrail analyses");
            }
        }
        self.flowing = outer;
        let redirected = self.redirects(&command.redirects, scope);
        let input = redirected.input.as_ref().unwrap_or(input);
        if argv.is_empty() {
            for assignment in assignments {
                self.assign(assignment, scope);
            }
            self.judge_variables(scope);
            let named = self.named_in_variables(assignments, false, scope);
            self.report_named(named);
            let stream = if command.redirects.is_empty() { Stream::silent() } else { input.clone() };
            return self.redirect_output(&redirected, stream, scope);
        }
        // Only here the shell itself looks for a function of that name.
        self.finds_functions = true;
        let stream = if assignments.is_empty() {
            self.invoke(argv, false, scope, input)
        } else {
            let saved = scope.clone();
            for assignment in assignments {
                self.assign(assignment, scope);
            }
            self.judge_variables(scope);
            let named = self.named_in_variables(assignments, true, scope);
            let stream = self.invoke(argv, false, scope, input);
            self.report_named(named);
            scope.restore_variables(&saved);
            stream
        };
        self.judge_variables(scope);
        self.redirect_output(&redirected, stream, scope)
    }

    /// The items of `(a b [4]=c)`, after those that are there already.
    fn array_items(&mut self, words: &[Word<'_>], mut items: Vec<Arg>, scope: &mut Scope) -> Vec<Arg> {
        for word in words {
            for item in self.expand(word, scope) {
                let named = item.text.strip_prefix('[').and_then(|rest| rest.split_once("]="));
                match named.map(|(index, _)| (place_in_array(index), index.len() + "[]=".len())) {
                    Some((at, from)) => {
                        let mut value = item.tail(from);
                        value.is_glob = value.text.contains(['*', '?', '[']);
                        let at = at.unwrap_or(items.len());
                        put_at(&mut items, at, value);
                    }
                    None => items.push(item),
                }
            }
        }
        self.spend(items.len() / 4);
        items
    }

    fn assign(&mut self, assignment: &Assignment<'_>, scope: &mut Scope) {
        self.subscript(assignment.index, scope);
        let adds = assignment.is_append || assignment.index.is_some();
        let old = scope.items(assignment.name).filter(|_| adds);
        let mut items = old.map(|items| items.to_vec()).unwrap_or_default();
        match (&assignment.value, assignment.index) {
            (Value::Array(words), _) => {
                let items = self.array_items(words, items, scope);
                scope.set(assignment.name, items);
            }
            (Value::Word(word), Some(index)) => {
                let value = self.expand_one(&word.parts, scope);
                match place_in_array(index) {
                    Some(at) => {
                        put_at(&mut items, at, value);
                        scope.set(assignment.name, items);
                    }
                    None => scope.forget(assignment.name),
                }
            }
            (Value::Word(word), None) => {
                let old = || {
                    let name = assignment.name;
                    if assignment.is_append { Arg::unknown(&format!("${name}")) } else { Arg::default() }
                };
                let mut whole = items.into_iter().next().unwrap_or_else(old);
                whole.append(&self.expand_one(&word.parts, scope));
                scope.set(assignment.name, vec![whole]);
            }
        }
    }
}

/// A simple command and its parts.
#[derive(Clone, Copy)]
struct Simple<'a, 't> {
    command: &'a Command<'t>,
    assignments: &'a [Assignment<'t>],
    words: &'a [Word<'t>],
}

/// The number of the first item that decides whether a list succeeds: it does if its last item does, and all that are joined to it
/// by `&&`. `a || exit 1` succeeds only if `a` does.
fn first_deciding(list: &List<'_>, scope: &Scope) -> usize {
    let is_joined =
        |item: &&Item<'_>| item.is_conditional && (!item.is_alternative || always_fails(item, scope));
    list.len() - list.iter().rev().take_while(is_joined).count()
}

/// Whether a pipeline is `exit 1` or `false`: it never succeeds.
fn always_fails(item: &Item<'_>, scope: &Scope) -> bool {
    let [Command { kind: CommandKind::Simple { assignments, words }, redirects, .. }] =
        item.commands.as_slice()
    else {
        return false;
    };
    let words: Option<Vec<&str>> = words.iter().map(Word::bare).collect();
    let Some([name, args @ ..]) = words.as_deref() else { return false };
    let is_replaced = scope.functions.contains_key(*name) || scope.aliases.contains_key(*name);
    let fails = match (*name, args) {
        ("false", []) => true,
        ("exit" | "return", [status]) => status.parse::<u8>().is_ok_and(|status| status > 0),
        _ => false,
    };
    fails
        && !is_replaced
        && !item.is_negated
        && !item.is_background
        && assignments.is_empty()
        && redirects.is_empty()
}

/// The place that an index names, where it is a number that is not too large.
fn place_in_array(index: &str) -> Option<usize> {
    index.trim().parse::<usize>().ok().filter(|at| *at < 1000)
}

fn put_at(items: &mut Vec<Arg>, at: usize, value: Arg) {
    while items.len() <= at {
        items.push(Arg::default());
    }
    if let Some(slot) = items.get_mut(at) {
        *slot = value;
    }
}

/// Whether a word is `>(…)`.
fn has_sink(word: &Word<'_>) -> bool {
    word.parts.iter().any(|part| matches!(part, WordPart::Process(substitution) if substitution.is_sink))
}
