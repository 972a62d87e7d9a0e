//! What a pack says under `deep:`: who is asked, what, and within which limits.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::address::{Address, Headers, Variable};
use super::parts::{Part, Slot, slots};
use crate::ran::{CommandLine, Timeout};
use crate::seconds::Seconds;

/// Whom a guardrail asks, what, and within which limits. Exactly one of `http`, `judge`, `moderation` and `command`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct DeepSettings {
    /// Whom, and what.
    pub kind: DeepKind,
    /// The event waits as long as an answer may take, whatever the risk of the tool.
    pub required: bool,
    /// How long an answer may take, with everything that is tried again.
    pub timeout: Timeout,
    /// How many questions of this guardrail are under way at once.
    pub max_concurrent: usize,
    /// How long the answer to a question holds for the same question of the same session. Zero: not at all.
    pub cache: Seconds,
    /// When it is no longer asked for a while.
    pub breaker: DeepBreaker,
    /// The longest answer that is read, in bytes.
    pub max_answer_bytes: usize,
    /// How many characters of a text are sent at once.
    pub max_text: usize,
    /// What becomes of longer texts.
    pub long_text: LongText,
    /// In how many windows a text may be asked about. Beyond that nobody is asked, and `on_error` speaks.
    pub max_windows: usize,
    /// The file of the certificates that are trusted when the endpoint is asked. `None`: those of everyone.
    pub ca_file: Option<String>,
    /// Answers are judged by what their kind says, and by no `check`. No setting: who makes the guardrail knows it.
    pub by_kind: bool,
}

/// What becomes of a text that is longer than is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongText {
    /// It is asked about in windows that overlap, and passes where every one of them does.
    #[default]
    Windows,
    /// The beginning and the end are sent. What stands in the middle is seen by nobody.
    Cut,
}

/// The member that holds the answers about the windows of one text, in their order.
pub const WINDOWS: &str = "midrail-windows";

/// The member beside it that tells how many windows there are, where not all of them were asked about.
pub const WINDOWS_OF: &str = "of";

/// The member that tells why what a command printed was not read, though it looks like JSON.
pub const UNREAD: &str = "unread";

/// Who is asked, and what.
#[derive(Debug, Clone, PartialEq)]
pub enum DeepKind {
    /// Any JSON endpoint.
    Http(HttpQuestion),
    /// A model that judges.
    Judge(JudgeQuestion),
    /// A moderation endpoint.
    Moderation(ModerationQuestion),
    /// A command on this machine.
    Command(CommandLine),
}

/// Whom a guardrail asks, what, and within which limits. Exactly one of `http`, `judge`, `moderation` and `command`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeepSettings")]
#[schemars(extend("oneOf" = [
    {"required": ["http"]}, {"required": ["judge"]}, {"required": ["moderation"]}, {"required": ["command"]}
]))]
struct Raw {
    /// Any endpoint that takes and answers JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    http: Option<HttpQuestion>,
    /// A language model that judges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeQuestion>,
    /// A moderation endpoint, or a model of the Llama Guard kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moderation: Option<ModerationQuestion>,
    /// A command that gets the event as JSON on its standard input, and prints a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<CommandLine>,
    /// The event waits as long as an answer may take, whatever the risk of the tool. Default: false.
    #[serde(default)]
    required: bool,
    /// How long an answer may take, with everything that is tried again; at most ten minutes. Default: 10 s.
    #[serde(default = "ten_seconds")]
    timeout: Timeout,
    /// How many questions of this guardrail are under way at once. Default: 4.
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = 8))]
    max_concurrent: usize,
    /// How long an answer holds for the same question of the same session; 0: not at all. Default: 10 minutes, and
    /// not at all for a command, which may look at files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<Seconds>,
    /// When it is no longer asked for a while.
    #[serde(default)]
    breaker: DeepBreaker,
    /// The longest answer that is read, in bytes. Default: 1048576.
    #[serde(default = "one_megabyte")]
    #[schemars(range(min = 64, max = 16_777_216))]
    max_answer_bytes: usize,
    /// How many characters of a text are sent at once. Default: 20000.
    #[serde(default = "twenty_thousand")]
    #[schemars(range(min = 100, max = 1_000_000))]
    max_text: usize,
    /// What becomes of longer texts: asked about in `windows`, or `cut` in the middle. Default: windows.
    #[serde(default)]
    long_text: LongText,
    /// In how many windows a text may be asked about; beyond that nobody is asked, and `on_error` speaks. Default: 8.
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 64))]
    max_windows: usize,
    /// The absolute path of a PEM file with the certificates of whoever vouches for the endpoint. They alone are trusted then.
    /// Default: the file that the environment variable `MIDRAIL_CA_FILE` names, else the well-known authorities.
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

