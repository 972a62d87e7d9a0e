//! Snapshots of events and answers: `answers.txt` in the folder of each host.
//! `MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts golden` writes them.

use std::fmt::Write;
use std::fs;

use midrail_adapters::hook::Hook;
use midrail_adapters::host::HookOutput;
use midrail_adapters::hosts;

use crate::{decisions, fixture_event, fixtures, hook_event, host_file};

fn shown(answer: &HookOutput) -> String {
    let parts = [("stdout", &answer.stdout), ("stderr", &answer.stderr)];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let parts: Vec<String> = parts.map(|(name, text)| format!("{name} {}", text.trim_end())).collect();
    match (parts.is_empty(), answer.code) {
        (true, 0) => "(nothing)".to_owned(),
        (_, code) => format!("exit {code}; {}", parts.join("; ")),
    }
}

#[test]
fn snapshots_are_current() {
    for host in hosts::ALL.iter() {
        let mut text = String::new();
        for (name, payload) in fixtures(host) {
            let hook = Hook::read(host, Some(fixture_event(&name)), payload.to_string().as_bytes()).unwrap();
            writeln!(text, "# {name}").unwrap();
            for event in hook.events().unwrap() {
                writeln!(text, "event: {}", serde_json::to_string(&event).unwrap()).unwrap();
            }
            for (kind, decision) in decisions(hook_event(host, &name, &payload)) {
                writeln!(text, "{kind}: {}", shown(&hook.answer(vec![decision]))).unwrap();
            }
            writeln!(text, "failure: {}\n", shown(&hook.refuse("the store is locked"))).unwrap();
        }
        let path = host_file(host, "answers.txt");
        if std::env::var_os("MIDRAIL_WRITE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let how = "MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts golden";
        assert!(
            found == text,
            "{} is not what the host does; look, and write it anew with `{how}`",
            path.display()
        );
    }
}

#[test]
fn every_event_has_a_payload() {
    for host in hosts::ALL.iter() {
        let fixtures = fixtures(host);
        for hook_event in host.hook_events {
            assert!(
                fixtures.keys().any(|name| fixture_event(name) == hook_event.name),
                "{} {}",
                host.name,
                hook_event.name
            );
        }
    }
}
