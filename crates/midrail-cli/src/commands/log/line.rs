//! A moment in lines: one for what happened and what was decided, and indented ones for what the agent was told.

use midrail::Effect;
use serde_json::Value;

use super::entry::{Moment, Outcome};
use crate::error::CliError;
use crate::output::{Output, short, wrap};
use crate::paint::{Style, effect_style};
use crate::time;

/// The widest that the columns of who acts and of the tool grow.
const WIDEST_WHO: usize = 34;
const WIDEST_TOOL: usize = 14;

/// How far lines below a moment are indented.
const INDENT: usize = 10;

/// Lines of one note that are shown, unless more is asked for.
const MOST_LINES: usize = 6;

/// Characters of what was done that are shown where there is no end to a line.
const LONGEST_WHAT: usize = 400;

/// Prints moments below each other.
#[derive(Default)]
pub(super) struct Printer {
    day: Option<String>,
    who: usize,
    tool: usize,
}

impl Printer {
    /// Makes the columns wide enough for what is to come.
    pub(super) fn fit(&mut self, moment: &Moment, output: &Output) {
        let widest = (output.width() / 10 * 3).clamp(12, WIDEST_WHO);
        self.who = self.who.max(who(moment).chars().count()).min(widest);
        self.tool = self.tool.max(label(moment).chars().count()).min(WIDEST_TOOL);
    }

    /// Prints a moment.
    pub(super) fn print(&mut self, moment: &Moment, output: &mut Output) -> Result<(), CliError> {
        if output.is_json() {
            return output.json(&moment.json(&what(moment)));
        }
        output.lines(self.lines(moment, output))?;
        Ok(())
    }

