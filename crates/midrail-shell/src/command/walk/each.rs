//! Programs that run another one for each thing that they find or read: `xargs`, `parallel`, `find`, `fd`.

use super::super::invocation::{Arg, Invocation, joined};
use super::super::options::{Arguments, FindPart, find_parts};
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::flow::base_name;
use super::shells::Code;
use super::state::{MAX_LOOP, Stream, Walk};
use super::{listing, processes, sweeps};

impl Walk {
    pub(super) fn xargs(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) -> Stream {
        let (sorted, input) = self.items_for(invocation, scope, input);
        if sorted.operands.is_empty() {
            return Stream::printed_by("xargs");
        }
        let mut argv = sorted.rest().to_vec();
        let mark = sorted.values_of(&["-I", "--replace", "-J"]).next().map(|arg| arg.text.clone());
        let mark = mark.or_else(|| sorted.has(&["-i"]).then(|| "{}".to_owned()));
        let marks = separators(&sorted);
        let items: Option<Vec<Arg>> = input.text.as_ref().map(|text| {
            if processes::is_numbers(text) {
                return vec![text.clone()];
            }
            let words = text.text.split(marks).filter(|word| !word.is_empty());
            words.take(64).map(|word| unquoted_item(word, text)).collect()
        });
        // `-n1`: a call for each.
        let takes_one = sorted
            .values_of(&["-n", "-L", "--max-args", "--max-lines"])
            .any(|count| count.text.trim_start_matches('=') == "1");
        let listed = input.items();
        if items.is_none() {
            self.sweep_lists(&argv, mark.as_deref(), &listed, scope);
        }
        match (mark, items) {
            (Some(mark), Some(_)) => {
                let whole = input.text.as_ref().map_or("", |text| text.text.trim_end());
                let with = |line| argv.iter().map(|arg| replaced(arg, &mark, line)).collect();
                self.invoke_each(whole.lines().take(8).map(with), false, scope)
            }
            (Some(mark), None) if !listed.is_empty() => {
                let with = |item| argv.iter().map(|arg| marked(arg, &mark, item)).collect();
                self.invoke_each(listed.iter().take(8).map(with), true, scope)
            }
            (Some(mark), None) => {
                let (mut is_program, mut is_name) = (false, true);
                for arg in &mut argv {
                    is_program |= programs::is(base_name(&arg.text), Tag::Shell);
                    // The mark is not known; inside of code it stays as it is.
                    let Some(from) = arg.text.find(&mark).filter(|_| arg.is_known()) else {
                        is_name = false;
                        continue;
                    };
                    let is_first = std::mem::take(&mut is_name);
                    if (is_program || is_first) && arg.text.trim_start().starts_with(&mark) {
                        // The code itself, or the program that it starts.
                        let mut code = Arg::unknown("$item");
                        code.append(&arg.tail(from + mark.len()));
                        *arg = code;
                    } else if !is_program {
                        arg.unknown.push(from..from + mark.len());
                    }
                }
                self.invoke(argv, true, scope, &Stream::default())
            }
            (None, Some(items)) if takes_one && items.len() > 1 => {
                let with = |item| argv.iter().cloned().chain([item]).collect();
                self.invoke_each(items.into_iter().take(MAX_LOOP).map(with), false, scope)
            }
            (None, Some(items)) => {
                argv.extend(items);
                self.invoke(argv, false, scope, &Stream::default())
            }
            (None, None) => {
                argv.extend(listed);
                self.invoke(argv, true, scope, &Stream::default())
            }
        }
    }

