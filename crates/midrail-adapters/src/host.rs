//! What Midrail knows about a host: its hook events, adapter, setup, recorded sessions, permission rules, settings files
//! and tools.

pub(crate) mod event;
mod output;
mod payload;
pub(crate) mod result;

use std::path::{Path, PathBuf};
use std::time::Duration;

use midrail::core::ActionType;
use midrail::{Decision, Event};
use serde_json::Value;

pub use event::{Capabilities, HookEvent};
pub(crate) use event::{OnFailure, Registration, hook_event, modified_args};
pub use output::HookOutput;
pub(crate) use payload::set_agent;
pub use payload::{DecodeError, Decoded, Payload};

use crate::mentions;
use crate::policy::format::PolicyFormat;
use crate::policy::rule::FileScope;
use crate::setup::change::FileChange;
use crate::setup::check::{CheckResult, HookFile};
use crate::setup::command::{self, HookShell};
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files::SettingsResult;
use crate::setup::format::{HookSet, SettingsFormat};
use crate::setup::json;
use crate::transcripts::reader::Transcripts;

/// A program that runs agents and calls `midrail hook`.
pub struct HostSpec {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// The events for which it calls hooks, in the order in which `midrail init` registers them.
    pub hook_events: &'static [HookEvent],
    /// How long it waits for an answer if its settings do not say.
    pub timeout: Duration,
    /// Events for which it waits one second only.
    pub quick_events: &'static [&'static str],
    /// All its events, if it ignores a file that names another one.
    pub(crate) known_events: &'static [&'static str],
    /// Its protocol.
    pub adapter: &'static dyn Adapter,
    /// Its programs; the first one on the search path is used.
    pub programs: &'static [&'static str],
    /// The field of an answer that its user sees.
    pub user_message: Option<&'static str>,
    /// The variable with the file that its shell reads before each command, in a hook at the start of a session. It is used
    /// where the host cannot replace the output of a command that fails.
    pub environment_file: Option<&'static str>,
    /// Variables with which it runs no hooks.
    pub(crate) disabling_variables: &'static [&'static str],
    /// Further files of a project in which a setting can disable hooks.
    pub disabling_files: &'static [&'static str],
    /// The shell that runs its hooks.
    pub(crate) shell: HookShell,
    /// Whether it reads a settings file through a symbolic link.
    pub(crate) follows_links: bool,
    /// The first version that blocks a call if its hook exceeds the timeout.
    pub(crate) blocks_on_timeout_since: Option<[u64; 3]>,
    /// The settings that connect it to Midrail or could disconnect it, as globs.
    pub settings_files: &'static [&'static str],
    /// The files in which hooks are registered.
    pub files: HostFiles,
    /// A plugin with the same hooks, if the host has plugins.
    pub plugin: Option<HostPlugin>,
    /// How it is started with the hooks of one run; `None`: it reads hooks from its own settings only.
    pub(crate) trial: Option<HostTrial>,
    /// What it needs if it runs in a sandbox as a whole.
    pub sandbox: HostSandbox,
    /// How it is run for a test of the hooks; `None`: not without its own servers.
    pub(crate) live: Option<LiveTest>,
    /// What the user has to know after hooks were registered.
    pub(crate) remarks: &'static [(InstallScope, &'static str)],
    /// Its tools, by what they do.
    pub tools: &'static [(ActionType, &'static [&'static str])],
    /// Its permission rules.
    pub policy: &'static PolicyFormat,
    /// How its recorded sessions are read.
    pub transcripts: Option<Transcripts>,
    pub(crate) setup: Setup,
}

/// The protocol of a host.
pub trait Adapter: Sync {
    /// Fills an event from the payload. Host and kind are set already.
    fn decode(&self, hook_event: &HookEvent, payload: &Payload, event: &mut Event) -> Decoded;

