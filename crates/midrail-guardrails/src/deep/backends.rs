//! The backends of deep guardrails: their requests, and which of their answers allow an event.

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::address::{EndpointUrl, EnvVariable, Headers};
use super::parts::{EventPart, TemplatePiece, parse_template};
use crate::shared::settings::{CommandLine, Money};

/// The member that explains why the output of a command looks like JSON but cannot be parsed.
pub const UNREADABLE_MEMBER: &str = "unread";

/// The external service and its request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeepBackend {
    /// A JSON endpoint.
    Http(HttpSettings),
    /// A language model.
    Judge(JudgeSettings),
    /// A moderation endpoint.
    Moderation(ModerationSettings),
    /// A command on this machine.
    Command(CommandLine),
}

impl DeepBackend {
    /// Whether an answer allows the event, if there is no `check`.
    pub fn passes(&self, answer: &Value) -> bool {
        match self {
            DeepBackend::Judge(_) => answer.get("verdict").and_then(Value::as_str) == Some("allow"),
            DeepBackend::Moderation(_) => answer.get("flagged").and_then(Value::as_bool) == Some(false),
            DeepBackend::Http(_) => answer.get("allowed").and_then(Value::as_bool) == Some(true),
            DeepBackend::Command(_) => match (answer.get("allowed"), answer.get("exit_code")) {
                (Some(allowed), _) => allowed.as_bool() == Some(true),
                (None, code) => code.and_then(Value::as_i64) == Some(0) && self.undecided(answer).is_none(),
            },
        }
    }

    /// Why the answer of a successful command is undecided, if it is. Plain text leaves the decision to the exit
    /// code; JSON must contain `allowed`.
    pub(crate) fn undecided(&self, answer: &Value) -> Option<String> {
        let members = answer.as_object().filter(|_| matches!(self, DeepBackend::Command(_)))?;
        let ended_well = members.get("exit_code").and_then(Value::as_i64) == Some(0);
        if !ended_well || members.contains_key("allowed") || members.contains_key("action") {
            return None;
        }
        if let Some(why) = members.get(UNREADABLE_MEMBER) {
            return Some(why.as_str().unwrap_or("its JSON cannot be parsed").to_owned());
        }
        let is_plain = members.keys().all(|name| ["exit_code", "output"].contains(&name.as_str()));
        (!is_plain).then(|| "its JSON has no `allowed`; print it, or set a `check`".to_owned())
    }
}

/// The request to a JSON endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    /// The URL.
    pub url: EndpointUrl,
    /// The method. Default: POST.
    #[serde(default)]
    pub method: HttpMethod,
    /// Headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The body: JSON whose strings may contain `{text}`, `{tool}`, `{args}`, `{goal}`, `{scope}`,
    /// `{last_assistant}`, `{available_tools}` and `{event}`. A string that is exactly one of them becomes its JSON.
    /// Default: the text and the event.
    #[serde(default = "text_and_event", deserialize_with = "template")]
    pub body: Value,
    /// Retries after a temporary failure. Default: 1.
    #[serde(default = "retries::<1>")]
    pub retries: u8,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// POST.
    #[default]
    #[serde(alias = "post")]
    Post,
    /// PUT.
    #[serde(alias = "put")]
    Put,
}

pub(super) fn text_and_event() -> Value {
    serde_json::json!({"text": "{text}", "event": "{event}"})
}

fn template<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let body = Value::deserialize(deserializer)?;
    for piece in body_pieces(&body) {
        if let TemplatePiece::Unknown(name) = piece {
            let known: Vec<String> = EventPart::ALL.iter().map(|(_, name)| format!("`{{{name}}}`")).collect();
            let known = known.join(", ");
            return Err(D::Error::custom(format!("unknown part `{{{name}}}`; the parts are {known}")));
        }
    }
    Ok(body)
}

