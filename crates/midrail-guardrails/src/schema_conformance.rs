//! quality-002: what a tool answers, what an agent ends with and what it hands on has the form that the pack gives.

use std::collections::BTreeMap;

use midrail_core::{Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::json_form::JsonForm;
use crate::settings::Pattern;

/// The settings of quality-002.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchemaConformance {
    /// JSON Schemas of what tools answer (`after_tool`), by names or glob patterns of tools. All that fit hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub schemas: BTreeMap<Pattern, JsonForm>,
    /// JSON Schemas of what tools are called with (`before_tool`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<Pattern, JsonForm>,
    /// The JSON Schema of what an agent ends with (`before_stop`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<JsonForm>,
    /// The JSON Schema of the context that it hands on (`before_handoff`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonForm>,
}

/// What is looked at, in words and as a value, and what it has to be like.
type Judged<'s> = (String, Value, Vec<&'s JsonForm>);

/// How many of the problems are told.
const MAX_PROBLEMS: usize = 3;

impl SchemaConformance {
    /// What is looked at in an event, and what it has to be like.
    fn judged<'s>(&'s self, context: &Context<'_>) -> Result<Option<Judged<'s>>, Missing> {
        let event = context.event;
        let of_tool = |map: &'s BTreeMap<Pattern, JsonForm>| -> Result<Vec<&'s JsonForm>, Missing> {
            if map.is_empty() {
                return Ok(Vec::new());
            }
            let tool = context.tool()?;
            Ok(map.iter().filter(|(pattern, _)| pattern.fits_name(tool)).map(|(_, form)| form).collect())
        };
        let tool = event.tool_name().unwrap_or_default();
        let (what, value, forms) = match event.kind {
            EventKind::AfterTool => {
                let forms = of_tool(&self.schemas)?;
                let result = event.result.as_ref();
                // A call that failed answers with an error, and not in its form.
                let failed = result.is_some_and(|it| it.ok == Some(false) || it.exit_code.unwrap_or(0) != 0);
                if failed || forms.is_empty() {
                    return Ok(None);
                }
                let result = result.ok_or_else(|| Missing("the event tells no result".to_owned()))?;
                (format!("The answer of '{tool}'"), result.content.clone().unwrap_or_default(), forms)
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
            EventKind::SessionStart
            | EventKind::SessionEnd
            | EventKind::BeforeModel
            | EventKind::ModelChunk
            | EventKind::AfterModel
            | EventKind::AfterHandoff
            | EventKind::OnError
            | EventKind::ApprovalDecided
            | EventKind::Observed
            | EventKind::Restored
            | EventKind::Administered => return Ok(None),
        };
        Ok((!forms.is_empty()).then_some((what, value, forms)))
    }
}

impl Guardrail for SchemaConformance {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some((what, value, forms)) = self.judged(context)? else { return Ok(Verdict::allow()) };
        let is_args = context.event.kind == EventKind::BeforeTool;
        let mut problems: Vec<(String, String)> = Vec::new();
        for form in forms {
            let left = MAX_PROBLEMS.saturating_sub(problems.len());
            problems.extend(form.problems(&value, !is_args, left));
        }
        if problems.is_empty() {
            return Ok(Verdict::allow());
        }
        let told: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
        let advice = match is_args {
            true => "Call it with arguments of the form that it asks for.",
            false => "Produce it again in the form that is asked for.",
        };
        Ok(Verdict::block(format!("{what} does not have the form that is asked for: {}.", told.join("; ")))
            .advise(advice)
            .with(
                "problems",
                json!(problems.iter().map(|(at, what)| json!({"at": at, "what": what})).collect::<Vec<_>>()),
            ))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }
}

#[cfg(test)]
#[cfg(feature = "json-schema")]
#[path = "schema_conformance_tests.rs"]
mod tests;

#[cfg(test)]
#[cfg(not(feature = "json-schema"))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_settings_say_so() {
        let error = serde_json::from_value::<SchemaConformance>(json!({"output": {}})).unwrap_err();
        assert!(error.to_string().contains("json-schema"), "{error}");
        assert!(serde_json::from_value::<SchemaConformance>(json!({})).is_ok());
    }
}
