//! Ways that code takes: from the network into a shell, from a shell to the network, and code that cannot be read.

use midrail_core::{OpaqueCode, OpaqueKind, Severity};

use super::super::ast::{Command, CommandKind, Item, List, Word, WordPart};
use super::super::files;
use super::super::invocation::{Arg, Invocation};
use super::super::parse::parse;
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::snippet::Language;
use super::state::{MAX_COMMANDS, Source, Stream, Walk, shorten};
use crate::words::embedded::{PROSE_PROGRAMS, QUIET_PROGRAMS};
use crate::words::shell::{COMMAND_WORDS, DESTROYERS, SETTINGS_PRINTERS};

/// Whether a text names a destructive program where a command can begin.
pub(crate) fn mentions_destruction(text: &str) -> bool {
    let mut is_command_place = true;
    for word in text.split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
        let opens = word.trim_start_matches(['(', '{', '$', '`', ';', '|', '&', '"', '\'']);
        let name = opens.trim_end_matches([';', ')', '"', '\'', '`']);
        let base = name.rsplit('/').next().unwrap_or(name);
        let is_destroyer = DESTROYERS.contains(base) || base.starts_with("mkfs.");
        if is_destroyer && (is_command_place || opens.len() < word.len()) {
            return true;
        }
        is_command_place = word.ends_with([';', '|', '&', '(', '{', '`']) || COMMAND_WORDS.contains(base);
    }
    false
}

/// Whether arguments look as if they were those of a program that destroys.
fn look_destructive(args: &[Arg]) -> bool {
    let is_recursive_force = |text: &str| {
        text.len() > 1
            && text.starts_with('-')
            && !text.starts_with("--")
            && text.bytes().skip(1).all(|byte| byte.is_ascii_alphabetic())
            && text.len() <= 5
            && text.contains(['r', 'R'])
            && text.contains('f')
    };
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.contains(&arg.text.as_str()));
    args.iter().any(|arg| {
        is_recursive_force(&arg.text) || arg.text == "--no-preserve-root" || arg.text.starts_with("of=/dev/")
    }) || (has(&["-r", "-R", "--recursive"]) && has(&["-f", "--force", "/", "~", "/*", "~/*"]))
        || (has(&["push"]) && has(&["--force", "-f", "--mirror"]))
        || (has(&["reset"]) && has(&["--hard"]))
        || (has(&["-delete"]) && args.iter().any(|arg| super::super::scope::is_absolute(&arg.text)))
}

/// Whether a command carries data over the network, by its first word.
pub(super) fn is_network(command: &Command<'_>) -> bool {
    let CommandKind::Simple { words, .. } = &command.kind else { return false };
    words.first().and_then(|word| word.bare()).is_some_and(|name| programs::is(base_name(name), Tag::Carries))
}

/// A function that starts itself twice, or in the background.
pub(super) fn is_fork_bomb(name: &str, body: &Command<'_>) -> bool {
    let (CommandKind::Group(list) | CommandKind::Subshell(list)) = &body.kind else { return false };
    !name.is_empty() && list.iter().any(|item| bombs(name, item, 0))
}

fn bombs(name: &str, item: &Item<'_>, depth: usize) -> bool {
    let calls = item.commands.iter().filter(|command| calls(name, command)).count();
    let nested = |list: &List<'_>| depth < 4 && list.iter().any(|item| bombs(name, item, depth + 1));
    calls >= 2
        || (calls == 1 && item.is_background)
        || item.commands.iter().any(|command| match &command.kind {
            CommandKind::Group(list) | CommandKind::Subshell(list) => nested(list),
            CommandKind::While { body, .. }
            | CommandKind::Repeat { body, .. }
            | CommandKind::For { body, .. } => nested(body),
            _ => false,
        })
}

fn calls(name: &str, command: &Command<'_>) -> bool {
    matches!(&command.kind, CommandKind::Simple { words, .. } if words.first().and_then(|word| word.bare()) == Some(name))
}

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a text that produces a value, such as `$(curl …)`, fetches it from the network.
fn is_fetched(text: &str) -> bool {
    let script = parse(text);
    list_fetches(&script.list, 0)
}

