//! Elements of pages: safe texts, times, numbers, badges.
//!
//! Text of agents is untrusted. maud escapes it in tags and attributes; invisible and reordering characters are replaced
//! here.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, PreEscaped, html};
use midrail::Effect;
use midrail::admin::{Cell, Column, Resource};
pub(crate) use midrail::core::duration::{micros, span};
use midrail::pack::diagnostic::visible;
use serde_json::Value;

pub(crate) use crate::text::escape;

/// The longest text that a page shows of one field.
const LONGEST: usize = 20_000;

/// An empty tray.
const ICON_EMPTY: &str = "<path d='M4 13l3-8h10l3 8v6H4z'/><path d='M4 13h5l1 2h4l1-2h5'/>";

/// The start of a redaction mark.
const REDACTED: &str = "[redacted:";

/// A text of several lines with invisible characters made visible.
pub(crate) fn visible_text(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let lines: Vec<String> =
        cut.split('\n').map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join("\t")).collect();
    let mut shown = lines.join("\n");
    let left = text.chars().count().saturating_sub(LONGEST);
    if left > 0 {
        shown.push_str(&format!("\n… {} more characters", count(whole(left))));
    }
    shown
}

/// A text in one line, cut short.
pub(crate) fn short_line(text: &str, longest: usize) -> String {
    let flat: String = text.chars().take(longest.saturating_mul(2)).collect();
    let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = visible(&flat).chars().take(longest).collect();
    if flat.chars().nth(longest).is_some() || text.chars().nth(longest.saturating_mul(2)).is_some() {
        shown.push('…');
    }
    shown
}

/// A text with its redactions marked.
pub(crate) fn mark_redactions(text: &str) -> Markup {
    let text = visible_text(text);
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(REDACTED) {
        let (before, tagged) = rest.split_at(start);
        let Some(end) = tagged.find(']').filter(|end| *end < 120) else {
            let (tag, after) = tagged.split_at(REDACTED.len());
            parts.extend([(false, before), (false, tag)]);
            rest = after;
            continue;
        };
        let (tag, after) = tagged.split_at(end + 1);
        parts.extend([(false, before), (true, tag)]);
        rest = after;
    }
    parts.push((false, rest));
    html! {
        @for (is_tag, part) in parts {
            @if is_tag { mark.redacted title="replaced before it was recorded" { (part) } } @else { (part) }
        }
    }
}

/// Text with backticked parts as code.
pub(crate) fn inline_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code.quoted { (mark_redactions(part)) } } @else { (mark_redactions(part)) }
        }
    }
}

/// A value as JSON with its redactions marked.
pub(crate) fn json(value: &Value) -> Markup {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    html! { pre.code { code { (mark_redactions(&text)) } } }
}

/// The badge of an effect.
pub(crate) fn badge(effect: Effect) -> Markup {
    badge_of(effect.as_str())
}

/// The badge of an effect, by its word.
pub(crate) fn badge_of(word: &str) -> Markup {
    let known = word.parse().map_or("skipped", Effect::as_str);
    html! { span class={ "badge fx-" (known) } { (visible(word)) } }
}

/// A time in relation to now, with the exact one as its title. The page keeps it up to date.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> Markup {
    html! { time.ago datetime=(time) title=(exact(time)) { (relative(time, now)) } }
}

/// The same for a time that is stored as text.
pub(crate) fn ago_of(time: &str, now: Timestamp) -> Markup {
    match time.parse() {
        Ok(time) => ago(time, now),
        Err(_) => html! { (short_line(time, 40)) },
    }
}

/// A time that is counted down to.
pub(crate) fn countdown(end: Timestamp, now: Timestamp) -> Markup {
    html! { time.countdown datetime=(end) title=(exact(end)) { (span(end.duration_since(now).max(SignedDuration::ZERO))) } }
}

/// A time of the day, with the exact one as its title.
pub(crate) fn clock(time: Timestamp) -> Markup {
    let text = time.strftime("%H:%M:%S").to_string();
    html! { time.clock datetime=(time) title=(exact(time)) { (text) } }
}

