//! `cedar`: the expressions of its entities and its context.

use std::sync::Arc;

use midrail_core::{Context, Guardrail, Missing};
use midrail_guardrails::{CedarExpressions, CedarSettings, ComputeText, ComputeValue, SettingsProblem};
use serde_json::Value;

use crate::compile::compiler::Compiler;
use crate::diagnostic::excerpt;
use crate::expr::Expected;
use crate::issue::Issue;
use crate::rule::{Deferred, identifier, json_value};
use crate::template::{Part, parts};

/// The arguments of the call as a whole.
const ARGS: &str = "tool.args";

impl Compiler<'_> {
    /// A guardrail that evaluates Cedar policies. The texts of its files are checked once the loader has read them.
    pub(super) fn cedar(&mut self, at: &str, settings: &CedarSettings) -> Option<Arc<dyn Guardrail>> {
        let is_loaded = self.is_checked_before();
        match settings.compiled(&mut Expressions { compiler: self, at }, is_loaded) {
            Ok(guardrail) => Some(guardrail),
            Err(problems) => {
                let issue = |SettingsProblem { at: below, message, help }| {
                    Issue::new(format!("{at}{below}"), message).help(help)
                };
                self.issues.extend(problems.into_iter().map(issue));
                None
            }
        }
    }
}

struct Expressions<'c, 'p> {
    compiler: &'c mut Compiler<'p>,
    at: &'c str,
}

/// A part of the id of an entity.
enum Piece {
    Text(String),
    Value(Deferred),
}

impl CedarExpressions for Expressions<'_, '_> {
    fn template(&mut self, at: &str, text: &str) -> Option<ComputeText> {
        let at = format!("{}{at}", self.at);
        let mut pieces = Vec::new();
        for part in parts(text) {
            pieces.push(match part {
                // A misspelt name would be an id that no policy has.
                Part::Text(text) if text.contains(['{', '}']) => {
                    let message = format!("`{}` has braces without a known name", excerpt(text));
                    let help = "use a name of expressions, such as `{agent.id}`, `{tool.name}` or `{session.project}`";
                    self.compiler.issue(at, message, help);
                    return None;
                }
                Part::Text(text) => Piece::Text(text.to_owned()),
                Part::Name(name) => Piece::Value(self.compiler.expression(&at, name, Expected::Any)?),
            });
        }
        Some(Arc::new(move |context: &Context<'_>| {
            // Every value is read before giving up, so that all facts are fetched at once.
            let texts: Vec<Result<String, Missing>> = pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => Ok(text.clone()),
                    Piece::Value(expression) => identifier(expression, context),
                })
                .collect();
            texts.into_iter().collect()
        }))
    }

    fn value(&mut self, at: &str, expression: &str) -> Option<ComputeValue> {
        if expression.trim() == ARGS {
            return Some(Arc::new(|context: &Context<'_>| {
                let tool = context.event.tool.as_ref();
                let args = tool.map(|tool| Value::Object(tool.args.clone()));
                args.ok_or_else(|| Missing(format!("`{ARGS}` is not known")))
            }));
        }
        let at = format!("{}{at}", self.at);
        let expression = self.compiler.expression(&at, expression, Expected::Any)?;
        Some(Arc::new(move |context: &Context<'_>| json_value(&expression, context)))
    }
}
