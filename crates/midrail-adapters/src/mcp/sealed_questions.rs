//! Questions to the user that can be answered in another process: they are sealed with the key of the store.

use std::sync::Arc;

use midrail::{Engine, Event};

/// The members of a request that answers a question.
pub(super) const ANSWER_MEMBERS: &[&str] = &["requestState", "inputResponses"];

/// Seals a question about a call, together with a text that comes back with the answer.
type Seal = Box<dyn Fn(&Event, &str) -> Result<String, String> + Send>;
/// Records the answer to a sealed question, and returns the text that was kept with it.
type Open = Box<dyn Fn(&Event, &str, bool) -> Result<String, String> + Send>;

/// Questions that can be answered in another process.
pub struct SealedQuestions {
    pub(super) seal: Seal,
    pub(super) open: Open,
}

impl SealedQuestions {
    /// Questions that are sealed with the key of the store, by the engine that decides the call.
    pub fn new(engine_of: impl Fn(&Event) -> Result<Arc<Engine>, String> + Clone + Send + 'static) -> Self {
        let for_answers = engine_of.clone();
        SealedQuestions {
            seal: Box::new(move |event, kept| {
                engine_of(event)?.seal_question(event, kept).map_err(|error| error.to_string())
            }),
            open: Box::new(move |event, question, is_allowed| {
                let answered = for_answers(event)?.answer_question(event, question, is_allowed);
                answered.map_err(|error| error.to_string())
            }),
        }
    }
}
