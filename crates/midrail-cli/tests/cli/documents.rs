//! The commands that README and the guides show, run as they stand there.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::http_server::HttpServer;
use crate::world::{World, ended};

pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The blocks of a page that are marked with a language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let fence = format!("\n```{language}\n");
    page.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// The shell lines of a page that call the program, without their comments.
fn lines(page: &str) -> Vec<String> {
    let lines = blocks(page, "sh").into_iter().flat_map(str::lines);
    let calls = lines.filter(|line| line.starts_with("midrail ") || line.contains("| midrail "));
    calls.map(|line| line.split("  #").next().unwrap().trim().to_owned()).collect()
}

/// The exit code of a line, as its comment says (`# exits with 2`, else 0).
fn exit_code(page: &str, line: &str) -> i32 {
    let comment = page.lines().filter_map(|whole| whole.trim().strip_prefix(line)?.split_once("  #")).next();
    let code = comment.and_then(|(_, comment)| comment.trim().strip_prefix("exits with "));
    code.map_or(0, |code| code.split_whitespace().next().unwrap().parse().unwrap())
}

/// A world with a pack and a dozen decisions.
fn lived_in() -> World {
    let world = World::with_pack(
        "pack: my-project\nextends: [default]\nguardrails:\n  - read_before_write\n  - require_before: {tool: deploy, requires: [test, build]}\n\
         tests:\n  - {id: t, events: [{before_tool: deploy, expect: block}]}\n",
    );
    world.write("events.jsonl", "{\"kind\":\"before_tool\",\"tool\":{\"name\":\"deploy\"}}\n");
    let recorded = r#"{"type":"user","message":{"role":"user","content":"Go on"},"sessionId":"s-1","timestamp":"2026-11-15T10:00:00Z"}"#;
    world.write("../.claude/projects/-repo/s-1.jsonl", format!("{recorded}\n"));
    for _ in 0..12 {
        world.check(&serde_json::json!({"kind": "before_tool", "tool": {"name": "deploy"}})).code(2);
    }
    world
}

