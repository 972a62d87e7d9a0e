//! Variables that make programs run or load code. However a variable gets its value, it is judged here.

use midrail_core::{Danger, Severity};

use super::super::ast::is_name_byte;
use super::super::invocation::Arg;
use super::super::scope::{Scope, join};
use super::flow::PLAIN;
use super::state::{Listed, Walk};
use crate::words::places::PROGRAM_FOLDERS;
use crate::words::shell::{
    CODE_VARIABLES, LIBRARY_VARIABLES, LOADING_VARIABLES, PROMPTS, PROXY_VARIABLES, SEARCH_VARIABLES,
    TOOL_VARIABLES,
};

/// Whether a variable names the program that cargo starts for a target: `CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER`.
fn is_tool_of_target(name: &str) -> bool {
    name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"))
}

impl Walk {
    /// Judges the variables that were set since the last time.
    pub(super) fn judge_variables(&mut self, scope: &Scope) {
        for (name, value) in scope.take_assigned() {
            if !self.analysis.sets.contains(&name) {
                self.analysis.sets.push(name.clone());
            }
            self.loading_variable(&name, &value, scope);
            self.code_variable(&name, &value, scope);
            self.proxy_variable(&name, &value);
        }
    }

    /// A variable is set that some program will run: `GIT_SSH_COMMAND=…`.
    fn code_variable(&mut self, name: &str, value: &Arg, scope: &Scope) {
        let code = value.text.as_str();
        if name.starts_with("BASH_FUNC_") {
            // A function that every `bash` below has.
            self.run(code.trim_start_matches(['(', ')', ' ']), scope);
        } else if let Some(place) =
            name.strip_prefix("GIT_CONFIG_VALUE_").or_else(|| name.strip_prefix("GIT_CONFIG_KEY_"))
        {
            let known = |name: String| scope.first_value(&name).map(|arg| arg.text.clone());
            let key = known(format!("GIT_CONFIG_KEY_{place}")).unwrap_or_default();
            let value = known(format!("GIT_CONFIG_VALUE_{place}")).unwrap_or_default();
            self.git_variable(&key, &value, scope);
        } else if name == "GIT_CONFIG_PARAMETERS" {
            for setting in code.split('\'').filter(|setting| !setting.trim().is_empty()) {
                let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                self.git_variable(key, value, scope);
            }
        } else if PROMPTS.contains(name) {
            if code.contains(['$', '`']) {
                self.run(&format!(": \"{}\"", code.replace('"', "\\\"")), scope);
            }
        } else if TOOL_VARIABLES.contains(name) {
            self.run(code, scope);
        } else if CODE_VARIABLES.contains(name) || is_tool_of_target(name) {
            let code = code.trim_start_matches('|');
            self.run(code, scope);
            let program = code.split_whitespace().next().unwrap_or("");
            if program.contains('/')
                && value.is_known()
                && !is_of_system(program)
                && !program.starts_with('~')
            {
                self.report_variable(name, value, scope);
            }
        }
    }

    /// A variable is set that sends what programs fetch over another host: `ALL_PROXY=…`.
    fn proxy_variable(&mut self, name: &str, value: &Arg) {
        let is_proxy = PROXY_VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_proxy || value.text.is_empty() {
            return;
        }
        let address = value.text.split_once("://").map_or(value.text.as_str(), |(_, address)| address);
        let address = address.rsplit_once('@').map_or(address, |(_, address)| address);
        let host = address.split([':', '/']).next().unwrap_or_default();
        if value.is_known() {
            self.note(Listed::Host, host);
        } else {
            self.analysis.has_unknown_hosts = true;
        }
    }

    /// A setting of git in a variable. An alias of it replaces a subcommand.
    fn git_variable(&mut self, key: &str, value: &str, scope: &Scope) {
        let setting = Arg::known(format!("{key}={value}")).quoted();
        let name = key.to_ascii_lowercase();
        let alias = name.strip_prefix("alias.").filter(|_| !value.is_empty()).unwrap_or("status");
        self.run(&format!("git -c {setting} {alias}"), scope);
    }

