//! What git runs: names for commands, options and settings that hold commands, hooks.

use super::super::invocation::{Arg, Invocation, quoted_line};
use super::super::options::Arguments;
use super::super::programs;
use super::super::scope::Scope;
use super::state::{Listed, Stream, Walk};
use crate::words::shell::{GIT_CODE_SETTINGS, GIT_HOOK_FOLDERS};

/// How deep aliases of git are followed.
const MAX_ALIASES: usize = 8;

/// The hooks that a command of git runs.
const HOOKS: &[(&str, &[&str])] = &[("commit", &["pre-commit", "commit-msg"]), ("push", &["pre-push"])];

impl Walk {
    pub(super) fn git(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) {
        let sorted = Arguments::leading(programs::row("git"), &invocation.args, &[]);
        let options = sorted.unknown_options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let other = Arguments::leading(programs::row("git"), &invocation.args, &options);
        let command: Vec<Arg> = [Arg::known("git")].iter().chain(other.rest()).cloned().collect();
        if let Some(option) = options.last().filter(|_| self.would_destroy(&command, scope)) {
            self.report_unknown_option(option, invocation);
        }
        let Some((subcommand, rest)) = sorted.rest().split_first() else { return };
        let subcommand = subcommand.text.as_str();
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["-C"]) {
            inner.change_folder(Some(folder));
        }
        // `--config-env=key=VARIABLE`
        let from_variable = |setting: &Arg| {
            let (key, name) = setting.text.rsplit_once('=')?;
            Some((key.to_owned(), scope.first_value(name)?.text.clone()))
        };
        let given = |setting: &Arg| {
            let (key, value) = setting.text.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        };
        let settings = sorted.values_of(&["-c"]).filter_map(given);
        let settings: Vec<(String, String)> =
            settings.chain(sorted.values_of(&["--config-env"]).filter_map(from_variable)).collect();
        for (key, value) in &settings {
            let key = key.to_ascii_lowercase();
            if let Some(name) = key.strip_prefix("alias.")
                && name == subcommand.to_ascii_lowercase()
            {
                self.git_alias(value, rest, &inner);
            } else {
                self.git_setting(&key, value, &inner);
            }
        }
        let alias = scope.aliases.get(&format!("git {}", subcommand.to_ascii_lowercase())).cloned();
        if let Some(body) = alias.filter(|_| self.depth < MAX_ALIASES) {
            self.git_alias(&body, rest, &inner);
        }
        self.git_options(subcommand, rest, &inner);
        // `git submodule --quiet foreach`
        let words = rest.iter().position(|arg| !arg.text.starts_with('-')).unwrap_or(rest.len());
        let words = rest.get(words..).unwrap_or_default();
        let first = words.first().map_or("", |arg| arg.text.as_str());
        match (subcommand, first) {
            ("bisect", "run") => {
                let argv = words.get(1..).unwrap_or(&[]).to_vec();
                let _ = self.invoke(argv, false, &mut inner, &Stream::default());
            }
            ("submodule", "foreach") => {
                let words = words.iter().skip(1).skip_while(|arg| arg.text.starts_with('-'));
                let code: Vec<&str> = words.map(|arg| arg.text.as_str()).collect();
                let _ = self.code(&code.join(" "), &mut inner, &Stream::default());
            }
            ("config", _) => self.git_config(rest, scope, &inner),
            ("apply" | "am", _) => self.git_apply(subcommand, rest, &inner, input),
            _ => self.git_hooks(subcommand, rest, &inner),
        }
    }

    /// Where git looks for files, if its options or variables name another folder: `git -C folder`.
    pub(super) fn git_folder(&self, invocation: &Invocation, scope: &Scope) -> Option<Scope> {
        if invocation.program != "git" {
            return None;
        }
        let sorted = Arguments::leading(programs::row("git"), &invocation.args, &[]);
        let tree = scope.first_value("GIT_WORK_TREE");
        let folders: Vec<&Arg> = sorted.values_of(&["-C", "--work-tree"]).chain(tree).collect();
        let mut inner = scope.clone();
        folders.iter().for_each(|folder| inner.change_folder(Some(folder)));
        (!folders.is_empty()).then_some(inner)
    }

    /// Options that hold commands, and addresses that do: `ext::command`.
    fn git_options(&mut self, subcommand: &str, rest: &[Arg], scope: &Scope) {
        for address in rest.iter().filter_map(|arg| arg.text.strip_prefix("ext::")) {
            self.git_address(address, scope);
        }
        let git = programs::row("git");
        let Some(row) = git.runs.iter().find(|row| row.subcommands.contains(&subcommand)) else { return };
        let sorted = Arguments::parse(git, rest, &[row.code, row.values].concat());
        for code in sorted.values_of(row.code) {
            self.run(&code.text, scope);
        }
        for setting in sorted.values_of(&["-c", "--config"]) {
            if let ("clone", Some((key, value))) = (subcommand, setting.text.split_once('=')) {
                self.git_setting(&key.to_ascii_lowercase(), value, scope);
            }
        }
    }

    /// The command of an address such as `ext::sh -c a% b`, in which `% ` is a blank that does not end a word.
    fn git_address(&mut self, address: &str, scope: &Scope) {
        self.run(&address.replace("% ", " "), scope);
        let words = address.replace("% ", "\0");
        let argv = words.split_whitespace().map(|word| Arg::known(word.replace('\0', " "))).collect();
        let _ = self.invoke(argv, false, &mut scope.clone(), &Stream::default());
    }

    /// A setting whose value git runs.
    fn git_setting(&mut self, key: &str, value: &str, scope: &Scope) {
        self.report_git_setting(key, value, scope);
        let is_helper = key.starts_with("credential.") && key.ends_with(".helper");
        let code = match value.strip_prefix('!') {
            Some(code) => code,
            None if is_helper && !value.starts_with(['/', '~', '.']) => return,
            None if key.starts_with("alias.") => return self.later(&format!("git {value}"), scope),
            None => value,
        };
        let is_code = is_helper
            || value.starts_with('!')
            || key.starts_with("pager.")
            || GIT_CODE_SETTINGS.iter().any(|end| key.ends_with(end));
        if let Some(address) = value.strip_prefix("ext::") {
            self.git_address(address, scope);
        } else if is_code {
            self.run(code, scope);
        }
    }

    /// Runs an alias of git with the arguments that follow it.
    fn git_alias(&mut self, body: &str, rest: &[Arg], scope: &Scope) {
        let code = match body.strip_prefix('!') {
            Some(code) => format!("{code}{}", quoted_line(rest)),
            None => format!("git {body}{}", quoted_line(rest)),
        };
        self.run(&code, scope);
    }

    /// `git config name value`: from here on git does that.
    fn git_config(&mut self, rest: &[Arg], scope: &mut Scope, inner: &Scope) {
        let named = rest.iter().position(|arg| !arg.text.starts_with('-') && arg.text.contains('.'));
        let Some((name, body)) = named.and_then(|at| Some((rest.get(at)?, rest.get(at + 1)?))) else {
            return;
        };
        let key = name.text.to_ascii_lowercase();
        if let Some(name) = key.strip_prefix("alias.") {
            scope.alias(&format!("git {name}"), &body.text);
        }
        self.git_setting(&key, &body.text, inner);
    }

    /// The project's hooks: the agent may have written them.
    fn git_hooks(&mut self, subcommand: &str, rest: &[Arg], scope: &Scope) {
        let Some((_, hooks)) = HOOKS.iter().find(|(name, _)| *name == subcommand) else { return };
        let is_without = |arg: &Arg| {
            arg.text == "--no-verify"
                || arg.text == "--dry-run"
                || (subcommand == "commit" && matches!(arg.text.as_str(), "-n" | "-an" | "-na"))
        };
        if scope.is_remote || rest.iter().any(is_without) {
            return;
        }
        let places = GIT_HOOK_FOLDERS
            .iter()
            .flat_map(|folder| hooks.iter().map(move |hook| format!("{folder}/{hook}")));
        for path in places {
            let place = scope.place(&path);
            if self.files.contains_key(&place) {
                self.run_candidate(&path, &[], None, scope);
            } else {
                self.note(Listed::Hook, &place);
            }
        }
    }
}
