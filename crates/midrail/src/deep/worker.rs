//! A worker thread: sends questions and masks secrets in their answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use midrail_guardrails::{DeepBackend, WINDOW_COUNT_MEMBER, WINDOWS_MEMBER};
use midrail_scan::secrets;
use serde_json::{Value, json};

use super::client;
use super::headers::RequestHeaders;
use super::jobs::{Failure, Job, QueueShared};
use super::judge::Extent;
use super::plan::Form;
use super::question::Answer;
use super::wire::{Call, Stop};
use super::{command, judge, moderation};
use crate::error::Unavailable;

/// Sends questions until there are none left.
pub(super) fn work(shared: &QueueShared) {
    let mut before = Stop::default();
    while let Some((job, stop)) = shared.next(&before) {
        let mut cost = 0.0;
        let asked = catch_unwind(AssertUnwindSafe(|| answer(shared, &job, &stop, &mut cost)));
        let ended =
            asked.unwrap_or_else(|_| Err(Failure { error: "the worker panicked".into(), was_asked: true }));
        shared.end(job, &stop, ended, cost);
        before = stop.next();
    }
}

/// The share of its time that a question has to have left when its turn comes: a quarter.
const LEAST: u32 = 4;

fn answer(shared: &QueueShared, job: &Job, stop: &Stop, cost: &mut f64) -> Result<Answer, Failure> {
    let settings = &*job.item.settings;
    let limit = Duration::from_millis(settings.timeout.0);
    let left = job.deadline.saturating_duration_since(Instant::now());
    // With little time left it would fail, and count as a failure of the service.
    if left < limit / LEAST {
        let waited = limit.saturating_sub(left).as_millis();
        let why = format!("the question waited {waited}ms for its turn; raise `timeout` or `max_concurrent`");
        return Err(Failure { error: why.into(), was_asked: false });
    }
    let call =
        Call { settings, deadline: job.deadline, stop, lookup: shared.lookup, key: &shared.ledger.key };
    let mut values = Vec::new();
    let all = job.plan.forms.len();
    for (index, form) in job.plan.forms.iter().enumerate() {
        let extent = match all {
            1 if job.plan.is_cut => Extent::Cut,
            1 => Extent::Whole,
            _ => Extent::Window(index + 1, all),
        };
        let value = ask(&call, form, extent, cost).map_err(|error| Failure { error, was_asked: true })?;
        // The first objection settles it, unless a `check` has to see all answers.
        let is_settled = settings.uses_default_check && !settings.kind.passes(&value);
        values.push(value);
        if is_settled {
            break;
        }
    }
    let asked = values.len();
    let mut value = match <[Value; 1]>::try_from(values) {
        Ok([value]) if all == 1 => value,
        Ok([value]) => json!({ WINDOWS_MEMBER: [value], WINDOW_COUNT_MEMBER: all }),
        Err(values) if asked < all => json!({ WINDOWS_MEMBER: values, WINDOW_COUNT_MEMBER: all }),
        Err(values) => json!({ WINDOWS_MEMBER: values }),
    };
    // Answers are kept in records, and no secret is.
    let findings = secrets::scan_json(&value, &shared.ledger.key);
    secrets::mask(&mut value, &findings);
    let has_price = matches!(&settings.kind, DeepBackend::Judge(judge) if judge.cost.is_some());
    Ok(Answer { value, cached: false, cost: has_price.then_some(*cost), cut: job.plan.is_cut })
}

/// Asks about one window.
fn ask(call: &Call<'_>, form: &Form, extent: Extent, cost: &mut f64) -> Result<Value, Unavailable> {
    let kind = &call.settings.kind;
    let mut value = match (kind, form) {
        (DeepBackend::Http(http), Form::Http(body)) => {
            let headers = RequestHeaders::resolve(&http.headers, call.lookup)?;
            call.tries(http.retries, || client::send(call, &http.url, http.method, &headers, body))
        }
        (DeepBackend::Judge(question), Form::Judge(parts)) => judge::ask(call, question, parts, extent, cost),
        (DeepBackend::Moderation(question), Form::Moderation { text, answers }) => {
            moderation::ask(call, question, text, answers.as_deref())
        }
        (DeepBackend::Command(line), Form::Command { event, root }) => {
            command::ask(call, line, root.as_deref(), event)
        }
        _ => Err(Unavailable::new("the question is in the form of another kind")),
    }?;
    // Only Midrail joins the answers of several windows.
    if value.get(WINDOWS_MEMBER).is_some() {
        return Err(Unavailable::new(format!(
            "it answered with a member `{WINDOWS_MEMBER}`, which is Midrail's own"
        )));
    }
    // Where the form is ours, a check can go by whether all of the text was seen.
    if let (DeepBackend::Judge(_) | DeepBackend::Moderation(_), Some(members)) = (kind, value.as_object_mut())
    {
        members.insert("cut".to_owned(), json!(extent == Extent::Cut));
    }
    Ok(value)
}
