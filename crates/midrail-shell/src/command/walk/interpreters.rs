//! Interpreters of other languages: code in their options, files that they run, modules. In code of languages that are not
//! parsed: what it hands to a shell, and what it removes.

use midrail_core::OpaqueKind;

use super::super::invocation::{Arg, Invocation, quoted_line};
use super::super::launch;
use super::super::options::Arguments;
use super::super::programs::{self, Inline};
use super::super::scope::Scope;
use super::super::shell_options::is_standard_input;
use super::super::snippet::{Language, Start};
use super::flow::{base_name, has_fetched};
use super::guards::agent_of_package;
use super::shells::Code;
use super::state::{Listed, ProgramCall, Stream, Walk};
use crate::words::code::{BETWEEN, CODE_MODULES, MODULES, VALUE_LETTERS};

impl Walk {
    pub(super) fn awk(&mut self, call: ProgramCall<'_>, scope: &mut Scope) {
        let ProgramCall { invocation, input } = call;
        let sorted = Arguments::new(invocation);
        let files: Vec<Arg> = sorted.values_of(&["-f", "--file"]).cloned().collect();
        for file in &files {
            if is_standard_input(&file.text) {
                let _ = self.run_stream(input, Code::Other(Language::Awk), invocation, scope);
                continue;
            }
            let code = Some(Code::Other(Language::Awk));
            let _ = self.run_file(file, &[], code, &mut scope.clone(), &Stream::default());
        }
        if !files.is_empty() {
            return;
        }
        let inline = sorted.values_of(&["-e", "--source"]).next();
        let skipped = usize::from(inline.is_none());
        if let Some(program) = inline.or(sorted.operands.first().copied()) {
            let mut args: Vec<Arg> = sorted.operands.iter().skip(skipped).copied().cloned().collect();
            let set = sorted.values_of(&["-v", "--assign"]);
            args.extend(set.filter_map(|set| Some(set.tail(set.text.find('=')? + 1))));
            self.started_with(&args, input);
            self.visible_code(Language::Awk, program, scope);
        }
    }

    pub(super) fn interpreter(
        &mut self,
        language: Language,
        call: ProgramCall<'_>,
        scope: &mut Scope,
    ) -> Option<Stream> {
        let ProgramCall { invocation, input } = call;
        let args = invocation.args.as_slice();
        let row = invocation.row();
        // `deno run file`
        let has_subcommands = matches!(invocation.program.as_str(), "deno" | "bun");
        let first = Arguments::leading(row, args, &[]).places.first().copied().filter(|_| has_subcommands);
        let subcommand = first.and_then(|at| args.get(at)).map_or("", |arg| arg.text.as_str());
        let mut at = match (subcommand, first) {
            ("run" | "test", Some(first)) => first + 1,
            ("eval", Some(first)) => first,
            _ => 0,
        };
        let mut has_code = false;
        while let Some(arg) = args.get(at) {
            let text = arg.text.as_str();
            if text == "eval" && Some(at) == first {
                // `deno eval code`
                at += 1;
                while args.get(at).is_some_and(|arg| arg.text.starts_with('-')) {
                    at += 1;
                }
                if let Some(code) = args.get(at) {
                    self.started_with(args.get(at + 1..).unwrap_or(&[]), input);
                    self.inline(language, code, scope);
                }
                return Some(Stream::printed_by(&invocation.program));
            }
            if text == "-" || text == "--" || !text.starts_with('-') {
                break;
            }
            // A module: its arguments are its own.
            if language == Language::Python && text.starts_with("-m") {
                self.timed(args, scope);
                if let Some([name, rest @ ..]) = args.get(at + 1..).filter(|_| text == "-m")
                    && name.text == "json.tool"
                {
                    self.touched(&self.invocation(&name.text, rest.to_vec(), scope), scope);
                }
                self.module(arg, args.get(at + 1..).unwrap_or(&[]), scope);
                return None;
            }
            if let Some((name, value)) = text.split_once('=')
                && matches!(name, "--eval" | "--print" | "--run")
            {
                self.started_with(args.get(at + 1..).unwrap_or(&[]), input);
                self.inline(language, &arg.tail(text.len() - value.len()), scope);
                has_code = true;
            } else if is_code_option(language, text) {
                has_code = true;
                at += 1;
                if let Some(code) = args.get(at) {
                    self.started_with(following(language, args, at + 1), input);
                    self.inline(language, code, scope);
                }
            } else if let Some(file) = loaded_file(language, text, args.get(at + 1)) {
                let code = Some(Code::Other(language));
                let _ = self.run_file(&file, &[], code, &mut scope.clone(), &Stream::default());
                at += usize::from(row.takes_value(text, true));
            } else if row.takes_value(text, true) {
                at += 1;
            }
            at += 1;
            if has_code && language == Language::Python {
                break;
            }
        }
        if has_code {
            return Some(Stream::printed_by(&invocation.program));
        }
        let file = args
            .get(at)
            .filter(|arg| {
                !is_standard_input(&arg.text)
                    && !matches!(arg.text.as_str(), "-" | "--" | "run" | "test" | "CMD")
            })
            .filter(|arg| invocation.program != "deno" || !matches!(arg.text.as_str(), "fmt" | "lint"));
        match file {
            // `bun run command`
            Some(file) if subcommand == "run" && !file.text.contains('.') => {
                let argv = args.get(at..).unwrap_or(&[]).to_vec();
                Some(self.invoke(argv, invocation.has_more_args, &mut scope.clone(), input))
            }
            Some(file) => {
                let rest = args.get(at + 1..).unwrap_or(&[]).to_vec();
                let code = Some(Code::Other(language));
                if let Some(agent) = agent_of_package(&file.text) {
                    let argv = [Arg::known(agent)].iter().chain(&rest).cloned().collect();
                    let _ = self.invoke(argv, invocation.has_more_args, &mut scope.clone(), input);
                }
                // `node name` runs `name.js`.
                if language == Language::Node && file.is_known() && !base_name(&file.text).contains('.') {
                    self.run_candidate(&format!("{}.js", file.text), &rest, code, scope);
                }
                Some(self.run_file(file, &rest, code, &mut scope.clone(), input))
            }
            None if args.get(at).is_none_or(|arg| arg.text == "-" || is_standard_input(&arg.text)) => {
                self.started_with(args.get(at + 1..).unwrap_or(&[]), &Stream::default());
                let _ = self.run_stream(input, Code::Other(language), invocation, scope);
                self.start = Start::default();
                Some(Stream::printed_by(&invocation.program))
            }
            None => None,
        }
    }

