//! Programs that run code: shells, interpreters of other languages, clients of databases, the shells of Windows.

use midrail_core::NetworkUse;

use super::super::hosts::url_host;
use super::super::invocation::{Arg, Invocation, joined};
use super::super::network::MAX_NETWORK_USES;
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::shell_options::{ShellOptions, is_standard_input};
use super::super::snippet::{self, Language, Start};
use super::super::windows::{self, PowerShellStart, Translation};
use super::super::{calls, danger, files, notebook, script};
use super::flow::{command_line, has_fetched};
use super::invoke::program_name;
use super::listing;
use super::state::{Content, Listed, ProgramCall, Source, Stream, Walk};
use crate::words::code::{DELETING_REQUESTS, FETCHING, SENDING};
use crate::words::sql::OTHER_CLIENTS;

/// What kind of code something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Shell,
    Other(Language),
    PowerShell,
}

impl Walk {
    /// Programs that run code. `None`: it is none of them.
    pub(super) fn interpreted(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let program = invocation.program.as_str();
        if programs::is(program, Tag::Shell) {
            return Some(self.shell(invocation, scope, input));
        }
        match program.to_ascii_lowercase().as_str() {
            "cmd" => return self.cmd(invocation, scope),
            "powershell" | "pwsh" => return Some(self.powershell(call, scope)),
            _ => {}
        }
        if OTHER_CLIENTS.contains(program) {
            self.other_client(invocation, scope, input);
            return None;
        }
        if let Some(client) = &programs::row(program).client {
            return self.client(client, call, scope);
        }
        let language = Language::from_program(program)?;
        // `deno run https://…`
        let script = invocation.args.iter().find(|arg| !arg.text.starts_with('-') && arg.text != "run");
        if script.is_some_and(|script| is_url(&script.text)) && matches!(program, "deno" | "bun" | "node") {
            self.remote_code("code from the network is run", &command_line(program, &invocation.args));
        }
        if language == Language::Awk {
            self.awk(call, scope);
            return None;
        }
        self.interpreter(language, call, scope)
    }

    fn shell(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) -> Stream {
        let args = invocation.args.as_slice();
        if self.is_on_socket {
            self.reverse_shell("a shell that talks to the network");
        }
        let options = ShellOptions::parse(args);
        if options.only_reads() && !OTHER_SHELLS.contains(&invocation.program.as_str()) {
            if let Some(file) = args.get(options.end).filter(|file| file.is_known() && !scope.is_remote) {
                self.note_named(Listed::Read, &scope.place(&file.text));
            }
            return Stream::silent();
        }
        self.start_files(&options.files, scope);
        if options.runs_text {
            let Some(code) = args.get(options.end) else {
                self.unread_more(invocation);
                return Stream::default();
            };
            return self.shell_text(code, args.get(options.end + 1..).unwrap_or(&[]), scope, input);
        }
        let file =
            args.get(options.end).filter(|file| !options.reads_input && !is_standard_input(&file.text));
        if let Some(file) = file {
            let rest = args.get(options.end + 1..).unwrap_or(&[]).to_vec();
            let descriptor =
                file.text.strip_prefix("/proc/self/fd/").map(|fd| Arg::known(format!("/dev/fd/{fd}")));
            let file = descriptor.as_ref().unwrap_or(file);
            return self.run_file(file, &rest, Some(Code::Shell), &mut scope.clone(), input);
        }
        self.is_piped_shell = true;
        let mut inner = scope.clone();
        inner.set_positional(Arg::known("sh"), args.get(options.end..).unwrap_or(&[]));
        self.run_stream(input, Code::Shell, invocation, &inner)
    }

    /// Files that a shell runs before anything else: those of `--rcfile`, and those that variables name.
    fn start_files(&mut self, named: &[Arg], scope: &Scope) {
        let mut files = named.to_vec();
        for name in ["BASH_ENV", "ENV"] {
            files.extend(scope.first_value(name).filter(|file| !file.text.is_empty()).cloned());
        }
        for file in files {
            let mut inner = scope.clone();
            let _ = self.run_file(&file, &[], Some(Code::Shell), &mut inner, &Stream::default());
        }
    }

