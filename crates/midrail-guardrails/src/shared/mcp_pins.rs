//! The pins of MCP servers: which definitions of a server were accepted, and which wait for a person.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use midrail_core::{Key, MCP_NAMES, mcp_pins_key, mcp_texts_key};
use midrail_scan::injection::name_letters;
use serde::{Deserialize, Serialize};

/// A server, and the state of each of its definitions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpPins {
    /// Its name in the settings of the client.
    pub name: String,
    /// How it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// How it is started or reached, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
    /// When it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When its definitions were first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_list: Option<Timestamp>,
    /// The session in which it was first seen.
    pub first_session: String,
    /// The person who accepted the server before it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_by: Option<String>,
    /// Its definitions by name.
    pub tools: BTreeMap<String, McpPin>,
}

/// The state of one definition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpPin {
    /// The digest of the accepted definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
    /// The digest of a definition that the server offers and that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// What was found in the definition that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
}

impl McpPin {
    /// Whether a person has to accept something.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }
}

impl McpPins {
    /// The slice with the pins of a server.
    pub fn key(server: &str) -> Key<McpPins> {
        Key::new(mcp_pins_key(server))
    }
}

/// The texts of definitions by name, for people.
pub type McpTexts = BTreeMap<String, McpText>;

/// The text of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpText {
    /// As it was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
    /// As it waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

/// The slice with the texts of a server.
pub fn mcp_texts(server: &str) -> Key<McpTexts> {
    Key::new(mcp_texts_key(server))
}

/// The names of the tools of all servers, each with the digest of its definition, by the key of the server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct McpNames(pub BTreeMap<String, McpServerNames>);

/// The names of the tools of one server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServerNames {
    /// The name of the server.
    pub name: String,
    /// Its tools, and the digests of their definitions.
    pub tools: BTreeMap<String, String>,
}

impl McpNames {
    /// The slice with the names.
    pub fn key() -> Key<McpNames> {
        Key::new(MCP_NAMES)
    }

    /// Adds an accepted definition, if it is that of a tool. What is not accepted must not keep tools of other servers from being
    /// accepted.
    pub fn add(&mut self, server: &str, key: &str, tool: &str, hash: &str) {
        if is_tool(tool) {
            let of_server = self.0.entry(key.to_owned()).or_default();
            server.clone_into(&mut of_server.name);
            of_server.tools.insert(tool.to_owned(), hash.to_owned());
        }
    }

    /// The tools of other servers: server, tool and digest.
    fn others<'n, 'k>(
        &'n self,
        key: &'k str,
    ) -> impl Iterator<Item = (&'n str, &'n str, &'n str)> + use<'n, 'k> {
        self.0.iter().filter(move |(other, _)| *other != key).flat_map(|(_, server)| {
            let tools = server.tools.iter();
            tools.map(|(tool, hash)| (server.name.as_str(), tool.as_str(), hash.as_str()))
        })
    }

    /// The first tool of another server that a tool resembles or replaces: the same name with another definition, or a name that
    /// looks the same.
    pub(crate) fn alike<'n>(&'n self, key: &str, tool: &str, hash: &str) -> Option<(&'n str, &'n str)> {
        let letters = name_letters(tool);
        let is_alike = |other: &str, other_hash: &str| match other == tool {
            true => other_hash != hash,
            false => name_letters(other) == letters,
        };
        self.others(key)
            .find(|(_, other, hash)| is_alike(other, hash))
            .map(|(server, other, _)| (server, other))
    }

    /// The first tool of another server that the text of a definition names. A text names the definition itself; [`Self::alike`]
    /// compares those of the same name.
    pub(crate) fn named_in<'n>(&'n self, key: &str, own: &str, text: &str) -> Option<(&'n str, &'n str)> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let words: BTreeSet<&str> = text.split(|c: char| !is_part(c)).filter(|word| is_name(word)).collect();
        let named = |(_, tool, _): &(&str, &str, &str)| {
            words.contains(tool) || words.iter().any(|word| word.starts_with("mcp__") && word.ends_with(tool))
        };
        self.others(key)
            .filter(|(_, tool, _)| *tool != own && is_name(tool))
            .find(named)
            .map(|(server, tool, _)| (server, tool))
    }
}

/// Whether a definition is that of a tool, which the model can call.
pub(crate) fn is_tool(name: &str) -> bool {
    !name.contains('/') && name != "instructions"
}

/// Whether a word can only be the name of a tool: ordinary words have no separator inside and no capital after the first letter.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches(['_', '-']);
    let has_capital =
        || inner.chars().skip(1).any(char::is_uppercase) && inner.chars().any(char::is_lowercase);
    word.len() > 4 && (inner.contains('_') || has_capital() || inner.matches('-').count() > 0)
}