    /// `python -m name`: a file of that name, or a folder with one in it.
    fn module(&mut self, option: &Arg, rest: &[Arg], scope: &Scope) {
        let (name, args) = match option.text.strip_prefix("-m").filter(|name| !name.is_empty()) {
            Some(name) => (name, rest),
            None => (rest.first().map_or("", |arg| arg.text.as_str()), rest.get(1..).unwrap_or(&[])),
        };
        let first = name.split('.').next().unwrap_or(name);
        self.loaded_files(first, scope);
        if MODULES.contains(first) && !scope.is_remote {
            self.hidden_in_module(&self.invocation(first, args.to_vec(), scope));
            if CODE_MODULES.contains(first) {
                self.hide(OpaqueKind::Project, first);
            }
        }
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        self.started_file(&Arg::known(name), args, scope);
        if name.is_empty() || !is_plain || MODULES.contains(first) {
            return;
        }
        let path = name.replace('.', "/");
        for file in [format!("{path}.py"), format!("{path}/__main__.py")] {
            self.run_candidate(&file, args, Some(Code::Other(Language::Python)), scope);
        }
    }

    /// `python -m timeit -s setup code`
    fn timed(&mut self, args: &[Arg], scope: &mut Scope) {
        let Some(at) = args.iter().position(|arg| arg.text == "timeit") else { return };
        let args = args.get(at + 1..).unwrap_or(&[]);
        let sorted = Arguments::parse(programs::row(""), args, &["-s", "-n", "-r", "-u"]);
        let code = sorted.values_of(&["-s"]).chain(sorted.operands.iter().copied());
        let code: Vec<&str> = code.map(|arg| arg.text.as_str()).collect();
        self.inline(Language::Python, &Arg::known(code.join("\n")), scope);
    }

    fn inline(&mut self, language: Language, code: &Arg, scope: &mut Scope) {
        if has_fetched(code) {
            self.remote_code("what is fetched from the network is run", &code.text);
        }
        self.visible_code(language, code, scope);
    }