/// A time in full.
pub(crate) fn exact(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A time in relation to now.
pub(crate) fn relative(time: Timestamp, now: Timestamp) -> String {
    let past = now.duration_since(time);
    if past < SignedDuration::ZERO {
        return format!("in {}", span(past.abs()));
    }
    match past.as_secs() {
        0..=4 => "just now".to_owned(),
        _ => format!("{} ago", span(past)),
    }
}

/// A number with commas between thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A large number in short.
pub(crate) fn compact(number: u64) -> String {
    match number {
        0..=9_999 => count(number),
        10_000..=999_999 => format!("{:.1}k", float(number) / 1e3),
        _ => format!("{:.1}M", float(number) / 1e6),
    }
}

/// A number and what it counts.
pub(crate) fn many(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", count(number))
}

/// A number for drawing.
pub(crate) fn float(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// A length as a number.
pub(crate) fn whole(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A share in per cent.
pub(crate) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        return "–".to_owned();
    }
    let share = 100.0 * float(part) / float(all);
    match share {
        0.0 => "0 %".to_owned(),
        share if share < 10.0 => format!("{share:.1} %"),
        share => format!("{share:.0} %"),
    }
}

/// The badge of the status of a record.
pub(crate) fn status(status: &str) -> Markup {
    html! { span class={ "badge st-" (status.replace(' ', "-")) } { (status) } }
}

/// A guardrail by its name and id, with a link to its page.
pub(crate) fn guardrail(id: &str) -> Markup {
    html! { a href={ "/guardrails/" (escape(id)) } { (short_line(&midrail::guardrails::label(id), 60)) } }
}

/// The records of an administrative resource as a table, with the columns that its description names.
pub(crate) fn resource<R: Resource>(
    records: &[R],
    now: Timestamp,
    link: impl Fn(&R) -> Option<String>,
    action: impl Fn(&R) -> Markup,
) -> Markup {
    let cell = |record: &R, column: &Column<R>| match (column.cell)(record) {
        Cell::Text(text) => html! { (short_line(&text, column.width)) },
        Cell::Dim(text) => html! { span.muted { (short_line(&text, column.width)) } },
        Cell::Time(time) => ago(time, now),
        Cell::Status(text) => status(&text),
        Cell::Guardrail(id) => guardrail(&id),
    };
    html! {
        div.scroll { table.list {
            thead { tr { @for column in R::COLUMNS { th { (column.head) } } th {} } }
            tbody { @for record in records {
                @let at = link(record);
                tr data-item data-href=[&at] {
                    @for (number, column) in R::COLUMNS.iter().enumerate() {
                        td { @match &at { Some(at) if number == 0 => a href=(at) { (cell(record, column)) }, _ => (cell(record, column)) } }
                    }
                    td { (action(record)) }
                }
            } }
        } }
    }
}

/// The text of an empty list, and what to do next.
pub(crate) fn empty(title: &str, what_next: Markup) -> Markup {
    html! {
        div.empty {
            svg.icon viewBox="0 0 24 24" aria-hidden="true" { (PreEscaped(ICON_EMPTY)) }
            p.empty-title { (title) }
            div.empty-text { (what_next) }
        }
    }
}

/// The page of a session. Browsers resolve `.` and `..` in paths, also if they are encoded.
pub(crate) fn session_at(session: &str) -> String {
    match session {
        "" | "." | ".." => format!("/audit{}", query(&[("session", session)])),
        _ => format!("/sessions/{}", escape(session)),
    }
}

/// A query of the pairs with a value, with its question mark.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let given: Vec<String> = pairs
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", escape(value)))
        .collect();
    if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) }
}

/// A hash in short, whole in its title.
pub(crate) fn hash(text: &str) -> Markup {
    let bare = text.strip_prefix("sha256:").unwrap_or(text);
    let short: String = bare.chars().take(12).collect();
    html! { code.hash title=(visible(text)) { (visible(&short)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown() {
        assert_eq!(visible_text("a\u{202e}b\n\tc\u{7}"), "a\u{fffd}b\n\tc\u{2407}");
        assert_eq!(short_line("  a\n b\u{200b}  ", 10), "a b\u{fffd}");
        assert_eq!(short_line("abcdef", 3), "abc…");
        assert!(visible_text(&"x".repeat(LONGEST + 5)).ends_with("… 5 more characters"));
    }

    #[test]
    fn redactions_are_marked_and_the_rest_is_escaped() {
        let text =
            mark_redactions("a <b> [redacted:aws-access-key#3f9a] c [redacted: never ends").into_string();
        assert!(text.starts_with("a &lt;b&gt; <mark"), "{text}");
        assert!(text.contains(">[redacted:aws-access-key#3f9a]</mark> c "), "{text}");
        assert_eq!(text.matches("<mark").count(), 1, "{text}");
        let nested = mark_redactions("[redacted:<img src=x onerror=alert(1)>]").into_string();
        assert!(!nested.contains("<img"), "{nested}");
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!((count(0), count(999), count(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
        assert_eq!(
            (compact(9_999), compact(12_345), compact(3_400_000)),
            ("9,999".into(), "12.3k".into(), "3.4M".into())
        );
        assert_eq!((percent(1, 3), percent(0, 5), percent(0, 0)), ("33 %".into(), "0 %".into(), "–".into()));
    }

    #[test]
    fn path_segments_are_encoded() {
        assert_eq!(escape("a/b ü?"), "a%2Fb%20%C3%BC%3F");
        assert_eq!(
            (session_at(".."), session_at("a/b")),
            ("/audit?session=..".into(), "/sessions/a%2Fb".into())
        );
        assert_eq!(query(&[("a", ""), ("b", "x&y")]), "?b=x%26y");
    }
}
