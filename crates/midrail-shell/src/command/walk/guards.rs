//! What a line does to the guardrails of agents by way of other programs: it starts an agent without its settings, or removes
//! Midrail's package.

use midrail_core::{Danger, Severity};

use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::programs;
use super::super::scope::Scope;
use super::flow::{base_name, command_line};
use super::state::Walk;
use crate::words::shell::{PACKAGE_MANAGERS, PACKAGE_REMOVALS};

impl Walk {
    /// Reports a program that disables the guardrails of an agent.
    pub(super) fn report_disabled_guards(&mut self, invocation: &Invocation, scope: &Scope) {
        if scope.is_remote {
            return;
        }
        let variables = programs::row(&invocation.program).settings_variables;
        let is_set =
            |name: &&&str| scope.items(name).is_some_and(|items| items.iter().any(|it| !it.text.is_empty()));
        let command = || command_line(&invocation.program, &invocation.args);
        if let Some(name) = variables.iter().find(is_set) {
            let reason = format!("`{name}` starts an agent without the settings that call its guardrails");
            self.report("midrail-agent", Severity::Critical, reason, "start it as it is set up", &command());
        }
        if !variables.is_empty() {
            self.report_agent_elsewhere(invocation, scope);
        }
        if removes_package(invocation) {
            let reason = "removes the agent's guardrails".to_owned();
            let safer = "report to the user what blocks you";
            self.report("midrail-remove", Severity::Critical, reason, safer, &command());
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

/// `npm uninstall -g midrail`
fn removes_package(invocation: &Invocation) -> bool {
    let has = |test: &dyn Fn(&str) -> bool| invocation.args.iter().any(|arg: &Arg| test(&arg.text));
    PACKAGE_MANAGERS.contains(&invocation.program.as_str())
        && has(&|word| PACKAGE_REMOVALS.contains(&word))
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
