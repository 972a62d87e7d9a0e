//! Setting up and taking out, with real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use midrail::Load;
use serde_json::Value;

use super::*;
use crate::hook;

struct Machine {
    folder: tempfile::TempDir,
    places: Environment,
    time: std::cell::Cell<i64>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (project, home) = (folder.path().join("p"), folder.path().join("h"));
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&home).unwrap();
        let mut places = Environment::at(&project, &home);
        places.root = folder.path().join("root");
        Machine { folder, places, time: std::cell::Cell::new(1_800_000_000) }
    }

    fn file(&self, agent: Agent, scope: InstallScope) -> PathBuf {
        (agent.host().file)(&self.places, scope).unwrap()
    }

    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn apply(&self, plan: &Plan) -> ApplyReport {
        self.time.set(self.time.get() + 1);
        let done = apply(plan, &self.places, jiff::Timestamp::from_second(self.time.get()).unwrap());
        assert!(done.troubles.is_empty(), "{:?}", done.troubles);
        done
    }

    fn plan(&self, agent: Agent, scope: InstallScope, program: &str) -> Plan {
        let program = HookProgram { name: program.to_owned(), why: String::new() };
        install(&InstallRequest { agents: vec![agent], scope, program }, &self.places)
    }

    fn init(&self, agent: Agent, scope: InstallScope) -> Plan {
        let plan = self.plan(agent, scope, "/opt/it's here/midrail");
        assert!(plan.troubles.is_empty(), "{:?}", plan.troubles);
        self.apply(&plan);
        plan
    }

    fn take_out(&self, agent: Agent, scope: InstallScope) {
        let plan = uninstall(&[agent], scope, false, &self.places);
        assert!(plan.troubles.is_empty(), "{:?}", plan.troubles);
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

/// Settings of somebody else's hooks, in the form of an agent.
fn others(agent: Agent) -> String {
    match agent {
        Agent::ClaudeCode | Agent::Codex => r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]}
    ],
    "Notification": [{"hooks": [{"type": "command", "command": "bell"}]}]
  }
}
"#
        .to_owned(),
        Agent::GeminiCli => {
            "{\"hooks\": {\"disabled\": [], \"BeforeTool\": [{\"hooks\": [{\"type\":\"command\",\"command\":\"x\"}]}]}}".to_owned()
        }
        Agent::Cursor | Agent::CopilotCli => {
            "{\"version\": 1, \"hooks\": {\"preToolUse\": [{\"command\": \"x\"}], \"stop\": []}}\n".to_owned()
        }
        Agent::OpenCode => String::new(),
    }
}

const JSON_AGENTS: [Agent; 5] =
    [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli, Agent::CopilotCli, Agent::Cursor];

#[test]
fn what_is_taken_out_leaves_every_byte_as_it_was() {
    for agent in JSON_AGENTS {
        let own = others(agent);
        let taken = AWKWARD.iter().copied().filter(|text| is_taken(agent, text));
        for text in taken.chain([own.as_str()]) {
            let machine = Machine::new();
            let path = machine.file(agent, InstallScope::Project);
            machine.write(&path, text);
            let plan = machine.init(agent, InstallScope::Project);
            let written = fs::read_to_string(&path).unwrap();
            let value = jsonc::value(&written).unwrap_or_else(|flaw| panic!("{flaw:?}\n{written}"));
            let old = jsonc::value(text).unwrap();
            for (key, value_before) in old.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
                assert_eq!(&value[key], value_before, "{text}");
            }
            let registered = agent.host().registered(InstallScope::Project, &written).unwrap();
            assert_eq!(registered.len(), agent.host().events.len(), "{agent:?} {text:?}\n{written}");
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

            let again = machine.plan(agent, InstallScope::Project, "/opt/it's here/midrail");
            assert!(again.changes.is_empty(), "{agent:?} {text:?}: {:?}", again.changes);
            machine.take_out(agent, InstallScope::Project);
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{agent:?}");
            assert!(uninstall(&[agent], InstallScope::Project, false, &machine.places).changes.is_empty());
        }
    }
}

