//! What Claude Code records of a session.

use std::path::Path;

use midrail::{Agent, ToolResult};
use serde_json::Value;

use super::{About, Ending, Host, exit_code, number_at, text_at, text_of};

const HOST: Host = Host::ClaudeCode;

/// What is known from the lines before.
#[derive(Default)]
pub(super) struct State {
    /// The message whose tokens were counted last. A message stands on several lines.
    counted: Option<String>,
    /// The sub-agent that the name of the file tells.
    agent: Option<String>,
}

impl State {
    /// A sub-agent has a file of its own.
    pub(super) fn of(path: &Path) -> Self {
        let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
        State { counted: None, agent: name.strip_prefix("agent-").map(str::to_owned) }
    }

    pub(super) fn line(&mut self, line: &Value, about: &mut About) -> Result<(), String> {
        let kind = text_at(line, "/type").unwrap_or_default();
        if !matches!(kind, "user" | "assistant") {
            return Ok(());
        }
        let message = line.get("message").filter(|message| message.is_object());
        let message = message.ok_or_else(|| format!("a line of the type `{kind}` has no `message`"))?;
        if let Some(session) = text_at(line, "/sessionId") {
            about.session = Some(session.to_owned());
        }
        if let Some(cwd) = text_at(line, "/cwd") {
            about.cwd = Some(cwd.to_owned());
        }
        self.who(line, about);
        match kind {
            "user" => user(line, message, about),
            _ => self.assistant(message, about),
        }
        Ok(())
    }

    fn who(&self, line: &Value, about: &mut About) {
        let is_side = line.get("isSidechain").and_then(Value::as_bool).unwrap_or(false);
        let id = text_at(line, "/agentId").or(self.agent.as_deref()).unwrap_or("sub-agent");
        let role = text_at(line, "/attributionAgent");
        about.agent = match (is_side, about.agent.take()) {
            (false, _) => None,
            // Its kind is told on some lines only.
            (true, Some((agent, parent))) if agent.id.as_deref() == Some(id) && role.is_none() => {
                Some((agent, parent))
            }
            (true, _) => {
                let agent =
                    Agent { id: Some(id.to_owned()), role: role.map(str::to_owned), ..Agent::default() };
                Some((agent, about.session.clone().unwrap_or_default()))
            }
        };
    }

    fn assistant(&mut self, message: &Value, about: &mut About) {
        let id = text_at(message, "/id").map(str::to_owned);
        let is_same = id.is_some() && id == self.counted;
        if !is_same {
            let parts =
                ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            let tokens = parts.iter().map(|part| number_at(message, &format!("/usage/{part}")));
            about.tokens = tokens.fold(about.tokens, u64::saturating_add);
            self.counted = id;
        }
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for block in blocks {
            match text_at(block, "/type") {
                Some("tool_use") => {
                    let name = text_at(block, "/name").unwrap_or_default();
                    let args = block.get("input").cloned().unwrap_or_default();
                    about.call(HOST, text_at(block, "/id"), name, args);
                }
                Some("text") => {
                    let text = text_at(block, "/text").unwrap_or_default();
                    let before = about.ending.take().filter(|_| is_same).map(|ending| ending.words + "\n");
                    let words = before.unwrap_or_default() + text;
                    let reason = text_at(message, "/stop_reason").unwrap_or("end_turn").to_owned();
                    about.ending =
                        (reason != "tool_use").then_some(Ending { words, reason, time: about.time });
                }
                _ => {}
            }
        }
    }
}

/// A prompt, or the answers of tools.
fn user(line: &Value, message: &Value, about: &mut About) {
    let content = message.get("content").unwrap_or(&Value::Null);
    let is_answer = |block: &&Value| text_at(block, "/type") == Some("tool_result");
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    for block in blocks.iter().filter(is_answer) {
        let Some(id) = text_at(block, "/tool_use_id") else { continue };
        // A call that was refused never ran.
        if text_at(line, "/toolDenialKind").is_some()
            || text_at(line, "/permissionDecision/decision") == Some("reject")
        {
            about.calls.remove(id);
            continue;
        }
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let text = text_of(block.get("content").unwrap_or(&Value::Null));
        let exit_code = exit_code(&text, &["Exit code"]).filter(|_| failed);
        let result =
            ToolResult { ok: Some(!failed), content: Some(text.into()), exit_code, ..ToolResult::default() };
        about.answered(HOST, id, result);
    }
    // What the program itself adds to the talk is nobody's prompt.
    let is_own = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|mark| line.get(*mark).and_then(Value::as_bool).unwrap_or(false));
    if is_own || blocks.iter().any(|block| is_answer(&block)) {
        return;
    }
    let text = text_of(content);
    if !text.trim().is_empty() {
        about.prompt(HOST, text, text_at(line, "/promptId"));
    }
}
