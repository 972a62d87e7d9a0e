//! Imports, and an engine with the imported pack.

use midrail::pack::{DiagnosticLevel, Layer, PackDocument, PolicySource, lint};
use midrail::{Effect, Engine, Event};
use midrail_adapters::hosts;
use midrail_adapters::policy::{FileScope, Finding, Imported, PolicyFile, PolicyFormat};
use serde_json::json;

/// One file of a project.
pub(crate) fn of_project(text: &str) -> Vec<PolicyFile> {
    vec![PolicyFile::of_project("settings", text)]
}

pub(crate) fn file(name: &str, scope: FileScope, text: &str) -> PolicyFile {
    PolicyFile { name: name.to_owned(), text: text.to_owned(), scope }
}

/// The permission rules of all hosts.
pub(crate) fn policies() -> impl Iterator<Item = &'static PolicyFormat> {
    hosts::ALL.iter().map(|host| host.policy)
}

/// The permission rules of a host.
pub(crate) fn policy(name: &str) -> &'static PolicyFormat {
    policies().find(|policy| policy.name == name).unwrap()
}

pub(crate) fn import(host: &str, text: &str) -> Imported {
    policy(host).import(&of_project(text))
}

/// The rules of findings, in order.
pub(crate) fn rules(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.source.rule.as_str()).collect()
}

/// An engine that decides with the imported pack alone.
pub(crate) fn engine(yaml: &str) -> Engine {
    let documents = PackDocument::read("imported.yaml", yaml, None)
        .unwrap_or_else(|report| panic!("the imported pack is invalid:\n{report}\n{yaml}"));
    let documents: Vec<(Layer, PackDocument)> =
        documents.into_iter().map(|document| (Layer::Project, document)).collect();
    let source = PolicySource::from_documents(&documents);
    let policy = source.compile().unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    Engine::builder(policy, &source).build().unwrap()
}

/// The errors and warnings of lint about a pack.
pub(crate) fn warnings(yaml: &str) -> Vec<String> {
    let documents = PackDocument::read("imported.yaml", yaml, None).unwrap();
    let documents: Vec<(Layer, PackDocument)> =
        documents.into_iter().map(|document| (Layer::Project, document)).collect();
    // Not every tool of every host is known, and some rules of hosts allow every program.
    let is_expected = |code: &str| matches!(code, "misspelt-tool" | "vouched-command");
    let found = lint(&documents).into_iter().filter(|finding| !is_expected(finding.code));
    let found = found.filter(|finding| finding.severity != DiagnosticLevel::Note);
    found.map(|finding| format!("{}: {}", finding.code, finding.message)).collect()
}

/// The effect of a call.
pub(crate) fn decide(engine: &Engine, call: &str) -> Effect {
    let event = match call.split_once(' ') {
        Some(("Read", path)) => Event::before_tool("Read", json!({"file_path": path})),
        Some(("Edit", path)) => Event::before_tool("Write", json!({"file_path": path, "content": "x"})),
        Some(("Fetch", url)) => Event::before_tool("WebFetch", json!({"url": url, "prompt": "x"})),
        Some(("Tool", call)) => {
            let (name, args) = call.split_once(' ').unwrap_or((call, "{}"));
            Event::before_tool(name, serde_json::from_str(args).unwrap())
        }
        _ => Event::before_tool("Bash", json!({"command": call})),
    };
    engine.decide(event).effect
}