/// Whether an agent takes one of the awkward files.
fn is_taken(agent: Agent, text: &str) -> bool {
    use Agent::{ClaudeCode, Codex, Cursor, GeminiCli};
    let has_comment = text.contains("//") || text.contains("/*");
    let has_comma = text.contains(",]");
    (!has_comment || [GeminiCli, Cursor].contains(&agent))
        && !has_comma
        && (!text.starts_with('\u{feff}') || agent == ClaudeCode)
        && (agent != Codex || !["\"a\"", "\"z\"", "\"version\""].iter().any(|key| text.contains(key)))
}

#[test]
fn a_file_that_the_agent_itself_does_not_take_is_left_alone() {
    for agent in JSON_AGENTS {
        for text in AWKWARD.iter().copied().filter(|text| !is_taken(agent, text)) {
            let machine = Machine::new();
            let path = machine.file(agent, InstallScope::Project);
            machine.write(&path, text);
            let plan = machine.plan(agent, InstallScope::Project, "midrail");
            let [trouble] = plan.troubles.as_slice() else { panic!("{agent:?} takes {text:?}") };
            assert!(trouble.place.is_some() && trouble.help.is_some(), "{trouble}");
            assert!(trouble.what.contains("does not read such a file"), "{trouble}");
            // And hooks in it do not count.
            assert!(agent.host().check(InstallScope::Project, text).is_err());
        }
    }
}

#[test]
fn what_was_not_there_is_not_there_afterwards() {
    for agent in Agent::ALL {
        for scope in [InstallScope::Project, InstallScope::User, InstallScope::Managed] {
            let machine = Machine::new();
            let Some(path) = (agent.host().file)(&machine.places, scope) else { continue };
            machine.init(agent, scope);
            assert!(path.exists());
            let parent = path.parent().unwrap().to_owned();
            machine.take_out(agent, scope);
            assert!(!path.exists() && !parent.exists(), "{agent:?} {scope:?}");
        }
    }
}

#[test]
fn a_pack_goes_only_with_purge() {
    let machine = Machine::new();
    machine.init(Agent::ClaudeCode, InstallScope::Project);
    machine.take_out(Agent::ClaudeCode, InstallScope::Project);
    let pack = machine.places.project.join(".midrail/pack.yaml");
    assert!(pack.exists());
    machine.apply(&uninstall(&Agent::ALL, InstallScope::Project, true, &machine.places));
    assert!(!pack.exists());
    assert_eq!(fs::read_dir(&machine.places.project).unwrap().count(), 0);
}

#[test]
fn what_others_change_meanwhile_stays() {
    let machine = Machine::new();
    let path = machine.file(Agent::GeminiCli, InstallScope::Project);
    machine.write(&path, "{\n  // mine\n  \"a\": 1\n}\n");
    machine.init(Agent::GeminiCli, InstallScope::Project);
    let changed = fs::read_to_string(&path).unwrap().replace("\"a\": 1", "\"a\": 2");
    fs::write(&path, &changed).unwrap();
    machine.take_out(Agent::GeminiCli, InstallScope::Project);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  // mine\n  \"a\": 2\n}\n");

    // Without any record, too.
    let machine = Machine::new();
    let path = machine.file(Agent::Cursor, InstallScope::Project);
    machine.write(&path, &others(Agent::Cursor));
    machine.init(Agent::Cursor, InstallScope::Project);
    fs::remove_dir_all(machine.places.project.join(".midrail")).unwrap();
    machine.take_out(Agent::Cursor, InstallScope::Project);
    let left = jsonc::value(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left["hooks"]["preToolUse"], serde_json::json!([{"command": "x"}]));
    assert_eq!(left["version"], 1);
}

