//! The policy over HTTP: guardrails, layers, revisions, validation, reload and shadow report.

mod validate;
pub(crate) mod view;

use jiff::Timestamp;
use midrail::pack::diagnostic::DiagnosticRecord;
use midrail::pack::{Layer, PolicySource};
use midrail::policy_changes::PolicyConfirmation;
use midrail::reload::ReloadStats;
use midrail::shadow::{ShadowQuery, ShadowReport, shadow_report};
use midrail::store::Instance;
use midrail::{Mode, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::validate::{Candidate, validated};
use self::view::{Difference, GuardrailView, difference, guardrails};
use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Query};
use crate::api::router::Api;
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// The latest decisions that a shadow report covers.
const MAX_DECISIONS: u64 = 100_000;

/// The most examples per guardrail of a shadow report.
const MAX_EXAMPLES: usize = 100;

/// The policy in force.
#[derive(Debug, Serialize, JsonSchema)]
struct PolicyView {
    /// Its revision.
    revision: String,
    /// `shadow` if the whole policy is not enforced.
    mode: Mode,
    /// When it came into force.
    #[schemars(with = "String")]
    since: Timestamp,
    /// The instance that put it in force.
    by: String,
    /// The running instances that share the store, with the policy that each of them enforces.
    instances: Vec<Instance>,
    /// Whether another running instance enforces another policy.
    drift: bool,
    /// The policy that instances may start with although others enforce another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<PolicyConfirmation>,
    /// Its guardrails, in the order of the chain.
    guardrails: Vec<GuardrailView>,
    /// Reloads of its packs in this instance.
    reloads: ReloadStats,
}

/// The packs of the policy in force, highest layer first.
#[derive(Debug, Serialize, JsonSchema)]
struct Layers {
    /// The revision.
    revision: String,
    /// The packs.
    packs: Vec<PackView>,
}

/// A pack.
#[derive(Debug, Serialize, JsonSchema)]
struct PackView {
    /// `organisation`, `user` or `project`.
    #[schemars(with = "String")]
    layer: Layer,
    /// The file that it was read from.
    path: String,
    /// Its name.
    pack: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The file of the pack that extends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_of: Option<String>,
    /// Whether lower layers cannot loosen it.
    locked: bool,
    /// The ids of its guardrails.
    guardrails: Vec<String>,
}

/// A stored policy.
#[derive(Debug, Serialize, JsonSchema)]
struct KeptPolicy {
    /// Its revision.
    revision: String,
    /// Its packs, without their tests and overlays.
    source: Value,
}

/// The result of a reload.
#[derive(Debug, Serialize, JsonSchema)]
struct Reloaded {
    /// The revision in force.
    revision: String,
    /// Whether the policy changed.
    changed: bool,
}

/// Two policies to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FromTo {
    /// A revision
    from: String,
    /// Another revision. Absent: the one in force
    to: Option<String>,
}

/// The decisions of a shadow report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShadowFilter {
    /// Only decisions at or after this time
    since: Option<Timestamp>,
    /// Only decisions before this time
    until: Option<Timestamp>,
    /// Only this guardrail
    guardrail: Option<String>,
    /// Examples per guardrail: by default 5, at most 100
    examples: Option<usize>,
}

pub(super) fn routes(api: Api) -> Api {
    api.group("policy")
        .get("/v1/policy", "policy", "Show the policy in force with its guardrails")
        .json(Right::Read, policy)
        .get("/v1/policy/layers", "policy_layers", "Show the packs of the policy in force, layer by layer")
        .json(Right::Read, layers)
        .get("/v1/policy/diff", "policy_diff", "Compare the guardrails of two policies")
        .fails(&[409])
        .json(Right::Read, diff)
        .get("/v1/policy/{revision}", "policy_revision", "Show a policy that was once in force")
        .json(Right::Read, revision)
        .post(
            "/v1/policy/validate",
            "policy_validate",
            "Check a pack and return every problem with its location. Nothing is applied, run or read from files",
        )
        .json(Right::Read, |_, Body(candidate): Body<Candidate>| validated(&candidate))
        .post(
            "/v1/policy/reload",
            "policy_reload",
            "Reload the packs of the project. If they are invalid, the policy in force stays",
        )
        .fails(&[422])
        .json(Right::Administer, reload)
        .post(
            "/v1/policy/confirm",
            "policy_confirm",
            "Confirm a policy: for 24 hours, instances may start with it although others enforce another one",
        )
        .act(Right::Administer, confirm)
        .get("/v1/shadow", "shadow", "Report what guardrails in shadow mode would have done in the last 100,000 decisions")
        .json(Right::ReadAll, shadow)
}

