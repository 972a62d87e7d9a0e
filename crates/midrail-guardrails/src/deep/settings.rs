//! The settings under `deep:`: the backend, its request, and its limits.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::address::{EndpointUrl, EnvVariable, Headers};
use super::parts::{EventPart, TemplatePiece, parse_template};
use crate::shared::durations::{Seconds, Timeout};
use crate::shared::settings::{CommandLine, Money, SettingsProblem};

/// The backend of a deep guardrail and its limits. Exactly one of `http`, `judge`, `moderation` and `command`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct DeepSettings {
    /// The backend and its request.
    pub kind: DeepBackend,
    /// Wait for the full timeout, whatever the risk of the tool.
    pub required: bool,
    /// The time limit of an answer, including retries.
    pub timeout: Timeout,
    /// Concurrent requests of this guardrail.
    pub max_concurrent: usize,
    /// How long an answer is reused for the same request of the same session. Zero: never.
    pub cache: Seconds,
    /// When requests are paused.
    pub breaker: DeepBreaker,
    /// Maximum size of an answer in bytes.
    pub max_answer_bytes: usize,
    /// Maximum number of characters per request.
    pub max_text: usize,
    /// How longer texts are sent.
    pub long_text: LongText,
    /// Maximum number of windows. For longer texts no request is sent and `on_error` applies.
    pub max_windows: usize,
    /// The file of trusted certificates. `None`: the default of the environment.
    pub ca_file: Option<String>,
    /// Whether answers are checked by the default of the backend, not by a `check`. Set by the guardrail, not by packs.
    pub uses_default_check: bool,
}

/// How a text that exceeds `max_text` is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongText {
    /// In overlapping windows. It is allowed if every window is.
    #[default]
    Windows,
    /// Only the beginning and the end.
    Cut,
}

/// The member with the answers for the windows of one text, in order.
pub const WINDOWS_MEMBER: &str = "midrail-windows";

/// The member with the number of windows, if not all of them were sent.
pub const WINDOW_COUNT_MEMBER: &str = "of";

/// The member that explains why the output of a command looks like JSON but cannot be parsed.
pub const UNREADABLE_MEMBER: &str = "unread";

/// The external service and its request.
#[derive(Debug, Clone, PartialEq)]
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

/// The backend of a deep guardrail and its limits. Exactly one of `http`, `judge`, `moderation` and `command`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeepSettings")]
#[schemars(extend("oneOf" = [
    {"required": ["http"]}, {"required": ["judge"]}, {"required": ["moderation"]}, {"required": ["command"]}
]))]
struct Raw {
    /// A JSON endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<HttpSettings>,
    /// A language model as a judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeSettings>,
    /// A moderation endpoint, or a Llama Guard model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moderation: Option<ModerationSettings>,
    /// A command that receives the event as JSON on its standard input and prints a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<CommandLine>,
    /// Wait for the full timeout, whatever the risk of the tool. Default: false.
    #[serde(default)]
    required: bool,
    /// The time limit of an answer, including retries; at most ten minutes. Default: 10 s.
    #[serde(default = "ten_seconds")]
    timeout: Timeout,
    /// Concurrent requests of this guardrail. Default: 4.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 8))]
    max_concurrent: usize,
    /// How long an answer is reused for the same request of the same session; 0: never. Default: 10 minutes, and
    /// never for a command, which may depend on files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<Seconds>,
    /// When requests are paused.
    #[serde(default)]
    breaker: DeepBreaker,
    /// Maximum size of an answer in bytes. Default: 1048576.
    #[serde(default = "one_megabyte")]
    #[schemars(range(min = 64, max = 16_777_216))]
    max_answer_bytes: usize,
    /// Maximum number of characters per request. Default: 20000.
    #[serde(default = "twenty_thousand")]
    #[schemars(range(min = 100, max = 1_000_000))]
    max_text: usize,
    /// Send longer texts in `windows`, or `cut` the middle. Default: windows.
    #[serde(default)]
    long_text: LongText,
    /// Maximum number of windows; for longer texts no request is sent and `on_error` applies. Default: 8.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 64))]
    max_windows: usize,
    /// The absolute path of a PEM file with the only trusted certificates.
    /// Default: the file in the environment variable `MIDRAIL_CA_FILE`, otherwise the well-known authorities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca_file: Option<String>,
}

fn ten_seconds() -> Timeout {
    Timeout::seconds(10)
}

fn four() -> usize {
    4
}

fn one_megabyte() -> usize {
    1 << 20
}

fn twenty_thousand() -> usize {
    20_000
}

fn eight() -> usize {
    8
}

fn one() -> u8 {
    1
}

fn two() -> u8 {
    2
}

/// An error in one setting, with its key.
fn at(key: &str, message: impl std::fmt::Display) -> SettingsProblem {
    SettingsProblem::new(format!("in `{key}`: {message}"))
}

/// The default of `cache`.
const TEN_MINUTES: Seconds = Seconds(600.0);

