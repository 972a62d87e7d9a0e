//! An entry in lines: one for the event and the decision, and indented ones for the messages.

use midrail::guardrails::label;
use midrail::{Effect, EventKind};
use serde_json::{Map, Value};

use super::entry::{CallOutcome, Entry};
use crate::decision::messages;
use crate::error::CliResult;
use crate::output::{Output, short, wrap};
use crate::paint::{Style, effect_style};
use crate::time;

/// The maximum widths of the columns of the actor and the tool.
const WIDEST_ACTOR: usize = 34;
const WIDEST_TOOL: usize = 14;

/// The indent of lines below an entry.
const INDENT: usize = 10;

/// The most lines of one message without `--verbose`.
const MOST_LINES: usize = 6;

/// The most characters of the subject if lines are not limited.
const LONGEST_WHAT: usize = 400;

/// Prints entries.
#[derive(Default)]
pub(super) struct Printer {
    day: Option<String>,
    actor: usize,
    tool: usize,
}

impl Printer {
    /// Makes the columns wide enough for an entry.
    pub(super) fn fit(&mut self, entry: &Entry, output: &Output) {
        let widest = (output.width / 10 * 3).clamp(12, WIDEST_ACTOR);
        self.actor = self.actor.max(actor(entry).chars().count()).min(widest);
        self.tool = self.tool.max(kind(entry).chars().count()).min(WIDEST_TOOL);
    }

    /// Prints an entry.
    pub(super) fn print(&mut self, entry: &Entry, output: &mut Output) -> CliResult<()> {
        if output.is_json {
            return output.json(&entry.json(&what(entry)));
        }
        output.lines(self.lines(entry, output))?;
        Ok(())
    }

    fn lines(&mut self, entry: &Entry, output: &Output) -> Vec<String> {
        let paint = output.paint;
        let mut lines = Vec::new();
        let day = time::day(entry.time);
        if self.day.as_ref() != Some(&day) {
            lines.push(paint.style(Style::Dim, format!("── {day} ──")));
            self.day = Some(day);
        }
        self.fit(entry, output);
        let (actor, label) = (actor(entry), kind(entry));
        let (actor, label) = (short(&actor, self.actor).into_owned(), short(&label, self.tool).into_owned());

        let decision = &entry.decision;
        let ending = entry.outcome.as_ref().map(ending);
        // The time, the effect and the spaces between columns have 24 characters.
        let ending_width = ending.as_ref().map_or(0, |(text, _)| text.chars().count() + 2);
        let used = 24 + self.actor + self.tool + ending_width;
        let room = output.width.saturating_sub(used).clamp(12, LONGEST_WHAT);
        let what = what(entry);
        let what = short(&what, room);
        let mut line = format!(
            "{}  {}  {} {} {}",
            paint.style(Style::Dim, time::time_of_day(entry.time)),
            paint.style(
                if entry.event.is_sub_agent() { Style::Changed } else { Style::Dim },
                format!("{actor:<0$}", self.actor)
            ),
            paint.effect_column(decision.effect),
            paint.style(Style::Note, format!("{label:<0$}", self.tool)),
            paint.style(Style::Strong, &what),
        );
        if let Some((text, style)) = ending {
            line.push_str(&format!("  {}", paint.style(style, text)));
        }
        let line_length = used.saturating_add(what.chars().count());

        let mut below = Below { lines: Vec::new(), output };
        if let Some(because) = because(entry) {
            let length = because.chars().count();
            if line_length.saturating_add(2 + length) <= output.width && !because.contains('\n') {
                let style = effect_style(decision.effect.max(decision.would.unwrap_or_default()));
                line.push_str(&format!("  {}", paint.style(style, short(&because, usize::MAX))));
            } else {
                below.add(&because, None, usize::MAX);
            }
        }
        add_messages(entry, &mut below);
        lines.push(line.trim_end().to_owned());
        lines.extend(below.lines);
        lines
    }
}

/// Lines below an entry.
struct Below<'o> {
    lines: Vec<String>,
    output: &'o Output,
}

impl Below<'_> {
    fn add(&mut self, text: &str, style: Option<Style>, most: usize) {
        let paint = self.output.paint;
        let most = if self.output.is_verbose() { usize::MAX } else { most };
        let room = self.output.width.saturating_sub(INDENT).max(30);
        let lines = wrap(text, room);
        let left = lines.len().saturating_sub(most);
        for line in lines.iter().take(most) {
            let line = style.map_or(line.clone(), |style| paint.style(style, line));
            self.lines.push(format!("{:INDENT$}{line}", ""));
        }
        if left > 0 {
            let more = paint.style(Style::Dim, format!("… and {left} lines more (-v shows them)"));
            self.lines.push(format!("{:INDENT$}{more}", ""));
        }
    }
}

