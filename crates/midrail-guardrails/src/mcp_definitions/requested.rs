//! Definitions that a client sends with its own request to a model, as behind a gateway: no server offers them, so there is nothing to
//! pin. Those with a finding are withheld.

use midrail_core::{OfferedTool, Redaction};

use super::findings;
use crate::prelude::*;
use crate::shared::mcp_pins::McpNames;

/// Removes the definitions with a finding.
pub(super) fn verdict(tools: &[OfferedTool]) -> Verdict {
    let names = McpNames::default();
    let withheld: Vec<(usize, String)> = tools
        .iter()
        .enumerate()
        .filter_map(|(at, tool)| {
            let finding = findings::find(tool, &names, "")?;
            Some((at, format!("`{}`: {finding}", tool.name)))
        })
        .collect();
    if withheld.is_empty() {
        return Verdict::allow();
    }
    let listed: Vec<&str> = withheld.iter().take(10).map(|(_, why)| why.as_str()).collect();
    let reason =
        format!("{} of {} offered tools are withheld: {}.", withheld.len(), tools.len(), listed.join("; "));
    Verdict {
        redactions: withheld.iter().map(|(at, _)| Redaction::of_tool(*at)).collect(),
        ..Verdict::new(Effect::Redact, reason).advise("Remove this text from the definitions of the tools.")
    }
}
