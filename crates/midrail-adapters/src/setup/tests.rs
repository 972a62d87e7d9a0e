//! Installs and removes hooks in real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use midrail::Load;

use super::*;
use crate::host::HostSpec;
use crate::hosts;
use crate::mcp_client::McpClient;

fn host(name: &str) -> &'static HostSpec {
    hosts::find(name).unwrap()
}

/// The host as an MCP client.
fn clients(host: &HostSpec) -> Vec<&'static McpClient> {
    hosts::MCP_CLIENTS.iter().filter(|client| client.name == host.name).collect()
}

pub(crate) struct Machine {
    folder: tempfile::TempDir,
    pub(crate) env: Environment,
    time: std::cell::Cell<i64>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (project, home) = (folder.path().join("p"), folder.path().join("h"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&home).unwrap();
        let mut env = Environment::at(&project, &home);
        env.root = folder.path().join("root");
        Machine { folder, env, time: std::cell::Cell::new(1_800_000_000) }
    }

    pub(crate) fn file(&self, host: &'static HostSpec, scope: InstallScope) -> PathBuf {
        host.files.at(&self.env, scope).unwrap()
    }

    pub(crate) fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn apply(&self, plan: &Plan) -> ApplyReport {
        self.time.set(self.time.get() + 1);
        let report = apply(plan, &self.env, jiff::Timestamp::from_second(self.time.get()).unwrap());
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        report
    }

    pub(crate) fn plan(&self, host: &'static HostSpec, scope: InstallScope, program: &str) -> Plan {
        let program = HookProgram { name: program.to_owned(), reason: String::new() };
        install(
            &InstallRequest { hosts: vec![host], clients: clients(host), scope, program, trust: false },
            &self.env,
        )
    }

    pub(crate) fn init(&self, host: &'static HostSpec, scope: InstallScope) -> Plan {
        let plan = self.plan(host, scope, "/opt/it's here/midrail");
        assert!(plan.errors.is_empty(), "{:?}", plan.errors);
        self.apply(&plan);
        plan
    }

    pub(crate) fn remove(&self, host: &'static HostSpec, scope: InstallScope) {
        let plan = uninstall(&[host], &clients(host), scope, false, &self.env);
        assert!(plan.errors.is_empty(), "{:?}", plan.errors);
        self.apply(&plan);
    }
}

/// Every kind of file that people have.
const AWKWARD: &[&str] = &[
    "",
    "\n",
    "{}",
    "{ }\n",
    "{\n}\n",
    "// nothing yet\n",
    "{\n  // only a comment\n}\n",
    "{\"a\":1}",
    "{\n\t\"a\": 1, // one\n\t\"b\": [1, 2,],\n}\n",
    "{\r\n  \"a\": 1,\r\n  \"hooks\": {}\r\n}\r\n",
    "\u{feff}{\"a\": 1}\n",
    "{\n    \"hooks\": { },\n    \"z\": null\n}",
    "/* head */ {\"version\": 1, \"hooks\": {\"Other\": []}} // tail",
    "{\"hooks\": {\"PreToolUse\": [], \"BeforeTool\": [], \"preToolUse\": []}}\n",
];

/// Settings with hooks of other programs, in the format of a host.
fn others(host: &HostSpec) -> String {
    match host.name {
        "claude-code" | "codex" => r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]}
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "bell"}]}]
  }
}
"#
        .to_owned(),
        "gemini-cli" => {
            "{\"hooks\": {\"disabled\": [], \"BeforeTool\": [{\"hooks\": [{\"type\":\"command\",\"command\":\"x\"}]}]}}".to_owned()
        }
        "cursor" | "copilot-cli" => {
            "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"x\"}], \"stop\": []}}\n".to_owned()
        }
        _ => String::new(),
    }
}

fn json_hosts() -> impl Iterator<Item = &'static HostSpec> {
    hosts::ALL.iter().filter(|host| host.name != "opencode")
}

