//! Facts about the project and the machine that packs can use in expressions: `git.dirty`, `kube.context`, `env.NAME`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use midrail_core::Fact;
use serde_json::Value;

use super::command::{self, Exec};
use super::git;
use crate::error::{Available, Unavailable};
use crate::paths::read_limited;

/// The limit for git.
const GIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest file of settings that is read.
const MAX_SETTINGS: u64 = 1 << 20;

/// The longest value of a variable.
const MAX_VALUE: usize = 1_024;

/// Variables that continuous integration sets.
const CI_VARIABLES: &[&str] =
    &["CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "JENKINS_URL", "TF_BUILD", "TEAMCITY_VERSION"];

/// The answer to a name of the vocabulary of expressions.
pub(crate) fn answer(root: &Path, name: &str) -> Available<Fact> {
    let value = match name {
        "git.dirty" => is_dirty(root)?.into(),
        "git.remote" => git::remote(root)?.unwrap_or_default().into(),
        "git.ahead" => commits_ahead(root)?,
        "kube.context" => kube_context()?.into(),
        "ci" => CI_VARIABLES.iter().any(|name| is_set(name)).into(),
        "host.name" => host_name()?.into(),
        _ => match name.strip_prefix("env.") {
            Some(variable) => variable_value(variable)?,
            None => return Err(Unavailable::new(format!("no probe answers `{name}`"))),
        },
    };
    Ok(Fact::Answer(value))
}

fn is_set(name: &str) -> bool {
    env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Whether there are changes that are not committed, or new files that are not ignored.
fn is_dirty(root: &Path) -> Available<bool> {
    let exec = run_git(root, "status --porcelain")?;
    if exec.exit_code == 0 { Ok(!exec.stdout.trim().is_empty()) } else { Err("git has no answer".into()) }
}

/// Runs git without what a repository can make it run.
fn run_git(root: &Path, args: &str) -> Available<Exec> {
    let line = format!("git --no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null {args}");
    command::exec(root, &line, GIT_TIMEOUT, &AtomicBool::new(false))
}

/// The number of commits that the upstream branch does not have. Null: there is none.
fn commits_ahead(root: &Path) -> Available<Value> {
    let exec = run_git(root, "rev-list --count '@{upstream}..HEAD'")?;
    Ok(if exec.exit_code == 0 { exec.stdout.trim().parse::<u64>().ok().into() } else { Value::Null })
}

/// The current context of `kubectl`. Empty: there is none.
fn kube_context() -> Available<String> {
    let files: Vec<PathBuf> = match env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    };
    for file in files {
        let bytes = match read_limited(&file, MAX_SETTINGS) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(Unavailable::new(format!("`{}` is too large", file.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Unavailable::new(format!("`{}`: {error}", file.display()))),
        };
        // The first file that sets it counts.
        if let Some(context) = current_context(&String::from_utf8_lossy(&bytes)) {
            return Ok(context);
        }
    }
    Ok(String::new())
}

/// The value of `current-context` in the settings of `kubectl`, as YAML or JSON.
fn current_context(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| {
        let line = line.trim_start_matches(['{', ' ', '\t']);
        line.trim_start_matches('"').strip_prefix("current-context")
    })?;
    let value = line.trim_start_matches('"').trim_start().strip_prefix(':')?;
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_owned())
}

fn host_name() -> Available<String> {
    let from_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.or_else(|| env::var("HOSTNAME").ok()).map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty()).ok_or_else(|| "the machine has no name".into())
}

/// The value of a variable. Null: it is not set. A secret is not returned.
fn variable_value(name: &str) -> Available<Value> {
    let Some(value) = env::var_os(name) else { return Ok(Value::Null) };
    let value = value.into_string().map_err(|_| Unavailable::new(format!("${name} is no text")))?;
    if value.len() > MAX_VALUE {
        return Err(Unavailable::new(format!("${name} is longer than {MAX_VALUE} bytes")));
    }
    let found = midrail_scan::secrets::scan_json(&serde_json::json!({ name: value }), b"");
    if found.is_empty() { Ok(value.into()) } else { Err(Unavailable::new(format!("${name} holds a secret"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_context_is_read_from_yaml_and_json() {
        for (text, context) in [
            ("apiVersion: v1\ncurrent-context: prod-eu\nkind: Config\n", Some("prod-eu")),
            ("current-context: \"a b\"\n", Some("a b")),
            ("{\n  \"current-context\": \"x\",\n}", Some("x")),
            ("current-context: \"\"\n", None),
            ("contexts: []\n", None),
        ] {
            assert_eq!(current_context(text).as_deref(), context, "{text}");
        }
    }

    #[test]
    fn state_of_a_repository_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let git = |args: &[&str]| {
            let id = ["-c", "user.name=a", "-c", "user.email=a@b.c"];
            let run = std::process::Command::new("git").args(id).args(args).current_dir(root).output();
            assert!(run.unwrap().status.success(), "{args:?}");
        };
        let value = |name: &str| match answer(root, name) {
            Ok(Fact::Answer(value)) => value,
            other => panic!("{name}: {other:?}"),
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(root.join("a"), "a").unwrap();
        assert_eq!(value("git.dirty"), true);
        git(&["add", "."]);
        git(&["commit", "-qm", "x"]);
        assert_eq!(value("git.dirty"), false);
        assert_eq!(value("git.remote"), "");
        assert_eq!(value("git.ahead"), Value::Null);
        git(&["remote", "add", "origin", "https://example.com/a.git"]);
        assert_eq!(value("git.remote"), "https://example.com/a.git");
        assert!(answer(root, "unknown").is_err());
    }
}