fn shell(world: &World, line: &str) -> crate::world::Ended {
    let program = Path::new(env!("CARGO_BIN_EXE_midrail")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let with_env = world.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(world.project()).env_clear().env("PATH", path);
    command.envs(with_env.get_envs().filter_map(|(key, value)| Some((key, value?))));
    ended(&mut command, Vec::new())
}

#[test]
fn readme_example_is_current() {
    let readme = page("README.md");
    let call = lines(&readme).into_iter().find(|line| line.starts_with("midrail check ")).unwrap();
    let ended = shell(&World::new(), &call).code(2);
    assert_eq!(ended.out.trim_end(), blocks(&readme, "text")[0]);
}

#[test]
fn documented_commands_work() {
    let mut count = 0;
    for name in [
        "README.md",
        "docs/guide/coding-agents.md",
        "docs/guide/packs.md",
        "docs/guide/testing.md",
        "docs/guide/library.md",
        "docs/guide/audit.md",
        "docs/guide/history.md",
        "docs/guide/operations.md",
        "docs/packs/ci-agent.md",
        "docs/packs/customer-support.md",
        "docs/packs/data-analyst.md",
        "docs/packs/default.md",
        "docs/packs/infrastructure.md",
        "docs/packs/overnight-coding.md",
        "docs/packs/read-only-analyst.md",
        "docs/packs/strict.md",
    ] {
        let world = lived_in();
        for line in lines(&page(name)).into_iter().filter(|line| !line.starts_with("echo ")) {
            let ended = shell(&world, &line);
            let code = exit_code(&page(name), &line);
            assert_eq!(ended.code, code, "{name}: {line}\n{}\n{}", ended.out, ended.err);
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} commands were found");
}

/// A text in which what differs from run to run is replaced, and spaces do not count.
fn steady(text: &str) -> String {
    let is_id = |word: &str| word.len() >= 16 && word.chars().all(|c| c.is_ascii_hexdigit());
    let is_time = |word: &str| word.len() >= 9 && word.ends_with('Z') && word.contains(':');
    let is_day = |word: &str| word.len() == 10 && word.starts_with("20") && word.matches('-').count() == 2;
    let steady = |word: &str| {
        let bare = word.trim_matches(['`', ',', '.', '(', ')', ';']);
        match bare {
            id if is_id(id) || id.starts_with("mrk_") => word.replace(bare, "ID"),
            time if is_time(time) || is_day(time) => word.replace(bare, "TIME"),
            _ => word.to_owned(),
        }
    };
    text.split_whitespace().map(steady).collect::<Vec<_>>().join(" ")
}

/// The guide is one session of a shell: every line ends as its comment says (`# exits with 2`, else 0), and what it
/// shows is what comes out.
pub(crate) fn follow_guide(guide: &str, world: &World, at_least: usize) {
    let lines: Vec<&str> = blocks(guide, "sh").into_iter().flat_map(str::lines).collect();
    assert!(lines.len() >= at_least, "only {} lines were found", lines.len());
    let mut script = String::new();
    for line in lines {
        let (command, comment) = line.split_once("  #").unwrap_or((line, ""));
        let code: i32 = comment.trim().strip_prefix("exits with ").map_or(0, |code| code.parse().unwrap());
        script.push_str(&format!("{command}\n[ $? -eq {code} ] || echo 'UNEXPECTED:' {command:?}\n"));
    }
    let ended = shell(world, &script);
    let out = format!("{}\n{}", ended.out, ended.err);
    assert!(!out.contains("UNEXPECTED"), "{out}");
    for block in blocks(guide, "text") {
        assert!(steady(&out).contains(&steady(block)), "this did not come out:\n{block}\n\nbut:\n{out}");
    }
}

#[test]
fn approvals_guide_works_as_documented() {
    let guide = page("docs/guide/approvals.md");
    let world = World::with_pack(blocks(&guide, "yaml")[0]);
    follow_guide(&guide, &world, 10);
}

#[test]
fn editor_guide_agent_is_blocked() {
    follow_guide(&page("docs/guide/acp.md"), &World::new(), 4);
}

#[test]
fn mcp_guide_works_as_documented() {
    let guide = page("docs/guide/mcp.md");
    let world = World::new();
    let [setup, try_it, at_an_address] = blocks(&guide, "sh")[..] else {
        panic!("the guide has other blocks")
    };
    // In the middle, the file is as `init` has written it.
    let ended = shell(&world, &format!("set -e\n{setup}\n")).code(0);
    let wrapped = "\"files\": {\"command\": \"midrail\", \"args\": [\"mcp\", \"wrap\", \"--server\", \"files\", \"--\", \"npx\", \"-y\",";
    for part in
        [wrapped, "// Servers of this project", "MCP servers behind the proxy: files", "`web`", "OAuth"]
    {
        assert!(ended.out.contains(part), "{part} is not in {}", ended.out);
    }
    let original = setup.split("<<'END'\n").nth(1).unwrap().split("END\n").next().unwrap();
    assert_eq!(world.read(".vscode/mcp.json"), original);

    let ended = shell(&world, &format!("set -e\n{try_it}\n")).code(0);
    assert!(ended.out.contains("\"tools\":[]") && ended.out.contains("toy"), "{}", ended.out);
    assert!(ended.out.lines().last().unwrap().contains("IMPORTANT"), "{}", ended.out);

    let server = HttpServer::start(|request, connection| {
        let text =
            format!("{} with AKIAQ4ZTX7RK2MPLWN3J", request.header("authorization").unwrap_or_default());
        let result = serde_json::json!({"content": [{"type": "text", "text": text}]});
        connection.json(&serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
    });
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script =
        at_an_address.replace("https://mcp.example/mcp", &server.url).replace("7420", &free.to_string());
    let ended = shell(&world, &format!("set -e\n{script}\n")).code(0);
    // Through both ways, the server has received the header, and its secret has not come through.
    assert_eq!(ended.out.matches("with [redacted:").count(), 2, "{}{}", ended.out, ended.err);
    let received = server.received();
    assert!(
        received.len() == 2 && received.iter().all(|it| it.header("authorization") == Some("Bearer k-1"))
    );
}

#[test]
fn policies_guide_works_as_documented() {
    follow_guide(&page("docs/guide/policies.md"), &World::new(), 15);
}

#[test]
fn service_guide_works_as_documented() {
    if !Command::new("curl").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        eprintln!("no curl here: the guide of the service was not tried");
        return;
    }
    // Another service may listen where the guide does.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let guide = page("docs/guide/service.md").replace("7420", &free.to_string());
    let world = World::with_pack(blocks(&guide, "yaml")[0]);
    follow_guide(&guide, &world, 20);
}

#[test]
fn gateways_guide_works_as_documented() {
    if !Command::new("curl").arg("--version").output().is_ok_and(|ended| ended.status.success()) {
        eprintln!("no curl here: the guide of the gateways was not tried");
        return;
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let guide = page("docs/guide/gateways.md").replace("7420", &free.to_string());
    let world = World::with_pack(blocks(&guide, "yaml")[0]);
    follow_guide(&guide, &world, 12);
}

#[test]
fn every_subcommand_is_in_the_reference() {
    let reference = page("docs/reference/commands.md");
    let help = World::new().run(&["--help"]).code(0).out;
    let subcommands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let subcommands = subcommands.take_while(|line| line.starts_with("  "));
    // Lines that are indented further continue a description.
    let subcommands =
        subcommands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    for subcommand in subcommands.filter(|subcommand| *subcommand != "help") {
        assert!(
            reference.contains(&format!("`{subcommand}`")),
            "docs/reference/commands.md does not list `{subcommand}`"
        );
    }
}

/// Every shipped pack is in force by its name, without a file.
#[test]
fn shipped_packs_can_be_named() {
    let world = World::new();
    world.write("end.json", r#"{"kind":"before_tool","tool":{"name":"Bash","args":{"command":"rm -rf ~"}}}"#);
    world.write("look.json", r#"{"kind":"before_tool","tool":{"name":"Read","args":{"file_path":"a.txt"}}}"#);
    for (name, _) in midrail::shipped::PACKS {
        world.run(&["check", "--pack", name, "end.json"]).code(2);
        world.run(&["check", "--pack", &format!("midrail:{name}"), "look.json"]).code(0);
        let clean = world.run(&["lint", "--strict", "--pack", name]).code(0);
        assert!(clean.out.contains("no issues found"), "{name}: {}", clean.out);
    }
}
