//! Decides one event: fetches what the policy needs, evaluates, records and commits. Detected secrets never leave it:
//! not in the record, not in a key, not in the decision.

mod clear;
mod evaluate;
mod fetch;
mod inputs;
mod record;
mod secret_scan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use jiff::Timestamp;
use midrail_core::{
    AuditRef, Decision, Effect, Event, EventKind, Fact, FactKey, HookCall, Policy, Record, Suppressed,
    chunk_stream, visit_texts,
};
use midrail_scan::event::OutlinedEvent;
use midrail_store::{Commit, StoreError};
use parking_lot::Mutex;
use serde_json::Value;

use self::inputs::DecisionInputs;
use self::secret_scan::{ScanContext, SecretScan};
use crate::approvals::{self, Waiting};
use crate::chunks::{StreamChunk, held_key};
use crate::clean_texts::CleanTexts;
use crate::engine::Engine;
use crate::error::{EngineError, EngineResult, MAX_TRIES};
use crate::hooks::StartedHook;
use crate::idempotency::IdempotencyKey;
use crate::ids::unique_id;
use crate::joined_calls::JoinedCall;
use crate::last_policy::{self, LastPolicy};
use crate::late_answers::LateAnswer;
use crate::message_marks::MessageMark;
use crate::notices;
use crate::session_slices::{load_slice, session_id};

/// One event that is being decided.
pub(crate) struct Pipeline<'e> {
    engine: &'e Engine,
    policy: &'e Policy,
    now: Timestamp,
    event: Event,
    /// The event as JSON, made for the first detector that reads it.
    json: OnceLock<Result<OutlinedEvent, String>>,
    scan: SecretScan,
    session: String,
    /// The policy to store in the session, where another process decides its next event.
    last_policy: Option<LastPolicy>,
    /// The slices that a restored session starts with.
    restored: Option<BTreeMap<String, Value>>,
    /// Slow facts that were fetched.
    slow: Mutex<BTreeMap<FactKey, Fact>>,
    /// The chunk of a stream, joined with the text that was held back before it.
    joined: Option<StreamChunk>,
    hook_answers: Mutex<Vec<HookRun>>,
    /// The hook that was started before its answer is needed.
    started: Mutex<Option<PendingHook>>,
    /// Late answers of a simulation.
    late_answers: Mutex<Vec<LateAnswer>>,
    /// The call that leaves a mark for another adapter.
    call: Option<JoinedCall>,
    /// The mark of a message that arrives again with every request.
    mark: Option<MessageMark>,
    /// Returns [`EngineError::WouldBlock`] in place of waiting.
    nonblocking: bool,
}

/// The answer of a script, and the variables that it had before.
struct HookRun {
    call: HookCall,
    variables: Option<Value>,
    fact: Fact,
}

/// A hook that was started, and the variables that it has.
struct PendingHook {
    call: HookCall,
    variables: Option<Value>,
    hook: StartedHook,
}

impl<'e> Pipeline<'e> {
    pub(crate) fn new(
        engine: &'e Engine,
        policy: &'e Policy,
        mut event: Event,
        restored: Option<BTreeMap<String, Value>>,
    ) -> EngineResult<Self> {
        let now = engine.now();
        event.time.get_or_insert(now);
        // Events without a session have no next event that could lose the policy.
        let last_policy = event.session.as_ref().and_then(|_| engine.last_policy(policy));
        event.session = Some(session_id(&event));
        let may_have_secrets = check_texts(&event, &engine.clean_texts)?;
        let context = ScanContext { key: &engine.fingerprint_key, policy };
        let mut joined = None;
        if let Some(name) = chunk_stream(&event).map(held_key) {
            // Text that is not decided yet is not scanned, and is stored only sealed.
            let mut value = serde_json::to_value(&event)?;
            if let Some(rest) = value.as_object_mut() {
                rest.remove("text");
            }
            let rest = SecretScan::new(value, context)?;
            // The chunk is joined with the text that its stream has held back.
            let session = rest.masked(&event).session.as_deref().unwrap_or_default();
            let name = rest.stored_key(&name, context.key).into_owned();
            let slice = load_slice(&**engine.store(), session, &name)?;
            let place = (format!("{session}\n{name}"), name);
            let chunk = StreamChunk::new(&event, policy, context.key, &rest.mask, place, slice)?;
            event.text = Some(chunk.text.clone());
            joined = Some(chunk);
        }
        let scan = if may_have_secrets || joined.is_some() {
            SecretScan::with_chunk(serde_json::to_value(&event)?, joined.as_ref(), context)?
        } else {
            SecretScan::none()
        };
        let session = scan.masked(&event).session.clone().unwrap_or_default();
        if event.is_new_run() {
            engine.deep_queue.cancel_run(&session);
        }
        Ok(Pipeline {
            engine,
            policy,
            now,
            event,
            json: OnceLock::new(),
            scan,
            session,
            last_policy,
            restored,
            slow: Mutex::default(),
            joined,
            hook_answers: Mutex::default(),
            started: Mutex::default(),
            late_answers: Mutex::default(),
            call: None,
            mark: None,
            nonblocking: false,
        })
    }