    /// `sh -c text name args…`
    pub(super) fn shell_text(&mut self, code: &Arg, args: &[Arg], scope: &Scope, input: &Stream) -> Stream {
        let mut inner = scope.clone();
        inner.functions = Default::default();
        inner.aliases = Default::default();
        let name = args.first().cloned().unwrap_or_else(|| Arg::known("sh"));
        inner.set_positional(name, args.get(1..).unwrap_or(&[]));
        self.unread_code(code, "sh -c");
        let traps = self.traps.len();
        let stream = self.code(&code.text, &mut inner, input);
        self.end_shell(traps, &inner);
        self.uncalled(&inner);
        stream
    }

    /// Code that comes through a pipe or from a redirection.
    pub(super) fn run_stream(
        &mut self,
        stream: &Stream,
        code: Code,
        invocation: &Invocation,
        scope: &Scope,
    ) -> Stream {
        let inherited = self.inherited.clone().filter(|_| *stream == Stream::default());
        let stream = inherited.as_ref().unwrap_or(stream);
        if let Some(text) = &stream.text {
            if code != Code::Shell && has_fetched(text) {
                let command = command_line(&invocation.program, &invocation.args);
                self.remote_code("what is fetched from the network is run", &command);
            }
            self.unread_stream(stream, code, &invocation.program);
            return self.run_code(&text.text, code, &mut scope.clone(), &Stream::default());
        }
        let command = command_line(&invocation.program, &invocation.args);
        match &stream.source {
            Source::Remote => {
                let reason = format!("what {} fetches is run by {}", stream.program, invocation.program);
                self.remote_code(&reason, &command);
            }
            Source::Hidden => {
                let reason = match stream.program.as_str() {
                    "" => format!("what {} runs cannot be read here", invocation.program),
                    from => {
                        format!("what {} runs comes from {from}, and cannot be read here", invocation.program)
                    }
                };
                self.opaque_command(&reason, &command);
            }
            Source::File(name) => {
                // `bash -s prod < deploy.sh`
                let args = scope.positional.as_ref().filter(|_| code == Code::Shell);
                let args = args.and_then(|words| words.get(1..)).unwrap_or_default().to_vec();
                self.started_file(&file_word(name), &args, scope);
                self.note(Listed::Script, name);
            }
            Source::Local if stream.hints && code == Code::Shell => {
                let reason = format!(
                    "{} puts together what {} runs, and names programs that destroy",
                    stream.program, invocation.program
                );
                self.opaque_command(&reason, &command);
            }
            Source::Inherited | Source::Local => self.unread_stream(stream, code, &invocation.program),
        }
        Stream::default()
    }

    pub(super) fn run_code(&mut self, text: &str, code: Code, scope: &mut Scope, input: &Stream) -> Stream {
        match code {
            Code::Shell => self.code(text, scope, input),
            Code::Other(language) => {
                self.visible_code(language, &Arg::known(text), scope);
                Stream::default()
            }
            Code::PowerShell => {
                self.powershell_code(text, scope);
                Stream::default()
            }
        }
    }

    /// Runs a file that the line wrote, or one with unknown content.
    pub(super) fn run_file(
        &mut self,
        file: &Arg,
        args: &[Arg],
        code: Option<Code>,
        scope: &mut Scope,
        input: &Stream,
    ) -> Stream {
        self.started_file(file, args, scope);
        let place = scope.place(&file.text);
        match self.files.get(&place).cloned() {
            Some(content) => {
                let code = code.unwrap_or(Code::Shell);
                if self.origins.appended.contains(&place) && !scope.is_remote {
                    self.note(Listed::Script, &place);
                }
                self.run_content(&content, Some(code), file, args, scope, input)
            }
            None => {
                if file.is_known() && !file.is_glob && !scope.is_remote {
                    self.may_be_unpacked(file, &place, args, self.origins.is_scattered);
                    self.note(Listed::Script, &place);
                    self.note(Listed::Read, &place);
                    self.started_copy(&place, args, scope);
                }
                Stream::default()
            }
        }
    }

    /// Notes a file that another program runs as a command of its own: `deploy.sh prod` for `bash deploy.sh prod`. It proves nothing.
    pub(super) fn started_file(&mut self, file: &Arg, args: &[Arg], scope: &Scope) {
        if file.text.is_empty() || file.text == "-" || file.text.starts_with("/dev/") {
            return;
        }
        // One of several files may be any of them.
        let program = if listing::is_narrowed(&file.text) { String::new() } else { program_name(file) };
        let path = if file.text.contains('/') { file.text.clone() } else { format!("./{}", file.text) };
        let invocation = self.invocation(&program, args.to_vec(), scope);
        calls::add_call(&mut self.analysis, &invocation, &path, false);
    }

