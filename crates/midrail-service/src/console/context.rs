//! What a person has to see before they answer: the command with its dangerous parts mark_redactions, a change as a diff.

use std::ops::Range;

use maud::{Markup, html};
use midrail::core::{Danger, Fact, FactKey, Finding, Record};
use serde_json::Value;

use super::widgets::{self, short_line, visible_text};

/// Lines of a text that are compared. Longer texts are shown one after the other.
const MOST_LINES: usize = 400;

/// The action of a record with what is dangerous in it marked.
pub(crate) fn action(record: &Record) -> Markup {
    let dangers = dangers(record);
    let args = record.event.tool.as_ref().map(|tool| &tool.args);
    let text = |name: &str| args.and_then(|args| args.get(name)).and_then(Value::as_str);
    let change = [("old_string", "new_string"), ("old_str", "new_str"), ("old_text", "new_text")]
        .iter()
        .find_map(|(old, new)| Some((text(old)?, text(new)?)));
    html! {
        @if let Some((old, new)) = change {
            @if let Some(path) = ["file_path", "path", "filePath"].iter().find_map(|name| text(name)) { p.file { code { (short_line(path, 200)) } } }
            (diff(old, new))
        } @else {
            @for (name, value) in args.into_iter().flatten() {
                @let pointer = format!("/tool/args/{}", name.replace('~', "~0").replace('/', "~1"));
                div.arg {
                    span.label { (short_line(name, 60)) }
                    @match value {
                        Value::String(text) => (dangerous(text, &dangers, &findings(record, &pointer))),
                        Value::Array(words) if words.iter().all(Value::is_string) => {
                            @let text = words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
                            (dangerous(&text, &dangers, &[]))
                        },
                        other => (widgets::json(other)),
                    }
                }
            }
            @if args.is_none() { (super::record_view::event(&record.event)) }
        }
        @if !dangers.is_empty() {
            ul.dangers {
                @for danger in &dangers {
                    li {
                        span class={ "badge sev-" (danger.severity.as_str()) } { (danger.severity.as_str()) }
                        span.danger-text { (visible_text(&danger.reason)) @if !danger.safer.is_empty() { span.muted { " · " (visible_text(&danger.safer)) } } }
                        code.rule { (short_line(&danger.rule, 60)) }
                    }
                }
            }
        }
    }
}

fn dangers(record: &Record) -> Vec<Danger> {
    match record.facts.get(&FactKey::Action) {
        Some(Fact::Action(action)) => action.dangers.iter().take(20).cloned().collect(),
        _ => Vec::new(),
    }
}

/// Where detectors found something in one text of the event.
fn findings(record: &Record, pointer: &str) -> Vec<Finding> {
    let of = |fact: &Fact| match fact {
        Fact::Findings(found) => found.iter().filter(|finding| finding.at == pointer).cloned().collect(),
        _ => Vec::new(),
    };
    record.facts.known.values().flat_map(of).collect()
}

/// A text with what is dangerous in it marked.
fn dangerous(text: &str, dangers: &[Danger], findings: &[Finding]) -> Markup {
    let mut spans: Vec<(Range<usize>, String)> = Vec::new();
    for danger in dangers {
        spans.extend(places(text, danger).into_iter().map(|span| (span, danger.reason.clone())));
    }
    spans.extend(findings.iter().map(|finding| (finding.start..finding.end, finding.kind.clone())));
    let parts = cut(text, spans);
    html! {
        pre.code.command { code {
            @for (part, why) in parts {
                @match why { Some(why) => mark.danger title=(visible_text(&why)) { (visible_text(part)) }, None => (widgets::mark_redactions(part)) }
            }
        } }
    }
}

/// The positions of a danger in a text: its command, or else its program and targets.
fn places(text: &str, danger: &Danger) -> Vec<Range<usize>> {
    let all = |wanted: &str| -> Vec<Range<usize>> {
        if wanted.is_empty() {
            Vec::new()
        } else {
            text.match_indices(wanted).take(8).map(|(at, found)| at..at + found.len()).collect()
        }
    };
    let whole = all(&danger.command);
    if !whole.is_empty() {
        return whole;
    }
    let words = danger.command.split_whitespace().filter(|word| word.len() > 1);
    words.chain(danger.targets.iter().map(String::as_str)).take(24).flat_map(all).collect()
}

