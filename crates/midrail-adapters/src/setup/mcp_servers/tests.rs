//! Wraps and unwraps servers in settings files of every form that clients accept.

mod addresses;

use std::fs;
use std::path::Path;

use super::super::tests::Machine;
use super::super::{HookProgram, InstallRequest, InstallScope, install, uninstall};
use super::{ConfiguredServer, Launch, ProxiedCommand, configured_servers, edit, read};
use crate::hosts;
use crate::mcp_client::McpClient;

fn client(name: &str) -> &'static McpClient {
    hosts::MCP_CLIENTS.iter().find(|client| client.name == name).unwrap()
}

const PROGRAM: &str = "/opt/it's/midrail";

/// Files in which every server is a program that can be wrapped.
const FILES: &[(&str, &str, &str)] = &[
    ("cursor", "mcp.json", r#"{"mcpServers":{"a":{"command":"npx","args":["-y","pkg"]}}}"#),
    (
        "cursor",
        "mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\", // c\n      \"args\": [\n        \"-y\", // yes\n        \"pkg\",\n      ],\n      \"env\": {\"K\": \"v\"},\n    },\n    \"b\": { \"command\": \"/bin/b\" },\n    \"c\": {\n      \"command\": \"/bin/c\"\n    }\n  }\n}\n",
    ),
    (
        "cursor",
        "mcp.json",
        "\u{feff}{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"x\"\r\n\t\t\t],\r\n\t\t\t\"command\": \"n\\u0070x\"\r\n\t\t}\r\n\t}\r\n}\r\n",
    ),
    (
        "cursor",
        "mcp.json",
        r#"{"mcpServers": {"a": {"args": [ ], "command": "npx"}, "-b": {"command": "a\"b", "args": [ "ä" ]}}}"#,
    ),
    (
        "claude-code",
        ".claude.json",
        r#"{"projects": {"/a.b": {"mcpServers": {"p": {"type": "stdio", "command": "p"}}, "x": 1}}, "mcpServers": {"u": {"command": "u", "args": ["--", "mcp"]}}}"#,
    ),
    (
        "opencode",
        "opencode.json",
        "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"bun\", \"x\", \"pkg\"], \"enabled\": true}, \"b\": {\"command\": [ \"one\" ]}}}",
    ),
    (
        "opencode",
        "opencode.jsonc",
        "{\n \"mcp\": {\n  \"a\": {\n   \"command\": [\n    \"bun\", // run\n    \"x\"\n   ]\n  }\n }\n}",
    ),
    (
        "vscode",
        "mcp.json",
        r#"{"inputs": [], "servers": {"a": {"type": "stdio", "command": "${workspaceFolder}/s", "args": ["${input:x}"]}}}"#,
    ),
    (
        "codex",
        "config.toml",
        "# mine\nmodel = \"x\"\n\n[mcp_servers.a]\ncommand = \"npx\" # c\nargs = [\"-y\", 'C:\\x'] # d\n\n[mcp_servers.a.env]\nK = \"v\"\n",
    ),
    (
        "codex",
        "config.toml",
        "[mcp_servers.\"a b\"]\n  command = '''/bin/a'''\n  startup_timeout_sec = 3\n[mcp_servers.z]\ncommand='z'",
    ),
    (
        "codex",
        "config.toml",
        "mcp_servers = { a = { command = \"npx\" }, b = { args = [\"1\"], command = \"b\" } }\n",
    ),
    (
        "codex",
        "config.toml",
        "mcp_servers.a.command = \"npx\"\nmcp_servers.b.command = \"y\"\nmcp_servers.b.args = [\n  \"1\", # one\n  \"2\",\n]\n",
    ),
    (
        "codex",
        "config.toml",
        "[mcp_servers]\n[mcp_servers.a]\r\ncommand = \"npx\"\r\nargs = [\r\n  \"1\",\r\n]\r\n",
    ),
];

fn commands(text: &str, path: &Path, client: &McpClient) -> Vec<(String, Vec<String>)> {
    let words = |server: ConfiguredServer| match server.launch {
        Launch::Program(words) => (server.name, words),
        other => panic!("{other:?}"),
    };
    read(text, path, client).unwrap().into_iter().map(words).collect()
}

#[test]
fn wrapped_servers_run_the_same_command_and_unwrapping_restores_every_byte() {
    for (name, file, text) in FILES {
        let (client, path) = (client(name), Path::new(file));
        let wrapped =
            edit::wrap(text, path, client, PROGRAM).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let (before, after) = (commands(text, path, client), commands(&wrapped, path, client));
        assert!(!before.is_empty() && before.len() == after.len(), "{text}");
        for ((server, command), (_, words)) in before.iter().zip(&after) {
            let proxied = ProxiedCommand::of(words).unwrap_or_else(|| panic!("{wrapped}"));
            assert_eq!((proxied.program, proxied.server), (PROGRAM, Some(server.as_str())), "{wrapped}");
            assert_eq!(proxied.command, command, "{wrapped}");
        }
        assert_eq!(edit::wrap(&wrapped, path, client, PROGRAM).unwrap(), wrapped, "wrapped twice");
        assert_eq!(wrapped.matches('#').count(), text.matches('#').count());
        assert_eq!(wrapped.matches("//").count(), text.matches("//").count());
        assert_eq!(edit::unwrap(&wrapped, path, client, Some(text)).unwrap(), *text, "{wrapped}");
        // Without a backup, an empty list of arguments is not told from none.
        if !text.contains("[ ]") {
            assert_eq!(edit::unwrap(&wrapped, path, client, None).unwrap(), *text, "{wrapped}");
        }
        let moved = edit::wrap(&wrapped, path, client, "/new/midrail").unwrap();
        assert_eq!(edit::unwrap(&moved, path, client, Some(text)).unwrap(), *text);
    }
}

#[test]
fn readable_files_stay_readable() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"pkg\"]\n    }\n  }\n}\n";
    let wrapped = edit::wrap(text, Path::new("mcp.json"), client("cursor"), "midrail").unwrap();
    assert!(
        wrapped.contains(
            "      \"command\": \"midrail\",\n      \"args\": [\"mcp\", \"wrap\", \"--server\", \"a\", \"--\", \"npx\", \"-y\", \"pkg\"]\n"
        ),
        "{wrapped}"
    );
}