/// The guardrail that decided, and its reason.
fn because(entry: &Entry) -> Option<String> {
    let decision = &entry.decision;
    if let Some(grounds) = decision.grounds.as_ref().filter(|_| decision.vouched) {
        return Some(format!("vouched for: {grounds}"));
    }
    if decision.effect == Effect::Allow && decision.would.is_none() {
        return (!decision.reason.is_empty()).then(|| decision.reason.clone());
    }
    if let Some(would) = decision.would {
        let verdict = decision.verdicts.iter().find(|verdict| verdict.effect == Some(would));
        let (by, reason) =
            verdict.map_or_else(Default::default, |it| (label(&it.guardrail), it.reason.as_str()));
        let why = match &decision.paused {
            Some(pause) => format!("paused by {}", pause.by),
            None => "in shadow mode".to_owned(),
        };
        return Some(format!("would be {would} ({why}) {by}: {reason}").trim_end_matches(": ").to_owned());
    }
    let by = decision.by.as_deref().map_or("midrail".to_owned(), label);
    Some(format!("{by}: {}", decision.reason).trim_end_matches(": ").to_owned())
}

/// The messages to the agent, the approver and the user.
fn add_messages(entry: &Entry, below: &mut Below<'_>) {
    let decision = &entry.decision;
    for (text, style) in messages(decision) {
        below.add(&text, Some(style), MOST_LINES);
    }
    for feedback in &decision.feedback {
        below.add(&format!("→ {feedback}"), Some(Style::Note), MOST_LINES);
    }
    if let Some(content) = &decision.content {
        // A result may be one line of megabytes.
        let quoted: Vec<String> = content.lines().map(|line| format!("│ {}", short(line, 400))).collect();
        below.add(&quoted.join("\n"), Some(Style::Changed), 4);
    }
    if let Some(approval) = &decision.approval {
        let until =
            approval.expires.map(|until| format!(" until {}", time::time_of_day(until))).unwrap_or_default();
        let text = format!("? waits for a {}{until}: {}", approval.approver, approval.id);
        below.add(&text, Some(Style::Caution), 2);
    }
    if let Some(message) = &decision.user_message {
        below.add(&format!("shown to the user: {message}"), Some(Style::Caution), MOST_LINES);
    }
    if let Some(pause) =
        decision.paused.as_ref().filter(|_| decision.would.is_none() && below.output.is_verbose())
    {
        below.add(&format!("paused by {}: {}", pause.by, pause.reason), Some(Style::Dim), 2);
    }
}

/// The actor: the session in short, the host and the agent, if they are known.
fn actor(entry: &Entry) -> String {
    let mut actor = session_in_short(&entry.session);
    let is_sub = entry.event.is_sub_agent();
    let role = entry.agent(|agent| &agent.role).filter(|_| is_sub);
    let agent = role.or_else(|| entry.agent(|agent| &agent.id)).unwrap_or_default();
    let agent = format!("{}{agent}", if is_sub { "↳" } else { "" });
    for part in [entry.host().unwrap_or_default(), &agent] {
        if !part.is_empty() {
            actor.push_str(&format!(" {part}"));
        }
    }
    actor
}

/// The name of a session, shortened where names differ: names that start with the time differ at their end.
fn session_in_short(name: &str) -> String {
    let count = name.chars().count();
    if count <= 12 {
        return name.to_owned();
    }
    let is_uuid = count == 36 && name.chars().filter(|c| *c == '-').count() == 4;
    let begins_with_time = name.chars().nth(14) == Some('7');
    match (is_uuid, begins_with_time) {
        (true, false) => name.chars().take(8).collect(),
        (true, true) => name.chars().skip(28).collect(),
        (false, _) => {
            let tail: String = name.chars().skip(count - 11).collect();
            format!("…{tail}")
        }
    }
}

