//! What a thread that asks does: a question is put into the form of its kind, asked, and its answer made fit to keep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use midrail_detect::secrets;
use midrail_guardrails::{DeepKind, DeepSettings, LongText, Part, WINDOWS, WINDOWS_OF};
use serde_json::{Value, json};

use super::asking::{Failure, Job, Office};
use super::cache::{self, Key};
use super::judge::Extent;
use super::moderation::Moderated;
use super::render::{self, Parts, lasting};
use super::wire::{Call, Stop};
use super::{Answer, Question, command, http, judge, moderation};

/// A question in the form of its kind: one, or several about the windows of a long text.
pub(super) struct Plan {
    forms: Vec<Form>,
    is_cut: bool,
}

enum Form {
    Http(Value),
    Judge(Vec<(Part, String)>),
    Moderation { text: String, answers: Option<String> },
    Command { event: Value, root: Option<PathBuf> },
}

impl Plan {
    /// An error says why it cannot be asked.
    pub(super) fn of(settings: &DeepSettings, question: Question) -> Result<Self, String> {
        if matches!(settings.kind, DeepKind::Command(_)) {
            let form = Form::Command { event: question.event, root: question.root };
            return Ok(Plan { forms: vec![form], is_cut: false });
        }
        let limit = settings.max_text;
        if settings.long_text == LongText::Cut {
            let parts = Parts::of(&question, &question.text, limit);
            let form = Form::of(settings, &question, &parts);
            return Ok(Plan { forms: vec![form], is_cut: parts.is_cut() });
        }
        let windows = render::windows(&question.text, limit);
        let mut forms = Vec::new();
        for window in &windows {
            let parts = Parts::of(&question, window, limit);
            forms.push(Form::of(settings, &question, &parts));
            if !parts.has_text() {
                // The text says everything that an event does. Who is asked about other parts alone, as an endpoint may be,
                // has to see all of them.
                return match parts.is_cut() {
                    false => Ok(Plan { forms, is_cut: false }),
                    true => Err(format!(
                        "a part of the event has more than {limit} characters; raise `max_text`, or send the `text`"
                    )),
                };
            }
            if windows.len() > settings.max_windows {
                let (all, most) = (windows.len(), settings.max_windows);
                return Err(format!(
                    "the text takes {all} windows of {limit} characters, and {most} are allowed; raise `max_windows` or `max_text`"
                ));
            }
        }
        Ok(Plan { forms, is_cut: false })
    }

    /// What it is likely to cost.
    pub(super) fn estimate(&self, settings: &DeepSettings) -> f64 {
        let of = |form: &Form| match (&settings.kind, form) {
            (DeepKind::Judge(judge), Form::Judge(parts)) => judge::estimate(judge, parts),
            _ => 0.0,
        };
        self.forms.iter().map(of).sum()
    }

    fn told(&self) -> Value {
        self.forms.iter().map(Form::told).collect()
    }
}

impl Form {
    fn of(settings: &DeepSettings, question: &Question, parts: &Parts<'_>) -> Self {
        match &settings.kind {
            DeepKind::Http(http) => Form::Http(parts.fill(&http.body)),
            DeepKind::Judge(judge) => {
                let texts = judge.parts().into_iter().map(|part| (part, parts.text(part)));
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
                Form::Command { event: question.event.clone(), root: question.root.clone() }
            }
        }
    }

    fn told(&self) -> Value {
        match self {
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
    let asked = Plan::of(settings, same).ok()?.told().to_string();
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

/// The share of its time that a question has to have left when its turn comes: a quarter.
const LEAST: u32 = 4;

fn answer(office: &Office, job: &Job, stop: &Stop, cost: &mut f64) -> Result<Answer, Failure> {
    let started = Instant::now();
    let limit = Duration::from_millis(job.settings.timeout.0);
    let left = job.deadline.saturating_duration_since(started);
    // In the little time that is left it would fail, and be taken for a failure of the one who is asked.
    if left < limit / LEAST {
        let waited = Duration::from_millis(
            u64::try_from(limit.saturating_sub(left).as_millis()).unwrap_or(job.settings.timeout.0),
        );
        let why = format!("the question waited {waited:?} for its turn; raise `timeout` or `max_concurrent`");
        return Err(Failure::NotAsked(why));
    }
    let settings = &*job.settings;
    let call = Call { settings, deadline: job.deadline, stop, lookup: office.lookup, key: &office.books.key };
    let mut values = Vec::new();
    let all = job.plan.forms.len();
    for (index, form) in job.plan.forms.iter().enumerate() {
        let extent = match all {
            1 if job.plan.is_cut => Extent::Cut,
            1 => Extent::Whole,
            _ => Extent::Window(index + 1, all),
        };
        let value = ask(&call, form, extent, cost).map_err(Failure::Failed)?;
        // All windows object alike, so that the first that does settles it. Of a check only the law knows.
        let is_settled = settings.by_kind && !settings.kind.passes(&value);
        values.push(value);
        if is_settled {
            break;
        }
    }
    let asked = values.len();
    let mut value = match <[Value; 1]>::try_from(values) {
        Ok([value]) if all == 1 => value,
        Ok([value]) => json!({ WINDOWS: [value], WINDOWS_OF: all }),
        Err(values) if asked < all => json!({ WINDOWS: values, WINDOWS_OF: all }),
        Err(values) => json!({ WINDOWS: values }),
    };
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

/// Asks about one window.
fn ask(call: &Call<'_>, form: &Form, extent: Extent, cost: &mut f64) -> Result<Value, String> {
    let kind = &call.settings.kind;
    let mut value = match (kind, form) {
        (DeepKind::Http(question), Form::Http(body)) => http::ask(call, question, body),
        (DeepKind::Judge(question), Form::Judge(parts)) => judge::ask(call, question, parts, extent, cost),
        (DeepKind::Moderation(question), Form::Moderation { text, answers }) => {
            moderation::ask(call, question, &Moderated { text, answers: answers.as_deref() })
        }
        (DeepKind::Command(line), Form::Command { event, root }) => {
            command::ask(call, line, root.as_deref(), event)
        }
        _ => Err("the question is in the form of another kind".to_owned()),
    }?;
    // Nobody but Midrail says that an answer is several.
    if value.get(WINDOWS).is_some() {
        return Err(format!("it answered with a member `{WINDOWS}`, which is Midrail's own"));
    }
    // Where the form is ours, a check can go by whether all of the text was seen.
    if let (DeepKind::Judge(_) | DeepKind::Moderation(_), Some(members)) = (kind, value.as_object_mut()) {
        members.insert("cut".to_owned(), json!(extent == Extent::Cut));
    }
    Ok(value)
}
