//! Decides the events of a gateway in their order, until one is stopped. An escalated event is decided again once it is answered.

use std::sync::Arc;
use std::time::Duration;

use midrail::messages::{numbered, stops_conversation};
use midrail::{Decision, Effect, Engine, Event, EventKind, SessionHandle};
use midrail_adapters::messages;
use tokio::time::{Instant, sleep, timeout_at};

use super::answers::{AnswerKey, GrowingAnswers};
use super::exchange::{Changed, Exchange, Item, Outcome};
use crate::access::Caller;
use crate::api::approvals::answered;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};

/// The shortest time between two decisions about an event that waits.
const PAUSE: Duration = Duration::from_millis(100);

/// What is decided of an exchange.
#[derive(Default)]
struct Progress {
    /// The items that are decided.
    done: usize,
    changed: Changed,
    /// Whether an event was recorded.
    has_new: bool,
}

/// An exchange with its session, on threads that may block.
struct Judge {
    caller: Arc<Caller>,
    answers: Arc<GrowingAnswers>,
    session: SessionHandle,
    call: Option<String>,
    is_growing: bool,
    /// The items, each with the number of identical ones before it.
    items: Vec<(Item, usize)>,
}

/// Decides an exchange. What is not decided at `until` is blocked.
pub(super) async fn judge(
    app: &App,
    caller: Caller,
    answers: Arc<GrowingAnswers>,
    (exchange, gateway): (Exchange, &'static str),
    until: Instant,
) -> HandlerResult<Outcome> {
    caller.check_agent(exchange.agent.as_deref())?;
    let caller = Arc::new(caller);
    let judge = Arc::new(Judge::new(caller.clone(), answers, exchange, gateway));
    let mut progress = Progress::default();
    loop {
        let place = app.places.clone().try_acquire_owned();
        let place = place.map_err(|_| Problem::unavailable("too many concurrent requests"))?;
        let running = judge.clone();
        let decided = blocking(move || {
            let _place = place;
            running.caller.check_session(running.session.id())?;
            Ok(running.run(progress))
        });
        let stopped = match timeout_at(until, decided).await {
            Ok(decided) => decided?,
            Err(_) => return Ok(Outcome::Blocked(TOO_SLOW.to_owned())),
        };
        let (left, decision) = match stopped {
            Ok(changed) => return Ok(Outcome::Passed(changed)),
            Err(stopped) => *stopped,
        };
        let Some(approval) = decision.approval.as_ref().filter(|_| decision.effect == Effect::Escalate)
        else {
            return Ok(Outcome::Blocked(messages::refusal(&decision)));
        };
        let id = approval.id.clone();
        let _waiting = app.streams.clone().try_acquire_owned().map_err(|_| {
            Problem::unavailable(format!("too many requests wait for approvals; this one is `{id}`"))
        })?;
        let pending = answered(app, caller.clone(), id.clone(), until).await?.status == "pending";
        if pending || Instant::now() >= until {
            let text = messages::refusal(&decision);
            return Ok(Outcome::Blocked(format!(
                "{text}\nThe approval `{id}` was not given in time. Once it is, send the request again."
            )));
        }
        sleep(PAUSE).await;
        progress = left;
    }
}

const TOO_SLOW: &str =
    "Midrail blocked this, because it was not decided within the time that the gateway waits.";

impl Judge {
    fn new(caller: Arc<Caller>, answers: Arc<GrowingAnswers>, exchange: Exchange, gateway: &str) -> Self {
        let Exchange { session, agent, call, is_growing, items } = exchange;
        let project = caller.project.name();
        // An answer has no messages that identify its conversation, but the call of its request.
        let known = call.as_deref().filter(|_| session.is_none() || is_growing);
        let known = known.and_then(|call| answers.session_of(project, call));
        let of_call = || call.as_ref().map(|call| format!("{gateway}-call-{call}"));
        let session = known.or(session).or_else(of_call).unwrap_or_else(|| gateway.to_owned());
        if let Some(call) = call.as_ref().filter(|_| !is_growing) {
            answers.note_call(project, call, &session);
        }
        let mut handle = caller.project.engine().session(session);
        if let Some(id) = agent {
            handle = handle.agent(midrail::Agent { id: Some(id), ..midrail::Agent::default() });
        }
        Judge {
            items: numbered(items, |item| &item.event),
            caller,
            answers,
            session: handle,
            call,
            is_growing,
        }
    }

    fn engine(&self) -> &Arc<Engine> {
        self.caller.project.engine()
    }

    /// Decides the remaining items. `Err`: the first one that is stopped, with what was decided before it.
    fn run(&self, mut progress: Progress) -> Result<Changed, Box<(Progress, Decision)>> {
        while let Some((item, occurrence)) = self.items.get(progress.done) {
            let decision = self.decide(item, *occurrence, &mut progress);
            let can_pass = !stops_conversation(&item.event, &decision);
            let is_withheld = can_pass && !decision.effect.allows();
            if !can_pass || !self.apply(item, &decision, is_withheld, &mut progress.changed) {
                return Err(Box::new((progress, stopped(decision))));
            }
            progress.done += 1;
        }
        match self.check_state(&progress) {
            Some(decision) => Err(Box::new((progress, decision))),
            None => Ok(progress.changed),
        }
    }

    fn decide(&self, item: &Item, occurrence: usize, progress: &mut Progress) -> Decision {
        let event = self.session.complete(item.event.clone());
        if !item.is_answer {
            let decided = self.engine().decide_message(event, occurrence);
            progress.has_new |= decided.is_new;
            return decided.decision;
        }
        progress.has_new = true;
        let Some(call) = &self.call else { return self.decide_once(event) };
        if event.kind == EventKind::BeforeTool {
            // A gateway inspects a call several times. Ids of calls are unique only within one answer.
            let mut event = event;
            event.extra.insert("gateway_call".to_owned(), call.as_str().into());
            return self.engine().decide_message(event, occurrence).decision;
        }
        let (true, Some(place)) = (self.is_growing, &item.place) else { return self.decide_once(event) };
        let session = self.session.id().to_owned();
        let key: AnswerKey = (self.caller.project.name().to_owned(), session, call.clone(), place.clone());
        let raw = event.text.clone();
        let reply = self.answers.decide(&key, &self.session, self.engine(), event);
        if reply.held > 0 {
            progress.changed.held.insert(place.clone(), reply.held);
        }
        let content = Some(reply.text).filter(|text| raw.as_ref() != Some(text));
        Decision { content, ..reply.decision }
    }

    fn decide_once(&self, event: Event) -> Decision {
        match event.kind {
            EventKind::AfterModel => self.engine().decide_new_message(event, 0),
            _ => self.engine().decide(event),
        }
    }

    /// Applies what guardrails changed. `false`: the gateway cannot apply it.
    fn apply(&self, item: &Item, decision: &Decision, is_withheld: bool, changed: &mut Changed) -> bool {
        let text = if is_withheld {
            messages::withheld_result(decision)
        } else {
            match &decision.content {
                Some(text) => text.clone(),
                None => return true,
            }
        };
        let Some(place) = &item.place else { return false };
        if item.event.kind == EventKind::ToolsOffered {
            changed.tools = serde_json::from_str(&text).ok();
            return changed.tools.is_some();
        }
        changed.texts.insert(place.clone(), text);
        true
    }

    /// Checks the last message once more if nothing was new: the run may have been halted since. It is a block with a record.
    fn check_state(&self, progress: &Progress) -> Option<Decision> {
        let (last, _) = self.items.last().filter(|_| !progress.has_new)?;
        self.engine().recheck_message(self.session.complete(last.event.clone()))
    }
}

/// A decision that stops: an allowed one is a block if the gateway cannot apply what guardrails changed.
fn stopped(decision: Decision) -> Decision {
    if decision.effect.allows() { Decision { effect: Effect::Block, ..decision } } else { decision }
}
