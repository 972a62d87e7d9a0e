//! Files that programs run or read by default, such as `conftest.py` and `build.rs`, and files with settings, some of
//! which are commands.

use midrail_core::{Danger, Severity};
use serde_json::Value;

use super::super::invocation::{Arg, Invocation, quoted_line};
use super::super::programs;
use super::super::scope::Scope;
use super::super::script::{self, ScriptKind};
use super::super::snippet::Language;
use super::flow::command_line;
use super::state::{Content, Listed, Walk};
use crate::tables::LOADS;
use crate::words::code::{
    BUILD_FILES, COMMAND_SETTINGS, CONFIGURABLE, LINE_SETTINGS, RUBY_FILES, STANDARD_MODULES,
};

/// No more files of one line than this.
const MAX_LOADED: usize = 16;

/// No more lines of one file than this.
const MAX_LINES: usize = 200;

/// What a file that a program loads contains.
enum Loaded {
    Shell,
    Code(Language),
    /// Code of a compiled language, with a program that knows its functions.
    Compiled(&'static str),
    Settings,
    Composer,
    CMake,
    Procfile,
    /// Rules and tasks of a build tool, in which commands are texts.
    Build,
    Other,
}

fn kind(name: &str, text: &str) -> Loaded {
    let base = name.rsplit('/').next().unwrap_or(name);
    let ending = base.rsplit_once('.').map_or("", |(_, ending)| ending);
    match (base, ending) {
        ("composer.json", _) => Loaded::Composer,
        (base, _) if BUILD_FILES.contains(base) => Loaded::Build,
        (_, "ninja" | "gradle" | "kts") => Loaded::Build,
        ("CMakeLists.txt", _) | (_, "cmake") => Loaded::CMake,
        ("Procfile", _) => Loaded::Procfile,
        (".envrc", _) => Loaded::Shell,
        ("SConstruct" | "wscript", _) => Loaded::Code(Language::Python),
        (".Rprofile", _) => Loaded::Code(Language::R),
        (base, _) if RUBY_FILES.contains(base) => Loaded::Code(Language::Ruby),
        (_, "ru" | "gemspec") => Loaded::Code(Language::Ruby),
        (_, "PL" | "t") => Loaded::Code(Language::Perl),
        (_, "ex" | "exs") => Loaded::Code(Language::Elixir),
        (_, "rs") => Loaded::Compiled("rustc"),
        (_, "c" | "cc" | "cpp" | "cxx") => Loaded::Compiled("gcc"),
        (_, "go") => Loaded::Compiled("go"),
        (_, "java" | "kt" | "cs") => Loaded::Compiled("javac"),
        (_, "scala" | "sc") => Loaded::Compiled("scala"),
        (_, "hs") => Loaded::Compiled("ghc"),
        (_, "swift") => Loaded::Compiled("swift"),
        (_, "clj" | "cljs" | "rkt" | "scm") => Loaded::Compiled("clojure"),
        (_, "el") => Loaded::Compiled("emacsclient"),
        (_, "toml" | "ini" | "yaml" | "yml" | "cfg") => Loaded::Settings,
        _ => match script::kind(name, text) {
            ScriptKind::Code(language) => Loaded::Code(language),
            ScriptKind::Shell | ScriptKind::Sql => Loaded::Other,
        },
    }
}

impl Walk {
    /// Analyses the files that a program loads by itself, as far as they are known. The others are listed.
    pub(super) fn loaded_files(&mut self, program: &str, scope: &Scope) {
        let Some(files) = LOADS.get(program).filter(|_| !scope.is_remote) else { return };
        for file in files.iter() {
            let place = scope.place(file);
            let text = self.files.get(&place).and_then(|content| content.stream(&place).text);
            match text {
                Some(text) => self.loaded_text(file, &text.text, scope),
                None if self.loaded.len() < MAX_LOADED => drop(self.loaded.insert(place)),
                None => {}
            }
        }
    }

    /// Files that options of a program name, and that it runs or obeys: `ssh -F settings`.
    pub(super) fn obeyed_settings(&mut self, invocation: &Invocation, scope: &Scope) {
        let args = invocation.args.as_slice();
        let named =
            args.iter().zip(args.iter().skip(1)).filter(|(name, _)| name.text == "-F").map(|(_, file)| file);
        for file in named.filter(|file| file.is_known()) {
            let place = scope.place(&file.text);
            if let Some(text) = self.files.get(&place).and_then(|content| content.stream(&place).text) {
                self.settings(&text.text, scope);
            } else if self.loaded.len() < MAX_LOADED && !scope.is_remote {
                self.loaded.insert(place);
            }
        }
    }

