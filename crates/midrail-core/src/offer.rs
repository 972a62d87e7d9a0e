//! What an MCP server offers to a model: its tools, prompts, resources and instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::session::SHARED_PREFIX;
use crate::verdict::Redaction;

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name in the settings of the client.
    pub name: String,
    /// A digest of how it is started or reached, so that another program under the same name is another server.
    pub key: String,
    /// How it is reached: `stdio` or `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// How it is started or reached, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<String>,
}

/// A tool that an MCP server offers, or something else of it that a model reads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OfferedTool {
    /// The tool's name. Others are `prompts/NAME`, `resources/URI`, `templates/URI` and `instructions`.
    pub name: String,
    /// Every text of its definition, one per line, each with its place.
    #[serde(default)]
    pub text: String,
    /// The digest of its definition. The order of fields does not matter.
    #[serde(default)]
    pub hash: String,
    /// Its annotations. A server can claim anything in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
}

/// The slice with the pins of an MCP server, by its key.
pub fn mcp_pins_key(server: &str) -> String {
    [SHARED_PREFIX, "mcp/", server].concat()
}

/// The slice with the definitions that the pins of an MCP server stand for.
pub fn mcp_texts_key(server: &str) -> String {
    [SHARED_PREFIX, "mcp-texts/", server].concat()
}

/// The slice with the names of the tools of all MCP servers.
pub const MCP_NAMES: &str = "shared/mcp-names";

impl Redaction {
    /// The removal of one of the offered tools, by its index.
    pub fn of_tool(index: usize) -> Self {
        Redaction::new(0, 0, "").at(format!("/tools/{index}"))
    }
}

/// The names of the tools that are passed on, as JSON. A redaction of something else removes all of them.
pub(crate) fn passed_tools(tools: &[OfferedTool], redactions: &[Redaction]) -> String {
    let index = |part: &Redaction| part.at.as_deref()?.strip_prefix("/tools/")?.parse::<usize>().ok();
    let removed: Option<Vec<usize>> = redactions.iter().map(index).collect();
    let is_passed = |index: &usize| removed.as_ref().is_some_and(|removed| !removed.contains(index));
    let passed = tools.iter().enumerate().filter(|(index, _)| is_passed(index));
    Value::from_iter(passed.map(|(_, tool)| tool.name.as_str())).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_tools_are_not_passed_on() {
        let tool = |name: &str| OfferedTool { name: name.to_owned(), ..OfferedTool::default() };
        let tools = [tool("a"), tool("b"), tool("c")];
        assert_eq!(passed_tools(&tools, &[Redaction::of_tool(1)]), r#"["a","c"]"#);
        assert_eq!(passed_tools(&tools, &[Redaction::of_tool(1), Redaction::new(0, 5, "")]), "[]");
    }
}
