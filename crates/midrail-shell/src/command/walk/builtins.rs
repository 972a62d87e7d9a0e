//! Commands of the shell itself that change what is known: folders, variables, aliases, code as text.

use std::rc::Rc;

use midrail_core::{Danger, OpaqueKind};

use super::super::ast::is_name;
use super::super::ast::{Word, WordPart};
use super::super::inner_command::assignment;
use super::super::invocation::{Arg, Folder, joined};
use super::super::scope::{Scope, is_absolute};
use super::redirect::descriptor;
use super::shells::Code;
use super::state::{ProgramCall, Stream, Walk};
use crate::words::shell::{DECLARATIONS, EVALUATING};

impl Walk {
    /// `name=value` as an argument of a declaration: it is not split, and sets the variable.
    pub(super) fn declared(&mut self, word: &Word<'_>, argv: &[Arg], scope: &mut Scope) -> Option<Arg> {
        argv.first().filter(|name| DECLARATIONS.contains(name.text.as_str()))?;
        let Some(WordPart::Bare(head)) = word.parts.first() else { return None };
        let (name, _) = head.split_once('=')?;
        let (name, is_append) = match name.strip_suffix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        if !is_name(name) {
            return None;
        }
        if let Some(WordPart::Array(words)) = word.parts.get(1) {
            let old = scope.items(name).filter(|_| is_append).map(|items| items.to_vec()).unwrap_or_default();
            let items = self.array_items(words, old, scope);
            scope.set(name, items);
            return Some(Arg::known(format!("{name}=(…)")));
        }
        let whole = self.expand_one(&word.parts, scope);
        let offset = head.find('=').map_or(0, |at| at + 1);
        let value = whole.tail(offset);
        if is_append {
            let mut whole =
                scope.first_value(name).cloned().unwrap_or_else(|| Arg::unknown(&format!("${name}")));
            whole.append(&value);
            scope.set(name, vec![whole]);
        } else if refers(argv) && value.is_known() && is_name(&value.text) {
            scope.refer(name, &value.text);
        } else {
            scope.set(name, vec![value]);
        }
        Some(whole)
    }

