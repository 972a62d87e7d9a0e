//! What verdicts lead to: the highest effect, and the law's own state (warnings, tries, approvals, a halted run).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::approval::{EMERGENCY_OVERRIDE, bound_to_finding};
use crate::ask::Answer;
use crate::budget::Autonomy;
use crate::consequences::{self, About, Hold, Strikes};
use crate::context::{Missing, World, actor, denied_key};
use crate::decision::{ApprovalRequest, Decision, Mode, Retry, Suppressed, VerdictRecord};
use crate::effect::Effect;
use crate::event::{Event, EventKind};
use crate::family::{self, SUB_AGENT_PARENTS, answers_to, is_noted, parent_of};
use crate::guardrail::{Category, OnFault, Spec};
use crate::host;
use crate::pause::PAUSES;
use crate::policy::PolicyEntry;
use crate::redact;
use crate::session::{Changes, key_part, quarantine_key, task_key};
use crate::streamed::{self, chunk_stream, stopped_stream_key};
use crate::verdict::{Notice, Recovery, Redaction, Verdict};

/// The slice that says that a run was halted.
pub const HALTED: &str = "halted";

/// Speaks where no guardrail does: a halted run, a session that could not be read.
const LAW: &str = "midrail";

/// Whoever runs the agents.
const ORCHESTRATOR: &str = "orchestrator";

pub(crate) struct Tally<'a> {
    pub(crate) world: &'a World<'a>,
    /// The highest effect that has consequences.
    effect: Effect,
    /// The highest effect, shadow mode counted in.
    would: Effect,
    /// The highest effect that was asked for, whether or not the host can bring it about.
    meant: Effect,
    /// Who ends the run, first of the chain.
    halting: Option<Halting>,
    deciding: Option<Deciding>,
    pub(crate) decision: Decision,
    retries: Vec<Retry>,
    redactions: Vec<Redaction>,
    /// Notes of those who let pass, each with the number of notes of others that come before it.
    notes: Vec<(usize, String)>,
    /// Why the agent is to be kept from further work.
    quarantine: Option<String>,
    /// Escalations of a kind of event that cannot be held: a person is asked all the same.
    queued: Vec<ApprovalRequest>,
    /// Who is told of emergency overrides, where the action goes on.
    pub(crate) overrides: Vec<Notice>,
    strikes: Strikes,
    /// The run was halted before: the event is answered, and leads to nothing else.
    is_over: bool,
    /// A person was asked about the verdict at hand before, and has not said no.
    pub(crate) was_asked: bool,
    /// What a person is asked about, where that is not the event: an answer that came late.
    pub(crate) about: Option<About>,
    /// What holds the run.
    pub(crate) holds: Vec<Hold>,
    /// State to write only where the action goes on: warnings, used approvals.
    pub(crate) if_it_goes_on: Changes,
    /// State to write only where the decision is a retry.
    if_retry: Changes,
    /// State to write only where the decision is an escalation.
    pub(crate) if_escalate: Changes,
}

/// Whether a guardrail's objections, or what a pack makes of them, send the agent to try again.
fn can_retry(entry: &PolicyEntry, at: EventKind) -> bool {
    match entry.spec.effect {
        Some(effect) => effect == Effect::Retry,
        None => entry.guardrail.can_retry(at),
    }
}

/// Who is at the highest step.
struct Deciding {
    by: Arc<str>,
    verdict: Verdict,
    /// It is the law itself, and no guardrail.
    is_law: bool,
}

/// Who ends a run, and what is said about it. Nothing is noted where the law itself does.
struct Halting {
    by: Arc<str>,
    reason: String,
    user_message: String,
    is_law: bool,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(world: &'a World<'a>) -> Self {
        let decision = Decision {
            policy: world.policy.revision().clone(),
            mode: world.policy.mode(),
            ..Decision::default()
        };
        let mut tally = Tally {
            world,
            effect: Effect::Allow,
            would: Effect::Allow,
            meant: Effect::Allow,
            halting: None,
            deciding: None,
            decision,
            retries: Vec::new(),
            redactions: Vec::new(),
            notes: Vec::new(),
            quarantine: None,
            overrides: Vec::new(),
            strikes: Strikes::default(),
            is_over: false,
            was_asked: false,
            about: None,
            holds: Vec::new(),
            queued: Vec::new(),
            if_it_goes_on: Changes::default(),
            if_retry: Changes::default(),
            if_escalate: Changes::default(),
        };
        tally.start_from_halted();
        if let Some(verdict) = streamed::stopped(world) {
            tally.raise_law(verdict);
        }
        tally.start_from_quarantine();
        tally.start_from_task();
        tally
    }

