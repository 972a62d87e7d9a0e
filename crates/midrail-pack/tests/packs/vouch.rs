//! `vouch`: the settings of the guardrail vouch.

use midrail_guardrails::{Vouch, VouchedCommand};
use midrail_pack::{DiagnosticLevel, Layer, PolicySource, lint};
use serde::Deserialize;

use crate::world::{project, read, refused};

const PACK: &str = "pack: p
vouch:
  commands: [cargo test, {exact: npm run build}]
  reads: [\"src/**\"]
  edits: docs/**
  hosts: [example.com, \"*.example.org\"]
  tools: [mcp__github__get_issue]
";

#[test]
fn every_list_is_read() {
    let documents = read("pack.yaml", PACK);
    let guard = documents[0].pack.vouch.clone().unwrap();
    let vouch = Vouch::deserialize(guard.with.unwrap()).unwrap();
    let exact = VouchedCommand::Exact { exact: "npm run build".to_owned() };
    assert_eq!(vouch.commands.0, [VouchedCommand::Words("cargo test".to_owned()), exact]);
    assert_eq!(vouch.edits[0].0, "docs/**");
    assert_eq!(vouch.hosts.len(), 2);
    assert!(!vouch.is_empty());
}

#[test]
fn mistakes_are_reported() {
    for (vouch, words) in [
        ("{command: [ls]}", "unknown key `command`"),
        ("{commands: [{exactly: ls}]}", "expected a command, or `{exact: COMMAND}`"),
        ("{tools: ['a[']}", "has a `[` without its `]`"),
        ("[ls]", "expected a map, found a list"),
    ] {
        let problems = refused(&format!("pack: p\nvouch: {vouch}\n"));
        assert!(problems.contains(words), "{vouch}: {problems}");
    }
}

#[test]
fn lint_finds_entries_that_match_nothing() {
    for (vouch, words) in [
        ("{commands: ['']}", "the command ``"),
        ("{commands: [{exact: ' '}]}", "the command ` `"),
        ("{commands: ['*']}", "vouches for every program"),
        ("{reads: ['']}", "this pattern is empty"),
        ("{hosts: ['https://example.com']}", "matches no host"),
    ] {
        let documents: Vec<_> = read("pack.yaml", &format!("pack: p\nvouch: {vouch}\n"));
        let documents: Vec<_> = documents.into_iter().map(|document| (Layer::User, document)).collect();
        let lints = lint(&documents);
        assert!(lints.iter().any(|lint| lint.message.contains(words)), "{vouch}: {lints:#?}");
    }
}

/// A cloned project does not decide which questions its user is spared.
#[test]
fn project_cannot_vouch_for_itself() {
    let lints = lint(&project(PACK));
    let [only] = lints.as_slice() else { panic!("{lints:#?}") };
    assert_eq!((only.code, only.severity, only.line), ("vouch-of-project", DiagnosticLevel::Note, 3));
    assert!(only.message.contains("cannot vouch for itself"), "{}", only.message);
    let in_guardrails = "pack: p\nguardrails: [{use: vouch, with: {commands: [ls]}}]\n";
    for (pack, layer, is_there) in [
        (PACK, Layer::Project, false),
        (in_guardrails, Layer::Project, false),
        (PACK, Layer::User, true),
        (in_guardrails, Layer::User, true),
        (PACK, Layer::Organisation, true),
    ] {
        let documents: Vec<_> =
            read("pack.yaml", pack).into_iter().map(|document| (layer, document)).collect();
        let policy = PolicySource::from_documents(&documents).compile().unwrap();
        let has_it = policy.entries().iter().any(|entry| &*entry.spec.id == "vouch");
        assert_eq!(has_it, is_there, "{layer:?}: {pack}");
    }
}

/// The compiled source keeps it, and two policies that differ in it have different revisions.
#[test]
fn it_stays_in_the_compiled_source() {
    let source = PolicySource::from_documents(&project(PACK));
    assert!(source.to_json().contains("\"exact\":\"npm run build\""), "{}", source.to_json());
    let without = PolicySource::from_documents(&project("pack: p\n"));
    assert!(!without.to_json().contains("vouch"));
    assert_ne!(source.compile().unwrap().revision(), without.compile().unwrap().revision());
}
