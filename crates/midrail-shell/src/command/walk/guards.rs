//! What a line does to the guardrails of agents by way of other programs: it starts an agent without its settings, or removes
//! Midrail's package.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use midrail_core::{Danger, Severity};

use super::super::condition::does;
use super::super::invocation::{Arg, Invocation};
use super::super::named::is_place;
use super::super::options::Arguments;
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::windows;
use super::flow::{base_name, command_line};
use super::origins::target_folder;
use super::state::Walk;
use crate::tables::PROGRAMS;
use crate::words::shell::{
    AGENT_PACKAGES, GIT_REDIRECTIONS, HOOK_COMMANDS, ISOLATORS, PACKAGE_INSTALLS, PACKAGE_MANAGERS,
    PACKAGE_PROGRAMS, PACKAGE_REMOVALS, PROCESS_CHANGERS, PROJECT_MANAGERS,
};

/// The rule for an agent with other settings.
const SETTINGS: &str = "midrail-agent-settings";

/// What to do instead of changing settings.
const REPORT: &str = "report to the user which change you need";

impl Walk {
    /// Reports a program that disables the guardrails of an agent.
    pub(super) fn report_disabled_guards(&mut self, invocation: &Invocation, scope: &Scope) {
        if scope.is_remote {
            return;
        }
        let variables = invocation.row().settings_variables;
        let is_set =
            |name: &&&str| scope.items(name).is_some_and(|items| items.iter().any(|it| !it.text.is_empty()));
        let command = || command_line(&invocation.program, &invocation.args);
        if let Some(name) = variables.iter().find(is_set) {
            let reason = format!("`{name}` starts an agent without the settings that call its guardrails");
            self.report("midrail-agent", Severity::Critical, reason, "start it as it is set up", &command());
        }
        if !variables.is_empty() {
            self.report_agent_elsewhere(invocation, scope);
            self.report_unknown_words(invocation);
        }
        if installs_package(invocation) {
            let reason = "replaces the agent's guardrails, or an agent that calls them".to_owned();
            self.report("midrail-install", Severity::Medium, reason, REPORT, &command());
        }
        if stops_midrail(invocation) {
            let reason = "stops the agent's guardrails".to_owned();
            self.report(
                "midrail-kill",
                Severity::Critical,
                reason,
                "name the process that you started",
                &command(),
            );
        }
        let is_parent = |arg: &Arg| !arg.is_known() && arg.text.contains("PPID");
        if PROCESS_CHANGERS.contains(invocation.program.as_str())
            && invocation.args.iter().any(is_parent)
            && !invocation.args.iter().any(|arg| arg.text == "-0")
        {
            let reason = "changes the process of the agent, which calls its guardrails".to_owned();
            self.report("midrail-agent-process", Severity::Medium, reason, REPORT, &command());
        }
        if let Some(name) = moved_settings(invocation) {
            let reason = format!("sets `{name}` for later sessions, which gives agents other settings");
            self.report(SETTINGS, Severity::Medium, reason, REPORT, &command());
        }
        if removes_package(invocation) {
            let reason = "removes the agent's guardrails".to_owned();
            let safer = "report to the user what blocks you";
            self.report("midrail-remove", Severity::Critical, reason, safer, &command());
        }
    }
}

impl Walk {
    /// `claude $FLAGS -p x`: a word that is not known, where an option can be.
    fn report_unknown_words(&mut self, invocation: &Invocation) {
        let args = invocation.args.as_slice();
        let is_option =
            |at: Option<usize>| at.and_then(|at| args.get(at)).is_some_and(|it| it.text.starts_with('-'));
        let hides = |(at, arg): (usize, &Arg)| {
            arg.begins_unknown() && at + 1 < args.len() && !is_option(at.checked_sub(1))
        };
        if args.iter().enumerate().any(hides) {
            let reason = "starts an agent with options that the command line does not show".to_owned();
            let command = command_line(&invocation.program, args);
            self.report(SETTINGS, Severity::Medium, reason, "write the options in the command", &command);
        }
    }