    /// A variable is set that makes programs load code: `LD_PRELOAD=…`, or a search path with a folder of the project.
    fn loading_variable(&mut self, name: &str, value: &Arg, scope: &Scope) {
        let text = value.text.as_str();
        let entries = LOADING_VARIABLES.iter().map(|entry| entry.split_once('=').unwrap_or((entry, "")));
        let mut marks = entries.filter(|(variable, _)| *variable == name).map(|(_, mark)| mark).peekable();
        let is_unseen = !self.is_script && has_unseen(name, value);
        let is_loading = match marks.peek() {
            Some(_) if is_unseen => true,
            _ => marks.any(|mark| match mark {
                "" => !text.split([':', ' ']).all(is_of_system),
                "/" => text.contains('/') && !text.split([':', ' ']).all(is_of_system),
                mark => text.contains(mark),
            }),
        };
        let finds_own = match name {
            "PATH" => text.split(':').any(is_own) || is_unseen,
            _ => SEARCH_VARIABLES.contains(name) && text.split(':').any(is_shared),
        };
        if (is_loading || finds_own) && !scope.is_remote {
            self.report_variable(name, value, scope);
        }
    }

    /// A library that the agent built is like a program that it built.
    fn report_variable(&mut self, name: &str, value: &Arg, scope: &Scope) {
        let libraries = value.text.split([':', ' ']).filter(|entry| !is_of_system(entry));
        let is_library = LIBRARY_VARIABLES.contains(name) && value.is_known();
        let targets: Vec<String> = libraries.filter(|_| is_library).map(|entry| scope.place(entry)).collect();
        let reason = format!("`{name}` makes other programs load code that the command line does not show");
        let harmless_own = !targets.is_empty();
        self.add_danger(Danger {
            targets,
            harmless_own,
            ..self.danger("opaque", Severity::Medium, reason, PLAIN, &format!("{name}={}", value.text))
        });
    }

    /// A variable is set whose name is not known: it may be any of them.
    pub(super) fn unknown_variable(&mut self, setting: &Arg) {
        if !self.is_script {
            let reason = "which variable is set is not known: some make programs load code";
            self.opaque_command(reason, &setting.text);
        }
    }
}

/// Whether an entry of a value is nothing but an unknown value, other than the variable itself: `PATH=$X`.
fn has_unseen(name: &str, value: &Arg) -> bool {
    let is_itself = |text: &str| {
        let inner = text.trim_start_matches(['$', '{']);
        inner.strip_prefix(name).is_some_and(|rest| !rest.bytes().next().is_some_and(is_name_byte))
    };
    value.unknown.iter().any(|range| {
        let before = value.text.get(..range.start).unwrap_or_default();
        let after = value.text.get(range.end..).unwrap_or_default();
        let is_whole = (before.is_empty() || before.ends_with([':', ' ']))
            && (after.is_empty() || after.starts_with([':', ' ']));
        is_whole && !value.text.get(range.clone()).is_some_and(is_itself)
    })
}

/// Whether a path is of the system: no agent writes there.
fn is_of_system(path: &str) -> bool {
    let path = join("", path);
    path.is_empty()
        || path == "/dev/null"
        || path.starts_with("/lib")
        || PROGRAM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a folder is one that every program may write into.
fn is_shared(folder: &str) -> bool {
    let folder = join("", folder);
    ["/tmp", "/var/tmp", "/dev/shm"]
        .iter()
        .filter_map(|shared| folder.strip_prefix(shared))
        .any(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a folder with programs may be of the project. One that ends as the folders of package managers do is not.
fn is_own(folder: &str) -> bool {
    let place = join("", folder);
    let is_elsewhere = place.starts_with(['~', '$', '`'])
        || PROGRAM_FOLDERS.iter().any(|known| format!("{place}/").starts_with(known));
    !is_elsewhere && !["bin", "shims", "Scripts"].iter().any(|end| place.ends_with(end))
}
