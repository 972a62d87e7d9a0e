//! Interpreters of other languages: code in their options, files that they run, modules.

use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::programs;
use super::super::scope::Scope;
use super::super::snippet::{Language, Start};
use super::flow::{base_name, has_fetched};
use super::shells::Code;
use super::state::Walk;
use super::stream::{ProgramCall, Source, Stream};
use crate::words::code::MODULES;

impl Walk {
    pub(super) fn awk(&mut self, invocation: &Invocation, scope: &mut Scope) {
        let sorted = Arguments::new(invocation);
        let files: Vec<Arg> = sorted.values_of(&["-f", "--file"]).cloned().collect();
        for file in &files {
            let code = Some(Code::Other(Language::Awk));
            let _ = self.run_file(file, &[], code, &mut scope.clone(), &Stream::default());
        }
        if !files.is_empty() {
            return;
        }
        let program = sorted.values_of(&["-e"]).next().cloned();
        let program =
            program.or_else(|| sorted.operands.first().and_then(|at| invocation.args.get(*at)).cloned());
        if let Some(program) = program {
            self.snippet(Language::Awk, &program.text, scope);
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
        let row = programs::row(&invocation.program);
        // `deno run file`
        let runs = matches!(invocation.program.as_str(), "deno" | "bun")
            && args.first().is_some_and(|subcommand| matches!(subcommand.text.as_str(), "run" | "test"));
        let mut at = usize::from(runs);
        let mut has_code = false;
        while let Some(arg) = args.get(at) {
            let text = arg.text.as_str();
            if text == "eval" && at == 0 {
                // `deno eval code`
                at += 1;
                while args.get(at).is_some_and(|arg| arg.text.starts_with('-')) {
                    at += 1;
                }
                if let Some(code) = args.get(at) {
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
                self.module(arg, args.get(at + 1..).unwrap_or(&[]), scope);
                return None;
            }
            if let Some((name, value)) = text.split_once('=')
                && matches!(name, "--eval" | "--print" | "--run")
            {
                let value = Arg::known(value);
                self.inline(language, &value, scope);
                has_code = true;
            } else if is_code_option(language, text) {
                has_code = true;
                at += 1;
                if let Some(code) = args.get(at) {
                    let text = input.text.as_ref().filter(|text| text.is_known());
                    self.start = Start {
                        input: text.map(|text| text.text.clone()),
                        is_fed_by_network: input.source == Source::Remote,
                        ..Start::default()
                    };
                    self.inline(language, code, scope);
                }
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
            .filter(|arg| !matches!(arg.text.as_str(), "-" | "--" | "/dev/stdin" | "run" | "test" | "CMD"))
            .filter(|arg| invocation.program != "deno" || !matches!(arg.text.as_str(), "fmt" | "lint"));
        match file {
            Some(file) => {
                let rest = args.get(at + 1..).unwrap_or(&[]).to_vec();
                let code = Some(Code::Other(language));
                // `node name` runs `name.js`.
                if language == Language::Node && file.is_known() && !base_name(&file.text).contains('.') {
                    self.run_candidate(&format!("{}.js", file.text), &rest, code, scope);
                }
                Some(self.run_file(file, &rest, code, &mut scope.clone(), input))
            }
            None if args.get(at).is_none_or(|arg| arg.text == "-" || arg.text == "/dev/stdin") => {
                let _ = self.run_stream(input, Code::Other(language), invocation, scope);
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
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        if name.is_empty() || !is_plain || MODULES.contains(&first) {
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
        let operands = sorted.operands.iter().filter_map(|at| args.get(*at));
        let code: Vec<&str> =
            sorted.values_of(&["-s"]).chain(operands).map(|arg| arg.text.as_str()).collect();
        self.inline(Language::Python, &Arg::known(code.join("\n")), scope);
    }

    fn inline(&mut self, language: Language, code: &Arg, scope: &mut Scope) {
        if has_fetched(code) {
            self.remote_code("what is fetched from the network is run", &code.text);
        }
        self.snippet(language, &code.text, scope);
    }
}

/// Whether an option of an interpreter takes code.
fn is_code_option(language: Language, text: &str) -> bool {
    let row = language.row();
    let letters = text.strip_prefix('-').filter(|letters| !letters.starts_with('-') && letters.len() <= 8);
    row.code_options.contains(&text)
        || letters.is_some_and(|letters| letters.ends_with(|letter| row.code_letters.contains(letter)))
}
