//! schema-conformance (quality-002): withholds answers that do not conform to a JSON Schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::prelude::*;
use crate::shared::compiled_schema::CompiledSchema;
use crate::shared::outcome::has_failed;
use crate::shared::settings::Pattern;

pub(crate) const BUILTIN: Builtin = QUALITY.builtin::<SchemaConformance>(
    "quality-002",
    &[EventKind::BeforeTool, EventKind::AfterTool, EventKind::BeforeHandoff, EventKind::BeforeStop],
);

/// The settings of schema-conformance.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SchemaConformance {
    /// JSON Schemas of answers (`after_tool`), by names or glob patterns of tools. All that match apply.
    pub schemas: BTreeMap<Pattern, CompiledSchema>,
    /// JSON Schemas of arguments (`before_tool`).
    pub args: BTreeMap<Pattern, CompiledSchema>,
    /// The JSON Schema of the output (`before_stop`).
    pub output: Option<CompiledSchema>,
    /// The JSON Schema of the context of a hand-off (`before_handoff`).
    pub context: Option<CompiledSchema>,
}

/// The checked value with its name and its schemas.
type CheckedValue<'s> = (String, Value, Vec<&'s CompiledSchema>);

/// Maximum number of reported problems.
const MAX_PROBLEMS: usize = 3;

impl SchemaConformance {
    /// The value of an event that is checked, with its schemas.
    fn checked_value<'s>(&'s self, context: &Context<'_>) -> Result<Option<CheckedValue<'s>>, Missing> {
        let event = context.event;
        let of_tool = |map: &'s BTreeMap<Pattern, CompiledSchema>| {
            let tool = if map.is_empty() { "" } else { context.tool()? };
            let matching = map.iter().filter(|(pattern, _)| pattern.matches_name(tool));
            Ok::<Vec<&CompiledSchema>, Missing>(matching.map(|(_, schema)| schema).collect())
        };
        let tool = event.tool_name().unwrap_or_default();
        let (what, value, schemas) = match event.kind {
            EventKind::AfterTool => {
                let schemas = of_tool(&self.schemas)?;
                let result = event.result.as_ref();
                // A failed call returns an error, which has no schema.
                if has_failed(event) || schemas.is_empty() {
                    return Ok(None);
                }
                let result = result.ok_or_else(|| Missing("the event has no result".to_owned()))?;
                (format!("The answer of '{tool}'"), result.content.clone().unwrap_or_default(), schemas)
            }
            EventKind::BeforeTool => {
                let args = event.tool.as_ref().map(|tool| tool.args.clone()).unwrap_or_default();
                (format!("The arguments of '{tool}'"), Value::Object(args), of_tool(&self.args)?)
            }
            EventKind::BeforeStop => {
                let value = event.output.clone().unwrap_or_default();
                ("The output".to_owned(), value, self.output.iter().collect())
            }
            EventKind::BeforeHandoff => {
                let value = event.handoff.as_ref().and_then(|it| it.context.clone()).unwrap_or_default();
                ("The context of the hand-off".to_owned(), value, self.context.iter().collect())
            }
            _ => return Ok(None),
        };
        Ok((!schemas.is_empty()).then_some((what, value, schemas)))
    }
}

impl Guardrail for SchemaConformance {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some((what, value, schemas)) = self.checked_value(context)? else { return Ok(Verdict::allow()) };
        let is_args = context.event.kind == EventKind::BeforeTool;
        let mut problems: Vec<(String, String)> = Vec::new();
        for schema in schemas {
            let left = MAX_PROBLEMS.saturating_sub(problems.len());
            problems.extend(schema.problems(&value, !is_args, left));
        }
        if problems.is_empty() {
            return Ok(Verdict::allow());
        }
        let descriptions: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
        let advice = if is_args {
            "Call it with arguments that conform to the schema."
        } else {
            "Produce it again so that it conforms to the schema."
        };
        Ok(Verdict::block(format!("{what} does not conform to the schema: {}.", descriptions.join("; ")))
            .advise(advice)
            .with(
                "problems",
                json!(problems.iter().map(|(at, what)| json!({"at": at, "what": what})).collect::<Vec<_>>()),
            ))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
#[cfg(feature = "json-schema")]
mod tests;

#[cfg(test)]
#[cfg(not(feature = "json-schema"))]
mod tests {
    use super::*;

    #[test]
    fn settings_without_the_feature_are_rejected() {
        let error = serde_json::from_value::<SchemaConformance>(json!({"output": {}})).unwrap_err();
        assert!(error.to_string().contains("json-schema"), "{error}");
        assert!(serde_json::from_value::<SchemaConformance>(json!({})).is_ok());
    }
}