#[test]
fn a_new_program_takes_the_place_of_the_old_one() {
    for agent in Agent::ALL {
        let machine = Machine::new();
        let path = machine.file(agent, InstallScope::Project);
        let before = others(agent);
        if agent != Agent::OpenCode {
            machine.write(&path, &before);
        }
        machine.init(agent, InstallScope::Project);
        machine.apply(&machine.plan(agent, InstallScope::Project, "midrail"));
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("/opt/"), "{text}");
        let registered = agent.host().registered(InstallScope::Project, &text).unwrap();
        assert_eq!(registered.len(), agent.host().events.len());
        machine.take_out(agent, InstallScope::Project);
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), before, "{agent:?}");
    }
}

#[test]
fn ours_in_a_group_of_others_or_of_an_older_version_is_replaced() {
    let text = r#"{"hooks": {
      "PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "lint.sh"},
        {"type": "command", "command": "midrail hook claude-code PreToolUse"}
      ]}],
      "PreCompact": [{"hooks": [{"type": "command", "command": "midrail hook claude-code PreCompact"}]}]
    }}"#;
    let after = Agent::ClaudeCode.host().installed(InstallScope::Project, text, "midrail").unwrap();
    let value = jsonc::value(&after).unwrap();
    assert_eq!(value["hooks"].get("PreCompact"), None);
    assert_eq!(value["hooks"]["PreToolUse"][0]["hooks"].as_array().unwrap().len(), 1);
    assert_eq!(value["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_is_not_valid_is_left_alone_and_the_others_are_done() {
    for (text, place, what) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", Some((2, 9)), "not valid JSON"),
        ("{\n  \"hooks\": 5\n}", Some((2, 12)), "`hooks` is no object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", Some((1, 26)), "`hooks.PreToolUse` is no array"),
        ("{\"hooks\": {}, \"hooks\": {}}", Some((1, 15)), "`hooks` stands here twice"),
        ("[]", Some((1, 1)), "is no object"),
    ] {
        let machine = Machine::new();
        let path = machine.file(Agent::ClaudeCode, InstallScope::Project);
        machine.write(&path, text);
        let program = HookProgram { name: "midrail".to_owned(), why: String::new() };
        let agents = vec![Agent::ClaudeCode, Agent::Cursor];
        let plan =
            install(&InstallRequest { agents, scope: InstallScope::Project, program }, &machine.places);
        let [trouble] = plan.troubles.as_slice() else { panic!("{text}: {:?}", plan.troubles) };
        assert_eq!((&trouble.path, trouble.place), (&path, place), "{text}: {trouble}");
        assert!(trouble.what.contains(what), "{trouble}");
        assert!(trouble.help.is_some());
        machine.apply(&plan);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(machine.file(Agent::Cursor, InstallScope::Project).exists());
    }
    let machine = Machine::new();
    let path = machine.file(Agent::ClaudeCode, InstallScope::Project);
    machine.write(&path, "");
    fs::write(&path, b"{\n \xff}").unwrap();
    let plan = machine.plan(Agent::ClaudeCode, InstallScope::Project, "midrail");
    assert_eq!(plan.troubles[0].place, Some((2, 2)), "{:?}", plan.troubles);
    let path = machine.file(Agent::OpenCode, InstallScope::Project);
    machine.write(&path, "export const Other = 1;\n");
    let plan = machine.plan(Agent::OpenCode, InstallScope::Project, "midrail");
    assert!(plan.troubles[0].what.contains("not Midrail's plugin"), "{:?}", plan.troubles);
}

#[test]
fn links_are_written_through_and_modes_stay() {
    let machine = Machine::new();
    let path = machine.file(Agent::ClaudeCode, InstallScope::User);
    let target = machine.folder.path().join("dotfiles/claude.json");
    machine.write(&target, "{}\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    machine.init(Agent::ClaudeCode, InstallScope::User);
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("midrail"));
    assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let copies = fs::read_dir(machine.places.state.join("backup")).unwrap();
    for copy in copies.map(|copy| copy.unwrap().path()) {
        assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    machine.take_out(Agent::ClaudeCode, InstallScope::User);
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}\n");

    let path = machine.file(Agent::Cursor, InstallScope::User);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    let plan = machine.plan(Agent::Cursor, InstallScope::User, "midrail");
    assert!(plan.troubles[0].what.contains("Cursor reads no links"), "{:?}", plan.troubles);
}

