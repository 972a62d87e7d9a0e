//! Guardrails that ask somebody outside: what is asked of whom, and within which limits. The asking itself is the
//! engine's.

mod address;
mod guardrail;
mod parts;
mod settings;

pub use address::{Address, Headers, Piece, Variable, is_loopback};
pub use guardrail::Deep;
pub use parts::{Part, Slot, slots};
pub use settings::{
    DeepBreaker, DeepKind, DeepSettings, DeepWarning, HttpMethod, HttpQuestion, JudgeApi, JudgeBudget,
    JudgePrice, JudgeQuestion, LongText, ModerationQuestion, ModerationStyle, Money, UNREAD, WINDOWS,
    WINDOWS_OF,
};
