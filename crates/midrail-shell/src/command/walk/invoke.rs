//! One program with its arguments: what it is, what it runs in turn, and what it touches.

use std::rc::Rc;

use midrail_core::{OpaqueKind, Severity, glob};

use super::super::condition::does;
use super::super::invocation::{Arg, Folder, Invocation, quoted_line};
use super::super::network::{MAX_NETWORK_USES, network_use};
use super::super::programs::{self, Tag};
use super::super::proof::{is_unproven_option, may_run_nothing};
use super::super::scope::{Function, START, Scope};
use super::super::{calls, danger, files, hosts, pattern};
use super::flow::{self, base_name};
use super::guards::agent_of_package;
use super::state::{Content, Listed, MAX_DEPTH, ProgramCall, Stream, Walk};
use crate::tables::LOADS;
use crate::words::places::PROGRAM_FOLDERS;
use crate::words::shell::{
    DOUBTFUL_VARIABLES, EMPTYING_SCRIPTS, GNU_PROGRAMS, LEAVING, LOADING_VARIABLES, SHELL_WORDS,
    STATUS_KEEPERS, WILDCARD_PROGRAMS,
};

/// `sed -i d file`
fn empties(invocation: &Invocation) -> bool {
    invocation.program == "sed"
        && invocation.args.iter().any(|arg| EMPTYING_SCRIPTS.contains(arg.text.trim()))
}

/// Whether a program that starts another one only shows its help or its version, or what it would do: `nice --version make`.
fn describes(invocation: &Invocation) -> bool {
    let program = invocation.program.as_str();
    let is_short_of = |long: &str, text: &str| text.len() > 2 && long.starts_with(text);
    let texts = || invocation.args.iter().map(|arg| arg.text.as_str()).take_while(|text| *text != "--");
    texts().take_while(|text| text.starts_with('-')).any(|text| may_run_nothing(program, text))
        || texts().any(|text| {
            is_short_of("--help", text) || is_short_of("--version", text) || is_unproven_option(program, text)
        })
}

/// Whether a variable is set with which a program may be another one, or may run nothing: `PATH=.`.
fn has_doubtful_variables(scope: &Scope) -> bool {
    let is_doubtful = |name: &str| DOUBTFUL_VARIABLES.iter().any(|pattern| glob::name_matches(pattern, name));
    if scope.has_forgotten_any(is_doubtful) {
        return true;
    }
    scope.values().any(|(name, value)| {
        let loads = |entry: &&str| match entry.split_once('=') {
            Some((variable, mark)) => variable == name && (!value.is_known() || value.text.contains(mark)),
            None => *entry == name,
        };
        is_doubtful(name) || LOADING_VARIABLES.iter().any(loads)
    })
}

/// Whether variables are set: some of them tell a sandbox what it may use.
fn sets_variables(scope: &Scope) -> bool {
    scope.values().next().is_some() || scope.has_forgotten_any(|_| true)
}

impl Walk {
    /// Analyses one program. `has_more` says that arguments follow which the line does not contain.
    pub(super) fn invoke(
        &mut self,
        argv: Vec<Arg>,
        has_more: bool,
        scope: &mut Scope,
        input: &Stream,
    ) -> Stream {
        let finds_functions = std::mem::take(&mut self.finds_functions);
        let size: usize = argv.iter().map(|arg| arg.text.len()).sum();
        self.spend(20 + size / 8);
        if self.is_exhausted() {
            return Stream::default();
        }
        if self.depth >= MAX_DEPTH {
            self.opaque("code runs code deeper than Midrail analyses");
            return Stream::default();
        }
        let named = self.named_words(&argv, scope, input);
        self.finds_functions = finds_functions;
        self.depth += 1;
        let was_unchecked = self.is_unchecked;
        let replaces_shell = argv.len() > 1 && argv.first().is_some_and(|name| name.text == "exec");
        let stream = self.invoke_deeper(argv, has_more, scope, input);
        self.has_left |= replaces_shell;
        self.is_unchecked = was_unchecked;
        self.depth -= 1;
        self.report_named(named);
        stream
    }