    /// Runs a command of the shell. `None`: it is none, or one that only prints.
    pub(super) fn builtin(&mut self, call: ProgramCall<'_>, scope: &mut Scope) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let args = invocation.args.as_slice();
        if EVALUATING.contains(invocation.program.as_str()) {
            self.evaluated_arguments(args, scope);
        }
        match invocation.program.as_str() {
            "cd" | "chdir" => {
                let target = args.iter().find(|arg| !is_flag(arg));
                let searched = target.and_then(|target| searched_folder(target, scope));
                scope.change_folder(searched.as_ref().or(target));
            }
            "pushd" => {
                let before = Arg::known("-");
                scope.change_folder(args.iter().find(|arg| !is_flag(arg)).or(Some(&before)));
            }
            "popd" => {
                scope.folder = scope.folders.pop().unwrap_or_else(|| Folder::unknown("$OLDPWD"));
            }
            "unset" => {
                for arg in args.iter().filter(|arg| !is_flag(arg)) {
                    scope.set(&arg.text, vec![Arg::default()]);
                    scope.doubt_function(&arg.text);
                }
            }
            "set" => {
                self.set_options(args, scope);
                let from = args.iter().position(|arg| arg.text == "--").map(|at| at + 1);
                let from = from.or_else(|| args.iter().position(|arg| !arg.text.starts_with(['-', '+'])));
                if let Some(from) = from {
                    scope.set_positional(Arg::known("sh"), args.get(from..).unwrap_or(&[]));
                }
            }
            "shift" => {
                let count = args.first().and_then(|arg| arg.text.parse::<usize>().ok()).unwrap_or(1);
                if let Some(positional) = &scope.positional {
                    let mut items: Vec<Arg> = positional.iter().take(1).cloned().collect();
                    items.extend(positional.iter().skip(1 + count).cloned());
                    scope.positional = Some(items.into());
                }
            }
            "read" => self.read(args, false, scope, input),
            "mapfile" | "readarray" => self.read(args, true, scope, input),
            "getopts" => {
                if let Some(name) = args.get(1) {
                    scope.forget(&name.text);
                }
            }
            "printf" if args.first().is_some_and(|arg| arg.text == "-v") => {
                let name = args.get(1)?.text.clone();
                match super::output::printf(args.get(2..).unwrap_or(&[])) {
                    Some(value) => scope.set(&name, vec![value]),
                    None => scope.forget(&name),
                }
            }
            "alias" => {
                for arg in args {
                    if let Some((name, body)) = arg.text.split_once('=') {
                        self.later(body, scope);
                        scope.alias(name, body);
                    }
                }
            }
            "trap" => {
                let mut words = args.iter().filter(|arg| !is_flag(arg) && arg.text != "--");
                if let Some(code) = words.next().filter(|code| code.text != "-") {
                    self.unread_code(code, "eval");
                    let is_late = words.all(|signal| matches!(signal.text.as_str(), "EXIT" | "0"));
                    self.trap(&code.text, is_late, scope);
                }
            }
            // Commands that are folders change to them from here on.
            "shopt" | "setopt" if args.iter().any(|arg| arg.text.eq_ignore_ascii_case("autocd")) => {
                scope.set(AUTOMATIC_FOLDERS, vec![Arg::known("on")]);
            }
            // `bind -x '"key": code'`, and keys that type something.
            "bind" => {
                for code in args.iter().filter_map(|arg| bound(arg, args)) {
                    self.unread_code(&code, "eval");
                    self.run(&code.text, scope);
                }
            }
            // What was typed before runs again: `fc -s`. `fc -e editor` edits it first.
            "fc" if !args.iter().any(|arg| is_flag(arg) && arg.text.contains('l')) => {
                for (_, editor) in pairs(args).filter(|(name, _)| name.text == "-e") {
                    self.unread_code(editor, "eval");
                    self.run(&editor.text, scope);
                }
                self.hide(OpaqueKind::Dynamic, "fc");
            }
            // `compgen -C code`, `complete -C code x`
            "compgen" | "complete" => {
                for (_, code) in pairs(args).filter(|(name, _)| name.text == "-C") {
                    self.unread_code(code, "eval");
                    self.run(&code.text, scope);
                }
            }
            // `hash -p path name`: the name runs the path.
            "hash" => {
                if let [flag, path, name, ..] = args
                    && flag.text == "-p"
                {
                    scope.alias(&name.text, &path.quoted());
                }
            }
            "enable" if args.iter().any(|arg| arg.text.starts_with("-f")) => {
                self.has_left = true;
                self.opaque_command("the shell loads code that the command line does not show", "enable -f");
            }
            // Other shells can call an exported function.
            "export" | "declare" | "typeset" if exports_functions(&invocation.program, args) => {
                for function in args.iter().filter_map(|arg| scope.functions.get(&arg.text).cloned()) {
                    let _ = self.unchecked(&function.body, scope);
                }
            }
            "eval" => return Some(self.eval(args, scope, input)),
            "source" | "." => return Some(self.source(args, scope, input)),
            "exec" if args.is_empty() => {
                // Only its redirections count: they stay open.
                self.has_socket |= self.is_on_socket;
                if *input != Stream::default() {
                    self.inherited = Some(input.clone());
                }
            }
            // `declare -n`: the name of a variable, not its value.
            name if DECLARATIONS.contains(name)
                && args.iter().any(|arg| is_flag(arg) && arg.text.contains('n')) => {}
            name if DECLARATIONS.contains(name) => {
                // `export "A=b"`: a setting in quotes.
                for arg in args.iter().filter(|arg| !is_flag(arg) && !arg.text.contains("=(")) {
                    match assignment(arg) {
                        Some((name, value)) if scope.first_value(&name) != Some(&value) => {
                            scope.set(&name, vec![value]);
                        }
                        None if arg.begins_unknown() && names_unknown(arg) => self.unknown_variable(arg),
                        _ => {}
                    }
                }
            }
            _ => return None,
        }
        Some(Stream::silent())
    }

    /// Code that runs at an unknown time, or when the shell ends.
    fn trap(&mut self, code: &str, is_late: bool, scope: &mut Scope) {
        const MAX_TRAPS: usize = 16;
        let mut inner = scope.clone();
        let _ = self.code(code, &mut inner, &Stream::default());
        if self.traps.len() < MAX_TRAPS && !self.is_ending {
            self.traps.push(code.to_owned());
        }
        // From here on, any command may run in the folder that it changes to.
        if !is_late && inner.folder != scope.folder {
            scope.folder = inner.folder;
        }
    }

    /// The shell ends: traps that were set since run in the folder that it ends in.
    pub(super) fn end_shell(&mut self, traps: usize, scope: &Scope) {
        let late = self.traps.split_off(traps.min(self.traps.len()));
        // What a trap sets runs no more.
        let was_ending = std::mem::replace(&mut self.is_ending, true);
        late.iter().for_each(|code| self.run(code, scope));
        self.is_ending = was_ending;
    }