/// A text cut into parts, those of spans with why they are marked. Spans that overlap become one.
fn cut(text: &str, mut spans: Vec<(Range<usize>, String)>) -> Vec<(&str, Option<String>)> {
    spans.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
    let mut joined: Vec<(Range<usize>, String)> = Vec::new();
    for (span, why) in spans {
        match joined.last_mut() {
            Some((last, _)) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push((span, why)),
        }
    }
    let mut at = 0;
    let mut parts = Vec::new();
    for (span, why) in joined {
        // A record that was masked may have other places than the text had.
        if let (Some(before), Some(inside)) = (text.get(at..span.start), text.get(span.clone())) {
            parts.extend([(before, None), (inside, Some(why))]);
            at = span.end;
        }
    }
    parts.push((text.get(at..).unwrap_or_default(), None));
    parts
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'t> {
    Same(&'t str),
    Gone(&'t str),
    New(&'t str),
}

/// A change of a text, line by line.
pub(crate) fn diff(old: &str, new: &str) -> Markup {
    html! {
        pre.code.diff { code {
            @for line in lines(old, new) {
                @match line {
                    Line::Same(text) => span.same { "  " (visible_text(text)) "\n" },
                    Line::Gone(text) => span.gone { "− " (widgets::mark_redactions(text)) "\n" },
                    Line::New(text) => span.new { "+ " (widgets::mark_redactions(text)) "\n" },
                }
            }
        } }
    }
}

fn lines<'t>(old: &'t str, new: &'t str) -> Vec<Line<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if old.len() > MOST_LINES || new.len() > MOST_LINES {
        return old.into_iter().map(Line::Gone).chain(new.into_iter().map(Line::New)).collect();
    }
    // The longest common part of every two ends, from the last lines on.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let get =
        |common: &[u32], row: usize, column: usize| common.get(row * width + column).copied().unwrap_or(0);
    for (row, left) in old.iter().enumerate().rev() {
        for (column, right) in new.iter().enumerate().rev() {
            let best = match left == right {
                true => get(&common, row + 1, column + 1) + 1,
                false => get(&common, row + 1, column).max(get(&common, row, column + 1)),
            };
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = best;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut found = Vec::new();
    loop {
        match (old.get(row), new.get(column)) {
            (Some(left), Some(right)) if left == right => {
                found.push(Line::Same(left));
                (row, column) = (row + 1, column + 1);
            }
            (Some(left), right)
                if right.is_none() || get(&common, row + 1, column) >= get(&common, row, column + 1) =>
            {
                found.push(Line::Gone(left));
                row += 1;
            }
            (_, Some(right)) => {
                found.push(Line::New(right));
                column += 1;
            }
            _ => return found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_line_by_line() {
        let found = lines("a\nb\nc", "a\nx\nc\nd");
        assert_eq!(
            found,
            [Line::Same("a"), Line::Gone("b"), Line::New("x"), Line::Same("c"), Line::New("d")]
        );
        assert_eq!(lines("", "a"), [Line::New("a")]);
        assert_eq!(lines("a", ""), [Line::Gone("a")]);
        let long = "x\n".repeat(MOST_LINES + 1);
        assert_eq!(lines(&long, "y").len(), MOST_LINES + 2);
    }

    #[test]
    fn dangerous_parts_are_marked_and_stay_text() {
        let danger =
            Danger { command: "rm -rf ~".into(), reason: "<b>deletes</b>".into(), ..Danger::default() };
        let shown = dangerous("cd <x> && rm -rf ~ && ls", &[danger], &[]).into_string();
        assert!(
            shown.contains("cd &lt;x&gt; &amp;&amp; <mark class=\"danger\" title=\"&lt;b&gt;"),
            "{shown}"
        );
        assert!(shown.contains(">rm -rf ~</mark> &amp;&amp; ls"), "{shown}");
    }

    #[test]
    fn spans_that_do_not_fit_are_passed_over() {
        let parts = cut("aüb", vec![(2..3, "x".into()), (9..12, "y".into())]);
        assert_eq!(parts.iter().map(|(part, _)| *part).collect::<String>(), "aüb");
        let joined = cut("abcdef", vec![(1..3, "x".into()), (2..5, "y".into())]);
        assert_eq!(joined.iter().map(|(part, _)| *part).collect::<Vec<_>>(), ["a", "bcde", "f"]);
    }
}