    /// A halted run answers halt to every later event.
    fn start_from_halted(&mut self) {
        let verdict = match self.world.slice(HALTED) {
            Ok(None) => return,
            Ok(Some(_)) if self.world.event.is_new_run() => {
                self.decision.changes.remove(HALTED);
                return;
            }
            Ok(Some(halted)) => {
                self.is_over = true;
                let text = |key: &str| halted.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let mut verdict = Verdict::new(
                    Effect::Halt,
                    format!("this run was halted by `{}`: {}", text("by"), text("reason")),
                );
                verdict.user_message = Some(text("user_message")).filter(|message| !message.is_empty());
                verdict.advise(format!(
                    "Nothing more is done in it. A supervisor lets it go on with `midrail quarantine lift --run {}`; a \
                     new session begins anew.",
                    self.world.session.id
                ))
            }
            Err(missing) => Verdict::block(missing.to_string()),
        };
        self.raise_law(verdict);
    }

    /// A quarantined agent does nothing more until a person lifts it, and gets no work from others. Nor does whoever it
    /// started, or anybody in a session that is quarantined: else it would go on by other hands.
    fn start_from_quarantine(&mut self) {
        if !is_action(self.world.event.kind) {
            return;
        }
        let stop = "Stop here and report. A person lifts the quarantine once the cause is found.";
        let rests = "Whoever works for it, or in it, rests too. Stop here and report. A person lifts the quarantine once the \
                     cause is found.";
        let other = "Hand over to another agent, or wait until a person lifts the quarantine.";
        let (event, session) = (self.world.event, &self.world.session.id);
        let actor = Some((actor(event, session), stop));
        // Older records do not tell who is further up.
        let started = parent_of(event).and_then(|_| self.world.slice(SUB_AGENT_PARENTS).ok().flatten());
        let above = answers_to(event, session, started).into_iter().map(|who| (who, rests));
        let receiver = receiver(event).map(|to| (to.to_owned(), other));
        let mut first = None;
        for (who, advice) in actor.into_iter().chain(above).chain(receiver) {
            match self.world.slice(&quarantine_key(&who)) {
                Ok(None) => {}
                Ok(Some(held)) => {
                    let reason = held.get("reason").and_then(Value::as_str).unwrap_or_default();
                    let verdict = Verdict::block(format!("`{who}` is quarantined: {reason}")).advise(advice);
                    first.get_or_insert(verdict);
                    break;
                }
                // Read the other slices as well: the engine fetches all that are missing in one round.
                Err(missing) => {
                    first.get_or_insert(Verdict::block(missing.to_string()));
                }
            }
        }
        let Some(verdict) = first else { return };
        self.raise_law(verdict);
    }

    /// Nothing is done for a task that has not begun, rests, or is over.
    fn start_from_task(&mut self) {
        let task = self.world.event.task_id();
        if task.is_empty() || !is_action(self.world.event.kind) {
            return;
        }
        let verdict = match self.world.slice(&task_key(task)) {
            Ok(None) => return,
            Ok(Some(held)) => match held.get("status").and_then(Value::as_str) {
                Some(status @ ("draft" | "suspended" | "completed")) => {
                    Verdict::block(format!("the task `{task}` is {status}"))
                        .advise("Nothing is to be done for it now. Ask who set it so.")
                }
                _ => return,
            },
            Err(missing) => Verdict::block(missing.to_string()),
        };
        self.raise_law(verdict);
    }

    /// Answers that came too late for the event that they were asked about count for this one, and what a person has to
    /// decide because of them holds the run.
    pub(crate) fn hear_late(&mut self) {
        self.hear_held();
        for (entry, answer, about) in consequences::late(self.world, &mut self.decision) {
            self.about = Some(about);
            self.count(entry, answer, None);
        }
        self.about = None;
    }

    pub(crate) fn raise_law(&mut self, verdict: Verdict) {
        self.raise(Deciding { by: LAW.into(), verdict, is_law: true });
    }