    /// Settings in options whose value is a command: `cargo --config target.x.runner="…"`, `npm --script-shell=…`,
    /// `apt -o DPkg::Pre-Invoke::="…"`, `cmake -DCMAKE_C_COMPILER_LAUNCHER="…"`.
    pub(super) fn settings_in_options(&mut self, invocation: &Invocation, scope: &Scope) {
        if !CONFIGURABLE.contains(invocation.program.as_str()) {
            return;
        }
        let args = invocation.args.as_slice();
        let assigned = args.iter().filter_map(|arg| arg.text.split_once('='));
        // `npm config set script-shell …`
        let set = args
            .iter()
            .zip(args.iter().skip(1))
            .map(|(name, value)| (name.text.as_str(), value.text.as_str()));
        let pairs: Vec<(&str, &str)> = assigned.chain(set).take(MAX_LOADED).collect();
        for (name, value) in pairs {
            let key = name.trim_end_matches(':').rsplit(['.', ':', '-']).next().unwrap_or("");
            let whole = name.trim_start_matches('-').rsplit('.').next().unwrap_or("");
            let is_command = COMMAND_SETTINGS.contains(whole)
                || key == "Invoke"
                || name.contains("Pre-Invoke")
                || name.contains("Post-Invoke")
                || name.ends_with("_LAUNCHER");
            if is_command {
                let value = value.replace("\",\"", " ").replace(';', " ");
                self.run(value.trim_matches(['[', ']', '"', '\'']), scope);
            }
        }
    }

    /// Scripts in the language of a program that its options name: `vim -S file`, `gdb -x file`, `emacs -l file`.
    pub(super) fn scripts_in_options(&mut self, invocation: &Invocation, scope: &Scope) {
        let (names, option): (&[&str], &str) = match invocation.program.as_str() {
            "vim" | "vi" | "nvim" | "ex" | "view" => (&["-S", "-u", "-l"], "-c"),
            "gdb" | "cgdb" => (&["-x", "--command", "-ix"], "-ex"),
            "lldb" => (&["-s", "--source", "-S", "--source-before-file", "-K"], "-o"),
            "r2" | "radare2" | "rizin" => (&["-i", "-qi", "-I"], "-c"),
            "emacs" => (&["-l", "--load", "--script", "-script"], "--eval"),
            "cmake" => (&["-P"], ""),
            "ansible-playbook" => (&["-i", "ansible-playbook"], ""),
            _ => return,
        };
        let args = invocation.args.as_slice();
        let after = args.iter().zip(args.iter().skip(1));
        let mut files: Vec<&Arg> =
            after.filter(|(name, _)| names.contains(&name.text.as_str())).map(|(_, file)| file).collect();
        if invocation.program == "ansible-playbook" {
            files.extend(args.iter().filter(|arg| arg.text.ends_with(".yml") || arg.text.ends_with(".yaml")));
        }
        for file in files.into_iter().filter(|file| file.is_known() && !scope.is_remote) {
            let place = scope.place(&file.text);
            let Some(text) = self.files.get(&place).and_then(|content| content.stream(&place).text) else {
                self.note(Listed::Script, &place);
                continue;
            };
            let name = if invocation.program == "cmake" { "x.cmake" } else { file.text.as_str() };
            if option.is_empty() || name.ends_with(".lua") {
                self.loaded_text(name, &text.text, scope);
                continue;
            }
            let lines: Vec<&str> =
                if option == "--eval" { vec![text.text.as_str()] } else { text.text.lines().collect() };
            for line in lines.into_iter().take(MAX_LINES) {
                let words = [invocation.program.as_str(), option, line].map(Arg::known);
                self.run(&quoted_line(&words), scope);
            }
        }
    }