    /// Notes the original of a file in a folder that the line copied.
    pub(super) fn started_copy(&mut self, place: &str, args: &[Arg], scope: &Scope) {
        let folders =
            place.match_indices('/').map(|(at, _)| place.split_at(at)).filter(|it| !it.0.is_empty());
        let mut originals = folders.filter_map(|(folder, rest)| match self.files.get(folder)? {
            Content::Copy(original) => Some(format!("{original}{rest}")),
            _ => None,
        });
        if let Some(original) = originals.next_back() {
            self.started_file(&file_word(&original), args, scope);
            self.note(Listed::Script, &original);
        }
    }

    /// Runs a file that may or may not be there.
    pub(super) fn run_candidate(&mut self, path: &str, args: &[Arg], code: Option<Code>, scope: &Scope) {
        let place = scope.place(path);
        if !path.ends_with("/__main__.py") {
            self.started_file(&Arg::known(path), args, scope);
        }
        match self.files.get(&place).cloned() {
            Some(content) => {
                let (name, mut inner) = (Arg::known(path), scope.clone());
                let _ = self.run_content(&content, code, &name, args, &mut inner, &Stream::default());
            }
            None if !scope.is_remote => self.note(Listed::Script, &place),
            None => {}
        }
    }

    /// Runs the content of a file that the line wrote.
    pub(super) fn run_content(
        &mut self,
        content: &Content,
        code: Option<Code>,
        name: &Arg,
        args: &[Arg],
        scope: &mut Scope,
        input: &Stream,
    ) -> Stream {
        match content {
            Content::Known(text) => {
                self.unread_code(
                    text,
                    if code.is_none_or(|code| code == Code::Shell) { "sh -c" } else { "code:" },
                );
                let language = || script::interpreter(&text.text).and_then(Language::from_program);
                let code = code.unwrap_or_else(|| language().map_or(Code::Shell, Code::Other));
                let outer = scope.set_positional(name.clone(), args);
                // What `<(…)` prints is typed, too.
                let is_script = self.is_script || !name.text.starts_with("/dev/fd/");
                let was_script = std::mem::replace(&mut self.is_script, is_script);
                if let Code::Other(_) = code {
                    let (script, args) = (Some(scope.place(&name.text)), Some(args.to_vec()));
                    self.start = Start { script, args, ..Start::default() };
                }
                let traps = self.traps.len();
                let stream = self.run_code(&text.text, code, scope, input);
                self.end_shell(traps, scope);
                self.is_script = was_script;
                scope.positional = outer;
                stream
            }
            Content::Remote => {
                self.remote_code("what was fetched from the network is run", &command_line(&name.text, args));
                Stream::default()
            }
            Content::Hidden => {
                self.opaque_command("what runs was decoded from something that cannot be read", &name.text);
                Stream::default()
            }
            Content::Copy(original) => {
                self.started_file(&file_word(original), args, scope);
                if !scope.is_remote {
                    self.note(Listed::Script, original);
                }
                Stream::default()
            }
            Content::Unseen(program) => {
                let stream = Stream::printed_by(program);
                self.unread_stream(&stream, code.unwrap_or(Code::Shell), &name.text);
                Stream::default()
            }
            Content::Paths(_) | Content::Unknown => Stream::default(),
        }
    }

