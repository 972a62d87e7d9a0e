//! Where calls can be made in a sandbox.

use std::path::Path;

use midrail_core::{Event, EventKind, Fact, HostLimit, SandboxLauncher};
use midrail_shell::action;

/// Starts the sandboxes of contained calls on this machine.
pub struct Sandboxes {
    /// The program that starts a sandbox, and its arguments. The id of the sandbox follows.
    command: Vec<String>,
    /// The shell for commands that are one text.
    shell: String,
    /// Whether the machine can enforce a sandbox for sessions in a folder.
    is_available: fn(Option<&Path>) -> bool,
}

impl Sandboxes {
    /// Sandboxes that a command starts: a program and its arguments, which the id of the sandbox follows. A command of a call that
    /// is one text runs in the shell. `is_available` says whether the machine can enforce a sandbox for sessions in a folder.
    pub fn new(
        command: Vec<String>,
        shell: impl Into<String>,
        is_available: fn(Option<&Path>) -> bool,
    ) -> Self {
        Sandboxes { command, shell: shell.into(), is_available }
    }

    /// How a call can be made in a sandbox.
    fn launcher(&self, event: &Event, root: Option<&Path>) -> Option<SandboxLauncher> {
        let limits = event.host.as_ref().map(|host| host.limits.as_slice()).unwrap_or_default();
        let can_change = event.kind == EventKind::BeforeTool && !limits.contains(&HostLimit::Redact);
        let tool = event.tool.as_ref().filter(|_| can_change)?;
        let argument = action::shell_argument(tool)?;
        (self.is_available)(root).then(|| SandboxLauncher {
            argument: argument.to_owned(),
            command: self.command.clone(),
            shell: self.shell.clone(),
        })
    }

    /// The fact about an event. Without sandboxes there is none.
    pub(crate) fn fact(sandboxes: Option<&Sandboxes>, event: &Event, root: Option<&Path>) -> Fact {
        Fact::Sandbox(sandboxes.and_then(|sandboxes| sandboxes.launcher(event, root)))
    }
}