/// Whether a part of a word is fetched from the network.
pub(super) fn has_fetched(arg: &Arg) -> bool {
    arg.unknown.iter().filter_map(|range| arg.text.get(range.clone())).any(is_fetched)
}

/// Whether a text that produces a value, such as `$(… | base64 -d)`, decodes it from something that is not known.
pub(super) fn is_decoded(text: &str) -> bool {
    text.starts_with(['$', '`'])
        && ["base64 -d", "base64 -D", "base64 --d", "base32 -d", "xxd -r", "xxd -p -r", "openssl enc"]
            .iter()
            .any(|decoder| text.contains(decoder))
}

fn list_fetches(list: &List<'_>, depth: usize) -> bool {
    depth < 8 && list.iter().any(|item| item.commands.iter().any(|command| command_fetches(command, depth)))
}

fn command_fetches(command: &Command<'_>, depth: usize) -> bool {
    match &command.kind {
        CommandKind::Simple { words, .. } => {
            let is_fetcher = words.iter().take(3).any(|word| {
                word.bare().is_some_and(|name| {
                    programs::is(base_name(name), Tag::Fetches) && base_name(name) != "ssh"
                })
            });
            is_fetcher || words.iter().take(1).any(|word| parts_fetch(&word.parts, depth))
        }
        CommandKind::Group(list) | CommandKind::Subshell(list) => list_fetches(list, depth + 1),
        _ => false,
    }
}

fn parts_fetch(parts: &[WordPart<'_>], depth: usize) -> bool {
    depth < 8
        && parts.iter().any(|part| match part {
            WordPart::Command(substitution) | WordPart::Process(substitution) => {
                list_fetches(&substitution.list, depth + 1)
            }
            WordPart::Double(inner) => parts_fetch(inner, depth + 1),
            WordPart::Backtick { code, .. } => list_fetches(&parse(code).list, depth + 1),
            _ => false,
        })
}

/// Whether the first word of a command says that its others are code, or is itself what runs.
pub(super) fn runs_code(word: &Word<'_>) -> bool {
    match word.bare() {
        Some(name) => {
            let name = base_name(name);
            name == "eval" || programs::is(name, Tag::Shell) || Language::from_program(name).is_some()
        }
        None => true,
    }
}

/// Whether a command prints settings or completions for the shell that reads them: `<(kubectl completion bash)`.
pub(super) fn prints_settings(list: &List<'_>, program: &str) -> bool {
    let completes = |command: &Command<'_>| match &command.kind {
        CommandKind::Simple { words, .. } => {
            words.iter().any(|word| matches!(word.bare(), Some("completion" | "completions")))
        }
        _ => false,
    };
    let [item] = list.as_slice() else { return false };
    let [command] = item.commands.as_slice() else { return false };
    SETTINGS_PRINTERS.contains(program) || completes(command)
}

/// Whether a word occurs in code.
pub(super) fn mentions_word(code: &str, word: &str) -> bool {
    let is_part = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '-';
    code.split(is_part).any(|part| part == word)
}

/// What to do instead of a command that hides what it does.
pub(super) const PLAIN: &str = "write the command out in plain text";

impl Walk {
    pub(super) fn opaque(&mut self, reason: &str) {
        self.opaque_command(reason, "");
    }

    pub(super) fn opaque_command(&mut self, reason: &str, command: &str) {
        self.report("opaque", Severity::Medium, reason.to_owned(), PLAIN, command);
    }

    /// Notes code that the line runs and does not show.
    pub(super) fn hide(&mut self, kind: OpaqueKind, what: &str) {
        const MAX_PARTS: usize = 64;
        let hidden = &mut self.analysis.opaque;
        let what = shorten(what);
        let is_known = hidden.iter().any(|known| known.kind == kind && known.what == what);
        if !is_known && hidden.len() < MAX_PARTS {
            let (start, end) = self.span;
            hidden.push(OpaqueCode { kind, what, start, end });
        }
    }

    /// Notes that a program may start others, which are not known.
    pub(super) fn may_start(&mut self, program: &str) {
        self.analysis.has_unknown_programs = true;
        self.hide(OpaqueKind::Dynamic, program);
    }