    /// The same pipeline, whose decision leaves a mark for another adapter that sees the call.
    pub(crate) fn leaving(self, call: JoinedCall) -> Self {
        Pipeline { call: Some(call), ..self }
    }

    /// The same pipeline, whose decision marks a message as decided. When another process has marked it first, the pipeline ends
    /// with [`EngineError::Contended`].
    pub(crate) fn marking(self, mark: MessageMark) -> Self {
        Pipeline { mark: Some(mark), ..self }
    }

    /// The decision as it would be recorded. Nothing is written.
    pub(crate) fn preview(&self) -> EngineResult<Decision> {
        let mut inputs = self.inputs();
        let decision = self.evaluate(&mut inputs)?;
        // A hook whose answer was not needed is stopped.
        drop(self.started.lock().take());
        let content = self.joined.is_some().then(|| decision.content.clone());
        let decision = self.record(decision, inputs)?.decision;
        Ok(match content {
            Some(content) => Decision { content, ..decision },
            None => decision,
        })
    }

    /// The inputs of an evaluation that has not begun.
    fn inputs(&self) -> DecisionInputs {
        let mut inputs = DecisionInputs::new(&self.session);
        if let Some(joined) = &self.joined {
            inputs.facts.sent_bytes = joined.passed;
            inputs.facts.overlong = joined.overlong;
        }
        inputs
    }

    /// The same pipeline, which returns [`EngineError::WouldBlock`] in place of waiting.
    pub(crate) fn nonblocking(mut self) -> Self {
        self.nonblocking = true;
        self
    }

    /// The id of the agent, as it is recorded.
    fn agent(&self) -> Option<&str> {
        self.scan.masked(&self.event).agent.as_ref()?.id.as_deref()
    }

    /// The event, to be decided again.
    pub(crate) fn into_event(self) -> Event {
        self.event
    }

