//! Codex's TOML files.

use std::fs;

use super::toml;
use crate::host::HostSpec;
use crate::hosts;
use crate::setup::InstallScope;
use crate::setup::tests::Machine;

fn codex() -> &'static HostSpec {
    hosts::find("codex").unwrap()
}

#[test]
fn requirements_of_a_machine_keep_other_settings() {
    for text in [
        "",
        "# the company's\nallowed_approval_policies = [\"on-request\"] # asked\n\n[features]\nhooks = false # off\nother = true\n",
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"lint.sh\"\n",
        "[hooks]\nmanaged_dir = \"/opt\"\n\n[rules]\nx = 1",
    ] {
        let machine = Machine::new();
        let path = machine.file(codex(), InstallScope::Managed);
        machine.write(&path, text);
        machine.init(codex(), InstallScope::Managed);
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(toml::flag_at(&written, &["features", "hooks"]).unwrap(), Some(true), "{written}");
        let registered = (codex()).registered(InstallScope::Managed, &written).unwrap();
        assert_eq!(registered.len(), codex().registrations().count(), "{written}");
        for line in text.lines().filter(|line| !line.starts_with("hooks = false")) {
            assert!(written.contains(line), "`{line}` is not in:\n{written}");
        }
        assert!(machine.plan(codex(), InstallScope::Managed, "/opt/it's here/midrail").changes.is_empty());
        machine.remove(codex(), InstallScope::Managed);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // Another program adds a line: the feature is reset to what it was.
        machine.init(codex(), InstallScope::Managed);
        let more = format!("{}\n[more]\nx = 1\n", fs::read_to_string(&path).unwrap());
        fs::write(&path, more).unwrap();
        machine.remove(codex(), InstallScope::Managed);
        let left = fs::read_to_string(&path).unwrap();
        let off = |text: &str| toml::flag_at(text, &["features", "hooks"]).unwrap();
        assert_eq!(off(&left), off(text), "{left}");
        fs::write(&path, text).unwrap();
        // The same without a backup: only Midrail's lines are removed.
        machine.init(codex(), InstallScope::Managed);
        fs::remove_dir_all(&machine.env.state).unwrap();
        machine.remove(codex(), InstallScope::Managed);
        let left = fs::read_to_string(&path).unwrap();
        assert!(!left.contains("midrail"), "{left}");
        for line in text.lines().filter(|line| !line.contains("hooks") && !line.contains("[features]")) {
            assert!(left.contains(line), "`{line}` is not in:\n{left}");
        }
    }
    let machine = Machine::new();
    let path = machine.file(codex(), InstallScope::Managed);
    machine.write(&path, "a = 1\nb = = 2\n");
    let plan = machine.plan(codex(), InstallScope::Managed, "midrail");
    assert_eq!(plan.errors[0].place.map(|(line, _)| line), Some(2), "{:?}", plan.errors);
}

#[test]
fn trust_is_written_and_removed() {
    let text = "model = \"m\" # mine\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
    let hooks = [("/p/.codex/hooks.json:pre_tool_use:0:0".to_owned(), "sha256:1".to_owned())];
    let trusted = toml::trust(text, &hooks).unwrap();
    assert!(trusted.starts_with(text), "{trusted}");
    let key = ["hooks", "state", &hooks[0].0, "trusted_hash"];
    assert_eq!(toml::text_at(&trusted, &key).as_deref(), Some("sha256:1"));
    assert_eq!(toml::trust(&trusted, &hooks).unwrap(), trusted);
    assert_eq!(toml::distrust(&trusted, "/p/.codex/hooks.json", Some(text)).unwrap().as_deref(), Some(text));
    assert_eq!(toml::distrust(&trusted, "/q/.codex/hooks.json", None).unwrap(), None);
}