    /// Modules of the project that code imports: `import foo`, `require("./foo")`.
    pub(super) fn imported(&mut self, language: Language, code: &str, scope: &Scope) {
        let mut files = Vec::new();
        match language {
            Language::Python => {
                for line in code.split(['\n', ';']).map(str::trim).take(MAX_LINES) {
                    let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "));
                    let name = rest.and_then(|rest| rest.split([' ', ',', '.']).next()).unwrap_or("");
                    if !name.is_empty() && !STANDARD_MODULES.contains(name) {
                        files.push(format!("{name}.py"));
                        files.push(format!("{name}/__init__.py"));
                    }
                }
            }
            Language::Node => {
                for mark in
                    ["require('./", "require(\"./", "from './", "from \"./", "import('./", "import(\"./"]
                {
                    for piece in code.split(mark).skip(1).take(MAX_LOADED) {
                        let name = piece.split(['"', '\'']).next().unwrap_or("");
                        files.push(if name.contains('.') { name.to_owned() } else { format!("{name}.js") });
                    }
                }
            }
            _ => {}
        }
        for file in files.into_iter().take(MAX_LOADED) {
            let place = scope.place(&file);
            let text = self.files.get(&place).and_then(|content| content.stream(&place).text);
            match text {
                // A module that imports itself is read once.
                Some(text) if self.imports.insert(place) => self.loaded_text(&file, &text.text, scope),
                Some(_) => {}
                None if self.loaded.len() < MAX_LOADED && !scope.is_remote => {
                    self.loaded.insert(scope.place(&file));
                }
                None => {}
            }
        }
    }

    fn loaded_text(&mut self, name: &str, text: &str, scope: &Scope) {
        self.spend(20 + text.len() / 4);
        if self.is_exhausted() {
            return;
        }
        let was_script = std::mem::replace(&mut self.is_script, true);
        match kind(name, text) {
            Loaded::Shell => self.run(text, scope),
            Loaded::Code(language) => _ = self.snippet(language, text, scope),
            Loaded::Compiled(compiler) => {
                if let Some(row) = &programs::row(compiler).inline {
                    self.calls_in(row, text, scope);
                }
                let generators = text.lines().filter_map(|line| line.strip_prefix("//go:generate "));
                generators.take(MAX_LOADED).for_each(|line| self.run(line, scope));
            }
            Loaded::Settings => self.settings(text, scope),
            Loaded::Composer => self.composer_scripts(text, scope),
            Loaded::CMake => {
                for mark in ["COMMAND ", "REMOVE_RECURSE ", "(REMOVE "] {
                    for words in text.split(mark).skip(1).take(MAX_LOADED) {
                        let words = words.split([')', '\n']).next().unwrap_or("");
                        let removes = if mark == "COMMAND " { "" } else { "rm -rf " };
                        self.run(&format!("{removes}{words}"), scope);
                    }
                }
            }
            Loaded::Procfile => {
                for (_, command) in text.lines().filter_map(|line| line.split_once(':')).take(MAX_LOADED) {
                    self.run(command, scope);
                }
            }
            Loaded::Build => {
                if self.destroys_in_text(text, scope) {
                    self.opaque_command("the file holds a command that destroys", name);
                }
            }
            Loaded::Other => {}
        }
        self.is_script = was_script;
    }

    /// A program starts after the line wrote files with code that destroys: it may load them.
    pub(super) fn written_code(&mut self, invocation: &Invocation, scope: &Scope) {
        if self.files.is_empty() || scope.is_remote || self.only_reads(invocation) {
            return;
        }
        let known = self.files.iter().filter_map(|(name, content)| match content {
            Content::Known(text) if !name.starts_with("/dev/") => Some((name.clone(), text.text.clone())),
            _ => None,
        });
        let written: Vec<(String, String)> =
            known.filter(|file| !self.tried_files.contains(file)).take(MAX_LOADED).collect();
        for (name, text) in written {
            let (spent, depth) = (self.spent, self.depth + 1);
            let mut other = Walk { spent, depth, is_script: true, is_nested: true, ..Walk::default() };
            other.loaded_text(&name, &text, scope);
            self.spent = other.spent;
            let is_bad = |danger: &Danger| danger.severity >= Severity::High || danger.rule == "opaque";
            if other.analysis.dangers.iter().any(|danger| is_bad(danger) && !danger.is_inside) {
                let program = &invocation.program;
                let reason =
                    format!("`{program}` may load `{name}`, which this line writes and which destroys");
                self.opaque_command(&reason, &command_line(program, &invocation.args));
            }
            self.tried_files.insert((name, text));
        }
    }