    fn invoke_deeper(&mut self, argv: Vec<Arg>, has_more: bool, scope: &mut Scope, input: &Stream) -> Stream {
        let finds_functions = std::mem::take(&mut self.finds_functions);
        if self.is_automatic_folder(&argv, scope) {
            scope.change_folder(argv.first());
            return Stream::silent();
        }
        let mut argv = argv.into_iter();
        let Some(name) = argv.next() else { return Stream::silent() };
        let mut args: Vec<Arg> = argv.map(|arg| self.localise(arg, scope)).collect();
        let mut program = program_name(&name);
        // `git-push` is `git push`.
        if let Some(subcommand) = program.strip_prefix("git-").filter(|_| programs::find(&program).is_none())
        {
            args.insert(0, Arg::known(subcommand));
            program = "git".to_owned();
        }
        let (has_more_args, input_kind) = (has_more, input.input());
        let invocation =
            Invocation { has_more_args, input: input_kind, ..self.invocation(&program, args, scope) };
        let call = ProgramCall { invocation: &invocation, input };
        if self.keeps {
            self.kept.push(invocation.clone());
        }
        if invocation.program.is_empty() {
            // It may be a command of the shell.
            self.has_left = true;
            self.unknown_program(&name, &invocation, input);
            return Stream::printed_by("");
        }
        let is_path = name.text.contains('/');
        let mut name = self.localise(name, scope);
        if is_path && !name.text.contains('/') {
            // `$PWD/tool` is a file, and not a program of that name.
            name.text.insert_str(0, "./");
        }
        let definition = scope.functions.get(&name.text);
        if definition.is_none() && !scope.aliases.contains_key(&name.text) {
            return self.program(&name, call, scope);
        }
        let is_certain = finds_functions && definition.is_some_and(|function| function.is_certain);
        let mut apart = scope.clone();
        let stream = self.user_defined(&name, call, scope);
        if is_certain {
            return stream;
        }
        // The definition adds a meaning and removes none: the program may run in its place.
        self.is_unchecked = true;
        apart.forget_definitions(&name.text);
        let stream = stream.and(self.program(&name, call, &mut apart));
        apart.functions = Rc::clone(&scope.functions);
        scope.may_have_been(&apart);
        Stream { text: None, ..stream }
    }

    /// A program, or a command of the shell.
    fn program(&mut self, name: &Arg, call: ProgramCall<'_>, scope: &mut Scope) -> Stream {
        let ProgramCall { invocation, input } = call;
        self.note(Listed::Program, &invocation.program);
        self.with_settings(invocation, scope);
        let decides = !self.is_unchecked && !self.has_left && !has_doubtful_variables(scope);
        let number = self.analysis.commands.len();
        calls::add_call(&mut self.analysis, invocation, &name.text, decides);
        self.has_left |= LEAVING.contains(invocation.program.as_str());
        self.is_unchecked |= !STATUS_KEEPERS.contains(invocation.program.as_str()) || describes(invocation);
        for mut danger in danger::judge(invocation) {
            // What is temporary is so on other machines, too: a file of it is nothing, a folder is not much.
            let is_temporary = |path: &String| path.starts_with('/') && danger::is_expendable(path);
            if scope.is_remote && !danger.targets.is_empty() && danger.targets.iter().all(is_temporary) {
                if danger.severity <= Severity::Medium {
                    continue;
                }
                danger.severity = Severity::Medium;
            }
            self.add_danger(danger);
        }
        self.report_disabled_guards(invocation, scope);
        self.started_later(invocation, scope);
        if !scope.is_remote {
            self.hidden_in_program(name, invocation);
        }
        if let Some(mut stream) = self.builtin(call, scope) {
            stream.secret = stream.secret.or_else(|| self.printed_secret(call, scope));
            calls::mark_wrapper(&mut self.analysis, &invocation.program, number);
            return stream;
        }
        if name.text.contains('/')
            && let Some(stream) = self.program_file(name, call, scope)
        {
            return stream;
        }
        self.touched(invocation, scope);
        self.report_exfiltration(invocation, scope, input);
        self.keep_secret_copies(invocation, scope);
        self.obeys_network(invocation, input);
        self.inline_code(invocation, scope, input);
        self.loaded_files(&invocation.program, scope);
        self.written_code(invocation, scope);
        self.settings_in_options(invocation, scope);
        self.scripts_in_options(invocation, scope);
        if matches!(invocation.program.as_str(), "ssh" | "scp" | "sftp") {
            self.obeyed_settings(invocation, scope);
        }
        self.temporary_libraries(invocation, scope, input);
        if invocation.row().client.is_some() {
            self.embedded_commands(invocation, scope, input);
        }
        // Another shell has its own options.
        let had_pipefail = std::mem::take(&mut scope.has_pipefail);
        let seen = self.analysis.opaque.len();
        let stream = self.wrapped(call, scope).or_else(|| self.interpreted(call, scope));
        if does(invocation, Tag::Contains) && !name.text.contains('/') && !sets_variables(scope) {
            // What is not seen in a sandbox needs no other one.
            self.analysis.opaque.truncate(seen);
        }
        scope.has_pipefail = had_pipefail;
        if let Some(stream) = stream {
            calls::mark_wrapper(&mut self.analysis, &invocation.program, number);
            return stream;
        }
        self.report_unknown_program(invocation, scope);
        if invocation.row().client.is_none() {
            self.embedded_commands(invocation, scope, input);
        }
        let mut stream = self.printed(invocation, scope, input);
        stream.secret = self.printed_secret(call, scope);
        stream
    }