    /// Takes in what is said in a guardrail's name beside its own verdict.
    pub(crate) fn say(&mut self, spec: &Spec, verdict: Verdict, error: Option<String>) {
        let verdict = self.as_the_kind_knows(verdict);
        let (effect, reason) = (Some(verdict.effect), verdict.reason.clone());
        self.decision.verdicts.push(VerdictRecord {
            guardrail: spec.id.clone(),
            effect,
            reason,
            error,
            ..VerdictRecord::default()
        });
        self.raise(Deciding { by: spec.id.clone(), verdict, is_law: false });
    }

    /// What can be stopped no more goes on with a warning, and a person is asked all the same.
    fn as_the_kind_knows(&mut self, mut verdict: Verdict) -> Verdict {
        let strongest = strongest_on(self.world.event.kind);
        if verdict.effect == Effect::Escalate && strongest < Effect::Escalate {
            self.queued.extend(self.decision.requests.pop());
        }
        verdict.effect = verdict.effect.min(strongest);
        verdict
    }

    /// Whether asking a guardrail could not change the outcome. As long as something is lacking nothing is settled:
    /// everyone is asked, so that all needs become known at once.
    pub(crate) fn is_settled_for(&self, entry: &PolicyEntry) -> bool {
        self.meant >= Effect::Block
            && self.world.event.kind != EventKind::OnError
            && !self.world.lacks.get()
            && !entry
                .could_raise(self.meant, self.world.policy.routing().wait_rule(self.world.event).on_timeout)
    }

    pub(crate) fn skip(&mut self, entry: &PolicyEntry) {
        self.decision.verdicts.push(VerdictRecord {
            guardrail: entry.spec.id.clone(),
            skipped: true,
            shadow: entry.spec.mode == Mode::Shadow,
            ..VerdictRecord::default()
        });
    }

    /// Takes a verdict in, with what the law makes of it.
    pub(crate) fn count(
        &mut self,
        entry: &PolicyEntry,
        Answer { verdict, error }: Answer,
        took: Option<u64>,
    ) {
        let spec = &entry.spec;
        let shadow = spec.mode == Mode::Shadow;
        let failed = error.is_some();
        // Most have nothing to object to and nothing to say, and nothing follows from that.
        if !failed && !can_retry(entry, self.world.event.kind) && verdict == Verdict::allow() {
            self.decision.verdicts.push(VerdictRecord {
                guardrail: spec.id.clone(),
                effect: Some(Effect::Allow),
                shadow,
                duration_us: Suppressed(took),
                ..VerdictRecord::default()
            });
            return;
        }
        let mut error = error;
        let mut verdict = self.in_lockdown(spec, verdict, &mut error);
        verdict = self.after_warnings(spec, verdict, &mut error);
        // A failure is neither a try nor a success.
        if !failed || verdict.effect == Effect::Retry {
            verdict = self.after_tries(entry, verdict, &mut error);
        }
        // Nobody lifts a guardrail that has not had its say yet: it is asked again once what it lacks is there.
        let is_too_early = error.is_some() && self.world.asks_too_early.get();
        let is_of_the_run = self.about.is_some() && verdict.effect == Effect::Escalate;
        let bound = bound_to_finding(self.world, &verdict).filter(|_| !is_of_the_run);
        self.was_asked = false;
        if !(is_too_early && verdict.effect == Effect::Block) {
            let asked = self.about.clone().filter(|_| verdict.effect == Effect::Escalate && !shadow);
            let asked = asked.map(|about| (about, verdict.clone()));
            verdict = self.after_approval(spec, verdict, bound.as_deref(), &mut error);
            if let Some((about, before)) = asked {
                self.hold(spec, about, &before, verdict.effect);
            }
        }
        verdict = self.as_the_kind_knows(verdict);

        self.decision.verdicts.push(VerdictRecord {
            guardrail: spec.id.clone(),
            effect: Some(verdict.effect),
            reason: verdict.reason.clone(),
            skipped: false,
            shadow,
            error,
            action: bound,
            duration_us: Suppressed(took),
        });
        self.would = self.would.max(host::expressed(self.world, verdict.effect));
        if shadow {
            return;
        }
        if self.is_over {
            // Whoever runs the agents was told when it was halted. Each later event would tell them again.
            verdict.effects.clear();
            verdict.notices.clear();
        }
        self.strikes.knows_action(self.was_asked && !is_of_the_run);
        self.strikes.note(&spec.id, &verdict, self.was_asked, &mut self.decision);
        self.redactions.append(&mut verdict.redactions);
        if let Some(replacement) = verdict.replacement.take() {
            self.decision.content = Some(replacement);
        }
        match verdict.feedback.take() {
            Some(note) if verdict.effect.allows() => self.notes.push((self.decision.feedback.len(), note)),
            note => self.decision.feedback.extend(note),
        }
        for effect in &verdict.effects {
            if !self.decision.effects.contains(effect) {
                self.decision.effects.push(effect.clone());
            }
        }
        if verdict.recovery > self.decision.recovery {
            self.decision.recovery = verdict.recovery;
            // How to go on is told in parts that a program can read, also where nothing is objected to.
            self.decision.metadata.clone_from(&verdict.metadata);
        }
        if verdict.recovery == Some(Recovery::Quarantine) && self.quarantine.is_none() {
            self.quarantine = Some(verdict.reason.clone());
        }
        for notice in std::mem::take(&mut verdict.notices) {
            if !self.decision.notices.contains(&notice) {
                self.decision.notices.push(notice);
            }
        }
        self.raise(Deciding { by: spec.id.clone(), verdict, is_law: false });
    }