    /// Searches code that a program is given, if its language is not parsed.
    pub(super) fn inline_code(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        // `python manage.py shell -c code`
        let launched = launch::inner(invocation, &[]);
        let invocation = launched.as_ref().unwrap_or(invocation);
        let program = invocation.program.as_str();
        if matches!(program, "tclsh" | "wish" | "jimsh") {
            let sources = invocation.row().inline.as_ref();
            let _ = sources.map(|row| self.source_files(row, &invocation.args, scope));
            return self.tcl(invocation, scope, input);
        }
        if program == "m4" && invocation.args.is_empty() {
            input.text.iter().for_each(|code| self.unread_code(code, "m4"));
        }
        self.escapes(invocation, scope, input);
        if matches!(program, "less" | "more" | "most") {
            let commands = invocation.args.iter().filter_map(|arg| arg.text.strip_prefix("+!"));
            return commands.for_each(|code| self.run(code, scope));
        }
        let Some(row) = &invocation.row().inline else { return };
        let args = invocation.args.as_slice();
        let given = args.iter().zip(args.iter().skip(1));
        let given = given.filter(|(name, _)| row.code.contains(&name.text.as_str())).map(|(_, code)| code);
        let joined = args.iter().filter_map(|arg| {
            let (name, code) = arg.text.split_once('=')?;
            row.code.contains(&name).then(|| arg.tail(arg.text.len() - code.len()))
        });
        let piped = input.text.iter().filter(|_| row.reads);
        let shown: Vec<Arg> = given.cloned().chain(joined).chain(piped.cloned()).collect();
        // Of such code only some calls are found. A compiler does not run it.
        for code in shown.iter().filter(|_| !scope.is_remote && !row.compiles) {
            self.hide(OpaqueKind::Code, &code.text);
        }
        let in_files = self.source_files(row, args, scope);
        for code in shown.into_iter().chain(in_files) {
            self.unread_code(&code, program);
            self.calls_in(row, &code.text, scope);
        }
    }

    /// The code of the files that a compiler or an interpreter is given, as far as the line wrote them. The others are scripts
    /// of the line.
    fn source_files(&mut self, row: &Inline, args: &[Arg], scope: &Scope) -> Vec<Arg> {
        let is_source = |arg: &&Arg| {
            !arg.text.starts_with('-')
                && (arg.text.starts_with("/dev/fd/")
                    || row.files.iter().any(|ending| arg.text.ends_with(ending)))
        };
        let mut codes = Vec::new();
        for file in args.iter().filter(is_source).take(MOST_TEXTS) {
            let place = scope.place(&file.text);
            match self.files.get(&place).map(|content| content.stream(&place)) {
                Some(stream) => codes.extend(stream.text),
                None if file.is_known() && !file.is_glob && !scope.is_remote => {
                    self.note(Listed::Script, &place)
                }
                None => {}
            }
        }
        codes
    }

    pub(super) fn calls_in(&mut self, row: &Inline, code: &str, scope: &Scope) {
        self.spend(20 + code.len() / 4);
        self.library_functions(code, scope);
        for name in row.runs.iter().filter(|name| code.contains(**name)) {
            for texts in calls(code, name) {
                let line = match texts.as_slice() {
                    [line] => line.clone(),
                    words => {
                        let words: Vec<Arg> = words.iter().map(|word| Arg::known(word.as_str())).collect();
                        quoted_line(&words)
                    }
                };
                self.run(&line, scope);
            }
        }
        for name in row.removes.iter().filter(|name| code.contains(**name)) {
            for path in calls(code, name).into_iter().filter_map(|texts| texts.into_iter().next()) {
                self.removed_by_code(&[path], scope);
            }
        }
        for line in row.after.iter().flat_map(|mark| texts_before(code, mark)) {
            self.run(line, scope);
        }
        for path in row.removed_before.iter().flat_map(|mark| texts_before(code, mark)) {
            self.removed_by_code(&[path.to_owned()], scope);
        }
    }

    /// Tcl, whose words need no quotes: `exec rm x`, `file delete -force x`.
    fn tcl(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let Some(code) = input.text.as_ref().filter(|_| invocation.args.is_empty()) else { return };
        for line in code.text.split(['\n', ';']).map(|line| line.trim().trim_matches(['[', ']', '{', '}'])) {
            if let Some(command) = line.strip_prefix("exec ") {
                self.run(command, scope);
            } else if let Some(paths) = line.strip_prefix("file delete ") {
                let paths = paths.split_whitespace().filter(|path| !path.starts_with('-'));
                let paths: Vec<String> = paths.map(str::to_owned).collect();
                self.removed_by_code(&paths, scope);
            }
        }
    }

    /// What code removes is judged as `rm` is.
    fn removed_by_code(&mut self, paths: &[String], scope: &Scope) {
        let mut args = vec![Arg::known("-rf")];
        let target = |path: &String| {
            if path.contains('$') { Arg::unknown(path) } else { Arg::known(path.as_str()) }
        };
        args.extend(paths.iter().map(target));
        self.judge(&self.invocation("rm", args, scope));
    }
}

/// The texts in quotes that come directly before a mark.
fn texts_before<'c>(code: &'c str, mark: &'static str) -> impl Iterator<Item = &'c str> {
    code.match_indices(mark).take(MOST_TEXTS).filter_map(|(at, _)| {
        let before = code.get(..at)?.strip_suffix('"')?;
        before.rsplit_once('"').map(|(_, text)| text)
    })
}

