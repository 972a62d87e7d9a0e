//! The settings under `deep:`: the backend, its request, and its limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::EndpointUrl;
use super::backends::{DeepBackend, HttpSettings, JudgeSettings, ModerationSettings, ModerationStyle};
use crate::shared::durations::{Seconds, Timeout};
use crate::shared::settings::{CommandLine, SettingsProblem, within};

/// The backend of a deep guardrail and its limits. Exactly one of `http`, `judge`, `moderation` and `command`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Raw")]
pub struct DeepSettings {
    /// The backend and its request.
    #[serde(flatten)]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Whether answers are checked by the default of the backend, not by a `check`. Set by the guardrail, not by packs.
    #[serde(skip)]
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

/// The format in packs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["http"]}, {"required": ["judge"]}, {"required": ["moderation"]}, {"required": ["command"]}
]))]
struct Raw {
    /// A JSON endpoint.
    http: Option<HttpSettings>,
    /// A language model as a judge.
    judge: Option<JudgeSettings>,
    /// A moderation endpoint, or a Llama Guard model.
    moderation: Option<ModerationSettings>,
    /// A command that receives the event as JSON on its standard input and prints a JSON object.
    command: Option<CommandLine>,
    /// Wait for the full timeout, whatever the risk of the tool. Default: false.
    #[serde(default)]
    required: bool,
    /// The time limit of an answer, including retries; at most ten minutes. Default: 10 s.
    #[serde(default = "Timeout::seconds::<10>")]
    timeout: Timeout,
    /// Concurrent requests of this guardrail. Default: 4.
    #[serde(default = "number::<4>", deserialize_with = "within::<_, _, 1, 8>")]
    #[schemars(range(min = 1, max = 8))]
    max_concurrent: usize,
    /// How long an answer is reused for the same request of the same session; 0: never. Default: 10 minutes, and
    /// never for a command, which may depend on files.
    cache: Option<Seconds>,
    /// When requests are paused.
    #[serde(default)]
    breaker: DeepBreaker,
    /// Maximum size of an answer in bytes. Default: 1048576.
    #[serde(default = "number::<1_048_576>", deserialize_with = "within::<_, _, 64, 16_777_216>")]
    #[schemars(range(min = 64, max = 16_777_216))]
    max_answer_bytes: usize,
    /// Maximum number of characters per request. Default: 20000.
    #[serde(default = "number::<20_000>", deserialize_with = "within::<_, _, 100, 1_000_000>")]
    #[schemars(range(min = 100, max = 1_000_000))]
    max_text: usize,
    /// Send longer texts in `windows`, or `cut` the middle. Default: windows.
    #[serde(default)]
    long_text: LongText,
    /// Maximum number of windows; for longer texts no request is sent and `on_error` applies. Default: 8.
    #[serde(default = "number::<8>", deserialize_with = "within::<_, _, 1, 64>")]
    #[schemars(range(min = 1, max = 64))]
    max_windows: usize,
    /// The absolute path of a PEM file with the only trusted certificates.
    /// Default: the file in the environment variable `MIDRAIL_CA_FILE`, otherwise the well-known authorities.
    ca_file: Option<String>,
}

fn number<const N: usize>() -> usize {
    N
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
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
