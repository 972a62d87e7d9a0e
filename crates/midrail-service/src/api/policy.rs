//! The policy in force: what it is made of, how it came about, and how another would differ.

pub(crate) mod diff;
mod validate;
pub(crate) mod view;

use axum::Json;
use axum::extract::State;
use axum::routing::{get, post};
use jiff::Timestamp;
use midrail::pack::diagnostic::DiagnosticRecord;
use midrail::pack::{Layer, PolicySource};
use midrail::shadow::{ShadowQuery, ShadowReport, shadow_report};
use midrail::{Mode, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::diff::{Difference, difference};
use self::validate::{Candidate, Validation, validated};
use self::view::{GuardrailView, guardrails};
use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Query};
use crate::api::openapi::{Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::text::short;

/// Decisions that a shadow report looks at, the latest.
const MOST_SHADOWED: u64 = 100_000;

/// Examples of a guardrail that a shadow report shows at most.
const MOST_EXAMPLES: usize = 100;

/// The policy in force.
#[derive(Debug, Serialize, JsonSchema)]
struct PolicyView {
    /// Its revision.
    revision: String,
    /// `shadow` where nothing of it has consequences.
    mode: Mode,
    /// Since when it is in force.
    #[schemars(with = "String")]
    since: Timestamp,
    /// The instance that put it in force.
    by: String,
    /// Its guardrails, in the order of the chain.
    guardrails: Vec<GuardrailView>,
    /// What became of changes of its packs here.
    reloads: ReloadsView,
}

/// What became of changes of packs, since this instance started.
#[derive(Debug, Serialize, JsonSchema)]
struct ReloadsView {
    /// Policies that were put in force.
    applied: u64,
    /// Changes that could not be used.
    refused: u64,
    /// Why the packs as they are now cannot be used. Absent: they can.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
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
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The file of the pack that builds on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_of: Option<String>,
    /// Whether no lower layer may loosen it.
    locked: bool,
    /// The ids of the guardrails that it names.
    guardrails: Vec<String>,
}

/// A policy as the store keeps it.
#[derive(Debug, Serialize, JsonSchema)]
struct KeptPolicy {
    /// Its revision.
    revision: String,
    /// Its packs, without their tests and overlays.
    source: Value,
}

/// What came of reading the packs again.
#[derive(Debug, Serialize, JsonSchema)]
struct Reloaded {
    /// The revision that is in force now.
    revision: String,
    /// Whether it is another than before.
    changed: bool,
}

/// Two policies to hold against each other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromTo {
    from: String,
    to: Option<String>,
}

/// What a shadow report is to be made of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShadowAsked {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    guardrail: Option<String>,
    examples: Option<usize>,
}

pub(super) fn routes(api: Api) -> Api {
    let operation = |method, path, id, summary| Operation::new(method, path, id, "policy", summary);
    let shown = operation("get", "/v1/policy", "policy", "The policy in force, guardrail by guardrail")
        .gives::<PolicyView>("The policy");
    let layers = operation(
        "get",
        "/v1/policy/layers",
        "policy_layers",
        "The packs of the policy in force, layer by layer",
    )
    .gives::<Layers>("The packs");
    let kept = operation(
        "get",
        "/v1/policy/{revision}",
        "policy_revision",
        "A policy that was ever in force, as the store keeps it",
    )
    .with::<String>(Place::Path, "revision", "Its revision")
    .gives::<KeptPolicy>("Its packs");
    let diff = operation(
        "get",
        "/v1/policy/diff",
        "policy_diff",
        "What differs between two policies, guardrail by guardrail",
    )
    .with::<String>(Place::Query, "from", "A revision; it has to be given")
    .with::<Option<String>>(Place::Query, "to", "Another. Absent: the one in force")
    .gives::<Difference>("What differs")
    .fails(&[409]);
    let validate = operation(
        "post",
        "/v1/policy/validate",
        "policy_validate",
        "Checks a pack and tells every problem with its place. Nothing is applied, run or read from files",
    )
    .takes::<Candidate>()
    .gives::<Validation>("What was found");
    let reload = operation(
        "post",
        "/v1/policy/reload",
        "policy_reload",
        "Reads the packs of the project again, now. Packs that cannot be used leave the policy in force",
    )
    .gives::<Reloaded>("What is in force")
    .fails(&[422]);
    let shadow = operation(
        "get",
        "/v1/shadow",
        "shadow",
        "What guardrails in shadow mode would have done, of the latest 100,000 decisions",
    )
    .with::<Option<String>>(Place::Query, "since", "Decisions at or after this time")
    .with::<Option<String>>(Place::Query, "until", "Decisions before this time")
    .with::<Option<String>>(Place::Query, "guardrail", "This guardrail alone")
    .with::<Option<usize>>(
        Place::Query,
        "examples",
        "Examples of each guardrail; 5 where it is not said, 100 at most",
    )
    .gives::<ShadowReport>("The report")
    .fails(&[504]);
    api.route(shown, Right::Read, Lifetime::Short, get(policy))
        .route(layers, Right::Read, Lifetime::Short, get(policy_layers))
        .route(diff, Right::Read, Lifetime::Short, get(policy_diff))
        .route(kept, Right::Read, Lifetime::Short, get(policy_kept))
        .route(validate, Right::Read, Lifetime::Short, post(policy_validate))
        .route(reload, Right::Administer, Lifetime::Short, post(policy_reload))
        .route(shadow, Right::ReadAll, Lifetime::Short, get(shadowed))
}