/// What is wrong with one of the settings: whoever reads a pack points at that.
fn at(key: &str, message: impl std::fmt::Display) -> String {
    format!("in `{key}`: {message}")
}

/// How long an answer holds, where nothing else is said.
const TEN_MINUTES: Seconds = Seconds(600.0);

impl TryFrom<Raw> for DeepSettings {
    type Error = String;

    fn try_from(raw: Raw) -> Result<Self, String> {
        let kinds = [
            raw.http.map(DeepKind::Http),
            raw.judge.map(DeepKind::Judge),
            raw.moderation.map(DeepKind::Moderation),
            raw.command.map(DeepKind::Command),
        ];
        let mut kinds = kinds.into_iter().flatten();
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            return Err(
                "exactly one of `http`, `judge`, `moderation` and `command` says who is asked".to_owned()
            );
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
            if matches!(kind, DeepKind::Command(_)) {
                return Err(at("ca_file", "a `command` has no certificate; leave `ca_file` out"));
            }
            // An agent that works elsewhere, or in a folder of its own, would bring its own file.
            if !file.starts_with('/') {
                let message = format!("`ca_file` is an absolute path, and `{file}` is none");
                return Err(at("ca_file", message));
            }
        }
        if let DeepKind::Judge(judge) = &kind
            && judge.budget.is_some()
            && judge.cost.is_none()
        {
            return Err(at("judge", at("budget", "a `budget` needs to know what tokens `cost`")));
        }
        if let DeepKind::Moderation(moderation) = &kind
            && moderation.style == ModerationStyle::LlamaGuard
            && moderation.model.is_none()
        {
            let message = "`llama_guard` needs the name of the `model`";
            return Err(at("moderation", at("style", message)));
        }
        let usual = if matches!(kind, DeepKind::Command(_)) { Seconds(0.0) } else { TEN_MINUTES };
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
            by_kind: false,
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
            DeepKind::Http(http) => raw.http = Some(http),
            DeepKind::Judge(judge) => raw.judge = Some(judge),
            DeepKind::Moderation(moderation) => raw.moderation = Some(moderation),
            DeepKind::Command(command) => raw.command = Some(command),
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

/// When a guardrail is no longer asked for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeepBreaker {
    /// After so many failures in a row. Zero: never.
    pub failures: u32,
    /// For how long. Then one question goes out, and its answer tells how it goes on.
    pub pause: Seconds,
}

impl Default for DeepBreaker {
    fn default() -> Self {
        DeepBreaker { failures: 5, pause: Seconds(30.0) }
    }
}

/// A question to any endpoint that takes and answers JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpQuestion {
    /// Where it goes.
    pub url: Address,
    /// How. Default: POST.
    #[serde(default)]
    pub method: HttpMethod,
    /// Headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// What is sent: JSON whose strings may hold `{text}`, `{tool}`, `{args}`, `{goal}`, `{scope}`,
    /// `{last_assistant}`, `{available_tools}` and `{event}`. A string that is exactly one of them becomes its JSON.
    /// Default: the text and the event.
    #[serde(default = "text_and_event", deserialize_with = "template")]
    pub body: Value,
    /// How often it is tried again where it fails in a way that may pass. Default: 1.
    #[serde(default = "one")]
    pub retries: u8,
}

/// How a question is sent.
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
            let known: Vec<String> = Part::ALL.iter().map(|part| format!("`{{{}}}`", part.word())).collect();
            Err(D::Error::custom(format!("unknown part `{{{name}}}`; there are {}", known.join(", "))))
        }
    }
}