    fn raise(&mut self, deciding: Deciding) {
        let meant = deciding.verdict.effect;
        let effect = host::expressed(self.world, meant);
        self.meant = self.meant.max(meant);
        self.would = self.would.max(effect);
        if meant == Effect::Halt && self.halting.is_none() {
            self.halting = Some(Halting {
                by: deciding.by.clone(),
                reason: deciding.verdict.reason.clone(),
                user_message: deciding.verdict.user_message.clone().unwrap_or_default(),
                is_law: deciding.is_law,
            });
        }
        if effect > self.effect {
            self.effect = effect;
            self.deciding = Some(deciding);
        }
    }

    /// When little is left of the budgets, nothing goes on with a warning. The budgets themselves warn in time.
    fn in_lockdown(&mut self, spec: &Spec, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        let kind = self.world.event.kind;
        if verdict.effect != Effect::Warn || spec.category == Category::Budget || !can_be_locked_down(kind) {
            return verdict;
        }
        match self.world.autonomy() {
            Ok(Autonomy::Standard | Autonomy::Strict) => verdict,
            Ok(mode @ (Autonomy::Lockdown | Autonomy::Halt)) => {
                let reason = format!(
                    "{} (in {mode}, with less than a fifth of the budget left, a warning stops the action)",
                    verdict.reason
                );
                Verdict { effect: Effect::Block, reason, ..verdict }
            }
            Err(missing) => self.unless_missing(spec, verdict, &missing, error).unwrap_or_else(|said| *said),
        }
    }

    /// The warning that reaches the limit of its task becomes an escalation.
    fn after_warnings(&mut self, spec: &Spec, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        if verdict.effect != Effect::Warn || spec.warn_limit == 0 {
            return verdict;
        }
        let key = state_key(spec, "warn", self.world.event.task_id());
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let count = slice.and_then(Value::as_u64).unwrap_or(0).saturating_add(1);
        if count >= u64::from(spec.warn_limit) {
            let reason = format!("{} (warning {count} of this guardrail in this task)", verdict.reason);
            return Verdict { effect: Effect::Escalate, reason, ..verdict };
        }
        self.if_it_goes_on.set(key, count);
        verdict
    }

