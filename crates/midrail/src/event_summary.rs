//! A short text about an event.

use midrail_core::Event;

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