    pub(super) fn remote_code(&mut self, reason: &str, command: &str) {
        let safer = "download the file, read it, and run it then";
        self.report("remote-code", Severity::High, reason.to_owned(), safer, command);
    }

    pub(super) fn reverse_shell(&mut self, reason: &str) {
        let reason = format!("{reason}: the other side can run any command on this machine");
        self.report("reverse-shell", Severity::Critical, reason, "use ssh with its own access rules", "");
    }

    pub(super) fn fork_bomb(&mut self, name: &str) {
        let reason = format!("`{name}` starts itself over and over until the machine stops responding");
        self.report("fork-bomb", Severity::Critical, reason, "", name);
    }

    /// Code that the line does not show: the value of a variable that it does not set, or what another command prints. In a
    /// script that is everyday work: its caller sets the variable.
    pub(super) fn unread_code(&mut self, code: &Arg, command: &str) {
        let is_unseen = is_unseen(code) || (!is_shell(command) && has_unseen_statement(code));
        if !code.is_known() {
            self.hide(OpaqueKind::Dynamic, command);
        }
        if !self.is_script && is_unseen && !(is_shell(command) && is_file(code)) {
            let reason = "the command runs code that the command line does not show";
            self.opaque_command(reason, &format!("{command} \"{}\"", code.text));
        }
    }

    /// A file with code whose name is a variable that the line does not set: the same as the variable as a program.
    pub(super) fn unread_file(&mut self, file: &Arg) {
        if !file.is_known() {
            self.hide(OpaqueKind::Dynamic, &file.text);
        }
        if !self.is_script
            && is_unseen(file)
            && !file.text.starts_with(['`', '('])
            && !file.text.starts_with("$(")
        {
            self.opaque_command("which file runs is not known", &file.text);
        }
    }

    /// A program whose name is not known.
    pub(super) fn unknown_program(&mut self, name: &Arg, invocation: &Invocation, input: &Stream) {
        self.analysis.has_unknown_hosts = true;
        self.may_start(&name.text);
        let command = command_line(&name.text, &invocation.args);
        let begins_unknown = name.unknown.first().is_some_and(|range| range.start == 0);
        if self.is_on_socket || (self.has_socket && input.source == Source::Remote) {
            self.reverse_shell("commands are read from the network and run");
        } else if begins_unknown && is_fetched(&name.text) {
            self.remote_code("what is fetched from the network is run as a command", &command);
        } else if is_decoded(&name.text) {
            self.opaque_command("what runs is decoded from something that is not known", &command);
        } else if look_destructive(&invocation.args) {
            self.opaque_command(
                "which program runs is not known, and its arguments look destructive",
                &command,
            );
        } else if !self.is_script && is_unseen_name(name) && !is_file(name) {
            self.opaque_command("which program runs is not known", &command);
        }
    }

    /// Reports words in the arguments of a program that are a destructive command, if the program may run them: it is not
    /// known, or its row has no such subcommand.
    pub(super) fn report_unknown_program(&mut self, invocation: &Invocation, scope: &Scope) {
        let program = invocation.program.as_str();
        let row = invocation.row();
        if row.tags.contains(&Tag::TakesWords) || files::is_known(program) {
            return;
        }
        let args = invocation.args.as_slice();
        let is_known = programs::find(program).is_some();
        if !is_known && (QUIET_PROGRAMS.contains(program) || PROSE_PROGRAMS.contains(program)) {
            return;
        }
        let dashes = args.iter().position(|arg| arg.text == "--").unwrap_or(args.len());
        let may_run = |at: usize| {
            let Some(arg) = args.get(at).filter(|arg| arg.is_known()) else { return false };
            let name = base_name(&arg.text);
            // `husky init`
            let is_subcommand = at + 1 == args.len() && programs::is(name, Tag::AlsoSubcommand);
            if is_known && at <= dashes {
                let is_destroyer = programs::is(name, Tag::Destroys) || name.starts_with("mkfs.");
                is_destroyer && !row.dangers.iter().any(|rule| rule.mentions(name))
            } else {
                programs::looks_like_command(&arg.text) && !is_subcommand
            }
        };
        let places = (0..args.len()).filter(|at| may_run(*at)).take(MAX_COMMANDS);
        for at in places {
            let command = args.get(at..).unwrap_or_default();
            // A text with blanks is code.
            let code = command.first().filter(|first| first.text.contains(' '));
            let is_code = code.is_some_and(|code| {
                self.would_destroy(&[Arg::known("sh"), Arg::known("-c"), code.clone()], scope)
            });
            if is_code || self.would_destroy(command, scope) {
                let reason = format!(
                    "what `{program}` does with these words is not known, and they are a command that destroys"
                );
                self.opaque_command(&reason, &command_line(program, args));
                return;
            }
        }
    }

