//! `midrail doctor --live`: runs the host itself with the registered hooks, in a temporary home and project, against a
//! scripted model on loopback. The user's account, settings and projects are not used. The model requests a call that
//! Midrail must block: a write to a file of Midrail, which no pack can allow.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value};

use super::model::{ScriptedCall, ScriptedModel};
use crate::host::{HostSpec, LiveTest};
use crate::setup::check::{CheckResult, HookFile};
use crate::setup::environment::{Environment, InstallScope};
use crate::setup::files;
use crate::setup::process::{self, ProcessError};

/// How long a host may take to start, to call its hooks and to end.
const LIMIT: Duration = Duration::from_secs(180);

/// The file that the call would create, and the call.
const CREATED: &str = ".midrail/live-test.yaml";
const CALL: &str = "echo 'pack: live-test' > .midrail/live-test.yaml";

const PROMPT: &str = "This is a test of the installed hooks. Run the command that you were given.";

/// What of the settings is used: hooks, and what enables or disables them. Other settings could start programs of the
/// user, or use the account.
const USED: [&str; 6] = ["version", "hooks", "hooksConfig", "disableAllHooks", "features", "projects"];

/// Why the test could not be run.
#[derive(Debug, thiserror::Error)]
enum LiveError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the host did not use the scripted model: {0}")]
    NotReached(String),
    #[error("the host did not run the test to its end: {0}")]
    NotEnded(String),
}

/// The result of the test. `None`: the host cannot be run without its own servers.
pub(super) fn check(
    host: &HostSpec,
    files: &[HookFile],
    program: Option<&Path>,
    env: &Environment,
) -> Option<CheckResult> {
    let live = host.live.as_ref()?;
    let Some(program) = program else {
        let fix = format!("install {} and run this again", host.title);
        return Some(CheckResult::bad("the host could not be run: it is not installed", fix));
    };
    Some(match run(host, live, files, program, env) {
        Ok(true) => {
            CheckResult::good(format!("{} itself did not run a call that Midrail blocks", host.title))
        }
        Ok(false) => CheckResult::bad(
            format!("{} itself ran a call that Midrail must block", host.title),
            format!("run `midrail init --agent {}`, and check that no setting disables hooks", host.name),
        ),
        Err(error) => CheckResult::bad(
            format!("the test with {} itself could not be run: {error}", host.title),
            "run it without `--live` for the other checks",
        ),
    })
}

/// Whether the call was blocked.
fn run(
    host: &HostSpec,
    live: &LiveTest,
    registered: &[HookFile],
    program: &Path,
    env: &Environment,
) -> Result<bool, LiveError> {
    let scratch = tempfile::tempdir()?;
    let (home, project) = (scratch.path().join("home"), scratch.path().join("project"));
    for folder in [&home, &project.join(".midrail"), &project.join(".git")] {
        fs::create_dir_all(folder)?;
    }
    let input = live.input.replace("\"@COMMAND@\"", &Value::from(CALL).to_string());
    let input = serde_json::from_str(&input).unwrap_or_default();
    let model = ScriptedModel::start(ScriptedCall { name: live.tool.to_owned(), input })?;
    let copy = Environment::at(&project, &home);
    copy_settings(host, registered, env, &copy)?;
    let filled = |text: &str| {
        let text = text.replace("@URL@", &model.url).replace("@PROMPT@", PROMPT);
        text.replace("@PROJECT@", &project.display().to_string())
    };
    for (name, text) in live.files {
        merge(&scratch.path().join(name), &filled(text))?;
    }
    let mut command = Command::new(program);
    command.args(live.args.iter().map(|arg| filled(arg))).current_dir(&project).env_clear();
    let kept = ["PATH", "LANG", "SHELL", "USER", "NODE_EXTRA_CA_CERTS"];
    command.envs(kept.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
    command.env("HOME", &home).env("TMPDIR", scratch.path()).env("TERM", "dumb").env("NO_COLOR", "1");
    for (name, folder) in [
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_CACHE_HOME", ".cache"),
    ] {
        command.env(name, home.join(folder));
    }
    command.envs(live.env.iter().map(|(name, value)| (*name, filled(value))));
    let output = process::run(&mut command, "", LIMIT)?;
    let last = || {
        let lines = output.stderr.lines().chain(output.stdout.lines());
        let line = lines.rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        line.chars().take(200).collect::<String>()
    };
    if project.join(CREATED).exists() {
        return Ok(false);
    }
    if !model.is_reached() {
        return Err(LiveError::NotReached(last()));
    }
    // The refusal that the model receives names Midrail.
    if model.received("Midrail") { Ok(true) } else { Err(LiveError::NotEnded(last())) }
}

/// Copies the files with hooks to the temporary folders, with hooks only.
fn copy_settings(
    host: &HostSpec,
    registered: &[HookFile],
    env: &Environment,
    copy: &Environment,
) -> std::io::Result<()> {
    for file in registered.iter().filter(|file| file.scope != InstallScope::Managed) {
        if let Some(path) = host.files.at(copy, file.scope) {
            write(&path, &hooks_only(&file.text))?;
        }
    }
    // A host may keep there which hooks and projects it trusts, by their paths.
    let name = "config.toml";
    if let Ok(Some(text)) = files::read(&host.files.folder(env).join(name)) {
        let mut settings: toml_edit::DocumentMut = text.parse().unwrap_or_default();
        settings.retain(|key, _| USED.contains(&key));
        let places = [(&env.project, &copy.project), (&env.home, &copy.home)];
        let text = places.iter().fold(settings.to_string(), |text, (from, to)| {
            text.replace(&from.display().to_string(), &to.display().to_string())
        });
        write(&host.files.folder(copy).join(name), &text)?;
    }
    Ok(())
}

/// Settings without what does not concern hooks. A plugin is used as it is.
fn hooks_only(text: &str) -> String {
    match crate::setup::json::value(text) {
        Ok(Value::Object(mut settings)) => {
            settings.retain(|key, _| USED.contains(&key.as_str()));
            Value::Object(settings).to_string()
        }
        _ => text.to_owned(),
    }
}

/// Writes settings, in addition to what a file has.
fn merge(path: &PathBuf, text: &str) -> std::io::Result<()> {
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut settings = object(&fs::read_to_string(path).unwrap_or_default());
    settings.extend(object(text));
    write(path, &Value::Object(settings).to_string())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)
}
