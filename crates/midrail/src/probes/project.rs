//! Facts about the project and the machine that packs can use in expressions: `git.dirty`, `kube.context`, `env.NAME`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use midrail_core::Fact;
use midrail_pack::yaml;
use serde_json::Value;

use super::{git, isolated_git};
use crate::error::{Available, Unavailable};
use crate::paths::read_limited;

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
        "git.dirty" => isolated_git::is_dirty(root)?.into(),
        "git.remote" => git::remote(root)?.unwrap_or_default().into(),
        "git.ahead" => isolated_git::commits_ahead(root)?.into(),
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
        let failed = |why: String| Unavailable::new(format!("`{}` cannot be read: {why}", file.display()));
        let text = String::from_utf8(bytes).map_err(|_| failed("it is no text".to_owned()))?;
        if let Some(context) = current_context(&text).map_err(failed)? {
            return Ok(context);
        }
    }
    Ok(String::new())
}

/// The value of `current-context` in the settings of `kubectl`, as YAML or JSON. `None`: the file does not set it.
fn current_context(text: &str) -> Result<Option<String>, String> {
    let documents = yaml::parse(text).map_err(|problems| {
        problems.into_iter().next().map_or_else(|| "invalid YAML".to_owned(), |problem| problem.message)
    })?;
    let document = match documents.as_slice() {
        [] => return Ok(None),
        [document] => yaml::to_json(document),
        _ => return Err("it has several documents".to_owned()),
    };
    match &document {
        Value::Null => Ok(None),
        Value::Object(settings) => match settings.get("current-context") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(context)) => Ok(Some(context.clone()).filter(|context| !context.is_empty())),
            Some(_) => Err("`current-context` is no text".to_owned()),
        },
        _ => Err("it has no settings".to_owned()),
    }
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
            ("{\n  \"current-context\": \"x\"\n}", Some("x")),
            ("current-context: &a prod-eu\n", Some("prod-eu")),
            ("current-context: >-\n  prod-eu\n", Some("prod-eu")),
            ("current-context: !!str prod-eu\n", Some("prod-eu")),
            ("current-context: \"pr\\u006fd\"\n", Some("prod")),
            ("? current-context\n: prod\n", Some("prod")),
            ("note: |\n  current-context: dev\ncurrent-context: prod\n", Some("prod")),
            ("users:\n  - current-context: dev\ncurrent-context: prod\n", Some("prod")),
            ("note: \"a\n  current-context: dev\n  b\"\ncurrent-context: prod\n", Some("prod")),
            ("current-context: \"\"\n", None),
            ("current-context:\n", None),
            ("contexts: []\n", None),
            ("", None),
        ] {
            assert_eq!(current_context(text), Ok(context.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn settings_of_kubectl_that_cannot_be_read_are_unavailable() {
        for text in [
            "current-context: dev\n\tbroken: [",
            "current-context: dev\ncurrent-context: prod\n",
            "current-context: dev\n---\ncurrent-context: prod\n",
            "current-context: [prod]\n",
            "current-context: 1\n",
            "- current-context: dev\n",
            "dev",
        ] {
            assert!(current_context(text).is_err(), "{text}");
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
