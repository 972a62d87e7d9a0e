//! Where the texts of an event come from, for the detector of injected instructions.

use midrail_core::{Action, ActionType, Event, EventKind, path};
use midrail_scan::injection::Origin;

/// Where the texts of an event come from. A result that the project's files or local programs do not account for is from
/// outside.
pub fn text_origin(event: &Event, action: Option<&Action>, root: Option<&str>) -> Origin {
    match event.kind {
        EventKind::ModelChunk | EventKind::AfterModel => Origin::Project,
        EventKind::AfterTool if action.is_some_and(|action| is_local(event, action, root)) => Origin::Project,
        _ => Origin::Outside,
    }
}

/// Whether a call shows only files of the project and what local programs print.
fn is_local(event: &Event, action: &Action, root: Option<&str>) -> bool {
    let contacts = !action.network.is_empty() || !action.hosts.is_empty() || action.has_unknown_hosts;
    let is_inside = |file: &String| {
        let roots = path::Roots { root, ..path::Roots::default() };
        path::resolve(file, event.cwd.as_deref(), roots, None).inside
    };
    match action.kind {
        ActionType::Network | ActionType::Other => false,
        ActionType::Command => !contacts && action.reads.iter().all(is_inside),
        ActionType::FileRead | ActionType::FileWrite => {
            !contacts
                && action
                    .target_files
                    .as_ref()
                    .is_some_and(|files| !files.is_empty() && files.iter().all(is_inside))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::ToolCall;
    use serde_json::{Value, json};

    fn origin(tool: &str, args: Value) -> Origin {
        let event = Event {
            cwd: Some("/repo".to_owned()),
            tool: Some(ToolCall::new(tool, args)),
            ..Event::new(EventKind::AfterTool)
        };
        text_origin(&event, midrail_shell::action::derive(&event).ok().as_ref(), Some("/repo"))
    }

    #[test]
    fn project_files_and_local_programs_are_inside() {
        for (tool, args) in [
            ("Read", json!({"file_path": "/repo/src/main.rs"})),
            ("Read", json!({"file_path": "README.md"})),
            ("Bash", json!({"command": "cargo test"})),
            ("Bash", json!({"command": "cat docs/guide.md"})),
        ] {
            assert_eq!(origin(tool, args.clone()), Origin::Project, "{tool} {args}");
        }
    }

    #[test]
    fn pages_other_tools_and_foreign_files_are_outside() {
        for (tool, args) in [
            ("WebFetch", json!({"url": "https://example.org"})),
            ("mcp__mail__read", json!({"id": 7})),
            ("mail_read", json!({})),
            ("Read", json!({"file_path": "/tmp/download.html"})),
            ("Read", json!({"file_path": "../other/README.md"})),
            ("Read", json!({})),
            ("Bash", json!({"command": "curl -s https://example.org"})),
            ("Bash", json!({"command": "cat ~/Downloads/page.html"})),
        ] {
            assert_eq!(origin(tool, args.clone()), Origin::Outside, "{tool} {args}");
        }
        assert_eq!(text_origin(&Event::new(EventKind::BeforeModel), None, None), Origin::Outside);
        assert_eq!(text_origin(&Event::new(EventKind::AfterModel), None, None), Origin::Project);
    }
}