#[test]
fn removal_restores_every_byte() {
    for host in json_hosts() {
        let foreign = others(host);
        let accepted = AWKWARD.iter().copied().filter(|text| is_accepted(host, text));
        for text in accepted.chain([foreign.as_str()]) {
            let machine = Machine::new();
            let path = machine.file(host, InstallScope::Project);
            machine.write(&path, text);
            let plan = machine.init(host, InstallScope::Project);
            let written = fs::read_to_string(&path).unwrap();
            let value = json::value(&written).unwrap_or_else(|error| panic!("{error:?}\n{written}"));
            let old = json::value(text).unwrap();
            for (key, value_before) in old.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
                assert_eq!(&value[key], value_before, "{text}");
            }
            let registered = host.registered(InstallScope::Project, &written).unwrap();
            assert_eq!(registered.len(), host.registrations().count(), "{host:?} {text:?}\n{written}");
            // Nothing that was there is lost, in its order.
            let mut rest = written.as_str();
            for word in
                text.split(|c: char| c.is_whitespace() || "{}[],".contains(c)).filter(|it| !it.is_empty())
            {
                let at = rest.find(word).unwrap_or_else(|| panic!("`{word}` of {text:?} is not in {rest}"));
                rest = &rest[at + word.len()..];
            }
            assert!(!text.contains("\r\n") || !written.replace("\r\n", "").contains('\n'), "{written:?}");
            assert!(!plan.changes.is_empty());

            let again = machine.plan(host, InstallScope::Project, "/opt/it's here/midrail");
            assert!(again.changes.is_empty(), "{host:?} {text:?}: {:?}", again.changes);
            machine.remove(host, InstallScope::Project);
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{host:?}");
            assert!(uninstall(&[host], &[], InstallScope::Project, false, &machine.env).changes.is_empty());
        }
    }
}

/// Whether a host reads one of the awkward files.
fn is_accepted(host: &HostSpec, text: &str) -> bool {
    let has_comment = text.contains("//") || text.contains("/*");
    let has_comma = text.contains(",]");
    (!has_comment || ["gemini-cli", "cursor"].contains(&host.name))
        && !has_comma
        && (!text.starts_with('\u{feff}') || host.name == "claude-code")
        && (host.name != "codex" || !["\"a\"", "\"z\"", "\"version\""].iter().any(|key| text.contains(key)))
}

#[test]
fn file_that_the_host_ignores_is_not_changed() {
    for host in json_hosts() {
        for text in AWKWARD.iter().copied().filter(|text| !is_accepted(host, text)) {
            let machine = Machine::new();
            let path = machine.file(host, InstallScope::Project);
            machine.write(&path, text);
            let plan = machine.plan(host, InstallScope::Project, "midrail");
            let [error] = plan.errors.as_slice() else { panic!("{host:?} takes {text:?}") };
            assert!(error.place.is_some() && error.help.is_some(), "{error}");
            assert!(error.message.contains("ignores such a file"), "{error}");
            // And hooks in it do not count.
            assert!(host.check(InstallScope::Project, text).is_err());
        }
    }
}

#[test]
fn removal_deletes_created_files_and_folders() {
    for host in hosts::ALL.iter() {
        for scope in [InstallScope::Project, InstallScope::User, InstallScope::Managed] {
            let machine = Machine::new();
            let Some(path) = host.files.at(&machine.env, scope) else { continue };
            machine.init(host, scope);
            assert!(path.exists());
            let parent = path.parent().unwrap().to_owned();
            machine.remove(host, scope);
            assert!(!path.exists() && !parent.exists(), "{host:?} {scope:?}");
        }
    }
}

#[test]
fn pack_is_removed_only_with_purge() {
    let machine = Machine::new();
    machine.init(host("claude-code"), InstallScope::Project);
    machine.remove(host("claude-code"), InstallScope::Project);
    let pack = machine.env.project.join(".midrail/pack.yaml");
    assert!(pack.exists());
    machine.apply(&uninstall(
        &hosts::ALL.iter().collect::<Vec<_>>(),
        &[],
        InstallScope::Project,
        true,
        &machine.env,
    ));
    assert!(!pack.exists());
    assert_eq!(fs::read_dir(&machine.env.project).unwrap().count(), 0);
}