    /// A folder as a command, where that changes to it.
    pub(super) fn is_automatic_folder(&self, argv: &[Arg], scope: &Scope) -> bool {
        let is_folder = |text: &str| {
            matches!(text, "~" | "..") || text.ends_with('/') || text.starts_with(['/', '~', '.', '$'])
        };
        matches!(argv, [only] if is_folder(&only.text)) && scope.first_value(AUTOMATIC_FOLDERS).is_some()
    }

    /// Code under a name that a later call may use: an alias, a function. It is judged where it is written.
    pub(super) fn later(&mut self, code: &str, scope: &Scope) {
        if self.is_script || self.is_exhausted() {
            return;
        }
        let mut apart = Walk { spent: self.spent, span: self.span, depth: self.depth, ..Walk::default() };
        let mut inner = scope.clone();
        inner.positional = None;
        let _ = apart.code(code, &mut inner, &Stream::default());
        self.spent = apart.spent;
        // What it is called with is not known yet.
        let is_sure = |danger: &Danger| !danger.targets.iter().any(|it| it.contains(['$', '`']));
        let dangers = apart.analysis.dangers.into_iter();
        dangers
            .filter(|danger| danger.rule != "opaque" && is_sure(danger))
            .for_each(|danger| self.add_danger(danger));
    }

    /// Functions that the line defines and does not call.
    pub(super) fn uncalled(&mut self, scope: &Scope) {
        const MAX_FUNCTIONS: usize = 16;
        let functions = scope.functions.iter().filter(|(name, _)| !self.called.contains(*name));
        let bodies: Vec<_> =
            functions.map(|(_, function)| Rc::clone(&function.body)).take(MAX_FUNCTIONS).collect();
        bodies.iter().for_each(|body| self.later(body, scope));
    }

    fn read(&mut self, args: &[Arg], is_mapped: bool, scope: &mut Scope, input: &Stream) {
        let takes_value = |arg: &Arg| match arg.text.as_str() {
            "-d" | "-n" | "-u" => true,
            "-C" | "-c" | "-O" | "-s" => is_mapped,
            "-i" | "-N" | "-p" | "-t" => !is_mapped,
            _ => false,
        };
        // `mapfile -C code`
        for (_, code) in pairs(args).filter(|(name, _)| is_mapped && name.text == "-C") {
            self.unread_code(code, "eval");
            self.run(&code.text, scope);
        }
        let opened = args.iter().position(|arg| arg.text.starts_with("-u")).and_then(|at| {
            let number = args.get(at)?.text.strip_prefix("-u").filter(|number| !number.is_empty());
            let number = number.or_else(|| Some(args.get(at + 1)?.text.as_str()))?;
            let name = descriptor(number.parse().ok()?);
            Some(self.files.get(&name).map_or_else(Stream::default, |content| content.stream(&name)))
        });
        let input = opened.as_ref().unwrap_or(input);
        let mut names = Vec::new();
        let mut is_array = false;
        let mut iter = args.iter();
        while let Some(arg) = iter.next() {
            if takes_value(arg) {
                iter.next();
            } else if is_flag(arg) {
                is_array |= arg.text.contains('a');
            } else {
                names.push(arg.text.clone());
            }
        }
        names.iter().for_each(|name| self.keep_secret_variable(name, input));
        let listed = if input.text.is_none() { input.items() } else { Vec::new() };
        let known = input.text.as_ref().filter(|text| text.is_known());
        let text = known.map_or("", |text| text.text.as_str());
        let first = text.lines().next().unwrap_or("");
        match names.as_slice() {
            [name] if !listed.is_empty() && (is_array || is_mapped) => scope.set(name, listed),
            [name] if !listed.is_empty() => scope.set_any(name, listed),
            names if known.is_none() => names.iter().for_each(|name| scope.forget(name)),
            [name] if is_mapped => scope.set(name, text.lines().take(64).map(Arg::known).collect()),
            [name] if is_array => scope.set(name, first.split_whitespace().map(Arg::known).collect()),
            [name] => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                scope.set_any(name, lines.map(Arg::known).collect());
            }
            names => {
                let mut rest = first.trim();
                for (index, name) in names.iter().enumerate() {
                    let piece = if index + 1 == names.len() {
                        std::mem::take(&mut rest)
                    } else {
                        let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                        rest = after.trim_start();
                        first
                    };
                    scope.set(name, vec![Arg::known(piece)]);
                }
            }
        }
    }

    /// The options of `set` that decide what a line proves: `-n` runs nothing, and `-o pipefail` is about pipelines.
    fn set_options(&mut self, args: &[Arg], scope: &mut Scope) {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let text = arg.text.as_str();
            self.has_left |= !arg.is_known();
            let (Some(sign @ ('-' | '+')), false) = (text.chars().next(), text.starts_with("--")) else {
                break;
            };
            self.has_left |= sign == '-' && text.contains('n');
            if text.ends_with('o') {
                let Some(name) = args.next() else { break };
                self.has_left |= !name.is_known() || (sign == '-' && name.text == "noexec");
                if name.text == "pipefail" {
                    scope.has_pipefail = sign == '-';
                }
            }
        }
    }

    fn eval(&mut self, args: &[Arg], scope: &mut Scope, input: &Stream) -> Stream {
        // Code that is not known may end the shell, or define other programs.
        self.has_left |= args.iter().any(|arg| !arg.is_known());
        if let [code] = args {
            self.unread_code(code, "eval");
        }
        self.code(&joined(args), scope, input)
    }

    fn source(&mut self, args: &[Arg], scope: &mut Scope, input: &Stream) -> Stream {
        let Some(file) = args.first() else { return Stream::silent() };
        self.has_left = true;
        if matches!(file.text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
            return match &input.text {
                Some(text) => self.code(&text.text, scope, &Stream::default()),
                None => {
                    let mut inner = scope.clone();
                    inner.set_positional(file.clone(), args.get(1..).unwrap_or(&[]));
                    let invocation = self.invocation("source", args.to_vec(), scope);
                    self.run_stream(input, Code::Shell, &invocation, &inner)
                }
            };
        }
        self.unread_file(file);
        let place = scope.place(&file.text);
        let (was_opened, was_known) = (self.is_opened(&place), self.files.contains_key(&place));
        let stream = self.run_file(file, args.get(1..).unwrap_or(&[]), None, scope, input);
        self.take_over(place, was_opened || was_known);
        stream
    }
}

