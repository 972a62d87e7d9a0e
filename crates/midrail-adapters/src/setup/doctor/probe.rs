//! Runs the registered commands with a call that must be blocked and one that must be allowed, in a temporary state
//! directory.

use std::process::Command;
use std::time::Duration;

use midrail::EventKind;
use serde_json::Value;

use crate::host::HostSpec;
use crate::setup::check::{CheckResult, HookFile};
use crate::setup::command::{HookShell, quote};
use crate::setup::environment::Environment;
use crate::setup::process::{self, ProcessError, ProcessOutput};

/// The time limit. No approver is involved.
const LIMIT: Duration = Duration::from_secs(20);

const DESTRUCTIVE: &str = "rm -rf ~";
const FORMATTING: &str = "mkfs.ext4 /dev/sda1";
const HARMLESS: &str = "echo hello";

/// Texts of answers that no guardrail gave: those of the shell around the program, and of the program itself.
const NO_ANSWER: [&str; 2] = ["Midrail did not answer", "Midrail could not decide"];

const ALLOWED: &str = "the packs here allow it: see `midrail policy`, and remove `extends: none` or what disables the guardrail";

/// What a host does for an answer.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Blocks,
    Allows,
}

/// Why there is no valid answer.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("no temporary directory: {0}")]
    Directory(#[from] std::io::Error),
    #[error("{0}")]
    NoAnswer(String),
    #[error("it blocks without a reason, which some hosts ignore")]
    NoReason,
    #[error("its answer is not JSON: {0}")]
    NotJson(String),
    #[error("it ended with {0:?}: {1}")]
    Failed(Option<i32>, String),
}

/// Tries the commands of all files.
pub(super) fn check(host: &HostSpec, files: &[HookFile], env: &Environment) -> Vec<CheckResult> {
    let mut calls = host.registrations().filter(|(event, _)| event.kind == EventKind::BeforeTool);
    let Some((event, _)) = calls.next() else { return Vec::new() };
    let mut commands: Vec<&str> = files.iter().filter_map(|file| file.command(event.name)).collect();
    commands.sort_unstable();
    commands.dedup();
    commands.into_iter().flat_map(|command| try_command(host, command, env)).collect()
}

fn try_command(host: &HostSpec, command: &str, env: &Environment) -> Vec<CheckResult> {
    let unanswered = |error: ProbeError| {
        CheckResult::bad(
            format!("the hook does not answer, so every action is blocked: {error}"),
            "run `midrail policy` and `midrail check` here for details",
        )
    };
    let destructive = match probe(host, command, DESTRUCTIVE, env) {
        Ok(Answer::Blocks) => {
            CheckResult::good(format!("`{DESTRUCTIVE}` is blocked, in {}'s own format", host.title))
        }
        Ok(Answer::Allows) => CheckResult::bad(format!("`{DESTRUCTIVE}` would be allowed"), ALLOWED),
        Err(error) => return vec![unanswered(error)],
    };
    // No pack can allow deleting the home folder; the rest depends on the packs.
    let formatting = match probe(host, command, FORMATTING, env) {
        Ok(Answer::Blocks) => None,
        Ok(Answer::Allows) => Some(CheckResult::bad(format!("`{FORMATTING}` would be allowed"), ALLOWED)),
        Err(error) => Some(unanswered(error)),
    };
    let harmless = match probe(host, command, HARMLESS, env) {
        Ok(Answer::Allows) => CheckResult::good(format!("`{HARMLESS}` is allowed")),
        Ok(Answer::Blocks) => CheckResult::caution(
            format!("`{HARMLESS}` is blocked, too"),
            "the packs here require it: see `midrail policy`",
        ),
        Err(error) => unanswered(error),
    };
    [Some(destructive), formatting, Some(harmless)].into_iter().flatten().collect()
}