/// A file of the project that an option makes the interpreter run first: `node -r ./x.js`, `ruby -r./x`.
fn loaded_file(language: Language, option: &str, next: Option<&Arg>) -> Option<Arg> {
    if !matches!(language, Language::Node | Language::Ruby) {
        return None;
    }
    let value = match option {
        "-r" | "--require" | "--import" | "--loader" | "--experimental-loader" | "--preload" => next?.clone(),
        _ => {
            let names = ["--require=", "--import=", "--loader=", "--preload=", "-r"];
            Arg::known(names.iter().find_map(|name| option.strip_prefix(name))?)
        }
    };
    value.text.starts_with(['.', '/', '~', '$']).then_some(value)
}

/// The words that follow code of an option. Other than Python, interpreters may have more options before them.
fn following(language: Language, args: &[Arg], from: usize) -> &[Arg] {
    let rest = args.get(from..).unwrap_or(&[]);
    let skipped = match language {
        Language::Python => 0,
        _ => rest.iter().take_while(|arg| arg.text.len() > 1 && arg.text.starts_with('-')).count(),
    };
    rest.get(skipped..).unwrap_or(&[])
}

/// Whether an option of an interpreter takes code.
fn is_code_option(language: Language, text: &str) -> bool {
    let row = language.row();
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-') && letters.len() <= 8);
    // `-rfiddle`: the value of an option, not a group of letters.
    let is_group = |letters: &str| {
        let program = row.programs.first().map_or("", |program| *program);
        let mut options = letters.chars().rev().skip(1);
        !options.any(|letter| VALUE_LETTERS.contains(format!("{program} -{letter}").as_str()))
    };
    row.code_options.contains(&text)
        || letters.is_some_and(|letters| {
            letters.ends_with(|letter| row.code_letters.contains(letter)) && is_group(letters)
        })
}

/// Between a function and the texts that it is given.
fn is_between(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '(' | '[' | '{' | ',' | ':' | '*' | '#' | ')' | ']' | '.')
}

/// No more texts of one call than this.
const MOST_TEXTS: usize = 32;

/// The texts that a function is given, once for each of its calls.
fn calls(code: &str, name: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '*');
    let mut found = Vec::new();
    for (at, _) in code.match_indices(name).take(MOST_TEXTS) {
        let rest = code.get(at + name.len()..).unwrap_or("");
        let is_whole =
            !code.get(..at).is_some_and(|before| before.ends_with(is_part)) && !rest.starts_with(is_part);
        let texts = texts_after(rest);
        if is_whole && !texts.is_empty() {
            found.push(texts);
        }
    }
    found
}

/// The texts in quotes that follow, with nothing but brackets, commas and a few words between them.
fn texts_after(mut rest: &str) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < MOST_TEXTS {
        rest = rest.trim_start_matches(is_between);
        let word = rest.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or("");
        if !word.is_empty() {
            match rest.strip_prefix(word).filter(|_| BETWEEN.contains(word)) {
                Some(after) => rest = after,
                None => return texts,
            }
            continue;
        }
        let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'')) else {
            return texts;
        };
        let inner = rest.get(1..).unwrap_or("");
        // A list of Lisp is quoted with one quote: `'("rm" "-rf")`.
        let end = end_of_text(inner, quote).filter(|_| quote == '"' || !inner.starts_with(['(', '[']));
        rest = match end {
            Some(end) => {
                texts.push(inner.get(..end).unwrap_or("").replace("\\\"", "\""));
                inner.get(end + 1..).unwrap_or("")
            }
            None if quote == '\'' => inner,
            None => return texts,
        };
    }
    texts
}

/// Where a text in quotes ends.
fn end_of_text(inner: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    inner.char_indices().find_map(|(at, letter)| {
        let is_end = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_calls_are_found() {
        for (code, name, expected) in [
            ("(shell-command \"rm -rf x\")", "shell-command", &["rm -rf x"][..]),
            ("System.Process.system \"ls\"", "system", &["ls"]),
            ("new ProcessBuilder(\"rm\", \"-rf\", \"/\").start()", "ProcessBuilder", &["rm", "-rf", "/"]),
            ("os:cmd(\"a \\\"b\\\"\")", "os:cmd", &["a \"b\""]),
            ("removeItem(atPath:\"/x\")", "removeItem", &["/x"]),
            ("os.system('rm -rf x')", "os.system", &["rm -rf x"]),
            ("(apply 'call-process '(\"rm\" \"x\"))", "call-process", &["rm", "x"]),
        ] {
            assert_eq!(calls(code, name), [expected], "{code}");
        }
        for (code, name) in
            [("my-system \"ls\"", "system"), ("system(cmd) + \"ls\"", "system"), ("\"system\"", "system")]
        {
            assert_eq!(calls(code, name), Vec::<Vec<String>>::new(), "{code}");
        }
    }
}