#[test]
fn servers_that_are_no_programs_stay() {
    for (name, file, text) in [
        ("cursor", "mcp.json", r#"{"mcpServers": {"a": {"url": "https://a.example/mcp"}}}"#),
        (
            "cursor",
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": ""}, "b": {"command": "x", "args": [1]}, "c": 1, "d": {}}}"#,
        ),
        ("cursor", "mcp.json", r#"{"mcpServers": []}"#),
        ("cursor", "mcp.json", ""),
        ("cursor", "mcp.json", "[1]"),
        ("codex", "config.toml", "mcp_servers = 1\n"),
    ] {
        assert_eq!(edit::wrap(text, Path::new(file), client(name), PROGRAM).unwrap(), text);
    }
    for (file, text) in [
        ("mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}"),
        ("mcp.json", r#"{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}"#),
        ("config.toml", "[mcp_servers\n"),
    ] {
        let name = if file == "mcp.json" { "cursor" } else { "codex" };
        assert!(edit::wrap(text, Path::new(file), client(name), PROGRAM).is_err(), "{text}");
    }
}

fn request(names: &[&str], scope: InstallScope) -> InstallRequest {
    let clients: Vec<&'static McpClient> = names.iter().map(|name| client(name)).collect();
    let hosts = clients.iter().filter_map(|client| hosts::find(client.name)).collect();
    let program = HookProgram { name: PROGRAM.to_owned(), reason: String::new() };
    InstallRequest { hosts, clients, scope, program, trust: false }
}

fn text_of(client: &McpClient, path: &Path) -> &'static str {
    if path.extension().is_some_and(|it| it == "toml") {
        return "# mine\n[mcp_servers.a]\ncommand = \"a\"\n";
    }
    match client.fields[0] {
        "servers" => "{\"servers\": {\"a\": {\"command\": \"a\"}}}",
        "mcp" => "{\"mcp\": {\"a\": {\"command\": [\"a\"]}}}",
        _ => "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}",
    }
}

#[test]
fn every_client_is_wrapped_in_every_file_and_restored() {
    for client in hosts::MCP_CLIENTS {
        for scope in InstallScope::ALL {
            for path in client.files_of(scope, &Machine::new().env) {
                let name = path.file_name().unwrap();
                let machine = Machine::new();
                let files = client.files_of(scope, &machine.env);
                let path = files.into_iter().find(|it| it.file_name() == Some(name)).unwrap();
                let text = text_of(client, &path);
                machine.write(&path, text);
                let request = request(&[client.name], scope);
                machine.apply(&install(&request, &machine.env));
                let servers = configured_servers(&request.clients, scope, &machine.env);
                let [(_, _, ConfiguredServer { launch: Launch::Program(words), .. })] = servers.as_slice()
                else {
                    panic!("{client:?} {servers:?}")
                };
                assert!(ProxiedCommand::of(words).is_some(), "{path:?} {words:?}");
                let again = install(&request, &machine.env);
                assert!(again.changes.is_empty() && again.errors.is_empty(), "{again:?}");
                machine.apply(&uninstall(&request.hosts, &request.clients, scope, false, &machine.env));
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
            }
        }
    }
}

/// Gemini CLI has hooks and servers in one file.
#[test]
fn hooks_and_servers_in_one_file_are_removed_together() {
    let original = "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"a\", \"trust\": true}}\n}\n";
    for edited in [false, true] {
        let machine = Machine::new();
        let path = machine.env.home.join(".gemini/settings.json");
        machine.write(&path, original);
        let request = request(&["gemini-cli"], InstallScope::User);
        machine.apply(&install(&request, &machine.env));
        let installed = fs::read_to_string(&path).unwrap();
        assert!(installed.contains("BeforeTool") && installed.contains("\"wrap\""), "{installed}");
        if edited {
            fs::write(&path, installed.replace("// mine", "// ours")).unwrap();
            assert!(install(&request, &machine.env).changes.is_empty());
        }
        machine.apply(&uninstall(&request.hosts, &request.clients, InstallScope::User, false, &machine.env));
        let left = fs::read_to_string(&path).unwrap();
        assert_eq!(left.replace("// ours", "// mine"), original);
    }
}

/// A server that was added after `init` is wrapped by the next one, and the backup stays the original.
#[test]
fn later_servers_are_wrapped_by_the_next_init() {
    let machine = Machine::new();
    let path = machine.env.project.join(".cursor/mcp.json");
    machine.write(&path, "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    let request = request(&["cursor"], InstallScope::Project);
    machine.apply(&install(&request, &machine.env));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("{\"a\"", "{\"b\": {\"command\": \"b\"}, \"a\"", 1)).unwrap();
    machine.apply(&install(&request, &machine.env));
    assert_eq!(fs::read_to_string(&path).unwrap().matches("\"wrap\"").count(), 2);
    machine.apply(&uninstall(&request.hosts, &request.clients, InstallScope::Project, false, &machine.env));
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"mcpServers\": {\"b\": {\"command\": \"b\"}, \"a\": {\"command\": \"a\"}}}"
    );
}
