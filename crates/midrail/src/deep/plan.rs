//! The requests that a question is sent as: one, or several about the windows of a long text.

use std::path::PathBuf;

use midrail_guardrails::{DeepBackend, DeepSettings, EventPart, LongText};
use serde::Serialize;
use serde_json::Value;

use super::cache::{self, Key};
use super::judge;
use super::question::Question;
use super::render::{self, Parts, lasting};
use crate::error::Unavailable;

/// The requests of a question: one, or several about the windows of a long text.
pub(super) struct Plan {
    pub(super) forms: Vec<Form>,
    pub(super) is_cut: bool,
}

/// One request, in the form of its backend.
#[derive(Serialize)]
pub(super) enum Form {
    Http(Value),
    Judge(Vec<(EventPart, String)>),
    Moderation { text: String, answers: Option<String> },
    Command { event: Value, root: Option<PathBuf> },
}

impl Plan {
    pub(super) fn new(settings: &DeepSettings, question: &Question) -> Result<Self, Unavailable> {
        let limit = settings.max_text;
        if settings.long_text == LongText::Cut || matches!(settings.kind, DeepBackend::Command(_)) {
            let parts = Parts::of(question, &question.text, limit);
            let form = Form::new(settings, question, &parts);
            return Ok(Plan { forms: vec![form], is_cut: parts.is_cut() });
        }
        let windows = render::windows(&question.text, limit);
        let mut forms = Vec::new();
        for window in &windows {
            let parts = Parts::of(question, window, limit);
            forms.push(Form::new(settings, question, &parts));
            if !parts.has_text() {
                // A request without the text has to contain its other parts completely.
                if parts.is_cut() {
                    return Err(Unavailable::new(format!(
                        "a part of the event has more than {limit} characters; raise `max_text`, or send the `text`"
                    )));
                }
                return Ok(Plan { forms, is_cut: false });
            }
            if windows.len() > settings.max_windows {
                let (all, most) = (windows.len(), settings.max_windows);
                return Err(Unavailable::new(format!(
                    "the text takes {all} windows of {limit} characters, and {most} are allowed; raise `max_windows` or `max_text`"
                )));
            }
        }
        Ok(Plan { forms, is_cut: false })
    }

    /// What it is likely to cost.
    pub(super) fn estimate(&self, settings: &DeepSettings) -> f64 {
        let of = |form: &Form| match (&settings.kind, form) {
            (DeepBackend::Judge(judge), Form::Judge(parts)) => judge::estimate(judge, parts),
            _ => 0.0,
        };
        self.forms.iter().map(of).sum()
    }
}

impl Form {
    fn new(settings: &DeepSettings, question: &Question, parts: &Parts<'_>) -> Self {
        match &settings.kind {
            DeepBackend::Http(http) => Form::Http(parts.fill(&http.body)),
            DeepBackend::Judge(judge) => {
                let texts = judge.parts().into_iter().map(|part| (part, parts.text(part)));
                Form::Judge(
                    texts.filter(|(part, text)| *part == EventPart::Text || !text.is_empty()).collect(),
                )
            }
            DeepBackend::Moderation(_) => {
                let kind = question.event.get("kind").and_then(Value::as_str).unwrap_or_default();
                let is_said = matches!(kind, "after_model" | "model_chunk" | "before_stop");
                let answers = is_said.then(|| parts.text(EventPart::Goal));
                // Such models know no answer without a question.
                let answers = answers.map(|goal| if goal.is_empty() { "Go on.".to_owned() } else { goal });
                Form::Moderation { text: parts.text(EventPart::Text), answers }
            }
            DeepBackend::Command(_) => {
                Form::Command { event: question.event.clone(), root: question.root.clone() }
            }
        }
    }
}

/// The cache key of a question: its session, its settings and what is sent. `None`: answers are not cached.
pub(super) fn key(settings: &DeepSettings, question: &Question) -> Option<Key> {
    if settings.cache.0 <= 0.0 {
        return None;
    }
    let same = Question { event: lasting(&question.event), ..question.clone() };
    let asked = serde_json::to_vec(&Plan::new(settings, &same).ok()?.forms).ok()?;
    let settings = serde_json::to_vec(settings).ok()?;
    Some(cache::key(&[question.run.as_bytes(), &settings, &asked]))
}