fn policy(caller: &Caller, (): ()) -> HandlerResult<PolicyView> {
    let project = &caller.project;
    let (policy, source) = (project.engine().policy(), project.engine().policy_source());
    let (since, by) = project.membership.since();
    let instances = project.membership.running();
    Ok(PolicyView {
        revision: policy.revision().to_string(),
        mode: policy.mode(),
        since,
        by,
        drift: instances.iter().any(|instance| *instance.revision != **policy.revision()),
        instances,
        confirmed: project.engine().admin().confirmed_policy()?,
        guardrails: guardrails(&policy, &source),
        reloads: project.reloads(),
    })
}

fn layers(caller: &Caller, (): ()) -> HandlerResult<Layers> {
    let engine = caller.project.engine();
    let packs = engine.policy_source().0.into_iter().map(|layered| PackView {
        layer: layered.layer,
        path: layered.path,
        guardrails: layered.pack.guardrails.iter().filter_map(view::id).collect(),
        pack: layered.pack.pack,
        version: layered.pack.version.map(|version| version.0),
        description: layered.pack.description,
        base_of: layered.base_of,
        locked: layered.pack.lock,
    });
    Ok(Layers { revision: engine.policy().revision().to_string(), packs: packs.collect() })
}

fn revision(caller: &Caller, Named(revision): Named<String>) -> HandlerResult<KeptPolicy> {
    let engine = caller.project.engine();
    let source = if **engine.policy().revision() == *revision {
        serde_json::to_value(engine.policy_source()).unwrap_or_default()
    } else {
        let text = caller.project.store().policy(&revision)?.ok_or_else(|| unknown(&revision))?;
        serde_json::from_str(&text)
            .map_err(|error| Problem::internal(format!("the stored policy is invalid: {error}")))?
    };
    Ok(KeptPolicy { revision, source })
}

fn unknown(revision: &str) -> Problem {
    Problem::not_found(format!("there is no policy `{}`", short(revision)))
        .help("records have the revision that they were decided with; GET /v1/policy shows the one in force")
}

fn diff(caller: &Caller, Query(FromTo { from, to }): Query<FromTo>) -> HandlerResult<Difference> {
    let to = to.unwrap_or_else(|| caller.project.engine().policy().revision().to_string());
    let (before, after) = (made(caller, &from)?, made(caller, &to)?);
    Ok(difference((from, guardrails(&before.0, &before.1)), (to, guardrails(&after.0, &after.1))))
}

/// A policy of a revision.
pub(crate) fn made(caller: &Caller, revision: &str) -> HandlerResult<(Policy, PolicySource)> {
    let engine = caller.project.engine();
    if **engine.policy().revision() == *revision {
        let source = engine.policy_source();
        if let Ok(policy) = source.compile() {
            return Ok((policy, source));
        }
    }
    let Some(text) = caller.project.store().policy(revision)? else { return Err(unknown(revision)) };
    let (policy, runnable) = engine.stored_policy(revision).map_err(|error| match error {
        midrail::load::StoredPolicyError::Store(error) => Problem::from(error),
        other => Problem::refused(other.to_string()),
    })?;
    // Only shown, so with everything that the packs say.
    Ok((policy, serde_json::from_str(&text).unwrap_or(runnable)))
}

fn reload(caller: &Caller, (): ()) -> HandlerResult<Reloaded> {
    let (by, project) = (caller.person()?.name(), &caller.project);
    let changed = project.reload_now().map_err(|refused| {
        let why =
            if refused.problems.is_empty() { refused.why.clone() } else { first_problems(&refused.problems) };
        Problem::invalid(format!("the packs are invalid, and the policy in force stays: {why}"))
            .problems(refused.problems)
    })?;
    log::info!(project = project.name(), by:%; "the packs were reloaded");
    Ok(Reloaded { revision: project.engine().policy().revision().to_string(), changed: changed.is_some() })
}

/// A policy to confirm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyConfirm")]
struct Confirm {
    /// Its revision.
    revision: String,
}

fn confirm(caller: &Caller, Body(confirm): Body<Confirm>) -> HandlerResult<PolicyConfirmation> {
    Ok(caller.project.engine().admin().confirm_policy(&confirm.revision, Some(caller.person()?))?)
}

/// The first problems in one line.
fn first_problems(problems: &[DiagnosticRecord]) -> String {
    let mut lines: Vec<String> = problems
        .iter()
        .take(3)
        .map(|at| format!("{}:{}:{}: {}", at.file, at.line, at.column, at.message))
        .collect();
    if problems.len() > lines.len() {
        lines.push(format!("and {} more", problems.len() - lines.len()));
    }
    lines.join("; ")
}

fn shadow(caller: &Caller, Query(query): Query<ShadowFilter>) -> HandlerResult<ShadowReport> {
    let ShadowFilter { since, until, guardrail, examples } = query;
    let examples = examples.unwrap_or(5);
    if examples > MAX_EXAMPLES {
        return Err(Problem::malformed(format!("`examples` is at most {MAX_EXAMPLES}")));
    }
    let query = ShadowQuery { since, until, guardrail, examples, at_most: Some(MAX_DECISIONS) };
    Ok(shadow_report(&**caller.project.store(), &query, &mut |_| {})?)
}
