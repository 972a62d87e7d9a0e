//! A call that must be stopped and one that must not, through the very command that is registered, with state of its own
//! so that no record of yours is touched.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::{CheckResult, Registered};
use crate::setup::agent::{Agent, Moment};
use crate::setup::command::quote;
use crate::setup::places::Environment;
use crate::setup::process::{self, Ended};

/// How long an answer may take here. Nobody is asked, so nobody is waited for.
const LIMIT: Duration = Duration::from_secs(20);

const DESTROYS: &str = "rm -rf ~";
const FORMATS: &str = "mkfs.ext4 /dev/sda1";
const HARMLESS: &str = "echo hello";

/// What stands in an answer that no guardrail gave: the shell's words, the program's, and those of its command line.
const NO_ANSWER: [&str; 2] = ["Midrail did not answer", "Midrail could not decide"];

const ALLOWED: &str =
    "the packs here allow it: see `midrail policy`, and build on the default pack (`extends: [default]`)";

/// How an agent would take an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Stops,
    Passes,
    /// No answer at all: the shell around the program spoke.
    None(String),
}

/// Tries the commands of all files.
pub(super) fn findings(agent: Agent, registered: &[Registered], places: &Environment) -> Vec<CheckResult> {
    let before = agent.host().events.iter().find(|hooked| hooked.moment == Moment::Before);
    let Some(before) = before else { return Vec::new() };
    let mut commands: Vec<&str> = registered.iter().filter_map(|file| file.command(before.event)).collect();
    commands.sort_unstable();
    commands.dedup();
    commands.into_iter().flat_map(|command| tried(agent, command, places)).collect()
}

fn tried(agent: Agent, command: &str, places: &Environment) -> Vec<CheckResult> {
    let title = agent.title();
    let ask = |line: &str| ask(agent, command, line, places).unwrap_or_else(Answer::None);
    let silent = |why: String| {
        CheckResult::bad(
            format!("the hook does not answer, so every action is stopped: {why}"),
            "run `midrail policy` and `midrail check` here, which tell more",
        )
    };
    let destroys = match ask(DESTROYS) {
        Answer::Stops => CheckResult::good(format!("`{DESTROYS}` is stopped, in words that {title} heeds")),
        Answer::Passes => CheckResult::bad(format!("`{DESTROYS}` would pass"), ALLOWED),
        Answer::None(why) => return vec![silent(why)],
    };
    // The home folder stays whatever packs say; the rest is up to them.
    let formats = match ask(FORMATS) {
        Answer::Stops => None,
        Answer::Passes => Some(CheckResult::caution(format!("`{FORMATS}` would pass"), ALLOWED)),
        Answer::None(why) => Some(silent(why)),
    };
    let harmless = match ask(HARMLESS) {
        Answer::Passes => CheckResult::good(format!("`{HARMLESS}` passes")),
        Answer::Stops => CheckResult::caution(
            format!("`{HARMLESS}` is stopped, too"),
            "the packs here ask for that: see `midrail policy`",
        ),
        Answer::None(why) => silent(why),
    };
    [Some(destroys), formats, Some(harmless)].into_iter().flatten().collect()
}

fn ask(agent: Agent, command: &str, line: &str, places: &Environment) -> Result<Answer, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let home = scratch.path();
    let mut own = vec![("HOME", home.to_owned())];
    own.extend(["XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"].map(|name| (name, home.join(name))));
    // The user's packs hold here as they do elsewhere.
    own.push(("XDG_CONFIG_HOME", places.config.clone()));
    let mut shell = match (agent, &places.shell) {
        // Cursor starts hooks with a login shell, and what the user's profile says counts.
        (Agent::Cursor, Some(shell)) => {
            let own: Vec<String> =
                own.iter().map(|(name, path)| quote(&format!("{name}={}", path.display()))).collect();
            let line = format!("exec env {} sh -c {}", own.join(" "), quote(command));
            let mut shell = Command::new(shell);
            shell.args(["-lc", &line]).env("HOME", &places.home);
            shell
        }
        _ => {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).envs(own);
            shell
        }
    };
    shell.current_dir(home);
    if let Some(path) = &places.path {
        shell.env("PATH", path);
    }
    let payload = payload(agent, line, &places.project.display().to_string());
    let ended = process::run(&mut shell, &payload.to_string(), LIMIT)?;
    read(agent, &ended)
}

