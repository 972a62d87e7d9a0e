//! MCP servers: the pins of their definitions, what waits for a person, and the person's answer.

use std::collections::BTreeMap;

use jiff::Timestamp;
use midrail_core::{MCP_NAMES, McpServer, hex, mcp_pins_key, mcp_texts_key};
use midrail_guardrails::{McpNames, McpPin, McpPins, McpText, McpTexts};
use midrail_scan::injection::invisible_character;
use midrail_store::Commit;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::admin::event::{AdminEvent, Person, notice};
use crate::admin::handle::{Admin, Cell, Column, Resource};
use crate::error::{EngineError, EngineResult};

/// An MCP server that was seen, or that a person accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PinnedServer {
    /// Its name in the settings of the client.
    pub name: String,
    /// A digest of how it is started or reached.
    pub key: String,
    /// How it is started or reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
    /// When it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The number of accepted definitions that the server has not changed.
    pub pinned: usize,
    /// The number of definitions that wait for a person.
    pub waiting: usize,
    /// The person who accepted the server before it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_by: Option<String>,
}

/// A definition of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct McpDefinition {
    /// Its name.
    pub name: String,
    /// `accepted`, `new` or `changed`.
    pub state: String,
    /// The digest of the definition that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// What was found in the definition that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<String>,
    /// The accepted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
    /// The text that waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

impl McpDefinition {
    /// A digest of definitions that wait, by which a person names what they have read.
    pub fn digest(definitions: &[McpDefinition]) -> String {
        let mut hasher = Sha256::new();
        for McpDefinition { name, hash, .. } in definitions {
            hasher.update(serde_json::json!([name, hash]).to_string());
        }
        hex::encode(&hasher.finalize()).chars().take(16).collect()
    }
}

impl Resource for PinnedServer {
    const TITLE: &'static str = "MCP servers";
    const EMPTY: &'static str = "No MCP server was seen.";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("server", 40, |server| Cell::Text(server.name.clone())),
        Column::new("accepted", 8, |server| Cell::Text(server.pinned.to_string())),
        Column::new("waiting", 8, |server| Cell::Text(server.waiting.to_string())),
        Column::new("since", 20, |server| server.since.map_or_else(|| Cell::text(None), Cell::Time)),
        Column::new("key", 20, |server| Cell::Dim(server.key.clone())),
        Column::new("launch", 100, |server| Cell::text(server.launch.as_deref())),
    ];

    fn list(admin: Admin<'_>) -> EngineResult<Vec<Self>> {
        let mut servers = Vec::new();
        for (key, stored) in admin.slices(&mcp_pins_key(""))? {
            let pins: McpPins = serde_json::from_value(stored)?;
            servers.push(PinnedServer {
                key,
                pinned: pins.tools.values().filter(|pin| pin.pinned.is_some() && !pin.is_waiting()).count(),
                waiting: pins.tools.values().filter(|pin| pin.is_waiting()).count(),
                name: pins.name,
                launch: pins.launch,
                since: pins.since,
                trusted_by: pins.trusted_by,
            });
        }
        servers.sort_by(|one, other| (&one.name, &one.key).cmp(&(&other.name, &other.key)));
        Ok(servers)
    }
}

/// A text in which characters that a person would not see are marked.
fn with_marks(text: &str) -> String {
    let mark = |c: char| match invisible_character(c.encode_utf8(&mut [0; 4])) {
        Some(hidden) => format!("<U+{:04X}>", u32::from(hidden)),
        None => c.to_string(),
    };
    if text.is_ascii() && invisible_character(text).is_none() {
        text.to_owned()
    } else {
        text.chars().map(mark).collect()
    }
}

