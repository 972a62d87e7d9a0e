//! Servers at an address: rewritten where that is safe, restored without a backup, and else reported with the reason.

use std::path::Path;

use super::client;
use crate::mcp_client::McpClient;
use crate::setup::mcp_servers::{Launch, ProxiedCommand, edit, read};

const PROGRAM: &str = "/opt/it's/midrail";

/// Files in which every server is at an address that the proxy can take over, and parts of the file after it.
const FILES: &[(&str, &str, &str, &[&str])] = &[
    (
        "claude-code",
        ".mcp.json",
        r#"{"mcpServers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}"#,
        &[
            r#""type": "stdio", "command": "/opt/it's/midrail", "args": ["mcp", "wrap", "--server", "a", "--url", "https://a.example/mcp", "--header-env", "Authorization=MIDRAIL_HEADER_AUTHORIZATION"]"#,
            r#""env": {"MIDRAIL_HEADER_AUTHORIZATION": "Bearer ${TOKEN}"}"#,
        ],
    ),
    (
        "cursor",
        "mcp.json",
        "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\n      \"headers\": { // two\n        \"X-Api-Key\": \"k-1\",\n        \"x.api.key\": \"k\\u002d2\",\n      },\n      \"url\" : \"https:\\/\\/a.example\\/mcp\", // it\n    },\n  }\n}\n",
        &[
            "\"MIDRAIL_HEADER_X_API_KEY\": \"k-1\"",
            "\"MIDRAIL_HEADER_X_API_KEY_\": \"k\\u002d2\"",
            "\"--header-env\", \"x.api.key=MIDRAIL_HEADER_X_API_KEY_\"],",
            "      \"command\" : \"/opt/it's/midrail\",\n      \"args\" : [",
        ],
    ),
    (
        "cursor",
        "mcp.json",
        r#"{"mcpServers":{"-a":{"url":"http://localhost:3000/mcp"}}}"#,
        &["\"--server=-a\""],
    ),
    (
        "gemini-cli",
        "settings.json",
        r#"{"mcpServers": {"a": {"httpUrl": "https://a.example/mcp", "headers": {"Authorization": "$A"}, "trust": true}, "b": {"type": "http", "url": "https://b.example", "headers": {"X-Token": "t"}}}}"#,
        &[r#""env": {"MIDRAIL_HEADER_AUTHORIZATION": "$A"}"#, r#""env": {"MIDRAIL_HEADER_X_TOKEN": "t"}"#],
    ),
    (
        "copilot-cli",
        "mcp-config.json",
        r#"{"mcpServers": {"a": {"tools": ["*"], "headers": {"Authorization": "Bearer t"}, "url": "https://a.example/mcp", "type": "http"}}}"#,
        &[r#""type": "local""#],
    ),
    (
        "opencode",
        "opencode.json",
        "{\r\n \"mcp\": {\r\n  \"a\": {\r\n   \"type\": \"remote\",\r\n   \"url\": \"https://a.example/mcp\",\r\n   \"enabled\": true,\r\n   \"headers\": {\"Authorization\": \"Bearer {env:T}\"}\r\n  }\r\n }\r\n}\r\n",
        &[
            "\"type\": \"local\"",
            "\"command\": [\"/opt/it's/midrail\", \"mcp\",",
            "\"environment\": {\"MIDRAIL_HEADER_AUTHORIZATION\": \"Bearer {env:T}\"}",
        ],
    ),
    (
        "vscode",
        "mcp.json",
        r#"{"inputs": [], "servers": {"a": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${input:t}"}}}}"#,
        &[r#""env": {"MIDRAIL_HEADER_AUTHORIZATION": "Bearer ${input:t}"}"#],
    ),
    (
        "windsurf",
        "mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://a.example/mcp", "headers": {"API_KEY": "${env:K}"}}}}"#,
        &[r#""env": {"MIDRAIL_HEADER_API_KEY": "${env:K}"}"#],
    ),
    (
        "codex",
        "config.toml",
        "# mine\n[mcp_servers.a]\nurl = 'https://a.example/mcp' # a\nbearer_token_env_var = \"A_TOKEN\"\ntool_timeout_sec = 3\n\n[mcp_servers.a.http_headers]\nX-Region = \"eu\" # r\n\"X.Key\" = 'k'\n",
        &[
            "command = \"/opt/it's/midrail\"\nargs = [\"mcp\", \"wrap\", \"--server\", \"a\", \"--url\", 'https://a.example/mcp', ",
            "\"--bearer-env\", \"A_TOKEN\"] # a",
            "env_vars = [\"A_TOKEN\"]",
            "[mcp_servers.a.env]\nMIDRAIL_HEADER_X_REGION = \"eu\" # r\n\"MIDRAIL_HEADER_X_KEY\" = 'k'",
        ],
    ),
    (
        "codex",
        "config.toml",
        "[mcp_servers.a]\r\nurl = \"https://a.example/mcp\"\r\nenv_http_headers = { Authorization = \"A\", X-Key = \"B\" }\r\nhttp_headers = { X-Region = \"eu\" }\r\n",
        &["env_vars = [ \"A\", \"B\" ]", "\"Authorization=A\", \"--header-env\", \"X-Key=B\"]\r\n"],
    ),
    (
        "codex",
        "config.toml",
        "mcp_servers.b.url = \"https://b.example\"\nmcp_servers.b.bearer_token_env_var = \"B\"",
        &["mcp_servers.b.command = \"/opt/it's/midrail\"\nmcp_servers.b.args = [\"mcp\","],
    ),
    (
        "codex",
        "config.toml",
        "mcp_servers = { a = { url = \"https://a.example\", http_headers = { X-Key = \"k\" } } }\n",
        &["env = { MIDRAIL_HEADER_X_KEY = \"k\" }"],
    ),
];

fn launches(text: &str, path: &Path, client: &McpClient) -> Vec<Launch> {
    read(text, path, client).unwrap().into_iter().map(|server| server.launch).collect()
}

#[test]
fn rewritten_servers_run_the_proxy_and_every_byte_is_restored() {
    for (name, file, text, parts) in FILES {
        let (client, path) = (client(name), Path::new(file));
        for launch in launches(text, path, client) {
            assert_eq!(launch, Launch::Address { obstacle: None }, "{text}");
        }
        let wrapped = edit::wrap(text, path, client, PROGRAM).unwrap();
        for part in *parts {
            assert!(wrapped.contains(part), "{part}\n{wrapped}");
        }
        for launch in launches(&wrapped, path, client) {
            let Launch::Program(words) = launch else { panic!("{launch:?}\n{wrapped}") };
            let proxied = ProxiedCommand::of(&words).unwrap();
            assert!(proxied.url.is_some_and(|url| url.starts_with("http")) && proxied.command.is_empty());
            for value in ["k-1", "k-2", "Bearer", "TOKEN}", "\"t\""] {
                assert!(!words.iter().any(|word| word.contains(value)), "{words:?}");
            }
        }
        assert_eq!(edit::wrap(&wrapped, path, client, PROGRAM).unwrap(), wrapped);
        let moved = edit::wrap(&wrapped, path, client, "/new/midrail").unwrap();
        assert!(moved.contains("/new/midrail") && !moved.contains(PROGRAM), "{moved}");
        for wrapped in [&wrapped, &moved] {
            assert_eq!(edit::unwrap(wrapped, path, client, None).unwrap(), *text, "{wrapped}");
        }
    }
}

#[test]
fn other_servers_at_an_address_stay_and_the_reason_is_known() {
    for (name, server, reason) in [
        ("claude-code", r#"{"type": "http", "url": "https://a.example/mcp"}"#, "uses OAuth"),
        (
            "claude-code",
            r#"{"type": "http", "url": "https://a.example", "oauth": {"clientId": "x"}}"#,
            "(`oauth`)",
        ),
        (
            "claude-code",
            r#"{"type": "http", "url": "https://a.example", "headersHelper": "x", "headers": {"X-Key": "k"}}"#,
            "`headersHelper`",
        ),
        ("claude-code", r#"{"type": "sse", "url": "https://a.example", "headers": {"X-Key": "k"}}"#, "SSE"),
        ("claude-code", r#"{"url": "https://a.example", "headers": {"X-Key": "k"}}"#, "a form"),
        ("claude-code", r#"{"type": "http", "url": "https://a.example", "headers": {"X-Key": 1}}"#, "a form"),
        (
            "claude-code",
            r#"{"type": "http", "url": "https://a.example", "headers": {"X-Key": "1"}, "headers": {"X-Key": "2"}}"#,
            "a form",
        ),
        ("cursor", r#"{"url": "https://a.example", "auth": {"CLIENT_ID": "x"}}"#, "(`auth`)"),
        ("cursor", r#"{"url": "https://a.example/sse", "headers": {"X-Key": "k"}}"#, "SSE"),
        ("cursor", r#"{"url": "https://a.example", "headers": {"X-Toolsets": "repos"}}"#, "uses OAuth"),
        ("cursor", r#"{"url": "https://a.example?key=1", "headers": {"X-Key": "k"}}"#, "a query"),
        (
            "cursor",
            r#"{"url": "https://a.example/s/a8f5f167f44f4964e6c998dee827110c", "headers": {"X-Key": "k"}}"#,
            "looks like a secret",
        ),
        ("cursor", r#"{"url": "${env:URL}", "headers": {"X-Key": "k"}}"#, "a URL"),
        ("cursor", r#"{"url": "http://a.example", "headers": {"X-Key": "k"}}"#, "unencrypted"),
        ("cursor", r#"{"url": "https://a.example", "headers": {"X-Key": "a\nb"}}"#, "`X-Key`"),
        ("cursor", r#"{"url": "https://a.example", "headers": {"Host": "b", "X-Key": "k"}}"#, "`Host`"),
        ("gemini-cli", r#"{"url": "https://a.example", "headers": {"X-Key": "k"}}"#, "a form"),
        ("claude-desktop", r#"{"url": "https://a.example", "headers": {"X-Key": "k"}}"#, "a form"),
    ] {
        let (client, path) = (client(name), Path::new("mcp.json"));
        let text = format!("{{\"mcpServers\": {{\"a\": {server}}}}}");
        assert_eq!(edit::wrap(&text, path, client, PROGRAM).unwrap(), text);
        let found = launches(&text, path, client);
        let [Launch::Address { obstacle: Some(found) }] = found.as_slice() else {
            panic!("{server} {found:?}")
        };
        assert!(found.contains(reason), "{server}: {found}");
    }
}

/// A server that a user put behind the proxy stays there.
#[test]
fn other_commands_of_the_proxy_stay() {
    for args in [
        r#"["mcp", "wrap", "--server", "a", "--url", "https://a.example", "--header-env", "X-Key=K"], "env": {"K": "k"}"#,
        r#"["mcp", "wrap", "--server", "a", "--url", "https://a.example", "--wait", "5s"]"#,
        r#"["mcp", "wrap", "--server", "a", "--url", "https://a.example", "--header-env", "X-Key=K"]"#,
    ] {
        let text = format!("{{\"mcpServers\": {{\"a\": {{\"command\": \"midrail\", \"args\": {args}}}}}}}");
        assert_eq!(edit::unwrap(&text, Path::new("mcp.json"), client("cursor"), None).unwrap(), text);
    }
}