    /// Settings whose value is a command: `runner = "…"`, `entry: …`, `commands =` with indented lines below it.
    fn settings(&mut self, text: &str, scope: &Scope) {
        let mut is_open = false;
        for line in text.lines() {
            let is_below = line.starts_with([' ', '\t']) && is_open;
            let item = line.trim().trim_start_matches("- ");
            // `- {id: x, entry: rm -rf y}`
            if let Some(inner) = item.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                inner.split(',').for_each(|part| self.settings(part, scope));
                continue;
            }
            let (key, value) = match item.find(['=', ':', ' ']) {
                Some(at) => (item.get(..at).unwrap_or(""), item.get(at + 1..).unwrap_or("")),
                None => (item, ""),
            };
            let key = key.trim().trim_matches('"');
            let is_command = COMMAND_SETTINGS.contains(key) || LINE_SETTINGS.contains(key);
            if is_command || is_below {
                let code = if is_command { value } else { item };
                let code = code.trim().trim_start_matches(['=', ':']).trim();
                let code = code.trim_matches(['[', ']']).replace("\", \"", " ").replace("\",\"", " ");
                self.run(code.trim_matches(['"', '\'']), scope);
            }
            is_open = is_command && value.trim().trim_matches(['=', ' ', '|', '>']).is_empty()
                || (is_below && !is_command);
        }
    }

    /// The scripts of `composer.json`, which are texts or lists of texts.
    fn composer_scripts(&mut self, text: &str, scope: &Scope) {
        let Ok(package) = serde_json::from_str::<Value>(text) else { return };
        let scripts = package.get("scripts").and_then(Value::as_object);
        for script in scripts.into_iter().flat_map(|scripts| scripts.values()).take(MAX_LOADED) {
            let lines = script
                .as_str()
                .into_iter()
                .chain(script.as_array().into_iter().flatten().filter_map(Value::as_str));
            lines.for_each(|line| self.run(line, scope));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::command::{File, analyse, analyse_with};

    fn rules(command: &str) -> Vec<String> {
        analyse(command)
            .dangers
            .into_iter()
            .filter(|danger| !danger.is_inside)
            .map(|danger| danger.rule)
            .collect()
    }

    #[test]
    fn files_that_programs_load_count() {
        for command in [
            "echo 'import os; os.system(\"rm -rf ~\")' > conftest.py; pytest",
            "echo 'import os; os.system(\"rm -rf ~\")' > setup.py; pip install .",
            "echo 'require(\"child_process\").execSync(\"rm -rf ~\")' > jest.config.js; npx jest",
            "echo 'system(\"rm -rf ~\")' > Rakefile; rake",
            "echo 'fn main() { std::process::Command::new(\"rm\").args([\"-rf\", \"/home\"]).status(); }' > build.rs; cargo build",
            "printf '[target.x]\\nrunner = \"rm -rf /home\"\\n' > .cargo/config.toml; cargo run",
            "printf '[testenv]\\ncommands =\\n    rm -rf /home\\n' > tox.ini; tox",
            "printf 'execute_process(COMMAND rm -rf /home)' > CMakeLists.txt; cmake .",
            "echo '{\"scripts\":{\"post-install-cmd\":\"rm -rf ~\"}}' > composer.json; composer install",
            "printf 'hooks:\\n  - id: x\\n    entry: rm -rf /home\\n' > .pre-commit-config.yaml; pre-commit run",
            "echo 'web: rm -rf ~' > Procfile; foreman start",
            "echo 'rm -rf ~' > .envrc; direnv allow",
            "printf 'ProxyCommand rm -rf ~\\n' > cfg; ssh -F cfg host",
        ] {
            assert!(!rules(command).is_empty(), "{command}");
        }
        for command in [
            "echo 'import pytest' > conftest.py; pytest",
            "echo 'module.exports={}' > jest.config.js; npx jest",
            "echo 'fn main() { println!(\"rm -rf /\"); }' > build.rs; cargo build",
            "printf '[build]\\nrustc-wrapper = \"sccache\"\\n' > .cargo/config.toml; cargo build",
            "printf '[testenv]\\ncommands = pytest\\n' > tox.ini; tox",
            "echo 'rm -rf ~' > notes.txt; pytest",
        ] {
            assert_eq!(rules(command), Vec::<String>::new(), "{command}");
        }
    }

    #[test]
    fn files_of_earlier_calls_count() {
        let file = File {
            path: "conftest.py".to_owned(),
            text: Some("import shutil; shutil.rmtree('/home')".to_owned()),
        };
        assert!(!analyse_with("pytest", None, &[file]).dangers.is_empty());
        assert_eq!(analyse("pytest").feeds, ["conftest.py", "pytest.ini"]);
    }
}
