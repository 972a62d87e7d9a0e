//! The request of an event, and the verdict for Cedar's answer.

use std::str::FromStr;

use cedar_policy::{
    AuthorizationError, Authorizer, Context as CedarContextValue, Decision, EntityId, EntityTypeName,
    EntityUid, PolicyId, Request, RestrictedExpression,
};
use serde_json::Value;

use crate::cedar::context_values::{expression, members};
use crate::cedar::policy_files::PolicyFiles;
use crate::cedar::settings::{CedarContext, CedarExpressions, CedarSettings, ComputeText, ComputeValue};
use crate::prelude::*;
use crate::shared::settings::SettingsProblem;
use crate::shared::text::shorten;

/// The most policies that a reason names.
const MAX_NAMES: usize = 8;

/// An entity whose id is computed. Its type is fixed, and the id is never parsed, so no value changes the type.
struct EntityTemplate {
    kind: EntityTypeName,
    id: ComputeText,
}

impl EntityTemplate {
    fn compile(
        at: &str,
        text: &str,
        expressions: &mut dyn CedarExpressions,
        problems: &mut Vec<SettingsProblem>,
    ) -> Option<Self> {
        let Ok(uid) = EntityUid::from_str(text.trim()) else {
            let message = format!("`{}` is not an entity", shorten(text, 60));
            let help =
                "write its type and its id, such as `Agent::\"{agent.id}\"`; only the id has placeholders";
            problems.push(SettingsProblem::with_help(at, message, help));
            return None;
        };
        let id = expressions.template(at, uid.id().unescaped())?;
        Some(EntityTemplate { kind: uid.type_name().clone(), id })
    }

    fn entity(&self, context: &Context<'_>) -> Result<EntityUid, Missing> {
        let id = (self.id)(context)?;
        Ok(EntityUid::from_type_name_and_id(self.kind.clone(), EntityId::new(id)))
    }
}

/// The context of a request: each value with the place that errors name.
enum ContextTemplate {
    Whole(String, ComputeValue),
    Members(Vec<(String, String, ComputeValue)>),
}

/// The request for an event.
pub(super) struct RequestTemplate {
    principal: EntityTemplate,
    action: EntityTemplate,
    resource: EntityTemplate,
    context: ContextTemplate,
}

impl RequestTemplate {
    /// Compiles the entities and the context. `expressions` reports invalid expressions, so the list of problems can be empty.
    pub(super) fn compile(
        settings: &CedarSettings,
        expressions: &mut dyn CedarExpressions,
    ) -> Result<Self, Vec<SettingsProblem>> {
        let mut problems = Vec::new();
        let mut entity = |at: &str, text: &str| EntityTemplate::compile(at, text, expressions, &mut problems);
        let principal = entity("/principal", &settings.principal);
        let action = entity("/action", &settings.action);
        let resource = entity("/resource", &settings.resource);
        let context = match &settings.context {
            None => Some(ContextTemplate::Members(Vec::new())),
            Some(CedarContext::Whole(source)) => expressions
                .value("/context", source)
                .map(|value| ContextTemplate::Whole(source.trim().to_owned(), value)),
            Some(CedarContext::Members(members)) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, source)| {
                        let value = expressions.value(&format!("/context/{name}"), source)?;
                        Some((name.clone(), source.trim().to_owned(), value))
                    })
                    .collect();
                members.into_iter().collect::<Option<_>>().map(ContextTemplate::Members)
            }
        };
        match (principal, action, resource, context) {
            (Some(principal), Some(action), Some(resource), Some(context)) if problems.is_empty() => {
                Ok(RequestTemplate { principal, action, resource, context })
            }
            _ => Err(problems),
        }
    }

    /// The members of the context. The inner error is a value that Cedar cannot represent.
    fn members(
        &self,
        context: &Context<'_>,
    ) -> Result<Result<Vec<(String, RestrictedExpression)>, String>, Missing> {
        match &self.context {
            ContextTemplate::Whole(source, value) => Ok(match value(context)? {
                Value::Object(map) => members(source, map),
                _ => Err(format!("`{}` is not a map, as the context must be", shorten(source, 120))),
            }),
            ContextTemplate::Members(all) => {
                // Every value is read before giving up, so that all facts are fetched at once.
                let values: Vec<_> =
                    all.iter().map(|(name, source, value)| (name, source, value(context))).collect();
                let mut members = Vec::new();
                for (name, source, value) in values {
                    members.push(expression(source, value?, 1).map(|value| (name.clone(), value)));
                }
                Ok(members.into_iter().collect())
            }
        }
    }
}

/// A guardrail that blocks what Cedar denies.
pub(super) struct CedarGuardrail {
    request: RequestTemplate,
    loaded: PolicyFiles,
    authorizer: Authorizer,
    names: String,
}