/// The pieces of all texts of a body.
fn body_pieces(body: &Value) -> Vec<TemplatePiece<'_>> {
    match body {
        Value::String(text) => parse_template(text),
        Value::Array(values) => values.iter().flat_map(body_pieces).collect(),
        Value::Object(members) => members.values().flat_map(body_pieces).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The request to a language model as a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeSettings {
    /// The protocol of the endpoint.
    pub api: JudgeApi,
    /// The full URL of the endpoint, such as `https://api.openai.com/v1/chat/completions`.
    pub url: EndpointUrl,
    /// The model.
    pub model: String,
    /// The environment variable with the API key. Absent: no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<EnvVariable>,
    /// Further headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The instructions for the model.
    #[serde(deserialize_with = "instructions")]
    pub prompt: String,
    /// The parts of the event that are sent in addition to the text, each fenced as data. The text of a
    /// call is its tool and args. Default: goal and tool.
    #[serde(default = "goal_tool")]
    pub include: Vec<EventPart>,
    /// Maximum length of the answer in tokens. Default: 512.
    #[serde(default = "tokens")]
    #[schemars(range(min = 16, max = 100_000))]
    pub max_tokens: u32,
    /// Further members of the request, such as `temperature`.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "parameters")]
    pub parameters: Map<String, Value>,
    /// Retries if there is no verdict. Default: 2.
    #[serde(default = "retries::<2>")]
    pub retries: u8,
    /// The price of a million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<JudgePrice>,
    /// The spending limit. Needs `cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<JudgeBudget>,
}

fn retries<const N: u8>() -> u8 {
    N
}

fn goal_tool() -> Vec<EventPart> {
    vec![EventPart::Goal, EventPart::Tool]
}

impl JudgeSettings {
    /// The parts that are sent, each once: the included ones and the text.
    pub fn parts(&self) -> Vec<EventPart> {
        let mut parts: Vec<EventPart> = Vec::new();
        for part in self.include.iter().filter(|part| **part != EventPart::Text) {
            if !parts.contains(part) {
                parts.push(*part);
            }
        }
        parts.push(EventPart::Text);
        parts
    }
}

fn tokens() -> u32 {
    512
}

fn instructions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let prompt = String::deserialize(deserializer)?;
    if prompt.trim().is_empty() || prompt.len() > 64 << 10 {
        return Err(D::Error::custom("a prompt is not empty and has at most 65536 bytes"));
    }
    // An attacker may control parts of the event; inside the instructions they would be followed.
    if parse_template(&prompt).iter().any(|piece| matches!(piece, TemplatePiece::Part(_))) {
        return Err(D::Error::custom("a prompt contains no parts of the event; list them under `include`"));
    }
    Ok(prompt)
}

fn parameters<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let parameters = Map::<String, Value>::deserialize(deserializer)?;
    match ["model", "messages", "system", "stream", "max_tokens"]
        .iter()
        .find(|own| parameters.contains_key(**own))
    {
        Some(own) => Err(D::Error::custom(format!("`{own}` is set by Midrail itself"))),
        None => Ok(parameters),
    }
}

/// The protocol of a judge's endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeApi {
    /// Chat completions.
    Openai,
    /// Messages.
    Anthropic,
}

/// The price of a million tokens, in the currency of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgePrice {
    /// For the request.
    pub input: Money,
    /// For the answer.
    pub output: Money,
}

/// Spending limits of a judge. Absent: no limit. Once it is used up, the guardrail fails.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeBudget {
    /// Per session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Money>,
    /// Per day (UTC), over all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Money>,
}

/// The request to a moderation endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModerationSettings {
    /// The kind of endpoint.
    pub style: ModerationStyle,
    /// The full URL of the endpoint.
    pub url: EndpointUrl,
    /// The model. Optional for `openai`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The environment variable with the API key. Absent: no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<EnvVariable>,
    /// Further headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Retries if there is no answer. Default: 1.
    #[serde(default = "retries::<1>")]
    pub retries: u8,
}

/// The kind of a moderation endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModerationStyle {
    /// `input` in, `results` with `flagged`, `categories` and `category_scores` out.
    Openai,
    /// Chat completions that answer `safe`, or `unsafe` and the codes of what is.
    LlamaGuard,
}