async fn policy(caller: Caller) -> HandlerResult<Json<PolicyView>> {
    blocking(move || {
        let project = caller.project();
        let (policy, source) = (project.engine().policy(), project.engine().policy_source());
        let reloads = project.reloads();
        let (since, by) = project.policy_sync().since();
        Ok(Json(PolicyView {
            revision: policy.revision().to_string(),
            mode: policy.mode(),
            since,
            by,
            guardrails: guardrails(&policy, &source),
            reloads: ReloadsView {
                applied: reloads.applied,
                refused: reloads.refused,
                last_error: reloads.last_error,
            },
        }))
    })
    .await
}

async fn policy_layers(caller: Caller) -> HandlerResult<Json<Layers>> {
    blocking(move || {
        let engine = caller.project().engine();
        let source = engine.policy_source();
        let packs = source.0.into_iter().map(|layered| PackView {
            layer: layered.layer,
            path: layered.path,
            guardrails: layered.pack.guardrails.iter().filter_map(view::id).collect(),
            pack: layered.pack.pack,
            version: layered.pack.version.map(|version| version.0),
            description: layered.pack.description,
            base_of: layered.base_of,
            locked: layered.pack.lock,
        });
        Ok(Json(Layers { revision: engine.policy().revision().to_string(), packs: packs.collect() }))
    })
    .await
}

async fn policy_kept(caller: Caller, Named(revision): Named<String>) -> HandlerResult<Json<KeptPolicy>> {
    blocking(move || {
        let engine = caller.project().engine();
        let source = match **engine.policy().revision() == *revision {
            true => serde_json::to_value(engine.policy_source()).unwrap_or_default(),
            false => {
                let text = caller.project().store().policy(&revision)?.ok_or_else(|| unknown(&revision))?;
                serde_json::from_str(&text)
                    .map_err(|error| Problem::internal(format!("the policy cannot be read: {error}")))?
            }
        };
        Ok(Json(KeptPolicy { revision, source }))
    })
    .await
}

fn unknown(revision: &str) -> Problem {
    Problem::not_found(format!("there is no policy `{}`", short(revision)))
        .help("records name the revision that they were decided with; GET /v1/policy tells the one in force")
}

async fn policy_diff(
    caller: Caller,
    Query(FromTo { from, to }): Query<FromTo>,
) -> HandlerResult<Json<Difference>> {
    blocking(move || {
        let to = to.unwrap_or_else(|| caller.project().engine().policy().revision().to_string());
        let (before, after) = (made(&caller, &from)?, made(&caller, &to)?);
        Ok(Json(difference((from, guardrails(&before.0, &before.1)), (to, guardrails(&after.0, &after.1)))))
    })
    .await
}

/// A policy of a revision.
pub(crate) fn made(caller: &Caller, revision: &str) -> HandlerResult<(Policy, PolicySource)> {
    let engine = caller.project().engine();
    if **engine.policy().revision() == *revision {
        let source = engine.policy_source();
        if let Ok(policy) = source.compile() {
            return Ok((policy, source));
        }
    }
    if caller.project().store().policy(revision)?.is_none() {
        return Err(unknown(revision));
    }
    engine.announcements().policy(revision).map_err(|error| match error {
        midrail::load::StoredPolicyError::Store(error) => error.into(),
        other => Problem::refused(other.to_string()),
    })
}

async fn policy_validate(Body(candidate): Body<Candidate>) -> HandlerResult<Json<Validation>> {
    blocking(move || Ok(Json(validated(&candidate)?))).await
}

async fn policy_reload(State(_): State<App>, caller: Caller) -> HandlerResult<Json<Reloaded>> {
    blocking(move || {
        let by = caller.person()?.name().to_owned();
        let project = caller.project();
        let changed = project.reload_now().map_err(|refused| {
            let why = match refused.problems.is_empty() {
                true => refused.why.clone(),
                false => told(&refused.problems),
            };
            Problem::invalid(format!("the packs cannot be used, and the policy in force stays: {why}"))
                .problems(refused.problems)
        })?;
        log::info!(project = project.name(), by:%; "the packs were read again");
        let revision = project.engine().policy().revision().to_string();
        Ok(Json(Reloaded { revision, changed: changed.is_some() }))
    })
    .await
}

/// The first problems in a line.
fn told(problems: &[DiagnosticRecord]) -> String {
    let first = problems.iter().take(3);
    let lines: Vec<String> =
        first.map(|at| format!("{}:{}:{}: {}", at.file, at.line, at.column, at.message)).collect();
    let more = problems.len().saturating_sub(lines.len());
    match more {
        0 => lines.join("; "),
        more => format!("{}; and {more} more", lines.join("; ")),
    }
}

async fn shadowed(caller: Caller, Query(asked): Query<ShadowAsked>) -> HandlerResult<Json<ShadowReport>> {
    let examples = asked.examples.unwrap_or(5);
    if examples > MOST_EXAMPLES {
        return Err(Problem::malformed(format!("`examples` is at most {MOST_EXAMPLES}")));
    }
    blocking(move || {
        let query = ShadowQuery {
            since: asked.since,
            until: asked.until,
            guardrail: asked.guardrail,
            examples,
            at_most: Some(MOST_SHADOWED),
        };
        Ok(Json(shadow_report(&**caller.project().store(), &query, &mut |_| {})?))
    })
    .await
}