impl TryFrom<Raw> for DeepSettings {
    type Error = SettingsProblem;

    fn try_from(raw: Raw) -> Result<Self, SettingsProblem> {
        let kinds = [
            raw.http.map(DeepBackend::Http),
            raw.judge.map(DeepBackend::Judge),
            raw.moderation.map(DeepBackend::Moderation),
            raw.command.map(DeepBackend::Command),
        ];
        let mut kinds = kinds.into_iter().flatten();
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            let message = "exactly one of `http`, `judge`, `moderation` and `command` is required";
            return Err(SettingsProblem::new(message));
        };
        let within =
            |name: &str, value: usize, least: usize, most: usize| match (least..=most).contains(&value) {
                true => Ok(()),
                false => Err(at(name, format!("`{name}` is a number from {least} to {most}"))),
            };
        within("max_concurrent", raw.max_concurrent, 1, 8)?;
        within("max_answer_bytes", raw.max_answer_bytes, 64, 16 << 20)?;
        within("max_text", raw.max_text, 100, 1_000_000)?;
        within("max_windows", raw.max_windows, 1, 64)?;
        if raw.timeout.0 > 600_000 {
            return Err(at("timeout", "`timeout` is at most `10m`"));
        }
        if let Some(file) = &raw.ca_file {
            if matches!(kind, DeepBackend::Command(_)) {
                return Err(at("ca_file", "a `command` has no certificate; remove `ca_file`"));
            }
            // A relative path would let an agent provide its own file.
            if !file.starts_with('/') {
                let message = format!("`ca_file` is an absolute path, and `{file}` is not");
                return Err(at("ca_file", message));
            }
        }
        if let DeepBackend::Judge(judge) = &kind
            && judge.budget.is_some()
            && judge.cost.is_none()
        {
            return Err(at("judge", at("budget", "a `budget` needs the `cost` of tokens")));
        }
        if let DeepBackend::Moderation(moderation) = &kind
            && moderation.style == ModerationStyle::LlamaGuard
            && moderation.model.is_none()
        {
            let message = "`llama_guard` needs the name of the `model`";
            return Err(at("moderation", at("style", message)));
        }
        let usual = if matches!(kind, DeepBackend::Command(_)) { Seconds(0.0) } else { TEN_MINUTES };
        let cache = raw.cache.unwrap_or(usual);
        if cache.0 > 86_400.0 {
            return Err(at("cache", "`cache` is at most `1d`"));
        }
        Ok(DeepSettings {
            kind,
            required: raw.required,
            timeout: raw.timeout,
            max_concurrent: raw.max_concurrent,
            cache,
            breaker: raw.breaker,
            max_answer_bytes: raw.max_answer_bytes,
            max_text: raw.max_text,
            long_text: raw.long_text,
            max_windows: raw.max_windows,
            ca_file: raw.ca_file,
            uses_default_check: false,
        })
    }
}

impl From<DeepSettings> for Raw {
    fn from(settings: DeepSettings) -> Self {
        let mut raw = Raw {
            http: None,
            judge: None,
            moderation: None,
            command: None,
            required: settings.required,
            timeout: settings.timeout,
            max_concurrent: settings.max_concurrent,
            cache: Some(settings.cache),
            breaker: settings.breaker,
            max_answer_bytes: settings.max_answer_bytes,
            max_text: settings.max_text,
            long_text: settings.long_text,
            max_windows: settings.max_windows,
            ca_file: settings.ca_file,
        };
        match settings.kind {
            DeepBackend::Http(http) => raw.http = Some(http),
            DeepBackend::Judge(judge) => raw.judge = Some(judge),
            DeepBackend::Moderation(moderation) => raw.moderation = Some(moderation),
            DeepBackend::Command(command) => raw.command = Some(command),
        }
        raw
    }
}

impl JsonSchema for DeepSettings {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Raw::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Raw::json_schema(generator)
    }
}

/// When the requests of a guardrail are paused.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeepBreaker {
    /// Failures in a row that start a pause. Zero: never.
    pub failures: u32,
    /// Length of the pause. Then one trial request is sent.
    pub pause: Seconds,
}