    /// A retry is counted; when its tries are used up, `on_exhausted` follows.
    fn after_tries(&mut self, entry: &PolicyEntry, verdict: Verdict, error: &mut Option<String>) -> Verdict {
        let spec = &entry.spec;
        if verdict.effect != Effect::Retry && !can_retry(entry, self.world.event.kind) {
            return verdict;
        }
        let key = tries_key(spec, self.world);
        if verdict.effect != Effect::Retry {
            // A success gives the tries back. Not to have looked is no success.
            if verdict.effect.allows()
                && !verdict.not_checked
                && matches!(self.world.slice(&key), Ok(Some(_)))
            {
                self.if_it_goes_on.remove(key);
            }
            return verdict;
        }
        let slice = match self.kept(spec, &verdict, &key, error) {
            Ok(slice) => slice,
            Err(verdict) => return *verdict,
        };
        let attempt = slice.and_then(Value::as_u64).unwrap_or(0).saturating_add(1);

        let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
        if attempt > spec.max_attempts {
            let tries = spec.max_attempts;
            let reason = format!("{} (its {tries} tries are used up)", verdict.reason);
            let is_stop = self.world.event.kind == EventKind::BeforeStop;
            let effect = match spec.on_exhausted.map(OnFault::effect) {
                None if is_stop => Effect::Warn,
                None => Effect::Escalate,
                Some(effect) => effect.max(Effect::Warn),
            };
            let mut verdict = Verdict { effect, reason, ..verdict };
            if is_stop && effect == Effect::Warn {
                let message = format!("`{}` let an unfinished run end: {}", spec.id, verdict.reason);
                verdict.notices.push(Notice { to: ORCHESTRATOR.to_owned(), message });
            }
            return verdict;
        }
        if spec.mode == Mode::Shadow {
            self.decision.changes.set(key, attempt);
        } else {
            self.if_retry.set(key, attempt);
            let message = verdict.retry_message.clone().unwrap_or_else(|| verdict.reason.clone());
            self.retries.push(Retry { message, attempt, max_attempts: spec.max_attempts });
        }
        verdict
    }

    /// The decision, once every guardrail has been heard.
    pub(crate) fn conclude(mut self) -> Decision {
        let strikes = std::mem::take(&mut self.strikes);
        let struck = strikes.count(self.world, self.meant, &mut self.decision);
        if let Some((spec, mut verdict)) = struck {
            let mut error = None;
            if verdict.effect == Effect::Escalate {
                verdict = self.after_approval(&spec, verdict, None, &mut error);
            }
            self.say(&spec, verdict, error);
        }
        // The host's own user is the person who decides.
        let is_asked_there = self.effect == Effect::Escalate && host::asks(self.world.event);
        let mut decision = self.decision;
        decision.effect = self.effect;
        if self.would > self.effect {
            decision.would = Some(self.would);
        }
        for changes in [
            self.effect.allows().then_some(self.if_it_goes_on),
            (self.effect == Effect::Retry).then_some(self.if_retry),
            (self.effect == Effect::Escalate && !is_asked_there).then_some(self.if_escalate),
        ] {
            decision.changes.0.extend(changes.unwrap_or_default().0);
        }
        if self.effect.allows() && !self.overrides.is_empty() {
            decision.effects.push(EMERGENCY_OVERRIDE.to_owned());
            decision.metadata.insert("severity".to_owned(), "critical".into());
            decision.notices.extend(self.overrides);
        }
        if self.effect != Effect::Escalate || is_asked_there {
            decision.requests = if self.effect.allows() { self.queued } else { Vec::new() };
        }
        // Of two answers that came late and say the same, each asks the same question.
        let mut asked = BTreeSet::new();
        decision.requests.retain(|request| asked.insert(request.id.clone()));
        if self.effect == Effect::Retry {
            decision.retry = joined(self.retries);
        }
        // They come with a result that passes on, and not in its place: who speaks counts on having been heard.
        if self.effect.allows() || self.world.event.kind != EventKind::AfterTool {
            for (already, (before, note)) in self.notes.into_iter().enumerate() {
                decision.feedback.insert(before.saturating_add(already).min(decision.feedback.len()), note);
            }
        }
        let content = decision.content.take();
        decision.content = passing_text(self.world, content, &self.redactions, self.effect);
        decision.rollback_requested =
            self.world.event.kind == EventKind::AfterTool && self.meant >= Effect::Block;

        decision.risk = self.world.risk();
        if is_action(self.world.event.kind) {
            let mode = self.world.autonomy().unwrap_or_default();
            decision.autonomy = (mode != Autonomy::Standard).then_some(mode);
        }
        host::count_forced(self.world, self.effect, &mut decision.changes);
        family::note(self.world, &mut decision.changes);
        if !is_asked_there {
            note_denial(self.world, self.effect, &mut decision.changes);
        }
        if let Some(reason) = self.quarantine {
            note_quarantine(self.world, &reason, &mut decision);
        }
        if let Some(Halting { by, reason, user_message, is_law: false }) = self.halting {
            decision.changes.set(HALTED, json!({"by": by, "reason": reason, "user_message": user_message}));
        }
        let Some(Deciding { by, verdict, .. }) = self.deciding else {
            consequences::keep_holds(self.world, &self.holds, &mut decision, is_asked_there);
            streamed::note(self.world, &mut decision);
            host::settle_notes(self.world, &mut decision);
            return decision;
        };
        decision.requested = (verdict.effect != self.effect).then_some(verdict.effect);
        decision.approval = decision.requests.iter().find(|request| request.guardrail == by).cloned();
        decision.by = Some(by);
        decision.reason = verdict.reason;
        decision.advice = verdict.advice;
        decision.metadata.extend(verdict.metadata);
        decision.user_message = verdict.user_message;
        consequences::keep_holds(self.world, &self.holds, &mut decision, is_asked_there);
        streamed::note(self.world, &mut decision);
        host::settle_notes(self.world, &mut decision);
        decision
    }