    /// Notes a program whose words do not show what it does.
    fn hidden_in_program(&mut self, name: &Arg, invocation: &Invocation) {
        let program = invocation.program.as_str();
        self.hidden_in_module(invocation);
        if name.text.contains('/') && !name.is_known() {
            self.hide(OpaqueKind::Dynamic, &name.text);
        }
        // A file elsewhere is a script.
        let is_installed =
            !name.text.contains('/') || PROGRAM_FOLDERS.iter().any(|folder| name.text.starts_with(folder));
        if is_installed
            && !SHELL_WORDS.contains(program)
            && !LOADS.contains_key(program)
            && programs::find(program).is_none()
        {
            self.hide(OpaqueKind::Program, program);
        }
    }

    /// The same for a program that may be a module of Python.
    pub(super) fn hidden_in_module(&mut self, invocation: &Invocation) {
        let program = invocation.program.as_str();
        let row = invocation.row();
        let has_rule =
            row.tags.contains(&Tag::RunsProject) || row.sometimes.iter().any(|it| it.tag == Tag::RunsProject);
        let runs_project = if has_rule {
            does(invocation, Tag::RunsProject)
        } else {
            LOADS.contains_key(program) || row.recipes.is_some()
        };
        if does(invocation, Tag::Installs) {
            self.hide(OpaqueKind::Install, program);
        } else if runs_project {
            self.hide(OpaqueKind::Project, program);
        }
    }

    /// Functions and aliases of the line itself.
    fn user_defined(&mut self, name: &Arg, call: ProgramCall<'_>, scope: &mut Scope) -> Stream {
        let ProgramCall { invocation, input } = call;
        if let Some(Function { body, .. }) = scope.functions.get(&name.text).cloned() {
            self.called.insert(name.text.clone());
            let outer = scope.set_positional(name.clone(), &invocation.args);
            // A function that calls itself is walked once.
            let functions = Rc::clone(&scope.functions);
            Rc::make_mut(&mut scope.functions).remove(&name.text);
            let before = scope.folder.clone();
            let stream = self.code(&body, scope, input);
            // One that calls itself may change the folder any number of times.
            if scope.folder != before && flow::mentions_word(&body, &name.text) {
                scope.folder = Folder::lost();
            }
            scope.functions = functions;
            scope.positional = outer;
            return stream;
        }
        let Some(body) = scope.aliases.get(&name.text).cloned() else { return Stream::silent() };
        let aliases = Rc::clone(&scope.aliases);
        Rc::make_mut(&mut scope.aliases).remove(&name.text);
        let stream = self.code(&format!("{body}{}", quoted_line(&invocation.args)), scope, input);
        scope.aliases = aliases;
        stream
    }

