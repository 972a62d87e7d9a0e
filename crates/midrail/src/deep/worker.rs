//! What a thread that asks does: a question is put into the form of its kind, asked, and its answer made fit to keep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Instant;

use midrail_detect::secrets;
use midrail_guardrails::{DeepKind, DeepSettings, Part};
use serde_json::{Value, json};

use super::asking::{Failure, Job, Office};
use super::cache::{self, Key};
use super::moderation::Moderated;
use super::render::{Parts, lasting};
use super::wire::{Call, Stop};
use super::{Answer, Question, command, http, judge, moderation};

/// A question in the form of its kind.
pub(super) struct Plan {
    form: Form,
    is_cut: bool,
}

enum Form {
    Http(Value),
    Judge(Vec<(Part, String)>),
    Moderation { text: String, answers: Option<String> },
    Command { event: Value, root: Option<PathBuf> },
}

impl Plan {
    pub(super) fn of(settings: &DeepSettings, question: Question) -> Self {
        let parts = Parts::of(&question, settings.max_text);
        let form = match &settings.kind {
            DeepKind::Http(http) => Form::Http(parts.fill(&http.body)),
            DeepKind::Judge(judge) => {
                let texts = judge.include.iter().map(|part| (*part, parts.text(*part)));
                Form::Judge(texts.filter(|(part, text)| *part == Part::Text || !text.is_empty()).collect())
            }
            DeepKind::Moderation(_) => {
                let kind = question.event.get("kind").and_then(Value::as_str).unwrap_or_default();
                let is_said = matches!(kind, "after_model" | "model_chunk" | "before_stop");
                let answers = is_said.then(|| parts.text(Part::Goal));
                // Such models know no answer without a question.
                let answers = answers.map(|goal| if goal.is_empty() { "Go on.".to_owned() } else { goal });
                Form::Moderation { text: parts.text(Part::Text), answers }
            }
            DeepKind::Command(_) => {
                return Plan {
                    form: Form::Command { event: question.event, root: question.root },
                    is_cut: false,
                };
            }
        };
        Plan { form, is_cut: parts.is_cut() }
    }

    /// What it is likely to cost.
    pub(super) fn estimate(&self, settings: &DeepSettings) -> f64 {
        match (&settings.kind, &self.form) {
            (DeepKind::Judge(judge), Form::Judge(parts)) => judge::estimate(judge, parts),
            _ => 0.0,
        }
    }

    fn told(&self) -> Value {
        match &self.form {
            Form::Http(body) => body.clone(),
            Form::Judge(parts) => parts.iter().map(|(part, text)| json!([part, text])).collect(),
            Form::Moderation { text, answers } => json!([text, answers]),
            Form::Command { event, root } => json!([event, root.as_ref().map(|root| root.to_string_lossy())]),
        }
    }
}

/// By what a question is known again: whose it is, who is asked, and what is sent. `None`: answers do not hold.
pub(super) fn key(settings: &DeepSettings, question: &Question) -> Option<Key> {
    if settings.cache.0 <= 0.0 {
        return None;
    }
    let same = Question { event: lasting(&question.event), ..question.clone() };
    let asked = Plan::of(settings, same).told().to_string();
    let settings = serde_json::to_vec(settings).ok()?;
    Some(cache::key(&[question.run.as_bytes(), &settings, asked.as_bytes()]))
}

/// Asks until there is nothing left to ask.
pub(super) fn work(office: &Office) {
    let mut before = Stop::default();
    while let Some((job, stop)) = office.next(&before) {
        let mut cost = 0.0;
        let asked = catch_unwind(AssertUnwindSafe(|| answer(office, &job, &stop, &mut cost)));
        let ended = asked.unwrap_or_else(|_| Err(Failure::Failed("the asking itself broke".to_owned())));
        office.end(job, &stop, ended, cost);
        before = stop.next();
    }
}

fn answer(office: &Office, job: &Job, stop: &Stop, cost: &mut f64) -> Result<Answer, Failure> {
    let started = Instant::now();
    if started >= job.deadline {
        let limit = std::time::Duration::from_millis(job.settings.timeout.0);
        let why = format!("the question waited {limit:?} for its turn; raise `timeout` or `max_concurrent`");
        return Err(Failure::NotAsked(why));
    }
    let settings = &*job.settings;
    let call = Call { settings, deadline: job.deadline, stop, lookup: office.lookup, key: &office.books.key };
    let value = match (&settings.kind, &job.plan.form) {
        (DeepKind::Http(question), Form::Http(body)) => http::ask(&call, question, body),
        (DeepKind::Judge(question), Form::Judge(parts)) => {
            judge::ask(&call, question, parts, job.plan.is_cut, cost)
        }
        (DeepKind::Moderation(question), Form::Moderation { text, answers }) => {
            moderation::ask(&call, question, &Moderated { text, answers: answers.as_deref() })
        }
        (DeepKind::Command(line), Form::Command { event, root }) => {
            command::ask(&call, line, root.as_deref(), event)
        }
        _ => Err("the question is in the form of another kind".to_owned()),
    };
    let mut value = value.map_err(Failure::Failed)?;
    // Where the form is ours, a check can go by whether all of the text was seen.
    if let (DeepKind::Judge(_) | DeepKind::Moderation(_), Some(members)) =
        (&settings.kind, value.as_object_mut())
    {
        members.insert("cut".to_owned(), json!(job.plan.is_cut));
    }
    // Answers are kept in records, and no secret is.
    let findings = secrets::scan_json(&value, &office.books.key);
    secrets::mask(&mut value, &findings);
    let has_price = matches!(&settings.kind, DeepKind::Judge(judge) if judge.cost.is_some());
    Ok(Answer {
        value,
        took_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        cached: false,
        cost: has_price.then_some(*cost),
        cut: job.plan.is_cut,
    })
}