    fn lines(&mut self, moment: &Moment, output: &Output) -> Vec<String> {
        let paint = output.paint();
        let mut lines = Vec::new();
        let day = time::day(moment.time);
        if self.day.as_ref() != Some(&day) {
            lines.push(paint.style(Style::Dim, format!("── {day} ──")));
            self.day = Some(day);
        }
        self.fit(moment, output);
        let (who, label) = (who(moment), label(moment));
        let (who, label) = (short(&who, self.who).into_owned(), short(&label, self.tool).into_owned());

        let decision = &moment.decision;
        let ending = moment.outcome.as_ref().map(ending);
        let used = 8
            + 2
            + self.who
            + 2
            + 10
            + 1
            + self.tool
            + 1
            + ending.as_ref().map_or(0, |(text, _)| text.chars().count() + 2);
        let room = output.width().saturating_sub(used).clamp(12, LONGEST_WHAT);
        let what = what(moment);
        let what = short(&what, room);
        let mut line = format!(
            "{}  {}  {} {} {}",
            paint.style(Style::Dim, time::time_of_day(moment.time)),
            paint.style(
                if moment.is_sub_agent() { Style::Changed } else { Style::Dim },
                format!("{who:<0$}", self.who)
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
        if let Some(because) = because(moment) {
            let length = because.chars().count();
            if line_length.saturating_add(2 + length) <= output.width() && !because.contains('\n') {
                let style = effect_style(decision.effect.max(decision.would.unwrap_or_default()));
                line.push_str(&format!("  {}", paint.style(style, short(&because, usize::MAX))));
            } else {
                below.add(&because, None, usize::MAX);
            }
        }
        told(moment, &mut below);
        lines.push(line.trim_end().to_owned());
        lines.extend(below.lines);
        lines
    }
}

/// Lines below a moment.
struct Below<'o> {
    lines: Vec<String>,
    output: &'o Output,
}

impl Below<'_> {
    fn add(&mut self, text: &str, style: Option<Style>, most: usize) {
        let paint = self.output.paint();
        let most = if self.output.is_verbose() { usize::MAX } else { most };
        let room = self.output.width().saturating_sub(INDENT).max(30);
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

/// Who decided, and why.
fn because(moment: &Moment) -> Option<String> {
    let decision = &moment.decision;
    if decision.effect == Effect::Allow && decision.would.is_none() {
        return (!decision.reason.is_empty()).then(|| decision.reason.clone());
    }
    if let Some(would) = decision.would {
        let said = decision.verdicts.iter().find(|said| said.effect == Some(would));
        let (by, reason) = said.map_or(("", ""), |said| (&*said.guardrail, said.reason.as_str()));
        let why = match &decision.paused {
            Some(pause) => format!("paused by {}", pause.by),
            None => "in shadow mode".to_owned(),
        };
        return Some(format!("would be {would} ({why}) {by}: {reason}").trim_end_matches(": ").to_owned());
    }
    let by = decision.by.as_deref().unwrap_or("midrail");
    Some(format!("{by}: {}", decision.reason).trim_end_matches(": ").to_owned())
}

/// What the agent, a person or the user was told.
fn told(moment: &Moment, below: &mut Below<'_>) {
    let decision = &moment.decision;
    if let Some(advice) = &decision.advice {
        below.add(&format!("→ {advice}"), Some(Style::Note), MOST_LINES);
    }
    if let Some(retry) = &decision.retry {
        let text = format!("→ {} (try {} of {})", retry.message, retry.attempt, retry.max_attempts);
        below.add(&text, Some(Style::Note), MOST_LINES);
    }
    for feedback in &decision.feedback {
        below.add(&format!("→ {feedback}"), Some(Style::Note), MOST_LINES);
    }
    if let Some(content) = &decision.content {
        // A result may be one line of megabytes.
        let quoted: Vec<String> = content.lines().map(|line| format!("│ {}", short(line, 400))).collect();
        below.add(&quoted.join("\n"), Some(Style::Changed), 4);
    }
    if let Some(asked) = &decision.approval {
        let until =
            asked.expires.map(|until| format!(" until {}", time::time_of_day(until))).unwrap_or_default();
        below.add(&format!("? asks a {}{until}: {}", asked.approver, asked.id), Some(Style::Caution), 2);
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

/// Who acts: the session in short, the host and the agent where they are known.
fn who(moment: &Moment) -> String {
    let mut who = session_in_short(&moment.session);
    let mark = if moment.is_sub_agent() { "↳" } else { "" };
    let name = moment.text("/event/agent/role").filter(|_| moment.is_sub_agent());
    let agent = name.or_else(|| moment.text("/event/agent/id")).map(|agent| format!("{mark}{agent}"));
    for part in [moment.text("/event/host/name").map(str::to_owned), agent].into_iter().flatten() {
        who.push(' ');
        who.push_str(&part);
    }
    if moment.is_sub_agent() && !who.contains('↳') {
        who.push_str(" ↳");
    }
    who
}

/// A session's name, cut where names of sessions differ: those that begin with the time differ at their end.
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

/// What kind of moment it is: the tool, or a word.
fn label(moment: &Moment) -> String {
    match (moment.kind.as_str(), moment.tool()) {
        ("after_tool", Some(tool)) => format!("↵ {tool}"),
        (_, Some(tool)) => tool.to_owned(),
        ("before_model", None) => "prompt".to_owned(),
        ("after_model" | "model_chunk", None) => "answer".to_owned(),
        ("session_start", None) => "begins".to_owned(),
        ("session_end", None) => "ends".to_owned(),
        ("before_stop", None) => "stop".to_owned(),
        ("before_handoff" | "after_handoff", None) => "hand-off".to_owned(),
        ("on_error", None) => "error".to_owned(),
        ("approval_decided", None) if has_timed_out(moment) => "timed out".to_owned(),
        ("approval_decided", None) => "answered".to_owned(),
        ("administered", None) => "people".to_owned(),
        (kind, None) => kind.to_owned(),
    }
}

/// The essence: the command or the file, the first words of a text, what somebody did.
fn what(moment: &Moment) -> String {
    if let Some(args) = moment.part("/event/tool/args") {
        return of_call(args);
    }
    let first = |pointer: &str| moment.text(pointer).map(|text| text.trim().to_owned());
    match moment.kind.as_str() {
        "before_handoff" | "after_handoff" => format!("→ {}", first("/event/handoff/to").unwrap_or_default()),
        "on_error" => first("/event/error/message").unwrap_or_default(),
        "session_start" => first("/event/cwd").unwrap_or_default(),
        "approval_decided" => {
            let part = |name: &str| moment.text(&format!("/event/approval/{name}")).unwrap_or_default();
            match has_timed_out(moment) {
                true => format!("no answer to {}", part("id")),
                false => {
                    format!("{} {} by {} {}", part("id"), part("state"), part("decided_by"), part("note"))
                }
            }
        }
        "restored" => first("/event/by").map(|by| format!("by {by}")).unwrap_or_default(),
        "administered" => administered(moment),
        _ => first("/event/text").or_else(|| first("/event/output")).unwrap_or_default(),
    }
}

/// Whether it is the end of a request that nobody answered.
fn has_timed_out(moment: &Moment) -> bool {
    moment.text("/event/what") == Some("approval_timed_out")
}

/// What a call is about.
fn of_call(args: &Value) -> String {
    let names = [
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
    for name in names {
        match args.get(name) {
            Some(Value::String(text)) => return text.trim().to_owned(),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                return words.join(" ");
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
    match (files.is_empty(), args.as_object()) {
        (false, _) => files.join(", "),
        (true, Some(fields)) if fields.is_empty() => String::new(),
        (true, Some(fields)) if fields.len() == 1 => fields
            .values()
            .next()
            .map(|it| it.as_str().map_or_else(|| it.to_string(), str::to_owned))
            .unwrap_or_default(),
        (true, _) => args.to_string(),
    }
}

/// What a person or a program changed outside of events.
fn administered(moment: &Moment) -> String {
    let what = moment.text("/event/what").unwrap_or("changed").replace('_', " ");
    let by = moment.text("/event/by").map(|by| format!(" by {by}")).unwrap_or_default();
    let part = |pointer: &str| moment.text(pointer).map(str::to_owned);
    let detail = part("/event/pause/until")
        .filter(|_| what == "paused")
        .and_then(|until| until.parse().ok())
        .map(|until| {
            let project = moment.text("/event/pause/project").unwrap_or("every project");
            let reason = moment.text("/event/pause/reason").unwrap_or_default();
            format!("{project} until {}: {reason}", time::time_of_day(until))
        })
        .or_else(|| part("/event/pause/project"))
        .or_else(|| part("/event/approval/id"))
        .or_else(|| part("/event/approver/name"))
        .or_else(|| part("/event/actor"))
        .or_else(|| part("/event/task"))
        .or_else(|| part("/event/path"))
        .or_else(|| part("/event/lock/path"));
    let reason = part("/event/reason").map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{what}{by}{}{reason}", detail.map(|detail| format!(", {detail}")).unwrap_or_default())
}

/// How a call ended.
fn ending(outcome: &Outcome) -> (String, Style) {
    let took = outcome.took.map(|seconds| format!(", {}", in_seconds(seconds))).unwrap_or_default();
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
    fn a_call_is_told_by_what_it_is_about() {
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
            assert_eq!(of_call(&args), expected);
        }
    }

    #[test]
    fn names_of_sessions_are_cut_where_they_differ() {
        assert_eq!(session_in_short("s-1"), "s-1");
        assert_eq!(session_in_short("4f5e153d-c424-4195-b45f-d0cceda3ee2d"), "4f5e153d");
        assert_eq!(session_in_short("01a1dfff-4215-7753-9cf7-dac32c1b8152"), "2c1b8152");
        assert_eq!(session_in_short("default:/srv/work/shop"), "…v/work/shop");
    }
}