fn unknown_part(body: &Value) -> Option<&str> {
    match body {
        Value::String(text) => slots(text).into_iter().find_map(|slot| match slot {
            Slot::Unknown(name) => Some(name),
            Slot::Words(_) | Slot::Part(_) => None,
        }),
        Value::Array(values) => values.iter().find_map(unknown_part),
        Value::Object(members) => members.values().find_map(unknown_part),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn has_part(body: &Value) -> bool {
    match body {
        Value::String(text) => slots(text).iter().any(|slot| matches!(slot, Slot::Part(_))),
        Value::Array(values) => values.iter().any(has_part),
        Value::Object(members) => members.values().any(has_part),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A question to a language model that judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeQuestion {
    /// The protocol that the endpoint speaks.
    pub api: JudgeApi,
    /// The whole address of the endpoint, such as `https://api.openai.com/v1/chat/completions`.
    pub url: Address,
    /// The model.
    pub model: String,
    /// The environment variable that holds the key. Absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<Variable>,
    /// Further headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// What the model is to judge, and by which rules.
    #[serde(deserialize_with = "instructions")]
    pub prompt: String,
    /// The parts of the event that it gets to see besides the text, which it always does, each fenced as data. The text of a
    /// call is its tool and args. Default: goal and tool.
    #[serde(default = "goal_tool")]
    pub include: Vec<Part>,
    /// How long its answer may be, in tokens. Default: 512.
    #[serde(default = "tokens")]
    #[schemars(range(min = 16, max = 100_000))]
    pub max_tokens: u32,
    /// Further members of the request, such as `temperature`.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "parameters")]
    pub parameters: Map<String, Value>,
    /// How often it is asked again where no verdict comes. Default: 2.
    #[serde(default = "two")]
    pub retries: u8,
    /// What a million tokens costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<JudgePrice>,
    /// What may be spent. Needs `cost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<JudgeBudget>,
}

fn goal_tool() -> Vec<Part> {
    vec![Part::Goal, Part::Tool]
}

impl JudgeQuestion {
    /// The parts that it gets to see, each once: those that it is to see besides, and what it judges.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for part in self.include.iter().filter(|part| **part != Part::Text) {
            if !parts.contains(part) {
                parts.push(*part);
            }
        }
        parts.push(Part::Text);
        parts
    }
}

fn tokens() -> u32 {
    512
}

fn instructions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let prompt = String::deserialize(deserializer)?;
    if prompt.trim().is_empty() || prompt.len() > 64 << 10 {
        return Err(D::Error::custom("a prompt says what to judge, in at most 65536 bytes"));
    }
    // Parts of the event are what an attacker may write; among instructions they would be obeyed.
    match slots(&prompt).iter().any(|slot| matches!(slot, Slot::Part(_))) {
        true => Err(D::Error::custom("a prompt holds no parts of the event; list them under `include`")),
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

/// What a million tokens costs, in the money of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgePrice {
    /// Of what is sent.
    pub input: Money,
    /// Of what is answered.
    pub output: Money,
}

/// What a judge may cost. What is absent sets no limit. Used up, the guardrail answers as when it fails.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeBudget {
    /// In one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Money>,
    /// On one day (UTC), all sessions together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Money>,
}

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Money(pub f64);

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match f64::deserialize(deserializer)? {
            amount if (0.0..=1e12).contains(&amount) => Ok(Money(amount)),
            _ => Err(D::Error::custom("an amount of money is a number from zero up")),
        }
    }
}

/// A question to a moderation endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModerationQuestion {
    /// The kind of endpoint.
    pub style: ModerationStyle,
    /// The whole address of the endpoint.
    pub url: Address,
    /// The model. For `openai` it may be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The environment variable that holds the key. Absent: none is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<Variable>,
    /// Further headers. Values may name environment variables as `${NAME}`.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// How often it is asked again where no answer comes. Default: 1.
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

/// Something in the settings that works and is seldom meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepWarning {
    /// Where, as a JSON pointer into the settings.
    pub at: &'static str,
    /// What.
    pub message: String,
    /// How it is mended.
    pub help: String,
}

impl DeepKind {
    /// Whether an answer lets pass, where no `check` is to say.
    pub fn passes(&self, answer: &Value) -> bool {
        match self {
            DeepKind::Judge(_) => answer.get("verdict").and_then(Value::as_str) == Some("allow"),
            DeepKind::Moderation(_) => answer.get("flagged").and_then(Value::as_bool) == Some(false),
            DeepKind::Http(_) => answer.get("allowed").and_then(Value::as_bool) == Some(true),
            DeepKind::Command(_) => match (answer.get("allowed"), answer.get("exit_code")) {
                (Some(allowed), _) => allowed.as_bool() == Some(true),
                (None, code) => code.and_then(Value::as_i64) == Some(0) && self.unsaid(answer).is_none(),
            },
        }
    }