    /// `bwrap --tmpfs ~/.claude claude`: an agent that may not find its settings.
    pub(super) fn report_hidden_settings(&mut self, invocation: &Invocation, inner: Option<&Arg>) {
        let is_agent = |name: &Arg| !programs::row(base_name(&name.text)).settings_variables.is_empty();
        if ISOLATORS.contains(invocation.program.as_str()) && inner.is_some_and(is_agent) {
            let reason =
                "starts an agent where the settings that call its guardrails may be hidden".to_owned();
            let command = command_line(&invocation.program, &invocation.args);
            self.report(SETTINGS, Severity::Medium, reason, "start it as it is set up", &command);
        }
    }

    /// A setting of git that makes it write elsewhere, or read other settings. However it is set, it is judged here.
    pub(super) fn report_git_setting(&mut self, key: &str, value: &str, scope: &Scope) {
        let is_it = |known: &&str| key == *known || (known.ends_with('.') && key.starts_with(known));
        if scope.is_remote || value.is_empty() || !GIT_REDIRECTIONS.iter().any(is_it) {
            return;
        }
        let reason =
            format!("`{key}` makes git change files elsewhere, or follow settings that are not shown");
        self.report(
            "midrail-git-setting",
            Severity::Medium,
            reason,
            REPORT,
            &format!("git config {key} {value}"),
        );
    }

    /// An archive is unpacked, under names that the command line does not show.
    pub(super) fn report_unpacking(&mut self, invocation: &Invocation, scope: &Scope) {
        // `python3 -m tarfile`
        let module =
            invocation.args.split_first().filter(|(option, _)| option.text == "-m").map(|(_, rest)| rest);
        let module = module.and_then(<[Arg]>::split_first);
        let module = module.map(|(name, args)| self.invocation(&name.text, args.to_vec(), scope));
        let invocation = module.as_ref().unwrap_or(invocation);
        if scope.is_remote || !does(invocation, Tag::Unpacks) {
            return;
        }
        let mut folders: Vec<String> = match target_folder(invocation) {
            Some(folder) => vec![folder],
            None => invocation
                .args
                .iter()
                .map(|arg| value_of(&arg.text).to_owned())
                .chain([".".to_owned()])
                .collect(),
        };
        let is_absolute = |arg: &Arg| {
            arg.text == "--absolute-names"
                || (arg.text.contains('P') && !arg.text.contains(['/', '.']) && !arg.text.starts_with("--"))
        };
        if invocation.family() == "tar" && invocation.args.iter().any(is_absolute) {
            folders.push("/".to_owned());
        }
        let folders = folders.iter().filter(|folder| !folder.is_empty()).take(MAX_TARGETS);
        let targets: Vec<String> =
            folders.map(|folder| scope.place(folder)).filter(|it| may_hold_settings(it)).collect();
        if targets.is_empty() {
            return;
        }
        let danger = Danger {
            rule: "midrail-unpack".to_owned(),
            severity: Severity::Medium,
            reason: "unpacks files whose names are not shown where agents have their settings".to_owned(),
            safer: "unpack into a folder of its own".to_owned(),
            command: command_line(&invocation.program, &invocation.args),
            targets,
            start: self.span.0,
            end: self.span.1,
            ..Danger::default()
        };
        self.add_danger(danger);
    }

    /// Code of PowerShell: its commands, and the texts that are not followed.
    pub(super) fn powershell_code(&mut self, code: &str, scope: &Scope) {
        let named = self.named_in_code(code, scope);
        self.library_functions(code, scope);
        self.translated(windows::powershell(code), scope);
        self.report_named(named);
        let is_set = |name: &&str| code.contains(*name);
        if let Some(name) =
            settings_variables().find(is_set).filter(|_| code.contains("SetEnvironmentVariable"))
        {
            let reason = format!("sets `{name}` for later sessions, which gives agents other settings");
            self.report(SETTINGS, Severity::Medium, reason, REPORT, code);
        }
    }
}

