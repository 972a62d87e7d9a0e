//! Collects verdicts into one decision: the highest effect wins, and every verdict has its consequences.
//!
//! `start` applies the state that stops an event before any guardrail runs, `apply` adds one verdict, and `conclude` returns the
//! decision. Each step is in a file of its own.

pub(crate) mod approval;
mod conclude;
pub(crate) mod hold;
pub(crate) mod host;
mod late;
pub(crate) mod limits;
pub(crate) mod preconditions;
mod sandbox;
pub(crate) mod stream;
pub(crate) mod strikes;
mod unattended;
mod vouching;

use std::sync::Arc;

use serde_json::{Value, json};

use self::hold::{About, Hold};
use self::strikes::Strikes;
use self::vouching::Vouching;
use crate::decision::{ApprovalRequest, Decision, Mode, Retry, Suppressed, VerdictRecord};
use crate::effect::Effect;
use crate::event::EventKind;
use crate::inputs::{Inputs, Missing};
use crate::policy::{Policy, PolicyEntry};
use crate::redact;
use crate::run::{Answer, CheckOutcome};
use crate::sandbox::SandboxRequest;
use crate::session::Changes;
use crate::spec::Spec;
use crate::verdict::{Notice, Recovery, Redaction, Verdict};

/// The verdicts of one event so far.
pub(crate) struct Tally<'a> {
    policy: &'a Policy,
    inputs: &'a Inputs<'a>,
    /// The decision so far. Its effect, and what depends on it, is set by `conclude`.
    decision: Decision,
    ranking: Ranking,
    pending: Pending,
    strikes: Strikes,
    /// What holds the run until an approver answers.
    holds: Vec<Hold>,
    /// Whether the run was halted before: the event is answered, and has no other consequence.
    is_halted: bool,
    redactions: Vec<Redaction>,
    /// The sandboxes in which guardrails contain the call.
    sandboxes: Vec<SandboxRequest>,
    vouching: Vouching,
    /// Notes to the agent, each with the effect of its verdict.
    feedback: Vec<(Effect, String)>,
    /// Why the agent is quarantined.
    quarantine: Option<String>,
}

/// The highest effects so far.
#[derive(Default)]
struct Ranking {
    /// The highest effect, as the host can carry it out.
    effect: Effect,
    /// The same with guardrails in shadow mode.
    would: Effect,
    /// The highest requested effect.
    requested: Effect,
    /// The first guardrail with the highest effect, and its verdict.
    deciding: Option<(Arc<str>, Verdict)>,
    /// The slice that records the first halt of the run.
    halt: Option<Value>,
}

/// Consequences that depend on the final effect.
#[derive(Default)]
struct Pending {
    /// State to store if the action is allowed: warnings, used approvals.
    on_allow: Changes,
    on_retry: Changes,
    on_escalate: Changes,
    retries: Vec<Retry>,
    /// Requests about an event that cannot wait for their answer.
    requests: Vec<ApprovalRequest>,
    /// Notices of emergency overrides.
    notices: Vec<Notice>,
}

impl<'a> Tally<'a> {
    /// A tally with the verdicts that follow from the state of run, agent and task, and from late answers.
    pub(crate) fn start(policy: &'a Policy, inputs: &'a Inputs<'a>, verdicts: usize) -> Self {
        let decision = Decision {
            policy: policy.revision().clone(),
            mode: policy.mode(),
            verdicts: Vec::with_capacity(verdicts),
            ..Decision::default()
        };
        let mut tally = Tally {
            policy,
            inputs,
            decision,
            ranking: Ranking::default(),
            pending: Pending::default(),
            strikes: Strikes::default(),
            holds: Vec::new(),
            is_halted: false,
            redactions: Vec::new(),
            sandboxes: Vec::new(),
            vouching: Vouching::default(),
            feedback: Vec::new(),
            quarantine: None,
        };
        tally.check_preconditions();
        tally.apply_holds();
        tally.apply_late_answers();
        tally
    }

    /// Whether running a guardrail could not change the outcome. While a value is missing, every guardrail runs, so that all
    /// needs are known at once.
    pub(crate) fn is_settled_for(&self, entry: &PolicyEntry) -> bool {
        self.ranking.requested >= Effect::Block
            && self.inputs.event.kind != EventKind::OnError
            && !self.inputs.is_incomplete.get()
            && !entry.could_raise(
                self.ranking.requested,
                self.policy.routing().wait_rule(self.inputs.event).on_timeout,
            )
    }