    /// The event itself, or what it is for some payloads.
    fn variant(&self, hook_event: &'static HookEvent, _: &Payload) -> &'static HookEvent {
        hook_event
    }

    /// The reads of files that the host adds to a prompt without a tool call. Each is decided like a call.
    fn attachments(&self, payload: &Payload) -> Vec<Event> {
        mentions::reads(payload.text("prompt").unwrap_or_default())
    }

    /// The host's answer for a decision.
    fn encode(&self, hook_event: &HookEvent, payload: &Payload, decision: &Decision) -> HookOutput;

    /// The answer to an unknown event, or to one that needs none.
    fn allow(&self) -> HookOutput {
        HookOutput::default()
    }

    /// The answer if no decision could be made. It blocks what the host can block.
    fn refuse(&self, _: Option<&HookEvent>, reason: &str) -> HookOutput {
        HookOutput::refusal(reason)
    }

    /// Whether the agent wants to stop after a hook has already made it continue.
    fn is_continuation(&self, payload: &Payload) -> bool {
        payload.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// How hooks are installed into a host and checked.
pub(crate) struct Setup {
    pub(crate) format: fn(InstallScope) -> &'static dyn SettingsFormat,
    /// The fields of one registration.
    pub(crate) handler: fn(&HookEvent, Registration, command: String) -> Vec<(&'static str, Value)>,
    /// How hooks become trusted, if registering them is not enough.
    pub(crate) trust: Option<Trust>,
    /// Checks that the host runs the registered hooks.
    pub(crate) check: fn(&Installation<'_>) -> Vec<CheckResult>,
    /// Files that disable hooks, each with the setting.
    pub(crate) disabled_in: fn(&Installation<'_>) -> Vec<(PathBuf, &'static str)>,
    /// The payload of a shell command, as JSON with `@COMMAND@` and `@FOLDER@`.
    pub(crate) probe: &'static str,
    /// Whether the host blocks a call for an answer.
    pub(crate) is_denial: fn(&Value) -> bool,
}

/// The files of a host.
#[derive(Debug)]
pub struct HostFiles {
    /// The folder of a user: a variable that moves it, its default below the home, and a folder below that.
    pub folder: (&'static str, &'static str, &'static str),
    /// Files in a project that show that the host is used.
    pub traces: &'static [&'static str],
    /// Where hooks are registered in a project.
    pub project: &'static str,
    /// Where hooks are registered below the folder of a user.
    pub user: &'static str,
    /// Where hooks are registered below `/etc`; empty if the host has no settings for a whole machine.
    pub managed: &'static str,
    /// The same below `/Library/Application Support` on macOS; empty if it is `/etc`.
    pub managed_macos: &'static str,
}

/// A plugin of a host, or a file with the same purpose.
#[derive(Debug)]
pub struct HostPlugin {
    /// The file with hooks.
    pub(crate) hooks: &'static str,
    /// The file that describes the plugin; empty if it needs none.
    pub(crate) manifest: &'static str,
    /// How a user activates the plugin in `DIR`.
    pub activation: &'static str,
}

/// A start of a host with hooks that are installed nowhere. `@DIR@` is a folder of this run.
#[derive(Debug)]
pub(crate) struct HostTrial {
    /// The file with hooks in that folder; empty: the files of the plugin.
    pub(crate) file: &'static str,
    /// What the file contains besides hooks.
    pub(crate) text: &'static str,
    /// The first arguments.
    pub(crate) args: &'static [&'static str],
    pub(crate) env: &'static [(&'static str, &'static str)],
}

/// What a host needs in a sandbox besides its project.
#[derive(Debug)]
pub struct HostSandbox {
    /// Its own files and folders below the home of a user.
    pub state: &'static [&'static str],
    /// The variables with the keys of its service.
    pub keep: &'static [&'static str],
}

/// A run of a host against a scripted model. `@URL@`, `@PROMPT@`, `@PROJECT@` and `"@COMMAND@"` are replaced.
pub(crate) struct LiveTest {
    pub(crate) args: &'static [&'static str],
    /// Its tool for shell commands, and the arguments of the call, as JSON.
    pub(crate) tool: &'static str,
    pub(crate) input: &'static str,
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Settings below the temporary folder, as JSON.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

impl HostFiles {
    /// The folder of the user.
    pub(crate) fn folder(&self, env: &Environment) -> PathBuf {
        env.user_folder(self.folder)
    }

    /// The file in which hooks are registered. `None`: the host has no such scope.
    pub(crate) fn at(&self, env: &Environment, scope: InstallScope) -> Option<PathBuf> {
        match scope {
            InstallScope::Project => Some(env.project.join(self.project)),
            InstallScope::User => Some(self.folder(env).join(self.user)),
            InstallScope::Managed if cfg!(target_os = "macos") && !self.managed_macos.is_empty() => {
                Some(env.root.join("Library/Application Support").join(self.managed_macos))
            }
            InstallScope::Managed => {
                (!self.managed.is_empty()).then(|| env.root.join("etc").join(self.managed))
            }
        }
    }
}

/// How a host is made to trust hooks.
pub(crate) struct Trust {
    /// What the user has to do, with or without `--trust`.
    pub(crate) remarks: fn(&HostSpec, &Environment, InstallScope, is_granted: bool) -> Vec<String>,
    /// What `--trust` will write, before hooks are registered.
    pub(crate) preview: &'static str,
    /// Trusts the registered hooks.
    pub(crate) grant: fn(&HostSpec, &Environment) -> SettingsResult<Option<FileChange>>,
    /// Removes the trust in the hooks of a file.
    pub(crate) revoke: fn(&HostSpec, hooks: &Path, &Environment) -> SettingsResult<Option<FileChange>>,
}

/// The hooks that are registered with a host on this machine.
pub(crate) struct Installation<'i> {
    pub(crate) files: &'i [HookFile],
    pub(crate) program: Option<&'i Path>,
    pub(crate) env: &'i Environment,
    pub(crate) host: &'i HostSpec,
}

impl Installation<'_> {
    /// The further files of the project in which a setting can disable hooks.
    pub(crate) fn disabling_files(&self) -> Vec<PathBuf> {
        self.host.disabling_files.iter().map(|file| self.env.project.join(file)).collect()
    }

    pub(crate) fn is_project_only(&self) -> bool {
        self.files.iter().all(|file| file.scope == InstallScope::Project)
    }
}