/// `cd /tmp && claude -p …`, `codex -C /tmp exec …`: an agent in a folder in which its guardrails may not be registered.
impl Walk {
    fn report_agent_elsewhere(&mut self, invocation: &Invocation, scope: &Scope) {
        let sorted = Arguments::new(invocation);
        let named = sorted.values_of(&["-C", "--cd", "--cwd", "--workspace"]).last();
        let folder = scope.place(named.map_or(".", |folder| folder.text.as_str()));
        if matches!(folder.as_str(), "" | ".") {
            return;
        }
        let danger = Danger {
            rule: "midrail-agent-folder".to_owned(),
            severity: Severity::Medium,
            reason: format!("starts an agent in '{folder}', where its guardrails may not be registered"),
            safer: "start it in the folder of this session".to_owned(),
            command: command_line(&invocation.program, &invocation.args),
            targets: vec![folder],
            start: self.span.0,
            end: self.span.1,
            ..Danger::default()
        };
        self.add_danger(danger);
    }
}

/// No more folders of one call than this.
const MAX_TARGETS: usize = 16;

/// Whether a folder may be one with settings of agents, or above them.
fn may_hold_settings(folder: &str) -> bool {
    let homes = ["~", "$HOME", "${HOME}", "/home", "/Users", "/root"];
    folder == "/" || homes.iter().any(|home| folder.starts_with(home)) || is_place(folder)
}

/// The value in a word: after `=`, or after the letter of an option.
fn value_of(word: &str) -> &str {
    match word.split_once('=') {
        Some((_, value)) => value,
        None if word.starts_with('-') && !word.starts_with("--") => word.get(2..).unwrap_or_default(),
        None => word,
    }
}

/// The agent whose package a path or name is of: `node_modules/@anthropic-ai/claude-code/cli.js`.
pub(super) fn agent_of_package(path: &str) -> Option<&'static str> {
    let mut packages = PACKAGE_PROGRAMS.iter().filter_map(|entry| entry.split_once('='));
    packages.find(|(package, _)| path.contains(package)).map(|(_, agent)| agent)
}

/// The variables that move the settings of agents or the state of Midrail.
static VARIABLES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let names = PROGRAMS.values().flat_map(|row| row.settings_variables).copied();
    names.filter(|name| *name != "HOME").collect()
});

/// The variables that move the settings of agents or the state of Midrail.
pub(crate) fn settings_variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().copied()
}

/// The variable that a program sets for later sessions: `tmux set-environment -g CODEX_HOME /x`. Programs that set it for one
/// command only, or show it, are not meant.
fn moved_settings(invocation: &Invocation) -> Option<&'static str> {
    // Most words do not look like this.
    let may_be = |word: &str| word.contains('_') && word.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_other = || {
        let row = invocation.row();
        does(invocation, Tag::Reads)
            || invocation.is(Tag::Shell)
            || row.runs.iter().any(|run| run.assigns || run.remote)
            || !row.settings_variables.is_empty()
            || matches!(
                invocation.program.as_str(),
                "export" | "declare" | "typeset" | "printenv" | "systemd-run"
            )
    };
    let mut words =
        invocation.args.iter().map(|arg| arg.text.as_str()).filter(|word| may_be(word)).peekable();
    if words.peek().is_none() || is_other() {
        return None;
    }
    words.find_map(|word| {
        let name = word.split('=').next().unwrap_or(word).rsplit([' ', ':']).next().unwrap_or(word);
        settings_variables().find(|known| *known == name)
    })
}