    pub(crate) fn skip(&mut self, entry: &PolicyEntry) {
        self.decision.verdicts.push(VerdictRecord {
            guardrail: entry.spec.id.clone(),
            skipped: true,
            shadow: entry.spec.mode == Mode::Shadow,
            ..VerdictRecord::default()
        });
    }

    /// Adds a verdict and its consequences.
    pub(crate) fn apply(&mut self, entry: &PolicyEntry, outcome: CheckOutcome, duration_us: Option<u64>) {
        let answer = match outcome {
            CheckOutcome::PlainAllow if !entry.can_retry(self.inputs.event.kind) => {
                return self.record_plain_allow(entry, duration_us);
            }
            CheckOutcome::PlainAllow => Answer { verdict: Verdict::allow(), error: None },
            CheckOutcome::Answer(answer) => *answer,
        };
        self.apply_about(entry, answer, None, duration_us);
    }

    fn record_plain_allow(&mut self, entry: &PolicyEntry, duration_us: Option<u64>) {
        self.decision.verdicts.push(VerdictRecord {
            guardrail: entry.spec.id.clone(),
            effect: Some(Effect::Allow),
            shadow: entry.spec.mode == Mode::Shadow,
            duration_us: Suppressed(duration_us),
            ..VerdictRecord::default()
        });
    }

    /// The same for a verdict about an earlier event.
    fn apply_about(
        &mut self,
        entry: &PolicyEntry,
        answer: Answer,
        about: Option<About>,
        duration_us: Option<u64>,
    ) {
        let is_failure = answer.error.is_some();
        let can_retry = entry.can_retry(self.inputs.event.kind);
        if !is_failure && !can_retry && answer.verdict.is_plain_allow() {
            return self.record_plain_allow(entry, duration_us);
        }
        let mut review = Review::new(&entry.spec, answer, about);
        self.apply_lockdown(&mut review);
        self.count_warning(&mut review);
        self.apply_sandbox(&mut review);
        // A failure is neither an attempt nor a success.
        if review.verdict.effect == Effect::Retry {
            self.count_attempt(&mut review);
        } else if can_retry && !is_failure {
            self.reset_attempts(&review);
        }
        self.apply_unattended(&mut review);
        self.apply_approval(&mut review);
        self.limit_to_kind(&mut review);
        self.vouching.add(review.spec, &mut review.verdict, review.error.is_some());
        self.record(&review, duration_us);
        let effect = host::supported_effect(self.inputs, review.verdict.effect);
        self.ranking.would = self.ranking.would.max(effect);
        if entry.spec.mode == Mode::Enforce {
            self.collect(review);
        }
    }

    /// Adds a verdict that Midrail itself reaches in the name of a guardrail.
    fn apply_as_is(&mut self, mut review: Review<'_>) {
        self.limit_to_kind(&mut review);
        self.vouching.add(review.spec, &mut review.verdict, review.error.is_some());
        self.record(&review, None);
        self.raise(review.spec.id.clone(), review.verdict);
    }

    /// A hand-off that is done cannot be stopped: it continues with a warning, and approvers are asked all the same.
    fn limit_to_kind(&mut self, review: &mut Review<'_>) {
        if self.inputs.event.kind == EventKind::BeforeTool {
            // Arguments are changed before the call is judged, or not at all: nobody would judge the changed call.
            let Verdict { effect, redactions, replacement, .. } = &mut review.verdict;
            let changes = replacement.take().is_some() || redactions.iter().any(|part| part.at.is_some());
            redactions.clear();
            if changes {
                *effect = (*effect).max(Effect::Block);
            }
        }
        if self.inputs.event.kind != EventKind::AfterHandoff {
            return;
        }
        if review.verdict.effect == Effect::Escalate {
            self.pending.requests.extend(self.decision.requests.pop());
        }
        review.verdict.effect = review.verdict.effect.min(Effect::Warn);
    }

    fn record(&mut self, review: &Review<'_>, duration_us: Option<u64>) {
        self.decision.verdicts.push(VerdictRecord {
            guardrail: review.spec.id.clone(),
            effect: Some(review.verdict.effect),
            reason: review.verdict.reason.clone(),
            skipped: false,
            shadow: review.spec.mode == Mode::Shadow,
            error: review.error.clone(),
            action: review.finding_digest.clone(),
            duration_us: Suppressed(duration_us),
        });
    }