/// The kind of the entry: the tool, or a word.
fn kind(entry: &Entry) -> String {
    let is_timeout = entry.event.extra.get("what").is_some_and(|what| what == "approval_timed_out");
    match (entry.event.kind, entry.event.tool_name()) {
        (EventKind::AfterTool, Some(tool)) => format!("↵ {tool}"),
        (_, Some(tool)) => tool.to_owned(),
        (kind, None) => match kind {
            EventKind::BeforeModel => "prompt",
            EventKind::AfterModel | EventKind::ModelChunk => "answer",
            EventKind::SessionStart => "begins",
            EventKind::SessionEnd => "ends",
            EventKind::BeforeStop => "stop",
            EventKind::BeforeHandoff | EventKind::AfterHandoff => "hand-off",
            EventKind::OnError => "error",
            EventKind::ToolsOffered => "offers",
            EventKind::ApprovalDecided if is_timeout => "timed out",
            EventKind::ApprovalDecided => "answered",
            EventKind::Administered => "people",
            kind => kind.as_str(),
        }
        .to_owned(),
    }
}

/// The essence: the command or the file, the text, or the change that a person made.
fn what(entry: &Entry) -> String {
    match (&entry.event.tool, entry.event.kind) {
        (Some(tool), _) => of_call(&tool.args),
        (None, EventKind::SessionStart) => entry.event.cwd.clone().unwrap_or_default(),
        (None, _) => midrail::admin::subject(&entry.event),
    }
}

/// The subject of a call: its command, file, patched files or only argument.
fn of_call(args: &Map<String, Value>) -> String {
    const NAMES: [&str; 11] = [
        "command",
        "cmd",
        "file_path",
        "path",
        "notebook_path",
        "filename",
        "url",
        "query",
        "pattern",
        "script",
        "code",
    ];
    for value in NAMES.iter().filter_map(|name| args.get(*name)) {
        match value {
            Value::String(text) => return text.trim().to_owned(),
            Value::Array(words) => {
                return words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
            }
            _ => {}
        }
    }
    // A patch names its files in its lines.
    let patch = ["input", "patch", "patchText"].iter().find_map(|name| args.get(*name)?.as_str());
    let files = patch.into_iter().flat_map(str::lines).filter_map(|line| {
        let line = line.strip_prefix("*** ")?;
        ["Add File: ", "Update File: ", "Delete File: "].iter().find_map(|head| line.strip_prefix(head))
    });
    let files: Vec<&str> = files.collect();
    match args.values().next() {
        _ if !files.is_empty() => files.join(", "),
        None => String::new(),
        Some(Value::String(only)) if args.len() == 1 => only.clone(),
        Some(only) if args.len() == 1 => only.to_string(),
        Some(_) => Value::Object(args.clone()).to_string(),
    }
}

/// How a call ended.
fn ending(outcome: &CallOutcome) -> (String, Style) {
    let took = outcome.seconds.map(|seconds| format!(", {}", in_seconds(seconds))).unwrap_or_default();
    let failed = outcome.ok == Some(false) || outcome.exit_code.is_some_and(|code| code != 0);
    match (failed, outcome.exit_code) {
        (true, Some(code)) => (format!("failed ({code}){took}"), Style::Bad),
        (true, None) => (format!("failed{took}"), Style::Bad),
        (false, _) if outcome.ok == Some(true) || outcome.exit_code == Some(0) => {
            (format!("ok{took}"), Style::Good)
        }
        (false, _) => (format!("done{took}"), Style::Dim),
    }
}

fn in_seconds(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.1} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn call_is_shown_by_its_subject() {
        for (args, expected) in [
            (json!({"command": "ls -l\n", "description": "List"}), "ls -l"),
            (json!({"command": ["bash", "-lc", "ls"]}), "bash -lc ls"),
            (json!({"content": "x", "file_path": "a.rs"}), "a.rs"),
            (
                json!({"input": "*** Begin Patch\n*** Add File: a.txt\n+1\n*** Update File: b.txt\n"}),
                "a.txt, b.txt",
            ),
            (json!({"topic": "weather"}), "weather"),
            (json!({}), ""),
        ] {
            assert_eq!(of_call(args.as_object().unwrap()), expected);
        }
    }

    #[test]
    fn session_names_are_cut_where_they_differ() {
        assert_eq!(session_in_short("s-1"), "s-1");
        assert_eq!(session_in_short("4f5e153d-c424-4195-b45f-d0cceda3ee2d"), "4f5e153d");
        assert_eq!(session_in_short("01a1dfff-4215-7753-9cf7-dac32c1b8152"), "2c1b8152");
        assert_eq!(session_in_short("default:/srv/work/shop"), "…v/work/shop");
    }
}
