//! Guardrails that call an external classifier, LLM judge, moderation endpoint or command: settings and verdicts.
//! The engine sends the requests.

mod address;
mod backends;
mod guardrail;
mod parts;
mod settings;

pub use address::{EndpointUrl, EnvVariable, HeaderPiece, Headers, is_loopback};
pub use backends::{
    DeepBackend, HttpMethod, HttpSettings, JudgeApi, JudgeBudget, JudgePrice, JudgeSettings,
    ModerationSettings, ModerationStyle, UNREADABLE_MEMBER,
};
pub use guardrail::DeepGuardrail;
pub use parts::{EventPart, TemplatePiece, parse_template};
pub use settings::{DeepBreaker, DeepSettings, LongText, WINDOW_COUNT_MEMBER, WINDOWS_MEMBER};

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::missing_classifier::MissingClassifier;

pub(crate) const BUILTIN: Builtin = Builtin {
    events: EventKind::ALL,
    is_deep: true,
    pack_key: PackKey::Deep,
    ..Builtin::without_settings::<MissingClassifier>(
        "deep-guardrail",
        Category::Scope,
        95,
        &[EventKind::BeforeTool],
    )
    .aliases(&["deep"])
};
