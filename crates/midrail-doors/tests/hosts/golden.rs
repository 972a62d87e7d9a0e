//! Each payload as the event that it becomes, and each decision as the host's answer, held in `snapshots/`.
//! `MIDRAIL_WRITE=1 cargo test -p midrail-doors --test hosts golden` writes them anew.

use std::fmt::Write;
use std::fs;

use midrail_doors::hook::Hook;
use midrail_doors::host::Answer;
use midrail_doors::hosts;

use crate::{beside, decisions, fixtures, moment, moment_name};

fn shown(answer: &Answer) -> String {
    let parts = [("stdout", &answer.stdout), ("stderr", &answer.stderr)];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let parts: Vec<String> = parts.map(|(name, text)| format!("{name} {}", text.trim_end())).collect();
    match (parts.is_empty(), answer.code) {
        (true, 0) => "(nothing)".to_owned(),
        (_, code) => format!("exit {code}; {}", parts.join("; ")),
    }
}

#[test]
fn golden_events_and_answers() {
    for door in hosts::ALL {
        let mut text = String::new();
        for (name, payload) in fixtures(*door) {
            let hook = Hook::read(*door, Some(moment_name(&name)), payload.to_string().as_bytes()).unwrap();
            writeln!(text, "# {name}").unwrap();
            for event in hook.events().unwrap() {
                writeln!(text, "event: {}", serde_json::to_string(&event).unwrap()).unwrap();
            }
            for (kind, decision) in decisions(moment(*door, moment_name(&name))) {
                writeln!(text, "{kind}: {}", shown(&hook.answer(vec![decision]))).unwrap();
            }
            writeln!(text, "failure: {}\n", shown(&hook.refuse("the store is locked"))).unwrap();
        }
        let path = beside(&format!("snapshots/{}.txt", door.name()));
        if std::env::var_os("MIDRAIL_WRITE").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let how = "MIDRAIL_WRITE=1 cargo test -p midrail-doors --test hosts golden";
        assert!(
            found == text,
            "{} is not what the door does; look, and write it anew with `{how}`",
            path.display()
        );
    }
}

#[test]
fn every_moment_has_a_fixture() {
    for door in hosts::ALL {
        let fixtures = fixtures(*door);
        for moment in door.moments() {
            assert!(
                fixtures.keys().any(|name| moment_name(name) == moment.name),
                "{} {}",
                door.name(),
                moment.name
            );
        }
    }
}