impl HostSpec {
    /// The event of a name.
    pub fn hook_event(&self, name: &str) -> Option<&'static HookEvent> {
        self.hook_events.iter().find(|hook_event| hook_event.name == name)
    }

    /// How long the host waits for an answer to an event.
    pub fn timeout_for(&self, event: Option<&str>) -> Duration {
        if event.is_some_and(|event| self.quick_events.contains(&event)) {
            Duration::from_secs(1)
        } else {
            self.timeout
        }
    }

    /// Whether the host is installed, or set up for this project or user.
    pub fn is_present(&self, env: &Environment) -> bool {
        self.program(env).is_some() || self.traces(env).iter().any(|trace| trace.exists())
    }

    /// What `midrail init --trust` will write once hooks are registered. `None`: hooks need no trust.
    pub fn trust_preview(&self) -> Option<&'static str> {
        self.setup.trust.as_ref().map(|trust| trust.preview)
    }

    /// Whether a name, or the name of a program, is that of this host.
    pub fn has_name(&self, name: &str) -> bool {
        self.name == name || self.programs.contains(&name)
    }

    /// The folder of recorded sessions.
    pub fn recordings(&self, env: &Environment) -> Option<PathBuf> {
        self.transcripts.map(|transcripts| self.files.folder(env).join(transcripts.folder))
    }

    /// The files in which it looks for permission rules, the highest scope first. A path that ends in `*.EXTENSION` stands
    /// for all such files of a folder. Some of them may not exist.
    pub fn policy_files(&self, env: &Environment) -> Vec<(FileScope, PathBuf)> {
        let user = env.user_folder(self.policy.user_folder.unwrap_or(self.files.folder));
        let below = |scope| match scope {
            FileScope::Managed => env.root.join("etc"),
            FileScope::Local | FileScope::Project => env.project.clone(),
            FileScope::User => user.clone(),
        };
        self.policy.files.iter().map(|(scope, file)| (*scope, below(*scope).join(file))).collect()
    }

    pub(crate) fn program(&self, env: &Environment) -> Option<PathBuf> {
        self.programs.iter().find_map(|name| env.on_path(name))
    }

    /// Files and folders that show that the host is used.
    pub(crate) fn traces(&self, env: &Environment) -> Vec<PathBuf> {
        let project = self.files.traces.iter().map(|trace| env.project.join(trace));
        project.chain([self.files.folder(env)]).collect()
    }

    /// The files in which hooks can be registered.
    pub(crate) fn settings(&self, env: &Environment) -> Vec<(InstallScope, PathBuf)> {
        let file = |scope| Some((scope, self.files.at(env, scope)?));
        InstallScope::ALL.into_iter().filter_map(file).collect()
    }

    /// The events that `midrail init` registers.
    pub(crate) fn registrations(&self) -> impl Iterator<Item = (&'static HookEvent, Registration)> {
        self.hook_events.iter().filter_map(|hook_event| Some((hook_event, hook_event.registration?)))
    }

    /// The registration of an event: the fields of a hook that runs a program.
    pub(crate) fn handler(
        &self,
        (hook_event, registration): (&HookEvent, Registration),
        program: &str,
    ) -> Vec<(&'static str, Value)> {
        let line = command::line(program, self.name, hook_event.name, registration, self.shell);
        (self.setup.handler)(hook_event, registration, line)
    }

    /// A settings file with hooks that run a program.
    pub(crate) fn install(&self, scope: InstallScope, text: &str, program: &str) -> SettingsResult<String> {
        let hooks = self.registrations().map(|it| (it.0.name, self.handler(it, program))).collect();
        let installed =
            (self.setup.format)(scope).install(text, &HookSet { host: self.name, program, hooks })?;
        self.check(scope, text)?;
        Ok(installed)
    }

    /// Rejects a file that the host itself would ignore.
    pub(crate) fn check(&self, scope: InstallScope, text: &str) -> SettingsResult {
        (self.setup.format)(scope).check(text).map_err(|mut error| {
            error.message.push_str(&format!(", and {} ignores such a file", self.title));
            error
        })
    }

    /// A settings file without Midrail's hooks; `None` if it has none. Containers that `before` had stay.
    pub(crate) fn remove(
        &self,
        scope: InstallScope,
        text: &str,
        before: Option<&str>,
    ) -> SettingsResult<Option<String>> {
        (self.setup.format)(scope).remove(text, self.name, before)
    }

    /// Midrail's hooks in a settings file: event and registration.
    pub(crate) fn registered(&self, scope: InstallScope, text: &str) -> SettingsResult<Vec<(String, Value)>> {
        let format = (self.setup.format)(scope);
        if let Some(program) = format.plugin_program(text) {
            let hook = |it: (&HookEvent, Registration)| {
                (it.0.name.to_owned(), json::as_value(&self.handler(it, &program)))
            };
            return Ok(self.registrations().map(hook).collect());
        }
        format.registered(text, self.name)
    }
}

impl PartialEq for HostSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for HostSpec {}

impl std::fmt::Debug for HostSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}