    /// Adds the parts of an enforced verdict to the decision.
    fn collect(&mut self, review: Review<'_>) {
        let id = &review.spec.id;
        let mut verdict = review.verdict;
        if self.is_halted {
            // The halt was reported when it happened. Each later event would report it again.
            verdict.effects.clear();
            verdict.notices.clear();
        }
        self.strikes.add(id, &verdict, review.was_requested, review.is_about_run, &mut self.decision);
        if verdict.effect == Effect::Redact && verdict.redactions.is_empty() && verdict.replacement.is_none()
        {
            verdict.redactions.extend(redact::whole_text(self.inputs, id));
        }
        self.redactions.append(&mut verdict.redactions);
        self.note_sandbox(verdict.effect, verdict.sandbox.take());
        if let Some(replacement) = verdict.replacement.take() {
            self.decision.content = Some(replacement);
        }
        self.feedback.extend(verdict.feedback.take().map(|note| (verdict.effect, note)));
        add_new(&mut self.decision.effects, verdict.effects.iter().cloned());
        add_new(&mut self.decision.notices, std::mem::take(&mut verdict.notices));
        if verdict.recovery > self.decision.recovery {
            self.decision.recovery = verdict.recovery;
            // A program reads how to recover from the metadata, also of an allowed event.
            self.decision.metadata.clone_from(&verdict.metadata);
        }
        if verdict.recovery == Some(Recovery::Quarantine) && self.quarantine.is_none() {
            self.quarantine = Some(verdict.reason.clone());
        }
        self.raise(id.clone(), verdict);
    }

    fn raise(&mut self, by: Arc<str>, verdict: Verdict) {
        let requested = verdict.effect;
        let effect = host::supported_effect(self.inputs, requested);
        let ranking = &mut self.ranking;
        ranking.requested = ranking.requested.max(requested);
        ranking.would = ranking.would.max(effect);
        if requested == Effect::Halt && !self.is_halted && ranking.halt.is_none() {
            let message = verdict.user_message.as_deref().unwrap_or_default();
            ranking.halt = Some(json!({"by": by, "reason": verdict.reason, "user_message": message}));
        }
        if effect > ranking.effect {
            ranking.effect = effect;
            ranking.deciding = Some((by, verdict));
        }
    }

    /// A slice that `decide` keeps for a guardrail. `None`: `on_missing` replaced the verdict.
    fn stored(&self, review: &mut Review<'_>, key: &str) -> Option<Option<&'a Value>> {
        match self.inputs.slice(key) {
            Ok(slice) => Some(slice),
            Err(missing) if review.apply_missing(&missing) => None,
            Err(_) => Some(None),
        }
    }
}

fn add_new<T: PartialEq>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    for item in items {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}

struct Review<'s> {
    spec: &'s Spec,
    verdict: Verdict,
    /// Why `on_error` or `on_missing` applies.
    error: Option<String>,
    /// What the verdict is about, if that is an earlier event.
    about: Option<About>,
    /// Whether an approver is asked about that earlier event.
    is_about_run: bool,
    /// The digest that an approval is bound to, if it follows from the finding and not from the event alone.
    finding_digest: Option<String>,
    /// Whether an approval was requested before and is not denied.
    was_requested: bool,
}

impl<'s> Review<'s> {
    fn new(spec: &'s Spec, Answer { verdict, error }: Answer, about: Option<About>) -> Self {
        Review {
            spec,
            verdict,
            error,
            about,
            is_about_run: false,
            finding_digest: None,
            was_requested: false,
        }
    }

    fn set(&mut self, effect: Effect, reason: String) {
        self.verdict.effect = effect;
        self.verdict.reason = reason;
    }

    /// Applies `on_missing` if it is stronger than the verdict. Returns whether it is.
    fn apply_missing(&mut self, missing: &Missing) -> bool {
        let effect = self.spec.on_missing.effect();
        let is_stronger = effect > self.verdict.effect;
        if is_stronger {
            self.error = Some(missing.to_string());
            self.set(effect, format!("`{}` could not be checked: {missing}", self.spec.id));
        }
        is_stronger
    }
}