    /// What the law keeps of a guardrail. Where that is not known, its `on_missing` speaks if it is stronger than what
    /// the guardrail said itself; else it is taken for nothing.
    pub(crate) fn kept(
        &self,
        spec: &Spec,
        verdict: &Verdict,
        key: &str,
        error: &mut Option<String>,
    ) -> Result<Option<&'a Value>, Box<Verdict>> {
        match self.world.slice(key) {
            Ok(slice) => Ok(slice),
            Err(missing) => self.unless_missing(spec, verdict.clone(), &missing, error).map(|_| None),
        }
    }

    /// The verdict as it is, or where `on_missing` is stronger what that says.
    fn unless_missing(
        &self,
        spec: &Spec,
        verdict: Verdict,
        missing: &Missing,
        error: &mut Option<String>,
    ) -> Result<Verdict, Box<Verdict>> {
        let effect = spec.on_missing.effect();
        if effect <= verdict.effect {
            return Ok(verdict);
        }
        *error = Some(missing.to_string());
        let reason = format!("`{}` could not be checked: {missing}", spec.id);
        Err(Box::new(Verdict { effect, reason, ..verdict }))
    }
}

/// The key of a slice that comes from verdicts. Shadow mode has its own, so that it never alters what is enforced.
fn state_key(spec: &Spec, what: &str, of: &str) -> String {
    let shadow = if spec.mode == Mode::Shadow { "shadow/" } else { "" };
    format!("{shadow}{what}/{}/{of}", key_part(&spec.id))
}

/// The slice that counts the tries of a guardrail: those of a call and those of its result apart, so that a call which
/// may go on gives nothing back to whoever sends back its results. Each sub-agent that wants to stop has its own.
pub(crate) fn tries_key(spec: &Spec, world: &World<'_>) -> String {
    let event = world.event;
    let (kind, tool) = (event.kind.as_str(), event.tool_name().unwrap_or_default());
    let whose = match event.kind == EventKind::BeforeStop && event.is_sub_agent() {
        true => format!("{kind}/{tool}@{}", world.actor()),
        false => format!("{kind}/{tool}"),
    };
    state_key(spec, "retry", &whose)
}

/// The strongest effect that a kind of event knows. Nothing can be stopped once a hand-off is done.
pub(crate) fn strongest_on(kind: EventKind) -> Effect {
    match kind {
        EventKind::AfterHandoff => Effect::Warn,
        EventKind::SessionStart
        | EventKind::SessionEnd
        | EventKind::BeforeModel
        | EventKind::ModelChunk
        | EventKind::AfterModel
        | EventKind::BeforeTool
        | EventKind::AfterTool
        | EventKind::BeforeHandoff
        | EventKind::OnError
        | EventKind::BeforeStop
        | EventKind::ApprovalDecided
        | EventKind::Observed
        | EventKind::Restored
        | EventKind::Administered => Effect::Halt,
    }
}

/// Whether an event asks for something to be done.
fn is_action(kind: EventKind) -> bool {
    matches!(kind, EventKind::BeforeTool | EventKind::BeforeHandoff)
}

/// Whether an event of this kind can wait for a person: an agent can always end, and tell of errors.
pub(crate) fn can_be_held(kind: EventKind) -> bool {
    can_be_locked_down(kind)
}

/// The agent that work is about to be handed to, where it is named.
fn receiver(event: &Event) -> Option<&str> {
    let handoff = event.handoff.as_ref().filter(|_| event.kind == EventKind::BeforeHandoff)?;
    let id = || handoff.receiver.as_ref()?.get("id")?.as_str();
    handoff.to.as_deref().or_else(id).map(str::trim).filter(|to| !to.is_empty())
}

