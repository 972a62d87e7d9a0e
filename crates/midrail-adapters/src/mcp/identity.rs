//! The identity of an MCP server: its name, and a key made from how it is started or reached.

use midrail::core::{McpServer, hex};
use serde_json::json;
use sha2::{Digest, Sha256};

/// The longest description of a launch.
const MAX_LAUNCH: usize = 300;

/// A server that is started as a program.
pub fn program_server(name: Option<&str>, command: &[String]) -> McpServer {
    let program = command.first().map(|program| program.rsplit('/').next().unwrap_or(program));
    McpServer {
        name: name.map_or_else(|| server_name(program.unwrap_or("server")), server_name),
        key: key(&json!(["stdio", command])),
        transport: Some("stdio".to_owned()),
        launch: Some(command.join(" ").chars().take(MAX_LAUNCH).collect()),
    }
}

/// A server that is reached at an address. Its key is made from origin and path.
pub fn address_server(name: &str, url: &str) -> McpServer {
    let address = url.split(['?', '#']).next().unwrap_or(url);
    McpServer {
        name: server_name(name),
        key: key(&json!(["http", address])),
        transport: Some("http".to_owned()),
        launch: Some(address.chars().take(MAX_LAUNCH).collect()),
    }
}

/// A name as hosts spell it in the names of tools.
fn server_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// A digest that says that it is one, so that no detector takes it for a secret.
fn key(launch: &serde_json::Value) -> String {
    let digest = hex::encode(&Sha256::digest(launch.to_string()));
    format!("sha256:{}", digest.get(..32).unwrap_or(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_launch_is_another_server() {
        let of = |command: &[&str]| {
            let command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
            program_server(Some("my server"), &command)
        };
        assert_eq!(of(&["npx", "a"]).name, "my_server");
        assert_eq!(of(&["npx", "a"]).key, of(&["npx", "a"]).key);
        for other in [&["npx", "b"][..], &["npx", "a", ""], &["npx a"], &["/x/npx", "a"]] {
            assert_ne!(of(&["npx", "a"]).key, of(other).key, "{other:?}");
        }
        assert_eq!(
            address_server("x", "https://a.example/mcp?k=1").key,
            address_server("y", "https://a.example/mcp").key
        );
        assert_ne!(
            address_server("x", "https://a.example/mcp").key,
            address_server("x", "https://b.example/mcp").key
        );
    }
}
