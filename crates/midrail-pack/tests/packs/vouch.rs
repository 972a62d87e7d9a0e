//! `vouch`: accepted, checked, kept and not in effect.

use midrail_pack::raw::VouchedCommand;
use midrail_pack::{DiagnosticLevel, PolicySource, lint};

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
    let vouch = documents[0].pack.vouch.clone().unwrap();
    let exact = VouchedCommand::Exact { exact: "npm run build".to_owned() };
    assert_eq!(vouch.commands.0, [VouchedCommand::Words("cargo test".to_owned()), exact]);
    assert_eq!(vouch.edits.0, ["docs/**"]);
    assert_eq!(vouch.hosts.len(), 2);
    assert!(!vouch.is_empty());
}

#[test]
fn mistakes_are_reported() {
    for (vouch, words) in [
        ("{command: [ls]}", "unknown key `command`"),
        ("{commands: ['']}", "this command is empty"),
        ("{commands: [{exact: ' '}]}", "this command is empty"),
        ("{commands: [{exactly: ls}]}", "expected a command, or `{exact: COMMAND}`"),
        ("{reads: ['']}", "this pattern is empty"),
        ("{tools: ['a[']}", "has a `[` without its `]`"),
        ("[ls]", "expected a map, found a list"),
    ] {
        let problems = refused(&format!("pack: p\nvouch: {vouch}\n"));
        assert!(problems.contains(words), "{vouch}: {problems}");
    }
}

#[test]
fn lint_reports_that_it_is_not_in_effect() {
    let lints = lint(&project(PACK));
    let [only] = lints.as_slice() else { panic!("{lints:#?}") };
    assert_eq!((only.code, only.severity, only.line), ("vouch-not-in-effect", DiagnosticLevel::Note, 3));
    assert!(only.message.contains("not in effect yet"), "{}", only.message);
    assert!(lint(&project("pack: p\n")).is_empty());
}

/// The compiled source keeps it, and two policies that differ in it have different revisions.
#[test]
fn it_stays_in_the_compiled_source() {
    let source = PolicySource::from_documents(&project(PACK));
    assert!(source.to_json().contains("\"exact\":\"npm run build\""), "{}", source.to_json());
    let without = PolicySource::from_documents(&project("pack: p\n"));
    assert!(!without.to_json().contains("vouch"));
    let (with, without) = (source.compile().unwrap(), without.compile().unwrap());
    assert_eq!(with.entries().len(), without.entries().len());
    assert_ne!(with.revision(), without.revision());
}