impl CedarGuardrail {
    pub(super) fn new(settings: &CedarSettings, request: RequestTemplate, loaded: PolicyFiles) -> Self {
        let names: Vec<String> = settings.policies.iter().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "the pack".to_owned() } else { names.join(", ") };
        CedarGuardrail { request, loaded, authorizer: Authorizer::new(), names }
    }

    /// The texts of an annotation of these policies, without repetitions.
    fn annotations(&self, ids: &[&PolicyId], key: &str) -> String {
        let mut texts: Vec<&str> = Vec::new();
        for text in ids.iter().filter_map(|id| self.loaded.policies.annotation(id, key)) {
            if !text.trim().is_empty() && !texts.contains(&text.trim()) {
                texts.push(text.trim());
            }
        }
        texts.join(" ")
    }

    /// The objection of policies, with their annotations.
    fn objection(&self, ids: &[&PolicyId], what: &str) -> Verdict {
        let reason = match self.annotations(ids, "reason") {
            reason if reason.is_empty() => format!("{what}."),
            reason => format!("{what}: {reason}"),
        };
        let verdict = Verdict::block(reason).with("policies", texts(ids));
        match self.annotations(ids, "advice") {
            advice if advice.is_empty() => verdict,
            advice => verdict.advise(advice),
        }
    }
}

/// The verdict if policies failed: what they would have decided is not known.
fn failure(errors: &[(&PolicyId, String)]) -> Verdict {
    let ids: Vec<&PolicyId> = errors.iter().map(|(id, _)| *id).collect();
    let reason = format!("{}. Cedar skips such a policy, so the call is not allowed.", failed(errors));
    Verdict::block(reason)
        .advise("Report this to the owner of the policies.")
        .with("policies", texts(&ids))
        .with("failed", true)
}

fn failed(errors: &[(&PolicyId, String)]) -> String {
    let ids: Vec<&PolicyId> = errors.iter().map(|(id, _)| *id).collect();
    let why = errors.first().map(|(_, why)| why.as_str()).unwrap_or_default();
    format!("{} could not be evaluated: {why}", policies(&ids))
}

impl Guardrail for CedarGuardrail {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // Everything is read before giving up, so that all facts are fetched at once.
        let request = &self.request;
        let principal = request.principal.entity(context);
        let action = request.action.entity(context);
        let resource = request.resource.entity(context);
        let members = request.members(context);
        let (principal, action, resource, members) = (principal?, action?, resource?, members?);
        let shown = [&principal, &action, &resource].map(|uid| shorten(&uid.to_string(), 120));
        let request = members.and_then(|members| {
            let context = CedarContextValue::from_pairs(members).map_err(|error| error.to_string())?;
            let schema = self.loaded.schema.as_ref();
            Request::new(principal, action, resource, context, schema).map_err(|error| error.to_string())
        });
        let request = request.map_err(|why| {
            let why = format!("Cedar cannot evaluate this call: {}", shorten(&why, 300));
            Fault::FailedAfter(Box::new(Verdict::block(format!("{why}."))), why)
        })?;
        let PolicyFiles { policies: set, entities, .. } = &self.loaded;
        let response = self.authorizer.is_authorized(&request, set, entities);
        // Cedar keeps them in no order.
        let mut errors: Vec<(&PolicyId, String)> = response
            .diagnostics()
            .errors()
            .map(|AuthorizationError::PolicyEvaluationError(error)| {
                (error.policy_id(), shorten(&error.inner().to_string(), 300))
            })
            .collect();
        errors.sort();
        let mut ids: Vec<&PolicyId> = response.diagnostics().reason().collect();
        ids.sort();
        let [principal, action, resource] = shown;
        let verdict = match response.decision() {
            Decision::Deny if !ids.is_empty() => {
                let forbid = if ids.len() == 1 { "forbids" } else { "forbid" };
                self.objection(&ids, &format!("{} {forbid} {action}", policies(&ids)))
            }
            _ if !errors.is_empty() => failure(&errors),
            Decision::Deny => {
                let what = format!("No Cedar policy permits {action} for {principal} on {resource}");
                let advice = "Do something else, or ask the owner of the policies for a permission.";
                self.objection(&[], &what).advise(advice)
            }
            Decision::Allow => return Ok(Verdict::allow()),
        };
        if errors.is_empty() {
            return Ok(verdict);
        }
        // The failure also counts if the pack gives a policy that forbids the call a weaker effect.
        Err(Fault::FailedAfter(Box::new(verdict), failed(&errors)))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some(format!("The Cedar policies of {} must permit it.", self.names))
    }
}

/// Policies in a sentence: "The Cedar policies `a`, `b`".
fn policies(ids: &[&PolicyId]) -> String {
    let noun = if ids.len() == 1 { "policy" } else { "policies" };
    let names: Vec<String> = ids.iter().take(MAX_NAMES).map(|id| format!("`{}`", shown_id(id))).collect();
    let more = if ids.len() > MAX_NAMES { ", …" } else { "" };
    format!("The Cedar {noun} {}{more}", names.join(", "))
}

fn texts(ids: &[&PolicyId]) -> Value {
    Value::Array(ids.iter().map(|id| Value::String(shown_id(id))).collect())
}

fn shown_id(id: &PolicyId) -> String {
    let id: &str = id.as_ref();
    shorten(id, 120)
}
