//! The requests that a question is sent as: one, or several about the windows of a long text. Each is rendered
//! from the parts of the event.

use std::cell::Cell;
use std::path::PathBuf;

use midrail_guardrails::{DeepBackend, DeepSettings, EventPart, LongText, TemplatePiece, parse_template};
use serde::Serialize;
use serde_json::{Map, Value};

use super::cache::{self, Key};
use super::judge;
use super::question::Question;
use crate::error::{Available, Unavailable};

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
    pub(super) fn new(settings: &DeepSettings, question: &Question) -> Available<Self> {
        let limit = settings.max_text;
        if settings.long_text == LongText::Cut || matches!(settings.kind, DeepBackend::Command(_)) {
            let parts = Parts::new(question, &question.text, limit);
            let form = Form::new(settings, question, &parts);
            return Ok(Plan { forms: vec![form], is_cut: parts.is_cut() });
        }
        let windows = windows(&question.text, limit);
        let mut forms = Vec::new();
        for window in &windows {
            let parts = Parts::new(question, window, limit);
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

/// A question's parts, no text of them longer than allowed.
pub(super) struct Parts<'q> {
    question: &'q Question,
    /// The text of the event, or the window of it that is asked about.
    text: &'q str,
    max_text: usize,
    /// Whether something was left out so far.
    is_cut: Cell<bool>,
    /// Whether the text of the event is among the parts that were asked for.
    has_text: Cell<bool>,
}

impl<'q> Parts<'q> {
    pub(super) fn new(question: &'q Question, text: &'q str, max_text: usize) -> Self {
        Parts { question, text, max_text, is_cut: Cell::new(false), has_text: Cell::new(false) }
    }

    /// Whether a text was too long, among the parts that were asked for.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Whether the text of the event was asked for.
    pub(super) fn has_text(&self) -> bool {
        self.has_text.get()
    }

    /// One part, or null if the event lacks it.
    pub(super) fn value(&self, part: EventPart) -> Value {
        let event = &self.question.event;
        let at = |pointer: &str| event.pointer(pointer).map_or(Value::Null, |value| self.cut(value));
        match part {
            EventPart::Text => {
                self.has_text.set(true);
                self.cut_text(self.text)
            }
            EventPart::Tool => at("/tool/name"),
            EventPart::Args => at("/tool/args"),
            EventPart::Goal => at("/task/goal"),
            EventPart::Scope => at("/task/scope"),
            EventPart::LastAssistant => at("/last_assistant"),
            EventPart::AvailableTools => at("/available_tools"),
            EventPart::Event => self.cut(event),
        }
    }

    /// One part as text, or an empty text.
    pub(super) fn text(&self, part: EventPart) -> String {
        match self.value(part) {
            Value::Null => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// A template with its parts.
    pub(super) fn fill(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => match parse_template(text).as_slice() {
                [TemplatePiece::Part(part)] => self.value(*part),
                pieces => {
                    let text = pieces.iter().map(|piece| match piece {
                        TemplatePiece::Words(words) => (*words).to_owned(),
                        TemplatePiece::Part(part) => self.text(*part),
                        TemplatePiece::Unknown(name) => format!("{{{name}}}"),
                    });
                    Value::String(text.collect())
                }
            },
            Value::Array(values) => values.iter().map(|value| self.fill(value)).collect(),
            Value::Object(members) => {
                let filled = members.iter().map(|(name, value)| (name.clone(), self.fill(value)));
                Value::Object(filled.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    fn cut(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.cut_text(text),
            Value::Array(values) => values.iter().map(|value| self.cut(value)).collect(),
            Value::Object(members) => {
                let cut = members.iter().map(|(name, value)| (name.clone(), self.cut(value)));
                Value::Object(cut.collect::<Map<_, _>>())
            }
            other => other.clone(),
        }
    }

    fn cut_text(&self, text: &str) -> Value {
        let short = shortened(text, self.max_text);
        if let Some(short) = short {
            self.is_cut.set(true);
            return Value::String(short);
        }
        Value::String(text.to_owned())
    }
}

/// A text in windows of at most so many characters, each of which starts with the end of the previous one, so that text
/// at a boundary is complete in one of them. There is always one.
pub(super) fn windows(text: &str, limit: usize) -> Vec<&str> {
    // No text has more characters than bytes.
    if text.len() <= limit {
        return vec![text];
    }
    let step = limit - limit / OVERLAP;
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let at = |index: usize| starts.get(index).copied().unwrap_or(text.len());
    let mut windows = Vec::new();
    let mut from = 0;
    loop {
        windows.extend(text.get(at(from)..at(from + limit)));
        if from + limit >= starts.len() {
            return windows;
        }
        from += step;
    }
}

/// The share of a window that is the end of the one before: a tenth.
const OVERLAP: usize = 10;

/// The beginning and the end of a text that is too long, with a mark of what is missing. `None`: it is not.
pub(super) fn shortened(text: &str, limit: usize) -> Option<String> {
    // No text has more characters than bytes.
    if text.len() <= limit {
        return None;
    }
    let count = text.chars().count();
    let over = count.checked_sub(limit).filter(|over| *over > 0)?;
    let head = limit - limit / 2;
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (text.get(..at(head))?, text.get(at(head + over)..)?);
    Some(format!("{head}\n[… {over} characters left out …]\n{tail}"))
}

/// An event without what differs each time though the question is the same.
pub(super) fn lasting(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(members) = event.as_object_mut() {
        members.remove("time");
        if let Some(tool) = members.get_mut("tool").and_then(Value::as_object_mut) {
            tool.remove("call_id");
        }
    }
    event
}