#[test]
fn changes_of_other_programs_stay() {
    let machine = Machine::new();
    let path = machine.file(host("gemini-cli"), InstallScope::Project);
    machine.write(&path, "{\n  // mine\n  \"a\": 1\n}\n");
    machine.init(host("gemini-cli"), InstallScope::Project);
    let changed = fs::read_to_string(&path).unwrap().replace("\"a\": 1", "\"a\": 2");
    fs::write(&path, &changed).unwrap();
    machine.remove(host("gemini-cli"), InstallScope::Project);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  // mine\n  \"a\": 2\n}\n");

    // Without any record, too.
    let machine = Machine::new();
    let path = machine.file(host("cursor"), InstallScope::Project);
    machine.write(&path, &others(host("cursor")));
    machine.init(host("cursor"), InstallScope::Project);
    fs::remove_dir_all(machine.env.project.join(".midrail")).unwrap();
    machine.remove(host("cursor"), InstallScope::Project);
    let left = json::value(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left["hooks"]["preToolUse"], serde_json::json!([{"command": "x"}]));
    assert_eq!(left["version"], 1);
}

#[test]
fn new_program_replaces_the_old_one() {
    for host in hosts::ALL.iter() {
        let machine = Machine::new();
        let path = machine.file(host, InstallScope::Project);
        let before = others(host);
        if host.name != "opencode" {
            machine.write(&path, &before);
        }
        machine.init(host, InstallScope::Project);
        machine.apply(&machine.plan(host, InstallScope::Project, "midrail"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("/opt/"), "{text}");
        let registered = host.registered(InstallScope::Project, &text).unwrap();
        assert_eq!(registered.len(), host.registrations().count());
        machine.remove(host, InstallScope::Project);
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), before, "{host:?}");
    }
}

#[test]
fn older_registrations_are_replaced() {
    let text = r#"{"hooks": {
      "PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "lint.sh"},
        {"type": "command", "command": "midrail hook claude-code PreToolUse"}
      ]}],
      "PreCompact": [{"hooks": [{"type": "command", "command": "midrail hook claude-code PreCompact"}]}]
    }}"#;
    let after = host("claude-code").install(InstallScope::Project, text, "midrail").unwrap();
    let value = json::value(&after).unwrap();
    assert_eq!(value["hooks"].get("PreCompact"), None);
    assert_eq!(value["hooks"]["PreToolUse"][0]["hooks"].as_array().unwrap().len(), 1);
    assert_eq!(value["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
}

#[test]
fn invalid_file_does_not_prevent_the_others() {
    for (text, place, what) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", Some((2, 9)), "not valid JSON"),
        ("{\n  \"hooks\": 5\n}", Some((2, 12)), "`hooks` is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", Some((1, 26)), "`hooks.PreToolUse` is not an array"),
        ("{\"hooks\": {}, \"hooks\": {}}", Some((1, 15)), "`hooks` occurs twice"),
        ("[]", Some((1, 1)), "is not an object"),
    ] {
        let machine = Machine::new();
        let path = machine.file(host("claude-code"), InstallScope::Project);
        machine.write(&path, text);
        let program = HookProgram { name: "midrail".to_owned(), reason: String::new() };
        let hosts = vec![host("claude-code"), host("cursor")];
        let plan = install(
            &InstallRequest {
                hosts,
                clients: Vec::new(),
                scope: InstallScope::Project,
                program,
                trust: false,
            },
            &machine.env,
        );
        let [error] = plan.errors.as_slice() else { panic!("{text}: {:?}", plan.errors) };
        assert_eq!((&error.path, error.place), (&path, place), "{text}: {error}");
        assert!(error.message.contains(what), "{error}");
        assert!(error.help.is_some());
        machine.apply(&plan);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(machine.file(host("cursor"), InstallScope::Project).exists());
    }
    let machine = Machine::new();
    let path = machine.file(host("claude-code"), InstallScope::Project);
    machine.write(&path, "");
    fs::write(&path, b"{\n \xff}").unwrap();
    let plan = machine.plan(host("claude-code"), InstallScope::Project, "midrail");
    assert_eq!(plan.errors[0].place, Some((2, 2)), "{:?}", plan.errors);
    let path = machine.file(host("opencode"), InstallScope::Project);
    machine.write(&path, "export const Other = 1;\n");
    let plan = machine.plan(host("opencode"), InstallScope::Project, "midrail");
    assert!(plan.errors[0].message.contains("not Midrail's plugin"), "{:?}", plan.errors);
}