    /// A program that is named by its path: a script, perhaps one that the line itself wrote.
    fn program_file(&mut self, name: &Arg, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let place = scope.place(&name.text);
        match self.files.get(&place).cloned() {
            Some(Content::Copy(original)) if original != place && is_program_file(&original) => {
                let argv = std::iter::once(&Arg::known(original)).chain(&invocation.args).cloned().collect();
                Some(self.invoke(argv, invocation.has_more_args, scope, input))
            }
            Some(content @ (Content::Known(_) | Content::Remote | Content::Hidden | Content::Copy(_))) => {
                if self.origins.appended.contains(&place) && !scope.is_remote {
                    self.note(Listed::Script, &place);
                }
                Some(self.run_content(&content, None, name, &invocation.args, scope, input))
            }
            _ => {
                let is_script = name.is_known()
                    && !PROGRAM_FOLDERS.iter().any(|folder| name.text.starts_with(folder))
                    && !invocation.is(Tag::Shell);
                if is_script && !scope.is_remote {
                    self.may_be_unpacked(name, &place, &invocation.args, self.has_unpacked);
                    self.note(Listed::Script, &place);
                    self.started_copy(&place, &invocation.args, scope);
                }
                None
            }
        }
    }

    /// A file is run that is of something which was fetched and unpacked, or may be.
    pub(super) fn may_be_unpacked(&mut self, name: &Arg, place: &str, args: &[Arg], may_be: bool) {
        let command = || super::flow::command_line(&name.text, args);
        if self.is_unpacked(place) {
            self.remote_code("what was fetched from the network is run", &command());
        } else if may_be && !super::super::scope::is_absolute(&name.text) {
            self.opaque_command("what runs may just have been fetched and unpacked", &command());
        }
    }

    /// Notes the files and hosts that a program touches by its arguments.
    pub(super) fn touched(&mut self, invocation: &Invocation, scope: &Scope) {
        let inner = self.git_folder(invocation, scope);
        let scope = inner.as_ref().unwrap_or(scope);
        let is_link = does(invocation, Tag::LinksSymbolically);
        let is_rewritten = |walk: &Walk, place: &str| walk.rewrites(invocation, place, scope);
        if !scope.is_remote {
            for touched in files::touched(invocation) {
                let place = scope.place(&touched.path);
                if touched.is_named {
                    let listed = if touched.is_written { Listed::Write } else { Listed::Read };
                    self.note_named(listed, &place);
                    if touched.is_written && does(invocation, Tag::Replaces) {
                        self.note(Listed::Overwrite, &place);
                    }
                    continue;
                }
                // The link itself is made: what it leads to stays as it is.
                if touched.is_written && is_link {
                    self.made_links.push(place);
                    continue;
                }
                let was_rewritten = is_rewritten(self, &place);
                if touched.is_read {
                    self.note(Listed::Read, &place);
                }
                if touched.is_written {
                    self.note(Listed::Write, &place);
                }
                if touched.is_written && touched.is_folder {
                    self.note(Listed::Folder, &place);
                }
                if touched.is_swept
                    || (touched.is_written && touched.is_folder && invocation.is(Tag::FillsFolders))
                {
                    self.note(Listed::Sweep, if place.is_empty() { "." } else { &place });
                }
                let is_replaced = !touched.is_read && does(invocation, Tag::Replaces) && !was_rewritten;
                if touched.is_written && (is_replaced || empties(invocation)) {
                    self.note(Listed::Overwrite, &place);
                }
            }
        }
        if let Some(folder) = files::patched(invocation).filter(|_| !scope.is_remote) {
            self.sweep(&folder, scope);
        }
        let contacted = hosts::contacted(invocation);
        self.analysis.has_unknown_hosts |= contacted.is_unknown;
        if self.analysis.network.len() < MAX_NETWORK_USES {
            self.analysis.network.extend(network_use(invocation, &contacted));
        }
        contacted.hosts.iter().for_each(|host| self.note(Listed::Host, host));
    }

    /// `jq … f > x && mv x f`: what takes the place of a file was made from it in the same line.
    fn rewrites(&self, invocation: &Invocation, place: &str, scope: &Scope) -> bool {
        let is_written_here = |arg: &Arg| self.files.contains_key(&scope.place(&arg.text));
        matches!(invocation.program.as_str(), "mv" | "cp" | "install")
            && self.is_listed(Listed::Read, place)
            && !self.named.contains(place)
            && invocation.args.iter().any(is_written_here)
    }