#[test]
fn a_change_by_somebody_else_is_not_overwritten() {
    let machine = Machine::new();
    let path = machine.file(Agent::ClaudeCode, InstallScope::Project);
    machine.write(&path, "{}");
    let plan = machine.plan(Agent::ClaudeCode, InstallScope::Project, "midrail");
    fs::write(&path, "{\"a\": 1}").unwrap();
    let done = apply(&plan, &machine.places, jiff::Timestamp::UNIX_EPOCH);
    assert!(done.troubles[0].what.contains("changed by somebody else"), "{:?}", done.troubles);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
}

#[test]
fn requirements_of_codex_keep_their_words() {
    for text in [
        "",
        "# the house's\nallowed_approval_policies = [\"on-request\"] # asked\n\n[features]\nhooks = false # off\nother = true\n",
        "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"lint.sh\"\n",
        "[hooks]\nmanaged_dir = \"/opt\"\n\n[rules]\nx = 1",
    ] {
        let machine = Machine::new();
        let path = machine.file(Agent::Codex, InstallScope::Managed);
        machine.write(&path, text);
        machine.init(Agent::Codex, InstallScope::Managed);
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(toml::flag_at(&written, &["features", "hooks"]).unwrap(), Some(true), "{written}");
        let registered = Agent::Codex.host().registered(InstallScope::Managed, &written).unwrap();
        assert_eq!(registered.len(), Agent::Codex.host().events.len(), "{written}");
        for line in text.lines().filter(|line| !line.starts_with("hooks = false")) {
            assert!(written.contains(line), "`{line}` is not in:\n{written}");
        }
        assert!(
            machine.plan(Agent::Codex, InstallScope::Managed, "/opt/it's here/midrail").changes.is_empty()
        );
        machine.take_out(Agent::Codex, InstallScope::Managed);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // Somebody else adds a line meanwhile: what was off is off again.
        machine.init(Agent::Codex, InstallScope::Managed);
        let more = format!("{}\n[more]\nx = 1\n", fs::read_to_string(&path).unwrap());
        fs::write(&path, more).unwrap();
        machine.take_out(Agent::Codex, InstallScope::Managed);
        let left = fs::read_to_string(&path).unwrap();
        let off = |text: &str| toml::flag_at(text, &["features", "hooks"]).unwrap();
        assert_eq!(off(&left), off(text), "{left}");
        fs::write(&path, text).unwrap();
        // The same without a record: only our words go.
        machine.init(Agent::Codex, InstallScope::Managed);
        fs::remove_dir_all(&machine.places.state).unwrap();
        machine.take_out(Agent::Codex, InstallScope::Managed);
        let left = fs::read_to_string(&path).unwrap();
        assert!(!left.contains("midrail"), "{left}");
        for line in text.lines().filter(|line| !line.contains("hooks") && !line.contains("[features]")) {
            assert!(left.contains(line), "`{line}` is not in:\n{left}");
        }
    }
    let machine = Machine::new();
    let path = machine.file(Agent::Codex, InstallScope::Managed);
    machine.write(&path, "a = 1\nb = = 2\n");
    let plan = machine.plan(Agent::Codex, InstallScope::Managed, "midrail");
    assert_eq!(plan.troubles[0].place.map(|(line, _)| line), Some(2), "{:?}", plan.troubles);
}