impl Default for DeepBreaker {
    fn default() -> Self {
        DeepBreaker { failures: 5, pause: Seconds(30.0) }
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
    #[serde(default = "one")]
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

fn text_and_event() -> Value {
    serde_json::json!({"text": "{text}", "event": "{event}"})
}

fn template<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let body = Value::deserialize(deserializer)?;
    match unknown_part(&body) {
        None => Ok(body),
        Some(name) => {
            let known: Vec<String> = EventPart::ALL.iter().map(|(_, name)| format!("`{{{name}}}`")).collect();
            Err(D::Error::custom(format!("unknown part `{{{name}}}`; the parts are {}", known.join(", "))))
        }
    }
}

fn unknown_part(body: &Value) -> Option<&str> {
    match body {
        Value::String(text) => parse_template(text).into_iter().find_map(|piece| match piece {
            TemplatePiece::Unknown(name) => Some(name),
            TemplatePiece::Words(_) | TemplatePiece::Part(_) => None,
        }),
        Value::Array(values) => values.iter().find_map(unknown_part),
        Value::Object(members) => members.values().find_map(unknown_part),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn has_part(body: &Value) -> bool {
    match body {
        Value::String(text) => {
            parse_template(text).iter().any(|piece| matches!(piece, TemplatePiece::Part(_)))
        }
        Value::Array(values) => values.iter().any(has_part),
        Value::Object(members) => members.values().any(has_part),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
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
    #[serde(default = "two")]
    pub retries: u8,
    /// The price of a million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<JudgePrice>,
    /// The spending limit. Needs `cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<JudgeBudget>,
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
    match parse_template(&prompt).iter().any(|piece| matches!(piece, TemplatePiece::Part(_))) {
        true => Err(D::Error::custom("a prompt contains no parts of the event; list them under `include`")),
        false => Ok(prompt),
    }
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
    #[serde(default = "one")]
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

/// A setting that is valid but probably unintended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepWarning {
    /// Its place, as a JSON pointer into the settings.
    pub at: &'static str,
    /// The message.
    pub message: String,
    /// How to fix it.
    pub help: String,
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
        if !ended_well || members.contains_key("allowed") {
            return None;
        }
        if let Some(why) = members.get(UNREADABLE_MEMBER) {
            return Some(why.as_str().unwrap_or("its JSON cannot be parsed").to_owned());
        }
        let is_plain = members.keys().all(|name| ["exit_code", "output"].contains(&name.as_str()));
        (!is_plain).then(|| "its JSON has no `allowed`; print it, or set a `check`".to_owned())
    }
}

impl DeepSettings {
    /// The URL of the service, unless it is a command.
    pub fn address(&self) -> Option<&EndpointUrl> {
        match &self.kind {
            DeepBackend::Http(http) => Some(&http.url),
            DeepBackend::Judge(judge) => Some(&judge.url),
            DeepBackend::Moderation(moderation) => Some(&moderation.url),
            DeepBackend::Command(_) => None,
        }
    }

    /// Settings that are valid but probably unintended.
    pub fn warnings(&self) -> Vec<DeepWarning> {
        let mut warnings = Vec::new();
        let at = match &self.kind {
            DeepBackend::Http(_) => "/http/url",
            DeepBackend::Judge(_) => "/judge/url",
            DeepBackend::Moderation(_) => "/moderation/url",
            DeepBackend::Command(_) => "/command",
        };
        if let Some(address) = self.address().filter(|address| address.is_plain() && !address.is_loopback()) {
            let message = format!("the connection to `{}` is not encrypted", address.host());
            warnings.push(DeepWarning { at, message, help: "use `https://`".to_owned() });
        }
        let expected = match &self.kind {
            DeepBackend::Judge(judge) => Some(match judge.api {
                JudgeApi::Openai => "/chat/completions",
                JudgeApi::Anthropic => "/messages",
            }),
            DeepBackend::Moderation(moderation) if moderation.style == ModerationStyle::LlamaGuard => {
                Some("/chat/completions")
            }
            DeepBackend::Http(_) | DeepBackend::Moderation(_) | DeepBackend::Command(_) => None,
        };
        if let (Some(address), Some(expected)) = (self.address(), expected)
            && !address.path().trim_end_matches('/').ends_with(expected)
        {
            let message = format!("the URL does not end in `{expected}`, as such endpoints do");
            let help = "write the full URL of the endpoint".to_owned();
            warnings.push(DeepWarning { at, message, help });
        }
        let has_text = !matches!(self.kind, DeepBackend::Command(_));
        if self.long_text == LongText::Cut && has_text {
            let message = "the middle of a long text is not sent".to_owned();
            let help = "remove `long_text`, so that the text is sent in windows".to_owned();
            warnings.push(DeepWarning { at: "/long_text", message, help });
        }
        if let DeepBackend::Http(http) = &self.kind
            && !has_part(&http.body)
        {
            let message = "the body contains no part of the event, so every request is the same".to_owned();
            let help = "add `{text}` or another part".to_owned();
            warnings.push(DeepWarning { at: "/http/body", message, help });
        }
        if let DeepBackend::Judge(judge) = &self.kind {
            if judge.include.contains(&EventPart::Text) {
                let message = "`text` is always sent; `include` lists further parts".to_owned();
                let help = "remove `text` from `include`".to_owned();
                warnings.push(DeepWarning { at: "/judge/include", message, help });
            }
            let limits = judge.budget.unwrap_or_default();
            let is_zero = [limits.session, limits.day].into_iter().flatten().any(|limit| limit.0 <= 0.0);
            if is_zero {
                let message = "the budget is zero, so the judge is never called".to_owned();
                let help = "raise it, or remove it".to_owned();
                warnings.push(DeepWarning { at: "/judge/budget", message, help });
            }
        }
        warnings
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