    /// Whether a command would destroy something outside of the project, or is as bad.
    pub(super) fn would_destroy(&mut self, argv: &[Arg], scope: &Scope) -> bool {
        let (spent, depth, is_script) = (self.spent, self.depth, self.is_script);
        let mut other = Walk { spent, depth, is_script, is_nested: true, ..Walk::default() };
        other.invoke(argv.to_vec(), false, &mut scope.clone(), &Stream::default());
        self.spent = other.spent;
        other.analysis.dangers.iter().any(|danger| danger.severity >= Severity::High && !danger.is_inside)
    }
}

/// Whether the code of a command is for a shell, which is read from files as well.
fn is_shell(command: &str) -> bool {
    matches!(command, "eval" | "sh -c")
}

/// `$(cat file)` and `$(< file)`: the same as running the file.
fn is_file(code: &Arg) -> bool {
    let command = code.text.trim().trim_start_matches("$(").trim_end_matches(')').trim();
    let file = command.strip_prefix("cat ").or_else(|| command.strip_prefix('<'));
    file.is_some_and(|file| !file.trim().contains(['$', '`', '|', ';', '&', ' ', '(']))
}

/// Whether nothing is known of the name of a program, apart from its folder: `./$NAME`.
fn is_unseen_name(name: &Arg) -> bool {
    let from = name.text.rfind('/').map_or(0, |at| at + 1);
    let is_in_folder = from > 0 && name.unknown.first().is_some_and(|range| range.start == from);
    is_unseen(name) || (is_in_folder && is_unseen(&name.tail(from)))
}

/// Whether code of a language other than a shell's has an unknown value where a statement can begin.
fn has_unseen_statement(code: &Arg) -> bool {
    code.unknown.iter().any(|range| {
        let before = code.text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
        let after = code.text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let is_settings = code.text.get(range.clone()).is_some_and(|text| text.starts_with("$(cat "));
        (before.is_empty() || before.ends_with([';', '\n']))
            && (after.is_empty() || after.starts_with([';', '\n']))
            && !is_settings
    })
}

/// Whether a text is nothing but a variable or a substitution with an unknown value: `$NAME`, `${NAME:-x}`, `$1`,
/// `$(cat file)`. Settings that a tool prints for the shell are none.
fn is_unseen(code: &Arg) -> bool {
    let text = code.text.trim();
    let variable =
        text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| text.strip_prefix('$'));
    let substitution = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    let substitution =
        substitution.or_else(|| text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')));
    let is_whole = matches!(code.unknown.as_slice(), [range] if range.len() >= text.len());
    // One command, by its name or its whole path: a program of the project may have any name.
    let prints_settings = |command: &str| {
        let program = command.split_whitespace().next().unwrap_or_default();
        let is_installed = !program.contains('/') || program.starts_with('/');
        is_installed
            && SETTINGS_PRINTERS.contains(base_name(program))
            && !command.contains(['|', ';', '&', '\n', '`', '('])
    };
    is_whole
        && (variable.is_some_and(is_expansion)
            || substitution.is_some_and(|command| !prints_settings(command)))
}

/// Whether the text of an expansion is that of a parameter: `NAME`, `!NAME`, `NAME:-x`, `NAME[0]`, `1`, `@`.
fn is_expansion(text: &str) -> bool {
    let text = text.strip_prefix('!').unwrap_or(text);
    text.starts_with(|letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '@' | '*'))
}

/// A command as it would run.
pub(super) fn command_line(program: &str, args: &[Arg]) -> String {
    let mut line = program.to_owned();
    for arg in args {
        if line.len() > 400 {
            break;
        }
        line.push(' ');
        line.push_str(&arg.text);
    }
    line
}