    pub(super) fn snippet(&mut self, language: Language, code: &str, scope: &Scope) -> bool {
        self.spend(20 + code.len() / 4);
        if self.is_exhausted() {
            return false;
        }
        let start = std::mem::take(&mut self.start);
        self.library_functions(code, scope);
        let found = snippet::analyse(language, code, &start);
        self.try_given(&found, code, &start, scope);
        let mut commands = found.commands;
        if language == Language::Python {
            // Lines of a notebook that are for a shell: `!ls`.
            commands.splice(0..0, notebook::cell(code).commands);
        }
        commands.iter().for_each(|command| self.run(command, scope));
        for removal in found.removes {
            let flags = if removal.is_recursive { "-rf" } else { "-f" };
            let target = match removal.path {
                Some(path) => Arg { is_glob: path.contains(['*', '?']), ..Arg::known(path) },
                None => Arg::unknown("$path"),
            };
            let removed = self.invocation("rm", vec![Arg::known(flags), target], scope);
            self.judge_with_files(&removed, scope);
        }
        for (from, to) in found.moves {
            let moved = self.invocation("mv", vec![Arg::known(from), Arg::known(to)], scope);
            self.judge_with_files(&moved, scope);
            self.copied(&moved, scope);
        }
        let is_rewritten = |path: &String| found.reads.contains(path);
        let rewritten: Vec<String> = found.overwrites.iter().filter(|it| is_rewritten(it)).cloned().collect();
        let calls_network = FETCHING.iter().any(|call| code.contains(call));
        self.analysis.has_unknown_hosts |= calls_network && found.hosts.is_empty();
        // What code reads can be in the address that it fetches.
        let sends = SENDING.iter().any(|call| code.contains(call))
            || (calls_network && (code.contains("data=") || !found.reads.is_empty()));
        if (calls_network || sends) && self.analysis.network.len() < MAX_NETWORK_USES {
            let (addresses, is_unknown) = (found.hosts.clone(), found.hosts.is_empty());
            let contacts =
                NetworkUse { addresses, has_unknown_addresses: is_unknown, ..NetworkUse::default() };
            self.analysis.network.push(NetworkUse { sends, receives: calls_network, ..contacts });
        }
        if !scope.is_remote {
            for path in &found.reads {
                self.note(Listed::Read, &scope.place(path));
            }
            let fetches = !found.hosts.is_empty() && calls_network;
            let writes = || found.writes.iter().map(String::as_str);
            for path in writes().filter(|_| fetches).chain(retrieved(code)) {
                let remote = Stream { source: Source::Remote, ..Stream::default() };
                self.write_file(&scope.place(path), false, &remote);
            }
            for path in writes().chain(retrieved(code)) {
                self.note(Listed::Write, &scope.place(path));
            }
        }
        for path in found.overwrites {
            // What code writes back it has read before.
            if !scope.is_remote && !rewritten.contains(&path) {
                self.note(Listed::Overwrite, &scope.place(&path));
            }
            let target = if path.contains("${unknown}") { Arg::unknown(&path) } else { Arg::known(path) };
            self.judge_redirection(&target, false, scope);
        }
        found.statements.iter().for_each(|statement| self.statements(statement, scope));
        found.hosts.iter().for_each(|host| self.note(Listed::Host, host));
        let reads_secret = |path: &String| self.is_secret_file(&Arg::known(path.as_str()), scope);
        let is_fed = start.is_fed_secret && (sends || calls_network);
        if is_fed
            || ((sends || (calls_network && code.contains("POST"))) && found.reads.iter().any(reads_secret))
        {
            self.report(
                "credential-exfiltration",
                midrail_core::Severity::Medium,
                "The code reads keys or passwords, and sends data to a host".to_owned(),
                "send nothing that gives access",
                code,
            );
        }
        let deletes = DELETING_REQUESTS.iter().any(|call| code.contains(call));
        let addresses =
            code.split(['"', '\'', '`', ' ', '(', ')']).filter(|text| deletes && text.contains("://"));
        let mut hosts = found.hosts.iter().map(String::as_str).chain(addresses.filter_map(url_host));
        if deletes && hosts.any(|host| !is_of_developer(host)) {
            self.report(
                "http-delete",
                midrail_core::Severity::Medium,
                "Deletes something on a server".to_owned(),
                "get it first; let the owner delete",
                code,
            );
        }
        if found.sends_environment {
            self.report(
                "credential-exfiltration",
                midrail_core::Severity::High,
                "The code sends all of its environment, with the secrets in it, to a host".to_owned(),
                "send the one value that is needed",
                code,
            );
        }
        if found.is_reverse_shell {
            self.reverse_shell("the code hands a connection to a shell");
        }
        if found.is_fork_bomb {
            self.fork_bomb("the code");
        }
        if found.runs_downloaded_code {
            self.remote_code("the code runs what it fetches from the network", code);
        }
        if found.is_opaque {
            self.opaque_command("the code runs something that its text hides", code);
        }
        found.runs_unknown_code || found.starts_unknown
    }

    /// A program as code calls it.
    pub(super) fn invocation(&self, program: &str, args: Vec<Arg>, scope: &Scope) -> Invocation {
        Invocation {
            program: program.to_owned(),
            args,
            folder: scope.folder.clone(),
            is_remote: scope.is_remote,
            start: self.span.0,
            end: self.span.1,
            ..Invocation::default()
        }
    }

    /// Reports what a program might destroy.
    pub(super) fn judge(&mut self, invocation: &Invocation) {
        danger::judge(invocation).into_iter().for_each(|danger| self.add_danger(danger));
    }