    /// Decides until the decision is recorded. When another process changes the session meanwhile, it decides again.
    pub(crate) fn run(&self, key: Option<&IdempotencyKey>) -> EngineResult<Decision> {
        let mut salt = None;
        for _ in 0..MAX_TRIES {
            if let Some(key) = key
                && let Some(decision) = key.first_decision(&**self.engine.store(), &self.session)?
            {
                return Ok(decision);
            }
            let pending = match self.prepare(key, &mut salt) {
                // Another call used an approval after this one had read it.
                Err(error) if error.is_contention() => continue,
                pending => pending?,
            };
            match self.engine.store().commit(&pending.commit) {
                Ok(place) => return Ok(self.conclude(pending, place)),
                // The stream may have grown, so the chunk has to be joined to it again. A message may be decided by now.
                Err(StoreError::Conflict { .. }) if self.joined.is_some() || self.mark.is_some() => break,
                Err(StoreError::Conflict { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Contended)
    }

    /// Decides, and prepares the commit. Nothing is written yet.
    pub(crate) fn prepare(
        &self,
        key: Option<&IdempotencyKey>,
        salt: &mut Option<String>,
    ) -> EngineResult<PendingDecision> {
        self.engine.approvals().settle_pending(Some(&self.session))?;
        let store = &**self.engine.store();
        let (mut waiting, mut used): (Option<Waiting>, BTreeMap<String, String>) = Default::default();
        let (decision, mut inputs) = loop {
            let mut inputs = self.inputs();
            inputs.facts.request_salt.clone_from(salt);
            inputs.facts.request_limit = waiting.as_ref().and_then(|waiting| waiting.limit.clone());
            inputs.facts.used_approvals.clone_from(&used);
            let decision = self.evaluate(&mut inputs)?;
            // A hook whose answer was not needed is stopped.
            drop(self.started.lock().take());
            if salt.is_none() && approvals::has_used_name(store, &decision)? {
                *salt = Some(unique_id());
                continue;
            }
            if waiting.is_some() || decision.requests.is_empty() {
                break (decision, inputs);
            }
            let found = if approvals::makes_request(store, &decision)? {
                Waiting::load(store, self.policy.authorities(), &self.session, self.agent(), self.now)?
            } else {
                Waiting::default()
            };
            used = approvals::used_approvals(store, &self.session, &decision.requests, self.now)?;
            let is_known = found.limit.is_none() && used.is_empty();
            waiting = Some(found);
            if is_known {
                break (decision, inputs);
            }
        };
        // A call that has to wait may have had an approval that ran out.
        if decision.effect >= Effect::Escalate {
            self.engine.approvals().settle_lapsed(&self.session)?;
        }
        let mut read = std::mem::take(&mut inputs.versions);
        // The sender of a stream receives its text as it was, except for what guardrails replaced.
        let content = self.joined.is_some().then(|| decision.content.clone());
        let missing_pack = inputs.missing_pack.take();
        let own_changes = std::mem::take(&mut inputs.own_changes);
        let mut record = self.record(decision, inputs)?;
        if let Some(joined) = &self.joined {
            read.push(joined.slice.clone());
            if !self.scan.mask.is_empty() {
                // The record holds the text without its secrets, and the content that follows from that text.
                record.decision.content = record.replay(self.policy).content;
            }
            joined.conclude(&mut record.decision, &self.engine.fingerprint_key)?;
        }
        let approvals = approvals::changes(store, self.policy, &self.engine.fingerprint_key, &record)?;
        let waiting = waiting.unwrap_or_default();
        let mut notices = notices::for_decision(&record, &approvals, &waiting);
        notices
            .extend(missing_pack.as_ref().map(|file| last_policy::missing_pack_notice(file, &self.session)));
        let mut changes = record.decision.changes.clone();
        changes.0.extend(own_changes.0);
        self.clear_policy_state(&mut changes)?;
        approvals::note_reviews(store, &approvals, &mut read, &mut changes)?;
        if let Some(request) = approvals.iter().find(|change| change.was.is_none()) {
            waiting.guard(&request.now.id, &mut read, &mut changes);
        }
        if let Some(key) = key {
            key.write(&mut read, &mut changes);
        }
        if let Some(call) = &self.call {
            call.write(self.engine, &record, &self.event, &mut changes);
        }
        if let Some(mark) = &self.mark {
            mark.write(self.policy, &record.decision, &mut read, &mut changes);
        }
        let replace_all = self.restored.clone();
        let commit = Commit { read, changes, replace_all, approvals, notices, ..Commit::owned(record) };
        Ok(PendingDecision { commit, content, missing_pack })
    }

    /// The decision after it is recorded: calls listeners, and sends notices and alerts.
    pub(crate) fn conclude(&self, pending: PendingDecision, place: AuditRef) -> Decision {
        let record = pending.commit.record.into_owned();
        self.engine.call_listeners(&record, &place);
        log_record(&record, &place);
        self.engine.send_notices(&pending.commit.notices);
        self.engine.alert_on(&record);
        let raised = self.engine.approvals().apply_script_urgency(&record, place.seq);
        self.finish_deep_requests(&record);
        let mut decision = record.decision;
        // Requests that became urgent have another deadline.
        for request in decision.approval.iter_mut().chain(&mut decision.requests) {
            if let Some(approval) = raised.iter().find(|approval| approval.id == request.id) {
                request.expires = approval.deadline();
            }
        }
        decision.audit = Suppressed(Some(place));
        if let Some(content) = pending.content {
            decision.content = content;
        }
        decision.feedback.splice(0..0, pending.missing_pack.as_deref().map(last_policy::message));
        decision
    }

    fn finish_deep_requests(&self, record: &Record) {
        for answer in self.late_answers.lock().drain(..) {
            self.engine.late_answers().put(&self.session, answer);
        }
        // A run that has ended needs no answers.
        if record.decision.effect == Effect::Halt || self.event.kind == EventKind::SessionEnd {
            self.engine.deep_queue.cancel_run(&self.session);
        }
    }
}

/// A decision that is not recorded yet.
pub(crate) struct PendingDecision {
    /// Everything to write.
    pub(crate) commit: Commit<'static>,
    /// The text of a stream for its sender.
    content: Option<Option<String>>,
    /// A missing pack file, which is reported now.
    missing_pack: Option<PathBuf>,
}

fn log_record(record: &Record, place: &AuditRef) {
    let tool = record.event.tool_name().unwrap_or("-");
    if log::log_enabled!(log::Level::Debug) {
        for verdict in &record.decision.verdicts {
            let effect = verdict.effect.map_or("skipped", Effect::as_str);
            log::debug!(
                policy:% = verdict.guardrail, tool, effect, session:% = record.session, record = place.seq;
                "policy check"
            );
        }
    }
    if let Some(denied) = &record.denied {
        log::warn!(
            policy:% = denied.policy_name, tool, reason:% = denied.reason, session:% = record.session,
            record = place.seq;
            "policy denied tool execution"
        );
    }
}

/// Rejects an event that is too large to be decided in time, from every source. Guardrails see an accepted event as a whole.
/// Returns whether it may have secrets.
fn check_texts(event: &Event, clean_texts: &CleanTexts) -> EngineResult<bool> {
    let mut bytes = 0;
    if let Some(tool) = &event.tool {
        visit_texts(&tool.args, &mut |_, text| bytes += text.len())?;
    }
    let mut may_have_secrets = false;
    let mut check = clean_texts.check();
    let extent = visit_texts(event, &mut |member, text| {
        // A call that is rejected for its size is not scanned.
        if !may_have_secrets && bytes <= Event::MAX_ARGS_BYTES {
            may_have_secrets = check.may_contain(member, text);
        }
    })?;
    if extent.depth > Event::MAX_DEPTH {
        Err(EngineError::TooDeep)
    } else if extent.values > Event::MAX_VALUES {
        Err(EngineError::TooManyValues)
    } else if bytes > Event::MAX_ARGS_BYTES {
        Err(EngineError::ArgumentsTooLarge)
    } else {
        Ok(may_have_secrets)
    }
}