    /// Why an answer of a command that ended well tells nothing, if it does not. Words beside an exit code say what the
    /// code says; JSON says by itself, or not at all.
    pub(crate) fn unsaid(&self, answer: &Value) -> Option<String> {
        let members = answer.as_object().filter(|_| matches!(self, DeepKind::Command(_)))?;
        let ended_well = members.get("exit_code").and_then(Value::as_i64) == Some(0);
        if !ended_well || members.contains_key("allowed") {
            return None;
        }
        if let Some(why) = members.get(UNREAD) {
            return Some(why.as_str().unwrap_or("it printed JSON that cannot be read").to_owned());
        }
        let is_plain = members.keys().all(|name| ["exit_code", "output"].contains(&name.as_str()));
        (!is_plain)
            .then(|| "the JSON that it printed has no `allowed`; print it, or give a `check`".to_owned())
    }
}

impl DeepSettings {
    /// Where the question goes, if it leaves the machine's own programs.
    pub fn address(&self) -> Option<&Address> {
        match &self.kind {
            DeepKind::Http(http) => Some(&http.url),
            DeepKind::Judge(judge) => Some(&judge.url),
            DeepKind::Moderation(moderation) => Some(&moderation.url),
            DeepKind::Command(_) => None,
        }
    }

    /// What works and is seldom meant.
    pub fn warnings(&self) -> Vec<DeepWarning> {
        let mut warnings = Vec::new();
        let at = match &self.kind {
            DeepKind::Http(_) => "/http/url",
            DeepKind::Judge(_) => "/judge/url",
            DeepKind::Moderation(_) => "/moderation/url",
            DeepKind::Command(_) => "/command",
        };
        if let Some(address) = self.address().filter(|address| address.is_plain() && !address.is_loopback()) {
            let message = format!("what is sent to `{}` can be read and changed on the way", address.host());
            warnings.push(DeepWarning { at, message, help: "use `https://`".to_owned() });
        }
        let expected = match &self.kind {
            DeepKind::Judge(judge) => Some(match judge.api {
                JudgeApi::Openai => "/chat/completions",
                JudgeApi::Anthropic => "/messages",
            }),
            DeepKind::Moderation(moderation) if moderation.style == ModerationStyle::LlamaGuard => {
                Some("/chat/completions")
            }
            DeepKind::Http(_) | DeepKind::Moderation(_) | DeepKind::Command(_) => None,
        };
        if let (Some(address), Some(expected)) = (self.address(), expected)
            && !address.path().trim_end_matches('/').ends_with(expected)
        {
            let message = format!("the address does not end in `{expected}`, as such endpoints do");
            let help = "give the whole address of the endpoint, not only its beginning".to_owned();
            warnings.push(DeepWarning { at, message, help });
        }
        let has_text = !matches!(self.kind, DeepKind::Command(_));
        if self.long_text == LongText::Cut && has_text {
            let message = "the middle of a long text is seen by nobody".to_owned();
            let help = "leave `long_text` out, so that it is asked about in windows".to_owned();
            warnings.push(DeepWarning { at: "/long_text", message, help });
        }
        if let DeepKind::Http(http) = &self.kind
            && !has_part(&http.body)
        {
            let message = "the body holds no part of the event, so the same is asked every time".to_owned();
            let help = "put `{text}` or another part into it".to_owned();
            warnings.push(DeepWarning { at: "/http/body", message, help });
        }
        if let DeepKind::Judge(judge) = &self.kind {
            if judge.include.contains(&Part::Text) {
                let message = "`text` is always sent; `include` lists what is sent besides".to_owned();
                let help = "remove `text` from it".to_owned();
                warnings.push(DeepWarning { at: "/judge/include", message, help });
            }
            let limits = judge.budget.unwrap_or_default();
            let is_zero = [limits.session, limits.day].into_iter().flatten().any(|limit| limit.0 <= 0.0);
            if is_zero {
                let message = "the budget is zero, so the judge is never asked".to_owned();
                let help = "raise it, or remove it".to_owned();
                warnings.push(DeepWarning { at: "/judge/budget", message, help });
            }
        }
        warnings
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