    /// Judges a program that no shell of this line starts, and notes what it writes.
    pub(super) fn judge_with_files(&mut self, invocation: &Invocation, scope: &Scope) {
        self.judge(invocation);
        for touched in files::touched(invocation).into_iter().filter(|_| !scope.is_remote) {
            // Below an unknown folder the name says something.
            let has_name = !touched.path.contains('$')
                || touched.path.rsplit_once('/').is_some_and(|(_, name)| !name.contains('$'));
            if touched.is_written && has_name {
                self.note(Listed::Write, &scope.place(&touched.path));
            }
        }
    }

    /// Reports a redirection onto a file that matters.
    pub(super) fn judge_redirection(&mut self, target: &Arg, is_append: bool, scope: &Scope) {
        let danger = danger::judge_redirection(target, is_append, &scope.folder, scope.is_remote, self.span);
        danger.into_iter().for_each(|danger| self.add_danger(danger));
    }

    pub(super) fn cmd(&mut self, invocation: &Invocation, scope: &mut Scope) -> Option<Stream> {
        let at = invocation.args.iter().position(|arg| {
            let text = arg.text.to_ascii_lowercase();
            matches!(text.as_str(), "/c" | "/k" | "-c" | "//c") || text.starts_with("/c")
        })?;
        let line = joined(invocation.args.get(at + 1..).unwrap_or_default());
        self.unread_line(&line, &invocation.args, "cmd");
        self.translated(windows::cmd(&line), scope);
        Some(Stream::printed_by("cmd"))
    }

    pub(super) fn powershell(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Stream {
        let ProgramCall { invocation, input } = call;
        match windows::powershell_start(&invocation.args) {
            PowerShellStart::Code(script) => {
                self.unread_line(&script, &invocation.args, "pwsh");
                return self.run_code(&script, Code::PowerShell, scope, input);
            }
            PowerShellStart::Input => return self.run_stream(input, Code::PowerShell, invocation, scope),
            PowerShellStart::File(Some(file)) => {
                return self.run_file(file, &[], Some(Code::PowerShell), &mut scope.clone(), input);
            }
            PowerShellStart::File(None) => {}
            PowerShellStart::Encoded(code) => {
                self.opaque_command("an encoded command cannot be decoded", code);
            }
        }
        Stream::default()
    }

    /// What a line of a Windows shell does.
    pub(super) fn translated(&mut self, translated: Translation, scope: &Scope) {
        let mut scope = scope.clone();
        for mut invocation in translated.invocations {
            (invocation.start, invocation.end) = self.span;
            if invocation.program == "cd" {
                scope.change_folder(invocation.args.first());
                continue;
            }
            invocation.is_remote |= scope.is_remote;
            invocation.folder = scope.folder.clone();
            self.note(Listed::Program, &invocation.program);
            calls::add_call(&mut self.analysis, &invocation, "", false);
            self.judge_with_files(&invocation, &scope);
            self.started_later(&invocation, &scope);
        }
        for mut danger in translated.dangers {
            (danger.start, danger.end) = self.span;
            self.add_danger(danger);
        }
        translated.reads.iter().for_each(|path| self.note(Listed::Read, &scope.place(path)));
        translated.writes.iter().for_each(|path| self.note(Listed::Write, &scope.place(path)));
        translated.hosts.iter().for_each(|host| self.note(Listed::Host, host));
        if translated.runs_downloaded_code {
            self.remote_code("the script runs what it fetches from the network", "");
        }
        if translated.is_opaque {
            self.opaque("the script runs code that its text does not show");
        }
    }
}

/// The name of a file that was expanded before, as a word.
fn file_word(name: &str) -> Arg {
    if name.contains(['$', '`']) {
        return Arg::unknown(name);
    }
    Arg { is_glob: name.contains(['*', '?', '[']), ..Arg::known(name) }
}

/// The file of `urlretrieve(address, file)`.
fn retrieved(code: &str) -> Option<&str> {
    let (_, call) = code.split_once("urlretrieve(")?;
    let file = call.split(')').next()?.split(',').nth(1)?.trim();
    let bare = file.trim_matches(['\'', '"']);
    (bare.len() + 2 == file.len() && !bare.is_empty()).then_some(bare)
}

/// Whether a host is this machine, or one that only exists for tests.
fn is_of_developer(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "::1")
        || host.ends_with(".local")
        || host.ends_with(".test")
}

/// Shells whose `-n` means something else.
const OTHER_SHELLS: &[&str] = &["nu", "elvish", "xonsh"];

/// Whether a word is the address of something on the network.
pub(super) fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}