/// A call of a shell as an agent tells of it.
fn payload(agent: Agent, line: &str, folder: &str) -> Value {
    let session = "midrail-doctor";
    match agent {
        Agent::ClaudeCode => json!({
            "session_id": session, "transcript_path": "", "cwd": folder, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line},
            "tool_use_id": "call-1",
        }),
        Agent::Codex => json!({
            "session_id": session, "turn_id": "turn-1", "transcript_path": null, "cwd": folder,
            "hook_event_name": "PreToolUse", "model": "", "permission_mode": "default", "tool_name": "Bash",
            "tool_input": {"command": line}, "tool_use_id": "call-1",
        }),
        Agent::GeminiCli => json!({
            "session_id": session, "transcript_path": "", "cwd": folder, "hook_event_name": "BeforeTool",
            "timestamp": "2026-01-01T00:00:00.000Z", "tool_name": "run_shell_command",
            "tool_input": {"command": line},
        }),
        Agent::CopilotCli => json!({
            "sessionId": session, "timestamp": 1_767_225_600_000_u64, "cwd": folder, "toolName": "bash",
            "toolArgs": {"command": line},
        }),
        Agent::Cursor => json!({
            "conversation_id": session, "generation_id": "turn-1", "model": "", "session_id": session,
            "hook_event_name": "preToolUse", "cursor_version": "", "workspace_roots": [folder],
            "user_email": null, "transcript_path": null, "tool_name": "Shell",
            "tool_input": {"command": line, "cwd": ""}, "tool_use_id": "call-1",
        }),
        Agent::OpenCode => json!({
            "hook_event_name": "tool.execute.before", "cwd": folder, "tool_name": "bash",
            "input": {"tool": "bash", "sessionID": session, "callID": "call-1"},
            "output": {"args": {"command": line}},
        }),
    }
}

/// Reads an answer as the agent would.
fn read(agent: Agent, ended: &Ended) -> Result<Answer, String> {
    let first = |text: &str| text.lines().next().unwrap_or_default().chars().take(200).collect::<String>();
    let is_silent = |text: &str| NO_ANSWER.iter().any(|words| text.contains(words));
    if is_silent(&ended.err) || is_silent(&ended.out) || ended.err.starts_with("error:") {
        let told = ended.err.lines().chain(ended.out.lines()).find(|line| !line.trim().is_empty());
        return Ok(Answer::None(first(told.unwrap_or_default())));
    }
    match ended.code {
        Some(2) if ended.err.trim().is_empty() => {
            Err("it stops without a word, which some agents take for nothing".to_owned())
        }
        Some(2) => Ok(Answer::Stops),
        Some(0) if ended.out.trim().is_empty() => Ok(Answer::Passes),
        Some(0) => {
            let answer: Value = serde_json::from_str(ended.out.trim())
                .map_err(|_| format!("its answer is no JSON: {}", first(&ended.out)))?;
            let at = |path: &str| answer.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let stops = match agent {
                Agent::ClaudeCode => {
                    matches!(at("/hookSpecificOutput/permissionDecision").as_str(), "deny" | "ask")
                }
                // Without a reason Codex goes on.
                Agent::Codex => {
                    at("/hookSpecificOutput/permissionDecision") == "deny"
                        && !at("/hookSpecificOutput/permissionDecisionReason").is_empty()
                }
                Agent::GeminiCli => {
                    matches!(at("/decision").as_str(), "deny" | "block")
                        || answer.get("continue") == Some(&Value::Bool(false))
                }
                Agent::CopilotCli => matches!(at("/permissionDecision").as_str(), "deny" | "ask"),
                Agent::Cursor => matches!(at("/permission").as_str(), "deny" | "ask"),
                Agent::OpenCode => false,
            };
            Ok(if stops { Answer::Stops } else { Answer::Passes })
        }
        code => Err(format!("it ended with {code:?}: {}", first(&ended.err))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(agent: Agent, code: i32, out: &str, err: &str) -> Result<Answer, String> {
        read(agent, &Ended { code: Some(code), out: out.to_owned(), err: err.to_owned() })
    }

    #[test]
    fn an_answer_counts_only_in_the_agents_own_words() {
        let claude = r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"r"}}"#;
        assert_eq!(told(Agent::ClaudeCode, 0, claude, ""), Ok(Answer::Stops));
        assert_eq!(told(Agent::Codex, 0, claude, ""), Ok(Answer::Stops));
        for agent in [Agent::GeminiCli, Agent::CopilotCli, Agent::Cursor] {
            assert_eq!(told(agent, 0, claude, ""), Ok(Answer::Passes), "{agent:?}");
        }
        let wordless = r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#;
        assert_eq!(told(Agent::Codex, 0, wordless, ""), Ok(Answer::Passes));
        for agent in Agent::ALL {
            assert_eq!(told(agent, 2, "", "no"), Ok(Answer::Stops), "{agent:?}");
            assert_eq!(told(agent, 0, "", ""), Ok(Answer::Passes), "{agent:?}");
            assert!(told(agent, 2, "", "").is_err());
            assert!(told(agent, 1, "", "").is_err());
            let silent = told(agent, 2, "", "Midrail did not answer, so this does not happen.");
            assert!(matches!(silent, Ok(Answer::None(_))), "{agent:?}");
            let misread = told(agent, 2, "", "error: invalid value 'x' for '<HOST>'");
            assert!(matches!(misread, Ok(Answer::None(_))), "{agent:?}");
        }
    }
}