/// Whether a warning about it can stop something: an agent can always end, and tell of errors.
fn can_be_locked_down(kind: EventKind) -> bool {
    is_action(kind)
        || matches!(
            kind,
            EventKind::BeforeModel | EventKind::ModelChunk | EventKind::AfterModel | EventKind::AfterTool
        )
}

/// The slices that the law reads for an event, whatever the policy.
pub fn builtin_slice_keys(event: &Event, session: &str) -> Vec<String> {
    let mut keys = vec![HALTED.to_owned(), PAUSES.to_owned()];
    keys.extend(event.call_id().map(denied_key));
    keys.extend(chunk_stream(event).map(stopped_stream_key));
    keys.extend(host::keys(event, &actor(event, session)));
    if is_action(event.kind) {
        let actor = actor(event, session);
        let above = answers_to(event, session, None).into_iter().filter(|who| *who != actor);
        keys.extend(above.map(|who| quarantine_key(&who)));
        keys.extend(is_noted(event).then(|| SUB_AGENT_PARENTS.to_owned()));
        keys.push(quarantine_key(&actor));
        keys.extend(receiver(event).map(quarantine_key));
        keys.extend(Some(event.task_id()).filter(|task| !task.is_empty()).map(task_key));
    }
    keys
}

/// An agent that is to be kept from further work is kept from it in all sessions, and people hear of it.
fn note_quarantine(world: &World<'_>, reason: &str, decision: &mut Decision) {
    if world.event.kind != EventKind::OnError {
        return;
    }
    let actor = world.actor();
    let since = world.event.time.map(|time| time.to_string());
    decision.changes.set(quarantine_key(&actor), json!({"reason": reason, "since": since}));
    let message = format!("`{actor}` is quarantined: {reason}");
    decision.notices.push(Notice { to: "human_operator".to_owned(), message });
}

/// A call that was stopped is remembered by its name, so that a result that a host reports for it all the same never
/// counts as a success. One that is let pass after all is forgotten.
fn note_denial(world: &World<'_>, effect: Effect, changes: &mut Changes) {
    let Some(id) = world.event.call_id().filter(|_| world.event.kind == EventKind::BeforeTool) else {
        return;
    };
    let key = denied_key(id);
    if !effect.allows() {
        changes.set(key, true);
    } else if matches!(world.slice(&key), Ok(Some(_))) {
        changes.remove(key);
    }
}

/// Retries of several guardrails become one: messages joined, the fewest tries left.
fn joined(retries: Vec<Retry>) -> Option<Retry> {
    retries.into_iter().reduce(|one, other| {
        let left = |retry: &Retry| retry.max_attempts.saturating_sub(retry.attempt);
        let (attempt, max_attempts) = if left(&one) <= left(&other) {
            (one.attempt, one.max_attempts)
        } else {
            (other.attempt, other.max_attempts)
        };
        Retry { message: format!("{}\n\n{}", one.message, other.message), attempt, max_attempts }
    })
}

/// The text that passes on, where it differs from the event's: a replacement first, then redactions on it.
fn passing_text(
    world: &World<'_>,
    replacement: Option<String>,
    redactions: &[Redaction],
    effect: Effect,
) -> Option<String> {
    if chunk_stream(world.event).is_some() {
        return effect.allows().then(|| streamed::passing(world, replacement, redactions));
    }
    let is_rewritten = world.rewritten_by.borrow().iter().any(|(_, stands)| *stands);
    let is_changed = is_rewritten || replacement.is_some() || !redactions.is_empty();
    if effect >= Effect::Escalate || !is_changed {
        return None;
    }
    let event = world.event;
    let content = event.result.as_ref().and_then(|result| result.content.as_ref());
    let own = match (content.filter(|content| !content.is_null()), &event.text) {
        (Some(Value::String(content)), _) => Some(content.clone()),
        (Some(content), _) => Some(content.to_string()),
        (None, text) => text.clone(),
    };
    match (own, replacement) {
        (Some(own), None) => Some(redact::apply(&own, redactions)),
        // Guardrails saw the event's own text. What they hide there is hidden in the replacement wherever it stands.
        (Some(own), Some(replacement)) => Some(redact::apply_elsewhere(&own, redactions, &replacement)),
        (None, replacement) => replacement,
    }
}