    /// The options in front of a command that runs for each item, and the items: from a file that an option names, or the input.
    fn items_for<'a>(
        &mut self,
        call: &'a Invocation,
        scope: &Scope,
        input: &Stream,
    ) -> (Arguments<'a>, Stream) {
        let program = programs::row(&call.program);
        let sorted = Arguments::leading(program, &call.args, &[]);
        let options = sorted.unknown_options();
        let more: Vec<&str> = options.iter().map(String::as_str).collect();
        let command = Arguments::leading(program, &call.args, &more).operands.first().copied();
        if let Some(option) = options.first()
            && command.is_some_and(|it| programs::looks_like_command(&it.text))
        {
            self.report_unknown_option(option, call);
        }
        let file = sorted.values_of(&["-a", "--arg-file"]).next();
        let items = file.map_or_else(|| input.clone(), |file| self.obeyed_file(file, scope));
        (sorted, items)
    }

    /// Walks a program once for each of some lists of words.
    fn invoke_each(&mut self, all: impl Iterator<Item = Vec<Arg>>, has_more: bool, scope: &Scope) -> Stream {
        let mut stream = Stream::silent();
        for argv in all {
            stream = self.invoke(argv, has_more, &mut scope.clone(), &Stream::default());
        }
        stream
    }

    /// The items of `:::: file…`: the lines of these files. `None`: the items are on the command line.
    fn lines_of_files(&mut self, items: &[Arg], scope: &Scope) -> Option<Vec<Arg>> {
        let (mark, files) = items.split_first().filter(|(mark, _)| mark.text.starts_with("::::"))?;
        let mut lines = vec![mark.clone()];
        for file in files {
            let stream = self.obeyed_file(file, scope);
            match &stream.text {
                Some(text) => lines.extend(text.text.lines().take(MAX_LOOP).map(Arg::known)),
                None => lines.extend(stream.items()),
            }
        }
        Some(lines)
    }

    pub(super) fn parallel(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) -> Stream {
        let leading = Arguments::leading(programs::row("parallel"), &invocation.args, &[]);
        if leading.has(&["--dry-run", "--dryrun"]) {
            return Stream::printed_by("parallel");
        }
        let (sorted, input) = self.items_for(invocation, scope, input);
        if sorted.operands.is_empty() {
            // Without a command each line of the input is one.
            return self.run_stream(&input, Code::Shell, invocation, scope);
        }
        let rest = sorted.rest();
        let end = rest.iter().position(|arg| arg.text.starts_with(":::")).unwrap_or(rest.len());
        let (command, items) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        let from_files = self.lines_of_files(items, scope);
        let items = from_files.as_deref().unwrap_or(items);
        let line = joined(command);
        if line.is_empty() {
            // Without a command each item is one.
            for item in items.iter().skip(1) {
                self.run(&item.text, scope);
            }
            return Stream::default();
        }
        let piped: Vec<Arg> = match &input.text {
            Some(text) if items.is_empty() => text.text.lines().take(8).map(Arg::known).collect(),
            None if items.is_empty() => input.items(),
            _ => Vec::new(),
        };
        let known: Vec<&Arg> =
            items.iter().filter(|arg| !arg.text.starts_with(":::")).chain(&piped).take(8).collect();
        if known.is_empty() {
            let code = if line.contains('{') {
                line.replace("{}", "\"$item\"")
            } else {
                format!("{line} \"$item\"")
            };
            return self.code(&code, &mut scope.clone(), &Stream::default());
        }
        for item in known {
            // Nothing but the item: it is the command.
            if line == "{}" {
                self.run(&item.text, scope);
                continue;
            }
            let item = item.quoted();
            let code = if line.contains("{}") { line.replace("{}", &item) } else { format!("{line} {item}") };
            self.run(&code, scope);
        }
        Stream::default()
    }

    pub(super) fn find(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let args = invocation.args.as_slice();
        let paths = listing::found(args);
        if !scope.is_remote {
            let here = scope.clone();
            let taken = sweeps::swept_by_find(invocation, |command| {
                self.changes_given_files(command, Some("{}"), &here)
            });
            taken.iter().for_each(|taken| self.sweep(taken, scope));
        }
        for part in find_parts(args) {
            let FindPart::Run(_, command) = part else { continue };
            if is_found_program(command) {
                self.may_start("find");
            }
            // What `find` hands to a program directly is judged with `find` itself, which knows its tests.
            if !command.first().is_some_and(|first| runs_others(base_name(&first.text))) {
                let _ = self.invoke(command.to_vec(), true, &mut scope.clone(), &Stream::default());
                continue;
            }
            let with = |found| command.iter().map(|arg| marked(arg, "{}", found)).collect();
            let _ = self.invoke_each(paths.iter().take(4).map(with), true, scope);
        }
    }

    pub(super) fn fd(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let args = invocation.args.as_slice();
        let names = ["-x", "-X", "--exec", "--exec-batch"];
        let attached = |arg: &Arg| {
            let name =
                names.iter().find(|name| arg.text.len() > name.len() && arg.text.starts_with(**name))?;
            let rest = arg.tail(name.len());
            let is_value = !name.starts_with("--") || rest.text.starts_with('=');
            is_value.then(|| rest.tail(usize::from(rest.text.starts_with('='))))
        };
        let starts = |arg: &Arg| names.contains(&arg.text.as_str()) || attached(arg).is_some();
        let Some(at) = args.iter().position(starts) else { return };
        let rest = args.iter().skip(at + 1).take_while(|arg| arg.text != ";").cloned();
        let argv: Vec<Arg> = args.get(at).and_then(attached).into_iter().chain(rest).collect();
        let has_mark = argv.iter().any(|arg| arg.text.contains('{'));
        let mark = argv.iter().any(|arg| arg.text.contains("{}")).then_some("{}");
        self.sweep_lists(&argv, mark, &listing::fd(args), scope);
        if is_found_program(&argv) {
            self.may_start("fd");
        }
        for found in listing::fd(args).into_iter().take(4) {
            let mut argv: Vec<Arg> = argv.iter().map(|arg| marked(arg, "{}", &found)).collect();
            if !has_mark {
                argv.push(found);
            }
            let _ = self.invoke(argv, true, &mut scope.clone(), &Stream::default());
        }
    }
}

