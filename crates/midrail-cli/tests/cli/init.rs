//! `midrail init`, `doctor` and `uninstall`: what they show, write and find, with real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{Ended, World, ended};

/// The program with itself on the search path, as after an installation.
pub(crate) fn on_path(world: &World, args: &[&str]) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_midrail")).parent().unwrap();
    let mut command = world.command(args);
    command.env("PATH", format!("{}:{}:/usr/bin:/bin", world.path("bin"), bin.display()));
    command
}

pub(crate) fn run(world: &World, args: &[&str]) -> Ended {
    ended(&mut on_path(world, args), Vec::new())
}

/// A program on the search path.
pub(crate) fn program(world: &World, name: &str, text: &str) {
    let path = world.write(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn init_shows_asks_and_writes_once() {
    let world = World::new();
    world.write(".claude/settings.json", "{\n  \"model\": \"opus\"\n}\n");
    let files = || fs::read_dir(world.project()).unwrap().count();
    let before = files();
    run(&world, &["init", "--project", "--dry-run"])
        .code(0)
        .says("+   \"hooks\": {")
        .says("nothing was written (--dry-run)");
    run(&world, &["init", "--project"]).code(1).complains("there is no terminal to ask");
    assert_eq!(files(), before);
    assert!(!world.read(".claude/settings.json").contains("midrail"));

    run(&world, &["init", "--project", "--yes"])
        .code(0)
        .says("agents   Claude Code")
        .says("program  midrail (found on the search path")
        .says("wrote    ")
        .says(".midrail/pack.yaml")
        .says("backup   ");
    let settings = world.read(".claude/settings.json");
    assert!(settings.starts_with("{\n  \"model\": \"opus\",\n  \"hooks\": {\n"), "{settings}");
    assert!(
        settings.contains("o=$(midrail hook claude-code PreToolUse --timeout 330 --proof $$)"),
        "{settings}"
    );
    assert!(world.read(".midrail/.gitignore").contains("backup/"));
    run(&world, &["test", ".midrail"]).code(0);
    run(&world, &["lint", "--strict"]).code(0);

    world.write(".midrail/pack.yaml", "pack: mine\nextends: [default]\n");
    run(&world, &["init", "--project"]).code(0).says("is up to date").says("nothing to do");
    assert_eq!(world.read(".midrail/pack.yaml"), "pack: mine\nextends: [default]\n");

    run(&world, &["uninstall", "--project"]).code(1).complains("there is no terminal to ask");
    assert!(world.project().join(".midrail/backup").exists());
    run(&world, &["uninstall", "--project", "--yes"]).code(0).says("wrote    ");
    assert!(!world.project().join(".midrail/backup").exists());
    assert_eq!(world.read(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
    assert_eq!(world.read(".midrail/pack.yaml"), "pack: mine\nextends: [default]\n");
    run(&world, &["uninstall", "--project", "--yes"]).code(0).says("nothing to do");
    run(&world, &["uninstall", "--project", "--yes", "--purge"]).code(0).says("removed  ");
    assert!(!world.project().join(".midrail").exists());
}

#[test]
fn json_has_plan_and_result() {
    let world = World::new();
    let report =
        run(&world, &["init", "--project", "--agent", "codex", "--dry-run", "--json"]).code(0).json();
    assert_eq!(report["agents"], json!(["codex"]));
    assert_eq!(report["scope"], "project");
    assert_eq!(report["changes"][0]["is_new"], true);
    assert_eq!(report["written"], json!([]));
    assert!(
        report["remarks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["text"].as_str().unwrap().contains("/hooks"))
    );
    let report = run(&world, &["init", "--project", "--agent", "codex", "--yes", "--json"]).code(1).json();
    assert_eq!(report["written"].as_array().unwrap().len(), 3);
    let report = run(&world, &["uninstall", "--project", "--yes", "--json"]).code(0).json();
    assert_eq!(report["removed"].as_array().unwrap().len(), 1);
}

#[test]
fn invalid_settings_file_does_not_stop_other_changes() {
    let world = World::new();
    run(&world, &["init", "--project", "--yes"])
        .code(1)
        .complains("no coding agent was detected")
        .complains("--agent NAME");
    run(&world, &["init", "--project", "--agent", "gpt"]).code(1).complains("invalid value 'gpt'");
    run(&world, &["init", "--project", "--agent", "codex", "--program", "nowhere"])
        .code(1)
        .complains("is not an executable program");
    world.write(".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    world.write(".gemini/settings.json", "{}");
    let report = run(&world, &["init", "--project", "--yes"]).code(1);
    let report =
        report.complains(".claude/settings.json:2:9: is not valid JSON").complains("help: fix the file");
    report.says("wrote    ");
    assert!(world.read(".gemini/settings.json").contains("midrail hook gemini-cli BeforeTool"));
    assert_eq!(world.read(".claude/settings.json"), "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    // JSON to some, but not to the agent that reads it.
    world.write(".claude/settings.json", "{\n  \"a\": 1 // one\n}\n");
    run(&world, &["init", "--project", "--yes"])
        .code(1)
        .complains(".claude/settings.json:2:10: contains a comment, and Claude Code ignores such a file")
        .complains("help: remove the comments");
    assert_eq!(world.read(".claude/settings.json"), "{\n  \"a\": 1 // one\n}\n");
}

#[test]
fn user_and_managed_scopes_have_their_own_files() {
    let world = World::new();
    let root = world.path("root");
    let agents = ["claude-code", "codex", "gemini-cli", "copilot-cli", "cursor", "opencode"];
    let named: Vec<&str> = agents.iter().flat_map(|agent| ["--agent", agent]).collect();
    let with = |more: &[&'static str]| [more, &named].concat();
    // Codex is not installed, so whether it trusts the hooks is unknown.
    run(&world, &with(&["init", "--yes"])).code(1).says("this user").says("✗ Codex is not protected");
    let home = world.project().parent().unwrap().to_owned();
    for file in [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".copilot/hooks/midrail.json",
        ".cursor/hooks.json",
        "config/opencode/plugin/midrail.js",
    ] {
        let text = fs::read_to_string(home.join(file)).unwrap();
        // For one user, the program stands there by its path.
        assert!(text.contains(env!("CARGO_BIN_EXE_midrail")), "{file}: {text}");
    }
    assert!(!world.project().join(".midrail").exists());
    let mut managed = with(&["init", "--yes", "--managed", "--root"]);
    managed.insert(4, &root);
    run(&world, &managed).says("OpenCode has no settings for a whole machine");
    for file in [
        "claude-code/managed-settings.json",
        "codex/requirements.toml",
        "gemini-cli/settings.json",
        "github-copilot/policy.d/midrail.json",
        "cursor/hooks.json",
    ] {
        if cfg!(target_os = "linux") {
            assert!(world.read(&format!("root/etc/{file}")).contains("midrail hook "), "{file}");
        }
    }
    assert!(home.join("state/midrail/backup").exists());
    run(&world, &["uninstall", "--yes", "--managed", "--root", &root]).code(0);
    assert!(!world.project().join("root/etc").exists());
    run(&world, &["uninstall", "--yes"]).code(0);
    assert!(!home.join(".claude").exists() && !home.join("config/opencode").exists());
}

/// Findings of one agent, as lines with their marks.
fn findings(report: &Value, agent: &str) -> Vec<String> {
    let agents = report["agents"].as_array().unwrap();
    let examined = agents.iter().find(|it| it["agent"] == agent).unwrap();
    let findings = examined["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|it| format!("{} {}", it["level"].as_str().unwrap(), it["message"].as_str().unwrap()))
        .collect()
}

#[track_caller]
fn has(findings: &[String], part: &str) {
    assert!(findings.iter().any(|it| it.contains(part)), "`{part}` is not in {findings:#?}");
}

#[test]
fn doctor_reports_a_protected_agent() {
    let world = World::new();
    run(&world, &["doctor"]).code(0).says("no coding agent was detected");
    program(&world, "claude", "echo '2.1.325 (Claude Code)'");
    run(&world, &["doctor"])
        .code(1)
        .says("✗ Claude Code is not protected")
        .says("run `midrail init --agent claude-code`");
    run(&world, &["init", "--project", "--yes"]).code(0);
    let ended = run(&world, &["doctor"]).code(0);
    let ended = ended.says("Claude Code 2.1.325\n").says("✓ 10 of 10 events registered in ");
    let ended =
        ended.says("✓ `rm -rf ~` is blocked, in Claude Code's own format").says("✓ `echo hello` is allowed");
    let ended = ended.says("✓ fails closed").says("✓ no file disables hooks");
    let verdict = "✓ Claude Code is protected here, in this session and the next, while the project has its settings file";
    assert!(ended.out.starts_with(verdict), "{}", ended.out);
    // The calls that it tries are not recorded.
    assert!(!world.default_store().exists());
}

#[test]
fn doctor_reports_missing_and_disabled_hooks() {
    let world = World::new();
    program(&world, "claude", "echo '2.1.197 (Claude Code)'");
    run(&world, &["init", "--project", "--yes"]).code(0);
    let settings = world.read(".claude/settings.json");
    let look = || run(&world, &["doctor", "--json"]).json();
    let report = look();
    assert_eq!(report["sound"], true);
    has(
        &findings(&report, "claude-code"),
        "caution Claude Code 2.1.197 allows a call whose hook exceeds its timeout",
    );

    world.write(".claude/settings.local.json", "{\"disableAllHooks\": true}");
    has(&findings(&look(), "claude-code"), "bad `disableAllHooks` in ");
    fs::remove_file(world.path(".claude/settings.local.json")).unwrap();

    world.write(".claude/settings.json", settings.replace("\"PreToolUse\"", "\"PreCompact\""));
    has(&findings(&look(), "claude-code"), "bad not registered: PreToolUse");

    world.write(".claude/settings.json", settings.replace("trap : PIPE; o=$(midrail", "o=$(true; midrail"));
    has(&findings(&look(), "claude-code"), "bad no hook of Midrail is registered");

    let plain: Vec<String> = settings
        .lines()
        .map(|line| match (line.split_once("trap : PIPE; o=$("), line.split_once(" --proof ")) {
            (Some((before, rest)), Some((call, _))) => {
                let call = call.strip_prefix(&line[..line.len() - rest.len()]).unwrap();
                format!("{before}{call}\",")
            }
            _ => line.to_owned(),
        })
        .collect();
    let plain = plain.join("\n");
    world.write(".claude/settings.json", plain);
    has(&findings(&look(), "claude-code"), "bad allowed if the program fails: ");

    world.write(".claude/settings.json", settings.replace("midrail hook", "/nowhere/midrail hook"));
    let report = findings(&look(), "claude-code");
    has(&report, "bad the program `/nowhere/midrail` does not exist");
    has(&report, "bad the hook does not answer");

    world.write(".claude/settings.json", &settings);
    world.write(".midrail/pack.yaml", "pack: own\nextends: none\n");
    has(&findings(&look(), "claude-code"), "bad `mkfs.ext4 /dev/sda1` would be allowed");
    world.write(".midrail/pack.yaml", "pack: [\n");
    let report = run(&world, &["doctor", "--json"]).code(1).json();
    assert!(report["midrail"][0]["message"].as_str().unwrap().starts_with("packs are not valid"), "{report}");
    assert!(report["midrail"][0]["message"].as_str().unwrap().contains(".midrail/pack.yaml:2:1"), "{report}");
    world.write(".midrail/pack.yaml", "pack: p\nextends: [default]\nbudgets: {tokens: 1000}\n");
    let report = run(&world, &["doctor", "--json"]).json();
    assert!(
        report["midrail"][1]["message"].as_str().unwrap().contains("do not report their usage"),
        "{report}"
    );
}

#[test]
fn doctor_reports_ignored_hooks_of_other_agents() {
    let world = World::new();
    let named = ["--agent", "cursor", "--agent", "gemini-cli", "--agent", "codex"];
    run(&world, &[&["init", "--project", "--yes"], named.as_slice()].concat()).code(1);
    let cursor =
        world.read(".cursor/hooks.json").replace("\"hooks\": {", "\"hooks\": {\n    \"beforeAll\": [],");
    world.write(".cursor/hooks.json", cursor);
    let gemini =
        world.read(".gemini/settings.json").replacen('{', "{\n  \"hooksConfig\": {\"enabled\": false},", 1);
    world.write(".gemini/settings.json", gemini);
    world.write(".codex/config.toml", "[features]\nhooks = false\n");
    let report = run(&world, &["doctor", "--json"]).code(1).json();
    has(&findings(&report, "cursor"), "because it does not know the events beforeAll");
    has(&findings(&report, "gemini-cli"), "bad `hooksConfig.enabled: false` in ");
    has(&findings(&report, "codex"), "bad `features.hooks = false` in ");
    has(
        &findings(&report, "codex"),
        "bad could not check whether Codex trusts the hooks: `codex` is not on the search path",
    );
}

#[test]
fn unprotected_agent_never_counts_as_protected() {
    let world = World::new();
    let home = world.project().parent().unwrap().to_owned();
    run(&world, &["doctor", "--agent", "cursor"]).code(1).says("✗ Cursor is not protected");
    // A folder that some other use left behind.
    fs::create_dir(home.join(".cursor")).unwrap();
    let ended = run(&world, &["doctor"]).code(0).says("! Cursor might not be protected");
    assert!(!ended.out.contains("Cursor is protected"));
    fs::create_dir(world.project().join(".cursor")).unwrap();
    run(&world, &["doctor"]).code(1).says("✗ Cursor is not protected");
    fs::remove_dir(world.project().join(".cursor")).unwrap();
    // Installed once, and removed by hand.
    run(&world, &["init", "--yes", "--agent", "cursor"]).code(0);
    run(&world, &["doctor"]).code(0).says("✓ Cursor is protected here, in this session and the next\n");
    fs::remove_file(home.join(".cursor/hooks.json")).unwrap();
    run(&world, &["doctor"]).code(1).says("✗ Cursor is not protected");
    // A file that the agent does not take guards nothing.
    run(&world, &["init", "--project", "--yes", "--agent", "claude-code"]).code(0);
    let settings = world.read(".claude/settings.json");
    world.write(".claude/settings.json", settings.replacen('{', "{ // mine", 1));
    let report = run(&world, &["doctor", "--json", "--agent", "claude-code"]).code(1).json();
    has(&findings(&report, "claude-code"), "contains a comment, and Claude Code ignores such a file");
    has(&findings(&report, "claude-code"), "bad no hook of Midrail is registered");
}

#[test]
fn doctor_reports_disabled_copilot_hooks() {
    let world = World::new();
    run(&world, &["init", "--project", "--yes", "--agent", "copilot-cli"])
        .code(1)
        .says("✗ Copilot CLI is not protected: Copilot CLI does not trust this folder yet");
    let home = world.project().parent().unwrap().to_owned();
    fs::create_dir(home.join(".copilot")).unwrap();
    let look = || run(&world, &["doctor", "--json", "--agent", "copilot-cli"]).json();
    has(&findings(&look(), "copilot-cli"), "good no file disables hooks");
    has(&findings(&look(), "copilot-cli"), "bad Copilot CLI does not trust this folder yet");
    run(&world, &["doctor", "--agent", "copilot-cli"]).code(1);
    // Hooks of the user need no trusted folder.
    run(&world, &["init", "--yes", "--agent", "copilot-cli"]).code(0);
    run(&world, &["doctor", "--agent", "copilot-cli"]).code(0);
    run(&world, &["uninstall", "--yes", "--agent", "copilot-cli"]).code(0);
    fs::create_dir_all(home.join(".copilot")).unwrap();
    for path in [
        world.project().join(".github/copilot/settings.json"),
        world.project().join(".github/copilot/settings.local.json"),
        world.project().join(".claude/settings.json"),
        world.project().join(".claude/settings.local.json"),
        home.join(".copilot/config.json"),
        home.join(".copilot/settings.json"),
    ] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{\"disableAllHooks\": true}").unwrap();
        has(&findings(&look(), "copilot-cli"), &format!("bad `disableAllHooks` in {}", path.display()));
        fs::remove_file(&path).unwrap();
    }
    let own = world.read(".github/hooks/midrail.json");
    world.write(".github/hooks/midrail.json", own.replacen('{', "{\"disableAllHooks\": true,", 1));
    has(&findings(&look(), "copilot-cli"), "bad `disableAllHooks` in ");
    world.write(".github/hooks/midrail.json", own);
    let trusted = json!({"trusted_folders": [world.project()]}).to_string();
    fs::write(home.join(".copilot/config.json"), trusted).unwrap();
    has(&findings(&look(), "copilot-cli"), "good Copilot CLI trusts this folder");
}

#[test]
fn doctor_reports_changed_hooks() {
    let world = World::new();
    let agents = ["claude-code", "gemini-cli", "cursor", "opencode"];
    let named: Vec<&str> = agents.iter().flat_map(|agent| ["--agent", agent]).collect();
    let home = world.project().parent().unwrap().to_owned();
    fs::create_dir(home.join(".gemini")).unwrap();
    let trusted = json!({world.project().to_str().unwrap(): "TRUST_FOLDER"}).to_string();
    fs::write(home.join(".gemini/trustedFolders.json"), trusted).unwrap();
    run(&world, &[&["init", "--project", "--yes"], named.as_slice()].concat()).code(0);
    let look = |agent: &str| {
        let report = run(&world, &["doctor", "--json", "--agent", agent]).json();
        findings(&report, agent)
    };
    for agent in agents {
        let report = look(agent);
        assert!(!report.iter().any(|it| it.starts_with("bad")), "{report:#?}");
    }
    let claude = world.read(".claude/settings.json");
    let blocks = "\"onFailure\": \"block\"";
    for (old, new, what) in [
        (blocks, "\"onFailure\": \"block\", \"async\": true", "bad not as this version writes it"),
        (blocks, "\"onFailure\": \"block\", \"if\": \"Bash(ls)\"", "bad not as this version writes it"),
        (blocks, "\"onFailure\": \"allow\"", "bad not as this version writes it"),
        ("\"timeout\": 330", "\"timeout\": 400", "caution "),
        (
            "\"PreToolUse\": [\n      {",
            "\"PreToolUse\": [\n      {\"matcher\": \"Read\",",
            "bad not registered",
        ),
        ("\"PreToolUse\": [\n      {", "\"PreToolUse\": [\n      {\"if\": \"x\",", "bad not registered"),
        ("\"hooks\": {", "\"disableAllHooks\": \"no\", \"hooks\": {", "bad `disableAllHooks` in "),
        ("\"hooks\": {", "\"hooks\": {\"PreCompact\": [{}],", "a group without a list of `hooks`"),
    ] {
        assert!(claude.contains(old), "{old}: {claude}");
        world.write(".claude/settings.json", claude.replacen(old, new, 1));
        has(&look("claude-code"), what);
    }
    let cursor = world.read(".cursor/hooks.json");
    world.write(".cursor/hooks.json", cursor.replace("\"version\": 1,", ""));
    has(&look("cursor"), "because it lacks `\"version\": 1`");
    world.write(".cursor/hooks.json", cursor.replace("\"hooks\": {", "\"hooks\": {\"afterFileEdit\": [7],"));
    has(&look("cursor"), "has an entry that is not an object with a `command`");
    let plugin = world.read(".opencode/plugin/midrail.js");
    world.write(".opencode/plugin/midrail.js", format!("{plugin}\n// more\n"));
    has(&look("opencode"), "is not as this version writes it");

    let says = |word: &str| {
        let words = json!({world.project().to_str().unwrap(): word}).to_string();
        fs::write(home.join(".gemini/trustedFolders.json"), words).unwrap();
        look("gemini-cli")
    };
    has(&says("DO_NOT_TRUST"), "bad Gemini CLI does not trust this folder");
    has(&says("TRUST_FOLDER"), "good Gemini CLI trusts this folder");
    fs::remove_file(home.join(".gemini/trustedFolders.json")).unwrap();
    let asks = "{\"security\": {\"folderTrust\": {\"enabled\": true}}}";
    fs::write(home.join(".gemini/settings.json"), asks).unwrap();
    has(&look("gemini-cli"), "bad Gemini CLI does not trust this folder yet");
}

#[test]
fn cursor_finds_the_program_with_a_login_shell() {
    let world = World::new();
    let home = world.project().parent().unwrap().to_owned();
    let run = |args: &[&str]| ended(on_path(&world, args).env("SHELL", "/bin/sh"), Vec::new());
    // A profile that sets the search path anew, as some systems do.
    fs::write(home.join(".profile"), "PATH=/usr/bin:/bin\n").unwrap();
    run(&["init", "--project", "--yes", "--agent", "cursor", "--agent", "claude-code"])
        .code(0)
        .says("Cursor starts hooks with your login shell");
    assert!(world.read(".cursor/hooks.json").contains(&format!("{} hook", env!("CARGO_BIN_EXE_midrail"))));
    assert!(world.read(".claude/settings.json").contains("o=$(midrail hook"));
    run(&["doctor", "--agent", "cursor"]).code(0).says("✓ `rm -rf ~` is blocked");
    let hooks = world.read(".cursor/hooks.json");
    world.write(".cursor/hooks.json", hooks.replace(env!("CARGO_BIN_EXE_midrail"), "midrail"));
    run(&["doctor", "--agent", "cursor"]).code(1).says("✗ the hook does not answer");
    let bin = Path::new(env!("CARGO_BIN_EXE_midrail")).parent().unwrap();
    fs::write(home.join(".profile"), format!("PATH={}:/usr/bin:/bin\n", bin.display())).unwrap();
    run(&["doctor", "--agent", "cursor"]).code(0);
    run(&["init", "--project", "--agent", "cursor"]).code(0).says("is up to date");
    assert!(!home.join("state/midrail/midrail.db").exists());
}

#[test]
fn home_directory_is_not_a_project() {
    let world = World::new();
    let home = world.project().parent().unwrap().to_owned();
    let run = |args: &[&str]| ended(on_path(&world, args).current_dir(&home), Vec::new());
    run(&["init", "--project", "--yes", "--agent", "claude-code"])
        .code(1)
        .complains("is your home directory")
        .complains("`midrail init` without `--project`");
    run(&["init", "--yes", "--agent", "claude-code"]).code(0);
    assert!(!home.join(".midrail").exists());
    let report = run(&["doctor", "--json", "--agent", "claude-code"]).code(0).json();
    let report = findings(&report, "claude-code");
    assert!(!report.iter().any(|it| it.contains("more than once")), "{report:#?}");
    run(&["uninstall", "--yes"]).code(0);
    assert!(!home.join(".claude").exists());
}

#[test]
fn uninstall_reports_remaining_hooks() {
    let world = World::new();
    run(&world, &["init", "--yes", "--agent", "codex"]).code(1).says("`midrail init --agent codex --trust`");
    run(&world, &["uninstall", "--project", "--yes"])
        .code(0)
        .says("nothing to do")
        .says("Codex has hooks of Midrail in ")
        .says("`midrail uninstall --agent codex`");
    run(&world, &["init", "--project", "--yes", "--agent", "codex"]).code(1);
    let report = run(&world, &["doctor", "--json", "--agent", "codex"]).json();
    let fixes = report["agents"][0]["findings"].to_string();
    let ways = "keep one: `midrail uninstall --project --agent codex` or `midrail uninstall --agent codex`";
    assert!(fixes.contains(ways), "{fixes}");
    let report = run(&world, &["uninstall", "--project", "--json"]).code(1).json();
    assert!(report["refused"].as_str().unwrap().contains("`--yes` to write"), "{report}");
    let report = run(&world, &["init", "--project", "--json", "--agent", "cursor"]).code(1).json();
    assert!(report["refused"].as_str().unwrap().contains("`--yes` to write"), "{report}");
    run(&world, &["uninstall", "--project", "--yes"])
        .code(0)
        .says("(--verbose shows all)")
        .says("the pack in ")
        .says("`--purge` removes it");
    run(&world, &["uninstall", "--project", "--yes", "--purge"]).code(0).says(".midrail/backup (removed");
    assert!(!world.project().join(".midrail").exists());
}

#[test]
fn pipe_is_rejected_as_settings_file() {
    let world = World::new();
    fs::create_dir(world.project().join(".claude")).unwrap();
    let made = Command::new("mkfifo").arg(world.path(".claude/settings.json")).status().unwrap();
    assert!(made.success());
    run(&world, &["init", "--project", "--yes"]).code(1).complains("is not a regular file");
    run(&world, &["doctor"]).code(1).says("is not a regular file");
}

/// A Codex that knows hooks and their hashes, and whether its settings trust them.
const CODEX: &str = r#"
[ "$1" = --version ] && { echo "codex-cli 0.166.0"; exit 0; }
status=untrusted
grep -qs 'trusted_hash = "sha256:11"' "$HOME/.codex/config.toml" && status=trusted
while read -r line; do
  case "$line" in
    *'"initialize"'*) echo '{"id":1,"result":{}}' ;;
    *'"hooks/list"'*) printf '{"method":"note"}\n{"id":2,"result":{"data":[{"hooks":[{"key":"%s/.codex/hooks.json:pre_tool_use:0:0","command":"midrail hook codex PreToolUse","currentHash":"sha256:11","trustStatus":"%s"},{"key":"k","command":"other","currentHash":"sha256:22","trustStatus":"untrusted"}]}]}}\n' "$PWD" "$status" ;;
  esac
done"#;

#[test]
fn codex_trusts_only_midrail_hooks() {
    let world = World::new();
    program(&world, "codex", CODEX);
    let home = world.project().parent().unwrap().to_owned();
    fs::create_dir(home.join(".codex")).unwrap();
    fs::write(home.join(".codex/config.toml"), "model = \"m\" # mine\n").unwrap();
    run(&world, &["init", "--project", "--yes", "--agent", "codex"]).code(1).says("type `/hooks` in Codex");
    let look = || run(&world, &["doctor", "--json", "--agent", "codex"]).json();
    has(&findings(&look(), "codex"), "bad Codex does not trust, and so does not run: pre_tool_use");
    run(&world, &["init", "--project", "--dry-run", "--agent", "codex", "--trust"])
        .code(0)
        .says("+ trusted_hash = \"sha256:11\"")
        .says("nothing was written");
    has(&findings(&look(), "codex"), "bad Codex does not trust, and so does not run: pre_tool_use");
    run(&world, &["init", "--project", "--yes", "--agent", "codex", "--trust"])
        .code(0)
        .says("+ trusted_hash = \"sha256:11\"");
    let config = fs::read_to_string(home.join(".codex/config.toml")).unwrap();
    assert!(config.starts_with("model = \"m\" # mine\n") && !config.contains("sha256:22"), "{config}");
    has(&findings(&look(), "codex"), "good Codex trusts the hooks");
    fs::write(
        home.join(".codex/config.toml"),
        config.replace("trusted_hash", "enabled = false\ntrusted_hash"),
    )
    .unwrap();
    has(&findings(&look(), "codex"), "bad `enabled = false` of one of Midrail's hooks");
    let blind = CODEX.replace("midrail hook", "other hook");
    program(&world, "codex", &blind);
    has(&findings(&look(), "codex"), "bad Codex does not read these hooks: the project is not trusted");
    let project = world.project().canonicalize().unwrap();
    let trusting = format!("[projects.\"{}\"]\ntrust_level = \"trusted\"\n", project.display());
    fs::write(home.join(".codex/config.toml"), trusting).unwrap();
    has(&findings(&look(), "codex"), "bad Codex does not read these hooks: it does not list any");
    program(&world, "codex", "exit 1");
    has(&findings(&look(), "codex"), "bad could not check whether Codex trusts the hooks");
    program(&world, "codex", CODEX);
    fs::write(home.join(".codex/config.toml"), &config).unwrap();
    run(&world, &["uninstall", "--project", "--yes"]).code(0);
    assert_eq!(fs::read_to_string(home.join(".codex/config.toml")).unwrap(), "model = \"m\" # mine\n");
}
