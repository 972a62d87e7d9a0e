//! Recordings of Claude Code: `~/.claude/projects/**/*.jsonl`.

use midrail::{Agent, ToolResult};
use serde_json::Value;

use crate::transcripts::reader::{
    LineError, LineReader, Recording, Transcripts, TurnEnd, exit_code, number_at, text_at, text_of,
};

pub(in crate::hosts) const TRANSCRIPTS: Option<Transcripts> = Some(Transcripts {
    host: "claude-code",
    folder: "projects",
    prefix: "",
    reader: |path| {
        // A sub-agent has a file of its own.
        let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
        Box::new(Reader { counted: None, agent: name.strip_prefix("agent-").map(str::to_owned) })
    },
});

struct Reader {
    /// The message whose tokens were counted last. A message has several lines.
    counted: Option<String>,
    /// The sub-agent in the name of the file.
    agent: Option<String>,
}

impl LineReader for Reader {
    fn line(&mut self, line: &Value, recording: &mut Recording) -> Result<(), LineError> {
        let kind = text_at(line, "/type").unwrap_or_default();
        if !matches!(kind, "user" | "assistant") {
            return Ok(());
        }
        let message = line.get("message").filter(|message| message.is_object());
        let message = message.ok_or(LineError::MissingField("message"))?;
        if let Some(session) = text_at(line, "/sessionId") {
            recording.session = Some(session.to_owned());
        }
        if let Some(cwd) = text_at(line, "/cwd") {
            recording.cwd = Some(cwd.to_owned());
        }
        self.set_agent(line, recording);
        if kind == "user" {
            user(line, message, recording);
        } else {
            self.assistant(message, recording);
        }
        Ok(())
    }
}

impl Reader {
    fn set_agent(&self, line: &Value, recording: &mut Recording) {
        let is_side = line.get("isSidechain").and_then(Value::as_bool).unwrap_or(false);
        let id = text_at(line, "/agentId").or(self.agent.as_deref()).unwrap_or("sub-agent");
        let role = text_at(line, "/attributionAgent");
        recording.agent = match (is_side, recording.agent.take()) {
            (false, _) => None,
            // Its role is on some lines only.
            (true, Some((agent, parent))) if agent.id.as_deref() == Some(id) && role.is_none() => {
                Some((agent, parent))
            }
            (true, _) => {
                let agent =
                    Agent { id: Some(id.to_owned()), role: role.map(str::to_owned), ..Agent::default() };
                Some((agent, recording.session.clone().unwrap_or_default()))
            }
        };
    }

    fn assistant(&mut self, message: &Value, recording: &mut Recording) {
        let id = text_at(message, "/id").map(str::to_owned);
        let is_same = id.is_some() && id == self.counted;
        if !is_same {
            let parts =
                ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
            let tokens = parts.iter().map(|part| number_at(message, &format!("/usage/{part}")));
            recording.tokens = tokens.fold(recording.tokens, u64::saturating_add);
            self.counted = id;
        }
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for block in blocks {
            match text_at(block, "/type") {
                Some("tool_use") => {
                    let name = text_at(block, "/name").unwrap_or_default();
                    let args = block.get("input").cloned().unwrap_or_default();
                    recording.call(text_at(block, "/id"), name, args);
                }
                Some("text") => {
                    let text = text_at(block, "/text").unwrap_or_default();
                    let before = recording.turn_end.take().filter(|_| is_same).map(|end| end.text + "\n");
                    let text = before.unwrap_or_default() + text;
                    let reason = text_at(message, "/stop_reason").unwrap_or("end_turn").to_owned();
                    recording.turn_end =
                        (reason != "tool_use").then_some(TurnEnd { text, reason, time: recording.time });
                }
                _ => {}
            }
        }
    }
}

/// A prompt, or the results of tools.
fn user(line: &Value, message: &Value, recording: &mut Recording) {
    let content = message.get("content").unwrap_or(&Value::Null);
    let is_answer = |block: &&Value| text_at(block, "/type") == Some("tool_result");
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    for block in blocks.iter().filter(is_answer) {
        let Some(id) = text_at(block, "/tool_use_id") else { continue };
        // A refused call did not run.
        if text_at(line, "/toolDenialKind").is_some()
            || text_at(line, "/permissionDecision/decision") == Some("reject")
        {
            recording.refused(id);
            continue;
        }
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let text = text_of(block.get("content").unwrap_or(&Value::Null));
        let exit_code = exit_code(&text, &["Exit code"]).filter(|_| failed);
        let result =
            ToolResult { ok: Some(!failed), content: Some(text.into()), exit_code, ..ToolResult::default() };
        recording.result(id, result);
    }
    // What Claude Code adds itself is not a prompt.
    let is_own = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|mark| line.get(*mark).and_then(Value::as_bool).unwrap_or(false));
    if is_own || blocks.iter().any(|block| is_answer(&block)) {
        return;
    }
    let text = text_of(content);
    if !text.trim().is_empty() {
        recording.prompt(text, text_at(line, "/promptId"));
    }
}