/// Whether the program of a command is a file that was found: `find -exec {} push`.
fn is_found_program(command: &[Arg]) -> bool {
    command.first().is_some_and(|program| program.text.contains("{}"))
}

/// Shells and wrappers.
fn runs_others(program: &str) -> bool {
    programs::is(program, Tag::Shell) || !programs::row(program).runs.is_empty()
}

/// The separators between the items that `xargs` reads.
fn separators(sorted: &Arguments) -> &'static [char] {
    let mark = sorted.values_of(&["-d", "--delimiter"]).last().map(|mark| mark.text.as_str());
    match mark {
        _ if sorted.has(&["-0", "--null"]) => &['\0'],
        Some("\\n" | "\n") => &['\n'],
        Some("\\0" | "\0") => &['\0'],
        _ => &['\0', '\n', ' ', '\t'],
    }
}

fn unquoted_item(word: &str, text: &Arg) -> Arg {
    let word = word.trim_matches(['"', '\'']);
    if text.is_known() || !word.contains(['$', '`', '(']) {
        return Arg { is_glob: word.contains('*'), ..Arg::known(word) };
    }
    Arg::unknown(word)
}

fn replaced(arg: &Arg, mark: &str, by: &str) -> Arg {
    if mark.is_empty() || !arg.text.contains(mark) {
        return arg.clone();
    }
    Arg { text: arg.text.replace(mark, by), is_glob: arg.is_glob, ..Arg::default() }
}

/// A word with a path in the place of a mark.
fn marked(arg: &Arg, mark: &str, path: &Arg) -> Arg {
    if arg.text == mark {
        return path.clone();
    }
    if mark.is_empty() || !arg.is_known() || !arg.text.contains(mark) {
        return arg.clone();
    }
    // A word with blanks is code.
    let path = if arg.text.contains(' ') { &listing::in_code(path) } else { path };
    let mut pieces = arg.text.split(mark).map(Arg::known);
    let mut whole = pieces.next().unwrap_or_default();
    for piece in pieces {
        whole.append(path);
        whole.append(&piece);
    }
    whole.is_glob |= arg.is_glob;
    whole
}
