//! The context of a request: the command with its dangerous parts marked, a change as a diff.

use std::ops::Range;

use maud::{Markup, html};
use midrail::core::{Danger, Fact, FactKey, Finding, Record};
use midrail_adapters::setup::{self, DiffLine};
use serde_json::Value;

use super::widgets::{self, short_line, visible_text};

/// The action of a record, with its dangerous parts marked.
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

/// The findings of detectors in one text of the event.
fn findings(record: &Record, pointer: &str) -> Vec<Finding> {
    let of = |fact: &Fact| match fact {
        Fact::Findings(found) => found.iter().filter(|finding| finding.at == pointer).cloned().collect(),
        _ => Vec::new(),
    };
    record.facts.known.values().flat_map(of).collect()
}

/// A text with its dangerous parts marked.
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

/// A text cut into parts; the marked ones have a reason. Overlapping spans are joined.
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
        // In a masked record, positions may be outside of the text.
        if let (Some(before), Some(inside)) = (text.get(at..span.start), text.get(span.clone())) {
            parts.extend([(before, None), (inside, Some(why))]);
            at = span.end;
        }
    }
    parts.push((text.get(at..).unwrap_or_default(), None));
    parts
}

/// A change of a text, line by line.
pub(crate) fn diff(old: &str, new: &str) -> Markup {
    let text = |line: &str| visible_text(line.trim_end_matches(['\n', '\r']));
    html! {
        pre.code.diff { code {
            @for line in setup::diff(old, new) {
                @match line {
                    DiffLine::Same(line) => span.same { "  " (text(line)) "\n" },
                    DiffLine::Old(line) => span.gone { "− " (widgets::mark_redactions(&text(line))) "\n" },
                    DiffLine::New(line) => span.new { "+ " (widgets::mark_redactions(&text(line))) "\n" },
                    DiffLine::Gap => span.same { "  …\n" },
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_line_by_line() {
        let shown = diff("a\nb\nc\n", "a\nx\nc\nd\n").into_string();
        let lines = ["same\">  a\n", "gone\">− b\n", "new\">+ x\n", "same\">  c\n", "new\">+ d\n"];
        let at: Vec<usize> = lines.iter().map(|line| shown.find(line).unwrap()).collect();
        assert!(at.is_sorted(), "{shown}");
        assert!(diff("", "a").into_string().contains("new\">+ a\n"));
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
    fn spans_outside_of_the_text_are_ignored() {
        let parts = cut("aüb", vec![(2..3, "x".into()), (9..12, "y".into())]);
        assert_eq!(parts.iter().map(|(part, _)| *part).collect::<String>(), "aüb");
        let joined = cut("abcdef", vec![(1..3, "x".into()), (2..5, "y".into())]);
        assert_eq!(joined.iter().map(|(part, _)| *part).collect::<Vec<_>>(), ["a", "bcde", "f"]);
    }
}
