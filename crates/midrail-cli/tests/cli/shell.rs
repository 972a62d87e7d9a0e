//! The program in a shell: help, colours, completions, manual pages.

use std::process::Stdio;

use serde_json::json;

use crate::world::{World, before, ended};

#[test]
fn help_documents_exit_codes() {
    let world = World::new();
    world.run(&["--help"]).code(0).says("Exit codes:");
    for subcommand in
        [&["check"][..], &["replay"], &["test"], &["lint"], &["audit", "verify"], &["audit", "replay"]]
    {
        let args: Vec<&str> = subcommand.iter().chain(&["--help"]).copied().collect();
        world.run(&args).code(0).says("Exit codes:").says("\n  1  ");
    }
    world.run(&["check", "-h"]).code(0).says("  2  block, halt, escalate, retry");
    world.run(&["--version"]).code(0).says("midrail ");
}

#[test]
fn every_subcommand_has_help_and_the_common_options() {
    let world = World::new();
    for subcommand in [
        "check",
        "replay",
        "test",
        "explain",
        "lint",
        "policy",
        "audit",
        "schema",
        "completions",
        "man",
        "demo",
    ] {
        world.run(&[subcommand, "--help"]).code(0).says("--json").says("--color");
    }
}

#[test]
fn colour_depends_on_terminal_and_option() {
    let world = World::new();
    let event = before("Read", json!({"file_path": ".env"})).to_string();
    let is_coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = world.command(args);
        command.envs(variables.iter().copied());
        ended(&mut command, event.clone().into()).out.contains('\u{1b}')
    };
    assert!(!is_coloured(&["check"], &[]));
    assert!(is_coloured(&["check", "--color", "always"], &[]));
    assert!(is_coloured(&["check"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&["check"], &[("CLICOLOR_FORCE", "0")]));
    assert!(!is_coloured(&["check"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(is_coloured(&["check", "--color=always"], &[("NO_COLOR", "1")]));
    assert!(!is_coloured(&["check", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        world.run(&["completions", shell]).code(0).says("midrail").says("replay");
    }
    world.run(&["man"]).code(0).says(".TH midrail 1");
    let folder = world.path("man");
    world.run(&["man", "--out", &folder]).code(0);
    for page in ["midrail.1", "midrail-check.1", "midrail-audit-verify.1"] {
        assert!(world.read(&format!("man/{page}")).contains(".SH NAME"), "{page}");
    }
}

#[test]
fn closed_output_does_not_panic() {
    let world = World::new();
    let mut child =
        world.command(&["schema", "pack"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = crate::world::Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.err, "");
}

#[test]
fn every_subcommand_supports_json() {
    let world = World::new();
    assert_eq!(world.run(&["completions", "bash", "--json"]).code(0).json()["shell"], "bash");
    assert!(world.run(&["man", "--json"]).code(0).json()["page"].is_string());
    assert_eq!(
        world.run(&["schema", "--write", "out", "--json"]).code(0).json()["written"][0],
        "out/pack.schema.json"
    );
}