impl Admin<'_> {
    /// The server with a name, or with a key that starts with it.
    pub fn mcp_server(&self, name: &str) -> EngineResult<PinnedServer> {
        let servers = self.list::<PinnedServer>()?;
        let is_it =
            |server: &&PinnedServer| server.name == name || (name.len() >= 4 && server.key.starts_with(name));
        let mut found = servers.iter().filter(is_it);
        match (found.next(), found.next()) {
            (Some(server), None) => Ok(server.clone()),
            (None, _) => Err(EngineError::conflict(format!("no MCP server `{name}` was seen"))),
            (Some(one), Some(other)) => Err(EngineError::conflict(format!(
                "several MCP servers are called `{name}`; name one by its key: {}, {}",
                one.key, other.key
            ))),
        }
    }

    /// The definitions of a server.
    pub fn mcp_definitions(&self, server: &PinnedServer) -> EngineResult<Vec<McpDefinition>> {
        let pins = self.mcp_pins(&server.key)?.0;
        let mut texts = self.mcp_texts(&server.key)?.0;
        let definition = |(name, pin): (String, McpPin)| {
            let McpText { pinned, waiting } = texts.remove(&name).unwrap_or_default();
            let state = match (&pin.pinned, &pin.waiting) {
                (_, None) => "accepted",
                (None, Some(_)) => "new",
                (Some(_), Some(_)) => "changed",
            };
            let (pinned, waiting) = (pinned.as_deref().map(with_marks), waiting.as_deref().map(with_marks));
            let (state, hash) = (state.to_owned(), pin.waiting);
            McpDefinition { name, state, hash, finding: pin.finding, pinned, waiting }
        };
        Ok(pins.tools.into_iter().map(definition).collect())
    }

    /// Accepts the definitions of a server that wait: those of these names, or all. Returns the accepted names.
    pub fn trust_mcp(
        &self,
        server: &PinnedServer,
        names: &[String],
        by: &Person,
    ) -> EngineResult<Vec<String>> {
        self.accept(server, names, None, by)
    }

    /// Accepts definitions as a person has read them: their names, each with its digest. Another text under the name is not
    /// accepted.
    pub fn trust_mcp_as_read(
        &self,
        server: &PinnedServer,
        read: &BTreeMap<String, String>,
        by: &Person,
    ) -> EngineResult<Vec<String>> {
        let names: Vec<String> = read.keys().cloned().collect();
        self.accept(server, &names, Some(read), by)
    }

    fn accept(
        &self,
        server: &PinnedServer,
        names: &[String],
        read: Option<&BTreeMap<String, String>>,
        by: &Person,
    ) -> EngineResult<Vec<String>> {
        let (mut pins, version) = self.mcp_pins(&server.key)?;
        let (mut texts, texts_version) = self.mcp_texts(&server.key)?;
        if let Some(unknown) =
            names.iter().find(|name| !pins.tools.get(*name).is_some_and(McpPin::is_waiting))
        {
            let message =
                format!("`{unknown}` of the MCP server `{}` does not wait for a person", server.name);
            return Err(EngineError::conflict(message));
        }
        let is_other = |name: &&String| {
            let waiting = pins.tools.get(*name).and_then(|pin| pin.waiting.as_ref());
            read.is_some_and(|read| read.get(*name) != waiting)
        };
        if let Some(changed) = names.iter().find(is_other) {
            let message =
                format!("`{changed}` of the MCP server `{}` changed since it was read", server.name);
            return Err(EngineError::conflict(message));
        }
        let (names_held, names_version) = self.slice(MCP_NAMES)?;
        let mut all_names: McpNames = names_held.map(serde_json::from_value).transpose()?.unwrap_or_default();
        let mut accepted = Vec::new();
        for (name, pin) in &mut pins.tools {
            let Some(hash) = pin.waiting.clone().filter(|_| names.is_empty() || names.contains(name)) else {
                continue;
            };
            all_names.add(&server.name, &server.key, name, &hash);
            *pin = McpPin { pinned: Some(hash), ..McpPin::default() };
            if let Some(text) = texts.get_mut(name) {
                *text = McpText { pinned: text.waiting.take(), waiting: None };
            }
            accepted.push(name.clone());
        }
        if accepted.is_empty() {
            let message = format!("no definition of the MCP server `{}` waits for a person", server.name);
            return Err(EngineError::conflict(message));
        }
        let keys = (mcp_pins_key(&server.key), mcp_texts_key(&server.key));
        let event = AdminEvent::new("mcp_trusted")
            .with("server", serde_json::json!({"name": server.name, "key": server.key}))
            .with("accepted", accepted.clone())
            .by(Some(by));
        let read = vec![
            (keys.0.clone(), version),
            (keys.1.clone(), texts_version),
            (MCP_NAMES.to_owned(), names_version),
        ];
        let mut commit = Commit { read, ..self.engine.admin_commit(event) };
        commit.changes.set(keys.0, serde_json::to_value(&pins)?);
        commit.changes.set(keys.1, serde_json::to_value(&texts)?);
        commit.changes.set(MCP_NAMES, serde_json::to_value(&all_names)?);
        let message = format!(
            "{} accepted {} definitions of the MCP server `{}`",
            by.name(),
            accepted.len(),
            server.name
        );
        commit.notices.push(notice(
            "orchestrator",
            "mcp",
            message,
            serde_json::json!({"server": server.name}),
        ));
        self.engine.commit(&commit)?;
        Ok(accepted)
    }

    /// Accepts a server before it is seen: its first definitions are pinned, unless something is found in them. A server that was
    /// seen stays as it is. Returns whether it is new.
    pub fn trust_mcp_launch(&self, server: &McpServer, by: &str) -> EngineResult<bool> {
        let key = mcp_pins_key(&server.key);
        let (held, version) = self.slice(&key)?;
        if held.is_some() {
            return Ok(false);
        }
        let launch = server.launch.as_deref().map(|launch| self.engine.masked_text(launch));
        let pins = McpPins {
            name: server.name.clone(),
            transport: server.transport.clone(),
            launch,
            since: Some(self.engine.now()),
            trusted_by: Some(by.to_owned()),
            ..McpPins::default()
        };
        let event = AdminEvent::new("mcp_server_trusted")
            .with("server", serde_json::json!({"name": server.name, "key": server.key}))
            .with("by", by);
        self.change_at(event, (&key, version), Some(serde_json::to_value(&pins)?), Vec::new())?;
        Ok(true)
    }

    /// Removes the pins of a server, which is new when it is seen again.
    pub fn forget_mcp(&self, server: &PinnedServer, by: &Person) -> EngineResult {
        let keys = [mcp_pins_key(&server.key), mcp_texts_key(&server.key), MCP_NAMES.to_owned()];
        let mut read = Vec::new();
        let mut names = McpNames::default();
        for key in &keys {
            let (held, version) = self.slice(key)?;
            read.push((key.clone(), version));
            if let Some(held) = held.filter(|_| key == MCP_NAMES) {
                names = serde_json::from_value(held)?;
            }
        }
        names.0.remove(&server.key);
        let event = AdminEvent::new("mcp_forgotten")
            .with("server", serde_json::json!({"name": server.name, "key": server.key}))
            .by(Some(by));
        let mut commit = Commit { read, ..self.engine.admin_commit(event) };
        let [pins, texts, list] = keys;
        commit.changes.remove(pins);
        commit.changes.remove(texts);
        commit.changes.set(list, serde_json::to_value(&names)?);
        self.engine.commit(&commit)
    }

    /// How many definitions of a server wait for a person.
    pub fn mcp_waiting(&self, key: &str) -> EngineResult<usize> {
        Ok(self.mcp_pins(key)?.0.tools.values().filter(|pin| pin.is_waiting()).count())
    }

    fn mcp_pins(&self, key: &str) -> EngineResult<(McpPins, u64)> {
        let (held, version) = self.slice(&mcp_pins_key(key))?;
        Ok((held.map(serde_json::from_value).transpose()?.unwrap_or_default(), version))
    }

    fn mcp_texts(&self, key: &str) -> EngineResult<(McpTexts, u64)> {
        let (held, version) = self.slice(&mcp_texts_key(key))?;
        Ok((held.map(serde_json::from_value).transpose()?.unwrap_or_default(), version))
    }
}