/// `npm install -g @anthropic-ai/claude-code@1.0.0`
fn installs_package(invocation: &Invocation) -> bool {
    let program = invocation.program.as_str();
    let has = |test: &dyn Fn(&str) -> bool| invocation.args.iter().any(|arg: &Arg| test(&arg.text));
    let is_package = |word: &str| {
        let word = value_of(word);
        let name = base_name(word);
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        AGENT_PACKAGES.contains(name) && !word.starts_with('-')
    };
    let is_for_user = || match program {
        "cargo" => has(&|word| word == "install"),
        "uv" => has(&|word| word == "tool"),
        _ => !PROJECT_MANAGERS.contains(program) || has(&|word| matches!(word, "-g" | "--global" | "global")),
    };
    PACKAGE_MANAGERS.contains(program)
        && has(&|word| PACKAGE_INSTALLS.contains(word))
        && has(&is_package)
        && is_for_user()
}

/// `pkill mid`: a pattern that processes of Midrail match.
fn stops_midrail(invocation: &Invocation) -> bool {
    let is_pattern = match invocation.program.as_str() {
        "pkill" => true,
        "killall" => invocation.args.iter().any(|arg| matches!(arg.text.as_str(), "-r" | "--regexp")),
        _ => return false,
    };
    let sorted = Arguments::new(invocation);
    let names = if sorted.has(&["-f", "--full"]) { HOOK_COMMANDS.all() } else { &["midrail"] };
    let is_it = |pattern: &str| names_midrail(pattern) && names.iter().any(|name| may_match(pattern, name));
    is_pattern && sorted.operands.iter().any(|pattern| pattern.text.split('|').any(is_it))
}

/// Whether a pattern has a part of Midrail's name, or of the command of a hook. Others, such as `code`, are about other programs.
fn names_midrail(pattern: &str) -> bool {
    let is_part = |name: &str| name.len() > 2 && "midrail".contains(name) || name.contains("midrail");
    pattern.contains("hook ") || pieces(pattern).any(|piece| is_part(base_name(piece)))
}

/// The literal parts of a regular expression.
fn pieces(pattern: &str) -> impl Iterator<Item = &str> {
    pattern.split(|mark: char| ".*+?^$[]()\\{}".contains(mark)).filter(|it| !it.is_empty())
}

/// Whether a regular expression may match a text: its letters are in the text, in their order.
fn may_match(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    pieces(pattern).all(|piece| match rest.split_once(piece) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// `npm uninstall -g midrail`
fn removes_package(invocation: &Invocation) -> bool {
    let has = |test: &dyn Fn(&str) -> bool| invocation.args.iter().any(|arg: &Arg| test(&arg.text));
    PACKAGE_MANAGERS.contains(invocation.program.as_str())
        && has(&|word| PACKAGE_REMOVALS.contains(word))
        && has(&|word| matches!(base_name(word), "midrail" | "midrail-cli"))
}

#[cfg(test)]
mod tests {
    fn rules(command: &str) -> Vec<String> {
        crate::command::analyse(command).dangers.into_iter().map(|danger| danger.rule).collect()
    }

    #[test]
    fn an_agent_with_moved_settings_is_reported() {
        for command in [
            "CODEX_HOME=/tmp/x codex exec y",
            "env HOME=/tmp/x claude -p y",
            "export XDG_CONFIG_HOME=/tmp/x; opencode run y",
            "bash -c 'GEMINI_CLI_HOME=$(mktemp -d) gemini -p y'",
        ] {
            assert!(rules(command).contains(&"midrail-agent".to_owned()), "{command}");
        }
        for command in
            ["HOME=/tmp/x cargo test", "codex exec y", "CODEX_HOME=/tmp/x ls", "XDG_CONFIG_HOME=/tmp vim"]
        {
            assert!(!rules(command).contains(&"midrail-agent".to_owned()), "{command}");
        }
    }

    #[test]
    fn removing_the_package_is_reported() {
        for command in
            ["npm uninstall -g midrail", "cargo uninstall midrail-cli", "apt-get -y remove midrail"]
        {
            assert!(rules(command).contains(&"midrail-remove".to_owned()), "{command}");
        }
        for command in ["npm uninstall left-pad", "cargo install midrail-cli", "brew info midrail"] {
            assert!(!rules(command).contains(&"midrail-remove".to_owned()), "{command}");
        }
    }
}