    /// Replaces the placeholder of the start folder by a path from the folder that a command runs in.
    pub(super) fn localise(&self, mut arg: Arg, scope: &Scope) -> Arg {
        if !arg.text.contains(START) {
            return arg;
        }
        let way = match &scope.folder {
            Folder::Known(folder) if folder.is_empty() => ".".to_owned(),
            Folder::Known(folder)
                if !super::super::scope::is_absolute(folder) && !folder.starts_with("..") =>
            {
                vec![".."; folder.split('/').count()].join("/")
            }
            _ => {
                let at = arg.text.find(START).unwrap_or(0);
                arg.text = arg.text.replace(START, "$PWD");
                if arg.unknown.is_empty() {
                    arg.unknown.push(at..at + "$PWD".len());
                }
                return arg;
            }
        };
        if arg.unknown.is_empty() {
            arg.text = arg.text.replace(START, &way);
            // `docker -v ./out:/out`: without the dot it would be a volume of that name.
            let is_plain = |rest: &&str| !rest.is_empty() && !rest.contains(':');
            if let Some(rest) = arg.text.strip_prefix("./").filter(is_plain) {
                arg.text = rest.to_owned();
            }
        } else if let Some(at) = arg.text.find(START) {
            let shrinks = START.len_utf8();
            arg.text = arg.text.replacen(START, &way, 1);
            for range in &mut arg.unknown {
                if range.start >= at {
                    *range = range.start + way.len() - shrinks.min(range.start + way.len())
                        ..(range.end + way.len()).saturating_sub(shrinks);
                }
            }
        }
        arg
    }
}

/// Whether a path is that of a program, and not of a script of the project.
fn is_program_file(path: &str) -> bool {
    PROGRAM_FOLDERS.iter().any(|folder| path.starts_with(folder)) || programs::find(base_name(path)).is_some()
}

/// The name of the program in a package, without its version: `npm` for `npm@10` and `x@npm:npm@10`.
fn unversioned(name: &str) -> &str {
    match name.split_once('@') {
        Some((_, version)) if version.starts_with("npm:") => unversioned(version.trim_start_matches("npm:")),
        Some((name, _)) if !name.is_empty() => name,
        _ => name,
    }
}

/// The name of a program without its folder. Empty where it is not known.
pub(super) fn program_name(name: &Arg) -> String {
    let base = base_name(&name.text);
    let from = name.text.len() - base.len();
    if name.unknown.iter().any(|range| range.end > from) {
        return String::new();
    }
    if name.is_glob && base == "*" {
        return String::new();
    }
    if name.is_glob && base.contains(['*', '?', '[']) && base != "[" && base != "[[" {
        let hidden = WILDCARD_PROGRAMS.iter().find(|program| pattern::matches(base, program));
        return hidden.map(|program| (*program).to_owned()).unwrap_or_default();
    }
    // `=rm` of zsh.
    let base = base.strip_prefix('=').filter(|rest| !rest.is_empty()).unwrap_or(base);
    let ending = base.rsplit_once('.').filter(|(name, ending)| {
        let is_known = ["exe", "cmd", "bat"].iter().any(|known| known.eq_ignore_ascii_case(ending));
        is_known && !name.is_empty()
    });
    let base = ending.map_or(base, |(name, _)| name);
    // `npx npm@10`, `npx @scope/tool@1`
    let is_package = !name.text.contains('/') || name.text.starts_with('@');
    let base = if is_package { unversioned(base) } else { base };
    // `npx @anthropic-ai/claude-code@1.0`
    if name.text.starts_with('@')
        && let Some(agent) = agent_of_package(&name.text)
    {
        return agent.to_owned();
    }
    // On a file system that ignores case, `RM` is `rm`.
    let lower = base.to_ascii_lowercase();
    let name = if programs::find(base).is_none() && programs::find(&lower).is_some() { &lower } else { base };
    // Package managers add a `g` to the programs of GNU where the system has its own.
    name.strip_prefix('g').filter(|rest| GNU_PROGRAMS.contains(rest)).unwrap_or(name).to_owned()
}
