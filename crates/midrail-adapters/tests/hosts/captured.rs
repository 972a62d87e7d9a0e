//! Payloads of real clients can be decoded. `MIDRAIL_PAYLOADS` names a folder with a folder per host and a file per payload.

use std::path::PathBuf;

use midrail::EventKind;
use midrail_adapters::hook::Hook;
use midrail_adapters::hosts;

fn folder() -> Option<PathBuf> {
    std::env::var_os("MIDRAIL_PAYLOADS").map(PathBuf::from).filter(|folder| folder.is_dir())
}

#[test]
fn captured_payloads_are_read() {
    let Some(folder) = folder() else {
        eprintln!("MIDRAIL_PAYLOADS names no folder of captured payloads: nothing is checked");
        return;
    };
    for host in hosts::ALL.iter() {
        let mut known = 0;
        for entry in std::fs::read_dir(folder.join(host.name)).into_iter().flatten().flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(".json") else { continue };
            if matches!(name, "INDEX" | "results" | "SAME") || name.starts_with("rpc-") {
                continue;
            }
            // `tool.execute.before-bash` is of `tool.execute.before`, `Stop.active` of `Stop`.
            let name = name.split('-').next().unwrap();
            let name =
                name.strip_suffix(".active").or_else(|| name.strip_suffix(".subagent")).unwrap_or(name);
            let bytes = std::fs::read(entry.path()).unwrap();
            let hook = Hook::read(host, Some(name), &bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
            let events = hook.events().unwrap_or_else(|error| panic!("{} {file}: {error}", host.name));
            let event = events.first().unwrap();
            known += usize::from(event.kind != EventKind::Observed);
            let is_call = matches!(event.kind, EventKind::BeforeTool | EventKind::AfterTool);
            assert!(!is_call || event.tool_name().is_some_and(|name| !name.is_empty()), "{file}");
            assert!(event.kind == EventKind::Observed || event.session.is_some(), "{} {file}", host.name);
        }
        assert!(known > 0, "{}: none of its payloads is known", host.name);
    }
}