/// `export "$NAME=value"`
fn names_unknown(arg: &Arg) -> bool {
    arg.unknown.first().and_then(|range| arg.text.get(range.end..)).is_some_and(|rest| rest.starts_with('='))
}

/// The folder that `cd` finds by `CDPATH`.
fn searched_folder(target: &Arg, scope: &Scope) -> Option<Arg> {
    let path = scope.first_value("CDPATH").filter(|path| !path.text.is_empty())?;
    let text = target.text.as_str();
    if is_absolute(text)
        || text == "-"
        || text == "."
        || text == ".."
        || text.starts_with("./")
        || text.starts_with("../")
    {
        return None;
    }
    let mut folders = path.text.split(':').filter(|folder| !matches!(*folder, "" | "."));
    let first = folders.next()?;
    // Of several, any may have it.
    let is_sure = path.is_known() && target.is_known() && folders.next().is_none();
    Some(if is_sure {
        Arg::known(format!("{}/{text}", first.trim_end_matches('/')))
    } else {
        let mut folder = Arg::unknown("$CDPATH");
        folder.append(&Arg::known(format!("/{text}")));
        folder
    })
}

/// The name of the setting in a scope; no variable has a blank in it.
const AUTOMATIC_FOLDERS: &str = "shopt autocd";

/// The code of `bind -x '"key": code'`, or what a key types: `bind '"key": "text"'`.
fn bound(arg: &Arg, args: &[Arg]) -> Option<Arg> {
    let (key, code) = arg.text.split_once("\":")?;
    let code = code.trim_start();
    let is_command = args.iter().any(|arg| arg.text == "-x");
    let text = code.strip_prefix('"').map(|text| text.trim_end_matches('"').replace("\\n", "\n"));
    match text {
        Some(text) => Some(Arg::known(text)),
        None if is_command && key.starts_with('"') => Some(arg.tail(arg.text.len() - code.len())),
        None => None,
    }
}

/// Each argument with the one after it.
fn pairs(args: &[Arg]) -> impl Iterator<Item = (&Arg, &Arg)> {
    args.iter().zip(args.iter().skip(1))
}

/// `declare -n`, `local -n` and `typeset -n`.
fn refers(argv: &[Arg]) -> bool {
    let mut words = argv.iter();
    words.next().is_some_and(|name| matches!(name.text.as_str(), "declare" | "typeset" | "local"))
        && words.any(|arg| is_flag(arg) && !arg.text.starts_with("--") && arg.text.contains('n'))
}

fn is_flag(arg: &Arg) -> bool {
    arg.text.len() > 1 && arg.text.starts_with('-') && arg.text != "-"
}
/// `export -f f`, `declare -fx f`
fn exports_functions(program: &str, args: &[Arg]) -> bool {
    let has = |letter: char| args.iter().any(|arg| is_flag(arg) && arg.text.contains(letter));
    has('f') && (program == "export" || has('x'))
}
