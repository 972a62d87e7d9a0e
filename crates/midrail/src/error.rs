//! The errors of the engine.

use midrail_core::{Event, EventKind, Fact};
use midrail_store::StoreError;

use crate::features::MissingFeature;

/// The most rounds of fetching slices and facts for one decision.
pub(crate) const MAX_ROUNDS: usize = 64;

/// The most attempts against other processes that change the same session.
pub(crate) const MAX_TRIES: usize = 1_000;

/// The most late answers that are stored for the next event of a run.
pub(crate) const MAX_LATE: usize = 32;

/// Why a decision could not be made or recorded. [`Engine::decide`](crate::Engine::decide) turns it into a block.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The policy needs a Cargo feature that this build lacks.
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
    /// Every round of fetching facts asked for more.
    #[error("the decision still needs facts after {MAX_ROUNDS} rounds")]
    TooManyRounds,
    /// Other processes changed the session during every attempt.
    #[error("other processes changed the session during each of {MAX_TRIES} attempts")]
    Contended,
    /// The event cannot be written as JSON.
    #[error("the event cannot be recorded: {0}")]
    NotSerializable(#[from] serde_json::Error),
    /// The event is nested too deep to be recorded.
    #[error("the event is nested more than {} levels deep", Event::MAX_DEPTH)]
    TooDeep,
    /// The event has too many values to be decided in time.
    #[error("the event has more than {} values", Event::MAX_VALUES)]
    TooManyValues,
    /// The arguments of a call are too large to be analysed in time.
    #[error("the arguments of the call have more than {} bytes", Event::MAX_ARGS_BYTES)]
    ArgumentsTooLarge,
    /// A snapshot belongs to another session.
    #[error("the snapshot belongs to session `{taken}`, not to `{given}`")]
    WrongSession {
        /// The session of the snapshot.
        taken: String,
        /// The session that it was to be restored in.
        given: String,
    },
    /// The event has a kind that only the engine creates.
    #[error("only the engine creates events of kind `{0}`")]
    ReservedKind(EventKind),
    /// The stored part of a stream cannot be read or written.
    #[error("the stored part of stream `{0}` cannot be read; start a stream with another name")]
    Stream(String),
    /// More answers arrived late than an event can apply.
    #[error("{MAX_LATE} late answers of this session are already waiting")]
    TooManyLateAnswers,
    /// An idempotency key was used for another event.
    #[error("this key was already used for another event of this session")]
    KeyReused,
    /// A nonblocking decision would have to wait.
    #[error("the decision would block on a command, a script or an external service")]
    WouldBlock,
    /// The approval does not exist, or does not wait for an answer.
    #[error("{0}")]
    Approval(String),
    /// The caller lacks the role or the right.
    #[error("{0}")]
    NotAllowed(String),
    /// The request is incomplete or contradicts itself.
    #[error("{0}")]
    InvalidRequest(String),
}

/// What the engine did, or why it could not.
pub type EngineResult<T = ()> = Result<T, EngineError>;

impl EngineError {
    /// A change that the current state does not permit.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        EngineError::Approval(message.into())
    }

    /// A change that this person may not make.
    pub(crate) fn not_allowed(message: impl Into<String>) -> Self {
        EngineError::NotAllowed(message.into())
    }

    /// A request that cannot be carried out as given.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        EngineError::InvalidRequest(message.into())
    }

    /// Whether another process changed the same state first.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self, EngineError::Store(StoreError::Conflict { .. }))
    }
}

/// Repeats a change that other processes interfere with.
pub(crate) fn retry_on_conflict<T>(mut change: impl FnMut() -> EngineResult<T>) -> EngineResult<T> {
    for _ in 0..MAX_TRIES {
        match change() {
            Err(error) if error.is_contention() => {}
            done => return done,
        }
    }
    Err(EngineError::Contended)
}

/// Why a fact, a file or the answer of an external service is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub(crate) String);

/// A fact, a file or an answer, if it is available.
pub(crate) type Available<T = ()> = Result<T, Unavailable>;

impl Unavailable {
    pub(crate) fn new(message: impl ToString) -> Self {
        Unavailable(message.to_string())
    }
}

impl From<String> for Unavailable {
    fn from(message: String) -> Self {
        Unavailable(message)
    }
}

impl From<&str> for Unavailable {
    fn from(message: &str) -> Self {
        Unavailable(message.to_owned())
    }
}

impl From<Unavailable> for Fact {
    fn from(Unavailable(message): Unavailable) -> Self {
        Fact::Unavailable(message)
    }
}