#[test]
fn trust_is_written_and_forgotten() {
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

#[test]
fn the_first_pack_is_valid_as_it_is_and_with_every_example() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pack.yaml");
    let load = || Load { packs: vec![path.clone()], ..Load::default() };
    let examples: Vec<usize> = (0..starter::PACK.lines().count())
        .filter(|at| starter::PACK.lines().nth(*at).is_some_and(is_example))
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
        let lines = starter::PACK.lines().enumerate().map(|(at, line)| match on.contains(&at) {
            true => line.strip_prefix('#').unwrap(),
            false => line,
        });
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
fn every_event_is_one_that_the_door_knows() {
    for agent in Agent::ALL {
        let Some(adapter) = hook::adapter(agent.name()) else { continue };
        for hooked in agent.host().events {
            let known = adapter.hook_events().iter().any(|moment| moment.name == hooked.event);
            assert!(known, "{} does not know {}", adapter.title(), hooked.event);
        }
        assert_eq!(adapter.title(), agent.title());
    }
    for hooked in Agent::Cursor.host().events {
        assert!(cursor::EVENTS.contains(&hooked.event), "{}", hooked.event);
    }
}

#[test]
fn agents_are_found_by_their_traces_and_programs() {
    let mut machine = Machine::new();
    assert!(Agent::ALL.iter().all(|agent| !agent.is_here(&machine.places)));
    fs::create_dir(machine.places.project.join(".claude")).unwrap();
    fs::create_dir(machine.places.home.join(".codex")).unwrap();
    let bin = machine.folder.path().join("bin");
    machine.write(&bin.join("gemini"), "");
    machine.write(&bin.join("copilot"), "");
    fs::set_permissions(bin.join("gemini"), fs::Permissions::from_mode(0o755)).unwrap();
    machine.places.path = Some(bin.into_os_string());
    let here: Vec<Agent> = Agent::ALL.into_iter().filter(|agent| agent.is_here(&machine.places)).collect();
    assert_eq!(here, [Agent::ClaudeCode, Agent::Codex, Agent::GeminiCli]);
    assert_eq!(Agent::named("claude"), Some(Agent::ClaudeCode));
    assert_eq!(Agent::named("gpt"), None);
}

/// What the plugin of OpenCode does, in Node, with programs that answer, refuse, fail and are not there.
#[test]
fn the_plugin_fails_closed() {
    if !Path::new("/usr/bin/node").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let answers = [
        ("allows", "#!/bin/sh\ncat > /dev/null", "passed", "out"),
        ("denies", "#!/bin/sh\ncat > /dev/null\necho no >&2; exit 2", "no", "no"),
        ("fails", "#!/bin/sh\nexit 1", "Midrail did not answer", "Midrail did not answer"),
        ("killed", "#!/bin/sh\nkill -9 $$", "Midrail did not answer", "Midrail did not answer"),
        (
            "garbled",
            "#!/bin/sh\ncat > /dev/null\necho '{'",
            "Midrail did not answer",
            "Midrail did not answer",
        ),
        (
            // What could not be told with the call is told with its result.
            "replaces",
            "#!/bin/sh\ncat > /dev/null\necho '{\"replace\":\"***\",\"notes\":[\"n\"]}'",
            "passed",
            "***\n\nn\n\nn",
        ),
    ];
    for (name, text, before, after) in answers {
        let program = write(name, text);
        write(&format!("{name}.mjs"), &opencode::plugin(&program));
        let script = format!(
            "import {{ Midrail }} from './{name}.mjs';
             const hooks = await Midrail({{ directory: '/p' }});
             const call = {{ args: {{ command: 'passed' }} }};
             let told;
             try {{ await hooks['tool.execute.before']({{ tool: 'bash' }}, call); told = call.args.command; }}
             catch (error) {{ told = error.message; }}
             const result = {{ output: 'out' }};
             await hooks['tool.execute.after']({{ tool: 'bash' }}, result);
             console.log(JSON.stringify([told, result.output]));"
        );
        write(&format!("{name}-run.mjs"), &script);
        let output = std::process::Command::new("/usr/bin/node")
            .arg(format!("{name}-run.mjs"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let told: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert!(told[0].as_str().unwrap().starts_with(before), "{name}: {told}");
        assert!(told[1].as_str().unwrap().starts_with(after), "{name}: {told}");
    }
}