#[test]
fn links_are_followed_and_modes_are_kept() {
    let machine = Machine::new();
    let path = machine.file(host("claude-code"), InstallScope::User);
    let target = machine.folder.path().join("dotfiles/claude.json");
    machine.write(&target, "{}\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    machine.init(host("claude-code"), InstallScope::User);
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("midrail"));
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let copies = fs::read_dir(machine.env.state.join("backup")).unwrap();
    for copy in copies.map(|copy| copy.unwrap().path()) {
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    machine.remove(host("claude-code"), InstallScope::User);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}\n");

    let path = machine.file(host("cursor"), InstallScope::User);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let plan = machine.plan(host("cursor"), InstallScope::User, "midrail");
    assert!(plan.errors[0].message.contains("Cursor does not follow links"), "{:?}", plan.errors);
}

#[test]
fn concurrent_change_is_not_overwritten() {
    let machine = Machine::new();
    let path = machine.file(host("claude-code"), InstallScope::Project);
    machine.write(&path, "{}");
    let plan = machine.plan(host("claude-code"), InstallScope::Project, "midrail");
    fs::write(&path, "{\"a\": 1}").unwrap();
    let report = apply(&plan, &machine.env, jiff::Timestamp::UNIX_EPOCH);
    assert!(report.errors[0].message.contains("changed by another program"), "{:?}", report.errors);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
}

#[test]
fn starter_pack_is_valid_with_and_without_examples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack.yaml");
    let load = || Load { packs: vec![path.clone()], ..Load::default() };
    let examples: Vec<usize> = (0..plan::STARTER_PACK.lines().count())
        .filter(|at| plan::STARTER_PACK.lines().nth(*at).is_some_and(is_example))
        .collect();
    assert!(examples.len() >= 15);
    // Blocks of examples that stand together are switched on together.
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for at in examples {
        match blocks.last_mut() {
            Some(block) if block.last() == Some(&(at - 1)) => block.push(at),
            _ => blocks.push(vec![at]),
        }
    }
    let all: Vec<usize> = blocks.concat();
    for on in blocks.iter().chain([&all, &Vec::new()]) {
        let lines = plan::STARTER_PACK
            .lines()
            .enumerate()
            .map(|(at, line)| if on.contains(&at) { line.strip_prefix('#').unwrap() } else { line });
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        fs::write(&path, &text).unwrap();
        if let Err(error) = load().load() {
            panic!("{error}\n{text}");
        }
    }
}

fn is_example(line: &str) -> bool {
    line.starts_with('#') && !line.starts_with("##")
}

#[test]
fn hosts_are_detected_by_traces_and_programs() {
    let mut machine = Machine::new();
    assert!(hosts::ALL.iter().all(|host| !host.is_present(&machine.env)));
    fs::create_dir(machine.env.project.join(".claude")).unwrap();
    fs::create_dir(machine.env.home.join(".codex")).unwrap();
    let bin = machine.folder.path().join("bin");
    machine.write(&bin.join("gemini"), "");
    machine.write(&bin.join("copilot"), "");
    fs::set_permissions(bin.join("gemini"), fs::Permissions::from_mode(0o755)).unwrap();
    machine.env.path = Some(bin.into_os_string());
    let present = hosts::ALL.iter().filter(|host| host.is_present(&machine.env)).map(|host| host.name);
    assert_eq!(present.collect::<Vec<_>>(), ["claude-code", "codex", "gemini-cli"]);
    assert!(host("claude-code").has_name("claude"));
    assert!(hosts::ALL.iter().all(|host| !host.has_name("gpt")));
}

#[test]
fn registered_events_are_known_to_the_host() {
    for host in hosts::ALL.iter().filter(|host| !host.known_events.is_empty()) {
        assert!(host.registrations().all(|(event, _)| host.known_events.contains(&event.name)), "{host:?}");
    }
}
