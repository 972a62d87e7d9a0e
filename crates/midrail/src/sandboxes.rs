//! Where calls can be made in a sandbox.

use std::path::Path;

use midrail_core::{Event, EventKind, Fact, HostLimit, SandboxLauncher};
use midrail_shell::action;

/// The sandboxes of contained calls on this machine.
pub struct Sandboxes(Box<FindStarter>);

type FindStarter = dyn Fn(Option<&Path>) -> Option<SandboxStarter> + Send + Sync;

/// How a sandbox is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxStarter {
    /// A program and its arguments. The id of the sandbox follows.
    pub command: Vec<String>,
    /// The shell for commands that are one text.
    pub shell: String,
}

impl Sandboxes {
    /// Sandboxes for sessions in a folder, if the machine can enforce them. It is called only for calls that have to be contained.
    pub fn new(find: impl Fn(Option<&Path>) -> Option<SandboxStarter> + Send + Sync + 'static) -> Self {
        Sandboxes(Box::new(find))
    }

    /// How a call can be made in a sandbox.
    fn launcher(&self, event: &Event, root: Option<&Path>) -> Option<SandboxLauncher> {
        let limits = event.host.as_ref().map(|host| host.limits.as_slice()).unwrap_or_default();
        let can_change = event.kind == EventKind::BeforeTool && !limits.contains(&HostLimit::Redact);
        let tool = event.tool.as_ref().filter(|_| can_change)?;
        let argument = action::shell_argument(tool)?.to_owned();
        let SandboxStarter { command, shell } = self.0(root)?;
        Some(SandboxLauncher { argument, command, shell })
    }

    /// The fact about an event. Without sandboxes there is none.
    pub(crate) fn fact(sandboxes: Option<&Sandboxes>, event: &Event, root: Option<&Path>) -> Fact {
        Fact::Sandbox(sandboxes.and_then(|sandboxes| sandboxes.launcher(event, root)))
    }
}