fn probe(host: &HostSpec, command: &str, line: &str, env: &Environment) -> Result<Answer, ProbeError> {
    let scratch = tempfile::tempdir()?;
    let home = scratch.path();
    let mut variables = vec![("HOME", home.to_owned())];
    let folders = ["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"];
    variables.extend(folders.map(|name| (name, home.join(name))));
    // The user's packs apply as usual.
    variables.push(("XDG_CONFIG_HOME", env.config.clone()));
    let mut shell = match &env.shell {
        // The user's profile can change the search path.
        Some(shell) if host.shell == HookShell::Login => {
            let variables: Vec<String> =
                variables.iter().map(|(name, path)| quote(&format!("{name}={}", path.display()))).collect();
            let line = format!("exec env {} sh -c {}", variables.join(" "), quote(command));
            let mut shell = Command::new(shell);
            shell.args(["-lc", &line]).env("HOME", &env.home);
            shell
        }
        _ => {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).envs(variables);
            shell
        }
    };
    shell.current_dir(home);
    if let Some(path) = &env.path {
        shell.env("PATH", path);
    }
    let folder = Value::from(env.project.display().to_string()).to_string();
    let payload = host.setup.probe.replace("\"@COMMAND@\"", &Value::from(line).to_string());
    read_answer(host, &process::run(&mut shell, &payload.replace("\"@FOLDER@\"", &folder), LIMIT)?)
}

/// Reads an answer as the host does.
fn read_answer(host: &HostSpec, output: &ProcessOutput) -> Result<Answer, ProbeError> {
    let (stdout, stderr) = (output.stdout.as_str(), output.stderr.as_str());
    let first = |text: &str| text.lines().next().unwrap_or_default().chars().take(200).collect::<String>();
    let has_no_answer = |text: &str| NO_ANSWER.iter().any(|message| text.contains(message));
    if has_no_answer(stderr) || has_no_answer(stdout) || stderr.starts_with("error:") {
        let line = stderr.lines().chain(stdout.lines()).find(|line| !line.trim().is_empty());
        return Err(ProbeError::NoAnswer(first(line.unwrap_or_default())));
    }
    match output.code {
        Some(2) if stderr.trim().is_empty() => Err(ProbeError::NoReason),
        Some(2) => Ok(Answer::Blocks),
        Some(0) if stdout.trim().is_empty() => Ok(Answer::Allows),
        Some(0) => {
            let answer: Value =
                serde_json::from_str(stdout.trim()).map_err(|_| ProbeError::NotJson(first(stdout)))?;
            Ok(if (host.setup.is_denial)(&answer) { Answer::Blocks } else { Answer::Allows })
        }
        code => Err(ProbeError::Failed(code, first(stderr))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    fn answer(host: &str, code: i32, stdout: &str, stderr: &str) -> Result<Answer, ProbeError> {
        let output = ProcessOutput { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        read_answer(hosts::find(host).unwrap(), &output)
    }

    #[test]
    fn answer_counts_only_in_the_format_of_the_host() {
        let claude = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}"#;
        assert_eq!(answer("claude-code", 0, claude, "").unwrap(), Answer::Blocks);
        assert_eq!(answer("codex", 0, claude, "").unwrap(), Answer::Blocks);
        for host in ["gemini-cli", "copilot-cli", "cursor"] {
            assert_eq!(answer(host, 0, claude, "").unwrap(), Answer::Allows, "{host}");
        }
        let without_reason = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
        assert_eq!(answer("codex", 0, without_reason, "").unwrap(), Answer::Allows);
        for host in hosts::ALL.iter().map(|host| host.name) {
            assert_eq!(answer(host, 2, "", "no").unwrap(), Answer::Blocks, "{host}");
            assert_eq!(answer(host, 0, "", "").unwrap(), Answer::Allows, "{host}");
            assert!(answer(host, 2, "", "").is_err());
            assert!(answer(host, 1, "", "").is_err());
            let unanswered = answer(host, 2, "", "Midrail did not answer, so this is blocked.");
            assert!(matches!(unanswered, Err(ProbeError::NoAnswer(_))), "{host}");
            let misread = answer(host, 2, "", "error: invalid value 'x' for '<HOST>'");
            assert!(matches!(misread, Err(ProbeError::NoAnswer(_))), "{host}");
        }
    }
}
