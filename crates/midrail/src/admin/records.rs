//! Audit records in words: the subject of an event and the value of a fact.

use midrail_core::{DeepOutcome, Event, EventKind, Fact, FileState, HookAnswer, HookOutcome};
use serde_json::Value;

/// The subject of an event in a few words: the tool call, the text, or what a person changed.
///
/// The text comes from agents and has any length; a view cuts and escapes it.
pub fn subject(event: &Event) -> String {
    let field = |name: &str| event.extra.get(name);
    let word = |name: &str| field(name).and_then(Value::as_str);
    let quoted = |text: &str| format!("“{text}”");
    let text = match event.kind {
        _ if event.tool.is_some() => {
            let whole = summarize_event(event);
            whole.strip_prefix(event.kind.as_str()).unwrap_or(&whole).trim_start().to_owned()
        }
        _ if field("set").is_some() => {
            let names = field("set").and_then(Value::as_object).into_iter().flat_map(|names| names.keys());
            format!("sets {}", names.map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        EventKind::BeforeHandoff | EventKind::AfterHandoff => {
            let to = event.handoff.as_ref().and_then(|handoff| handoff.to.as_deref());
            to.map(|to| format!("to {to}")).unwrap_or_default()
        }
        EventKind::OnError => {
            let message = event.error.as_ref().and_then(|error| error.message.as_deref());
            message.map(quoted).unwrap_or_default()
        }
        EventKind::ToolsOffered => {
            let server = event.server.as_ref().map(|server| server.name.as_str()).unwrap_or_default();
            format!("{server}: {} definitions", event.tools.as_ref().map_or(0, Vec::len))
        }
        EventKind::BeforeStop => event.stop_reason.clone().unwrap_or_default(),
        EventKind::ApprovalDecided => {
            let part = |name: &str| field("approval")?.get(name)?.as_str();
            match word("what") {
                Some("approval_timed_out") => {
                    format!("timed out: no answer to {}", part("id").unwrap_or_default())
                }
                what => {
                    let is_revoked = what == Some("approval_taken_back");
                    let state = if is_revoked { "revoked" } else { part("state").unwrap_or("decided") };
                    let note = part("note").map(|note| format!(": {note}")).unwrap_or_default();
                    let by = part("decided_by").unwrap_or("someone");
                    format!("{} {state} by {by}{note}", part("id").unwrap_or_default())
                }
            }
        }
        EventKind::Restored => word("by").map(|by| format!("by {by}")).unwrap_or_default(),
        EventKind::Administered => {
            let part = |name: &str, part: &str| field(name)?.get(part)?.as_str();
            let object = ["actor", "task", "path"].iter().find_map(|name| word(name));
            let parts = [
                ("approver", "name"),
                ("approval", "id"),
                ("lock", "path"),
                ("pause", "project"),
                ("task", "id"),
            ];
            let object =
                object.or_else(|| parts.iter().find_map(|(name, of)| part(name, of))).unwrap_or_default();
            let by = word("by").map(|by| format!(" by {by}")).unwrap_or_default();
            let until = part("pause", "until").map(|until| format!(" until {until}")).unwrap_or_default();
            let reason = word("reason").or_else(|| part("pause", "reason"));
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let change = word("what").unwrap_or_default().replace('_', " ");
            format!("{}{until}{by}{reason}", format!("{change} {object}").trim_end())
        }
        _ => event.text.as_deref().map(quoted).unwrap_or_default(),
    };
    let result = event.result.as_ref().filter(|_| event.kind == EventKind::AfterTool);
    if result.is_some_and(|result| result.ok == Some(false)) { format!("{text} (failed)") } else { text }
}

/// The value of a fact in words. A view cuts and escapes it.
pub fn fact_text(fact: &Fact) -> String {
    match fact {
        Fact::Action(action) => {
            let files = match &action.target_files {
                Some(files) if files.is_empty() => String::new(),
                Some(files) => format!(" of {}", files.join(", ")),
                None => " of unknown files".to_owned(),
            };
            let command = action.command.as_ref().map(|command| format!(" `{command}`")).unwrap_or_default();
            format!("{}{files}{command}", action.kind.as_str())
        }
        Fact::Secrets(found) | Fact::Findings(found) if found.is_empty() => "none".to_owned(),
        Fact::Secrets(found) | Fact::Findings(found) => {
            let found = found.iter().map(|finding| format!("{} at {}", finding.kind, finding.at));
            found.collect::<Vec<_>>().join(", ")
        }
        Fact::Names(digests) => format!("{} names, as digests", digests.len()),
        Fact::Script(action) if action.dangers.is_empty() => "not destructive".to_owned(),
        Fact::Script(action) => {
            action.dangers.iter().map(|danger| danger.reason.as_str()).collect::<Vec<_>>().join("; ")
        }
        Fact::Sandbox(Some(_)) => "available".to_owned(),
        Fact::Sandbox(None) => "none".to_owned(),
        Fact::Place(place) => place.clone(),
        Fact::File(FileState::Absent) => "does not exist".to_owned(),
        Fact::File(FileState::Special) => "a directory or special file".to_owned(),
        Fact::File(FileState::File { checksum }) => format!("exists, checksum {checksum}"),
        Fact::Command(end) => match end.exit_code {
            Some(code) => format!("exited with code {code} after {} ms", end.took_ms),
            None => format!("ended by a signal after {} ms", end.took_ms),
        },
        Fact::Tree(digest) => format!("digest {digest}"),
        Fact::Count(count) => count.to_string(),
        Fact::Unsaved(lost) if lost.files.is_empty() && !lost.more => "nothing would be lost".to_owned(),
        Fact::Unsaved(lost) => {
            let more = if lost.more { " and more" } else { "" };
            format!("not saved elsewhere: {}{more}", lost.files.join(", "))
        }
        Fact::Git(None) => "no repository".to_owned(),
        Fact::Git(Some(git)) => {
            let branch = git.branch.as_deref().unwrap_or("no branch");
            format!("{branch} at {}", git.head.as_deref().unwrap_or("no commit"))
        }
        Fact::Hook(end) => hook_text(end),
        Fact::Deep(DeepOutcome::Answered(answer)) => format!("answered {answer}"),
        Fact::Deep(DeepOutcome::Late) => "no answer in time".to_owned(),
        Fact::Answer(value) => value.to_string(),
        Fact::Unavailable(why) => format!("unknown: {why}"),
    }
}

fn hook_text(end: &HookOutcome) -> String {
    let answer = match &end.answer {
        HookAnswer::Pass => "allows".to_owned(),
        HookAnswer::Refuse { message, request: Some(_), .. } => format!("requests approval: {message}"),
        HookAnswer::Refuse { message, .. } => format!("refuses: {message}"),
        HookAnswer::Replace { result, is_error: true } => format!("returns an error: {result}"),
        HookAnswer::Replace { result, .. } => format!("replaces the result: {result}"),
    };
    let failure = end.failure.as_ref().map(|why| format!(" (then failed: {why})"));
    answer + &failure.unwrap_or_default()
}

/// An event in a few words.
pub fn summarize_event(event: &Event) -> String {
    let subject = event.tool_name().or(event.text.as_deref()).unwrap_or_default();
    let target = event.tool.as_ref().and_then(|tool| {
        let args = midrail_shell::action::PATH_ARGS.iter().chain(&["command", "url", "query", "pattern"]);
        args.filter_map(|name| tool.args.get(*name)?.as_str()).next()
    });
    let mut text = format!("{} {subject}", event.kind);
    if let Some(target) = target {
        text.push(' ');
        text.push_str(target);
    }
    midrail_scan::secrets::redact(&text).chars().take(120).collect::<String>().trim_end().to_owned()
}
