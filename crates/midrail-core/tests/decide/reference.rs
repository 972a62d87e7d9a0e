//! The law once more, as plainly as it can be said: everyone is heard, nothing is skipped, and then one thing after
//! the other is looked up. Written from the design, to be held against `decide`; slow, and not meant to be clever.
//!
//! Keys of slices and the wording of reasons are contracts of the law (they are stored and shown), so they stand
//! here too.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{
    ApprovalKind, ApprovalRequest, Bypass, Category, Effect, Event, EventKind, Fact, FactKey, HostLimit,
    Mode, OnFault, Recovery, Redaction, Retry, Risk, StrikeRule, Verdict, late_answer_digest,
};
use serde_json::{Value, json};

use crate::plan::{Does, Learns, Plan, SCRIPTED, When, of_answer, plan};
use crate::world::{Backing, key_part};

type Changes = BTreeMap<String, Option<Value>>;

/// What the model answers.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) effect: Effect,
    pub(crate) by: Option<String>,
    pub(crate) reason: String,
    pub(crate) advice: Option<String>,
    pub(crate) user_message: Option<String>,
    pub(crate) would: Option<Effect>,
    /// What was asked for, where the host can only do something else.
    pub(crate) meant: Option<Effect>,
    /// The person whose pause it falls under.
    pub(crate) paused_by: Option<String>,
    pub(crate) retry: Option<Retry>,
    pub(crate) approval: Option<ApprovalRequest>,
    /// Every request, the deciding guardrail's or not.
    pub(crate) requests: Vec<ApprovalRequest>,
    pub(crate) content: Option<String>,
    pub(crate) changes: Changes,
    /// Approvals that timed out and are cleared away, where their guardrail is heard. It need not be.
    pub(crate) tidied: BTreeSet<String>,
    /// What comes from all verdicts; complete only where nobody was skipped.
    pub(crate) feedback: Vec<String>,
    pub(crate) effects: BTreeSet<String>,
    pub(crate) recovery: Option<Recovery>,
    pub(crate) rollback_requested: bool,
    /// What each guardrail said, by its id, whether or not it had to be heard.
    pub(crate) said: BTreeMap<String, Vec<VerdictRecord>>,
}

/// What is recorded of one guardrail.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerdictRecord {
    pub(crate) effect: Effect,
    pub(crate) reason: String,
    pub(crate) is_shadow: bool,
    pub(crate) error: Option<String>,
}

/// One voice of the chain, with all that hangs on what is decided in the end.
struct Voice {
    id: String,
    /// It is the law's own, and no guardrail's.
    is_law: bool,
    is_shadow: bool,
    verdict: Verdict,
    /// Why `on_error` or `on_missing` spoke for it.
    error: Option<String>,
    retry: Option<Retry>,
    request: Option<ApprovalRequest>,
    always: Changes,
    if_it_goes_on: Changes,
    if_retry: Changes,
    if_escalate: Changes,
    tidied: BTreeSet<String>,
    /// A person was asked about just this before, and has not said no.
    was_asked: bool,
    /// That was about an earlier event of the run.
    is_of_run: bool,
}

impl Voice {
    fn new(id: &str, is_shadow: bool, verdict: Verdict) -> Self {
        Voice {
            id: id.to_owned(),
            is_law: false,
            is_shadow,
            verdict,
            error: None,
            retry: None,
            request: None,
            always: Changes::new(),
            if_it_goes_on: Changes::new(),
            if_retry: Changes::new(),
            if_escalate: Changes::new(),
            tidied: BTreeSet::new(),
            was_asked: false,
            is_of_run: false,
        }
    }
}

pub(crate) fn decide(plans: &[Plan], rules: &[StrikeRule], backing: &Backing, event: &Event) -> Outcome {
    // Under a pause everyone speaks in shadow mode, but for those that nobody switches off.
    let paused_by = paused(backing, event);
    let in_pause = |plan: &Plan| match paused_by.is_some() && !plan.always_on {
        true => Plan { mode: Mode::Shadow, ..plan.clone() },
        false => plan.clone(),
    };
    let plans: Vec<Plan> = plans.iter().map(in_pause).collect();
    let chain = in_order(&plans);

    // Everyone is heard. The law itself speaks first, where the run was halted.
    let mut voices: Vec<Voice> = Vec::new();
    // A session that goes on is the same run, and one of which the host does not tell may be.
    let is_sub_agent = event.parent.as_ref().is_some_and(|parent| !parent.is_empty());
    let is_new_run = event.kind == EventKind::SessionStart
        && !is_sub_agent
        && matches!(event.source.as_deref(), Some("startup" | "clear" | "new"));
    let begins_anew = is_new_run && matches!(slice(backing, "halted"), Ok(Some(_)));
    if !begins_anew {
        voices.extend(voice_of_the_law(backing));
    }
    voices.extend(stream_is_over(backing, event));
    voices.extend(quarantined(backing, event));
    voices.extend(not_at_work(backing, event));
    // What held an earlier run, or was found about it, is over with it.
    let mut held = Vec::new();
    if !is_new_run {
        held = still_held(&chain, backing, event, &mut voices);
        hear_late(&chain, backing, event, &mut voices, &mut held);
    }
    for plan in &chain {
        let is_asked = plan.on.contains(&event.kind) && governs(plan, event) && tool_fits(&plan.tools, event);
        if is_asked && let Some(said) = heard(plan, backing, event) {
            voices.push(considered(plan, said, backing, event));
        }
    }

    // What strikes lead to is said last. A run that is over counts none, and one that begins has none.
    let is_over = !is_new_run && matches!(slice(backing, "halted"), Ok(Some(_)));
    let struck = struck(rules, backing, event, if is_over { &[] } else { &voices }, is_new_run);
    voices.extend(struck_out(rules, &struck, backing, event));

    // The highest enforced step wins; the first at it has decided.
    let enforced: Vec<&Voice> = voices.iter().filter(|voice| !voice.is_shadow).collect();
    let by_host = |voice: &Voice| as_the_host_can(backing, event, voice.verdict.effect);
    let effect = enforced.iter().map(|voice| by_host(voice)).max().unwrap_or(Effect::Allow);
    let would = voices.iter().map(by_host).max().unwrap_or(Effect::Allow);
    let asks_there = effect == Effect::Escalate && event.host.as_ref().is_some_and(|host| host.asks_user);
    let mut outcome =
        Outcome { effect, would: (would > effect).then_some(would), paused_by, ..Outcome::default() };
    if begins_anew {
        outcome.changes.insert("halted".to_owned(), None);
    }
    let deciding = enforced.iter().find(|voice| by_host(voice) == effect);
    if effect > Effect::Allow {
        let deciding = deciding.unwrap();
        outcome.by = Some(deciding.id.clone());
        outcome.reason = deciding.verdict.reason.clone();
        outcome.advice = deciding.verdict.advice.clone();
        outcome.user_message = deciding.verdict.user_message.clone();
        outcome.meant = Some(deciding.verdict.effect).filter(|meant| *meant != effect);
    }

    // What hangs on the decision.
    for voice in &voices {
        outcome.changes.extend(voice.always.clone());
        if effect <= Effect::Redact {
            outcome.changes.extend(voice.if_it_goes_on.clone());
        }
        if effect == Effect::Retry {
            outcome.changes.extend(voice.if_retry.clone());
        }
        if effect == Effect::Escalate && !asks_there {
            outcome.changes.extend(voice.if_escalate.clone());
        }
        // A hand-off that is done waits for nobody, and a person is asked all the same; but not in a run that stopped.
        let is_held = effect == Effect::Escalate && !asks_there;
        if is_held || (event.kind == EventKind::AfterHandoff && effect <= Effect::Redact) {
            // The same question twice is asked once.
            let is_asked =
                |request: &ApprovalRequest| outcome.requests.iter().any(|other| other.id == request.id);
            let new = voice.request.clone().filter(|request| !is_asked(request));
            outcome.requests.extend(new);
        }
        outcome.tidied.extend(voice.tidied.clone());
        if !voice.is_law {
            let said = VerdictRecord {
                effect: voice.verdict.effect,
                reason: voice.verdict.reason.clone(),
                is_shadow: voice.is_shadow,
                error: voice.error.clone(),
            };
            outcome.said.entry(voice.id.clone()).or_default().push(said);
        }
    }
    outcome.approval =
        outcome.requests.iter().find(|request| outcome.by.as_deref() == Some(&*request.guardrail)).cloned();
    if effect == Effect::Retry {
        outcome.retry = joined(&enforced);
    }
    // Whoever ends the run first has ended it, also where its host can only stop one action after the other.
    let halting = enforced.iter().find(|voice| voice.verdict.effect == Effect::Halt);
    if let Some(voice) = halting.filter(|voice| !voice.is_law) {
        let user_message = voice.verdict.user_message.clone().unwrap_or_default();
        let halted = json!({"by": voice.id, "reason": voice.verdict.reason, "user_message": user_message});
        outcome.changes.insert("halted".to_owned(), Some(halted));
    }
    outcome.content = match chunk_of(event) {
        Some(_) => (effect <= Effect::Redact).then(|| rest_of_chunk(&enforced, event, backing.sent_bytes)),
        None => passing_on(&enforced, event, effect),
    };
    // A stream that was stopped stays so until its last chunk has come, or a person has let the chunk pass.
    if let Some(key) = chunk_of(event)
        && let Ok(over) = slice(backing, &key)
    {
        let waits = effect == Effect::Escalate;
        if effect <= Effect::Redact || (event.last == Some(true) && !waits) {
            if over.is_some() {
                outcome.changes.insert(key, None);
            }
        } else if over.is_none() || is_same_chunk(backing, event, over) {
            let mut over = json!({"by": outcome.by, "reason": outcome.reason});
            if waits {
                over["action"] = json!(backing.names("g0", event, None).0);
            }
            outcome.changes.insert(key, Some(over));
        }
    }
    let meant = enforced.iter().map(|voice| voice.verdict.effect).max().unwrap_or(Effect::Allow);
    outcome.rollback_requested = event.kind == EventKind::AfterTool && meant >= Effect::Block;
    for voice in &enforced {
        // A note of one who lets a result pass comes with it, and not in its place.
        let is_withheld = event.kind == EventKind::AfterTool && effect > Effect::Redact;
        if !is_withheld || voice.verdict.effect > Effect::Redact {
            outcome.feedback.extend(voice.verdict.feedback.clone());
        }
        // A run that is over is answered, and nothing else follows.
        if !is_over {
            outcome.effects.extend(voice.verdict.effects.clone());
        }
        outcome.recovery = outcome.recovery.max(voice.verdict.recovery);
    }
    outcome.changes.extend(sent_back(backing, event, effect));
    outcome.changes.extend(sub_agents(backing, event).map(|seen| ("sub_agents".to_owned(), Some(seen))));
    tell(backing, event, &mut outcome);

    if event.kind == EventKind::OnError
        && let Some(voice) =
            enforced.iter().find(|voice| voice.verdict.recovery == Some(Recovery::Quarantine))
    {
        let since = event.time.map(|time| time.to_string());
        let quarantine = json!({"reason": voice.verdict.reason, "since": since});
        outcome.changes.insert(format!("shared/quarantine/{}", actor(backing, event)), Some(quarantine));
    }
    if struck.before != struck.after {
        outcome.changes.insert("strikes".to_owned(), Some(struck.after));
    } else if is_new_run && slice(backing, "strikes").unwrap().is_some() {
        outcome.changes.insert("strikes".to_owned(), None);
    }
    if asks_late(&chain, event) || is_new_run {
        outcome.changes.extend(kept_holds(held, backing, &outcome, asks_there));
    }
    if asks_late(&chain, event) && matches!(slice(backing, "late"), Ok(Some(Value::Array(_)))) {
        outcome.changes.insert("late".to_owned(), None);
    }
    outcome.changes.extend(spent(backing, event));
    outcome.changes.extend(run_start(backing, event));

    // Once it is decided, those that watch learn from it.
    for plan in &chain {
        if plan.watches.contains(&event.kind) && governs(plan, event) && holds(plan, backing) == Ok(true) {
            outcome.changes.extend(learnt(plan, backing, event, effect));
        }
    }
    outcome
}

/// A host that cannot change a text lets none pass; one that cannot end a run stops the action.
fn as_the_host_can(backing: &Backing, event: &Event, effect: Effect) -> Effect {
    let effect = match effect {
        Effect::Redact if lacks(event, HostLimit::Redact) => Effect::Block,
        Effect::Halt if lacks(event, HostLimit::Halt) => Effect::Block,
        effect => effect,
    };
    let is_tired =
        event.kind == EventKind::BeforeStop && event.host.is_some() && forced(backing, event) >= 25;
    if is_tired && effect < Effect::Halt { effect.min(Effect::Warn) } else { effect }
}

fn forced(backing: &Backing, event: &Event) -> u64 {
    let key = format!("forced/{}", key_part(&actor(backing, event)));
    slice(backing, &key).ok().flatten().and_then(Value::as_u64).unwrap_or(0)
}

/// An agent is sent back to work so often and no more, until somebody speaks to it again.
fn sent_back(backing: &Backing, event: &Event, effect: Effect) -> Changes {
    let key = format!("forced/{}", key_part(&actor(backing, event)));
    let is_stop = event.kind == EventKind::BeforeStop;
    if event.host.is_none() || !(is_stop || event.kind == EventKind::BeforeModel) {
        return Changes::new();
    }
    match slice(backing, &key) {
        Err(_) => Changes::new(),
        Ok(_) if is_stop && (Effect::Retry..Effect::Halt).contains(&effect) => {
            Changes::from([(key, Some(json!(forced(backing, event) + 1)))])
        }
        Ok(Some(_)) => Changes::from([(key, None)]),
        Ok(None) => Changes::new(),
    }
}

fn lacks(event: &Event, what: HostLimit) -> bool {
    event.host.as_ref().is_some_and(|host| host.limits.contains(&what))
}

/// What could not be told before comes first; what cannot be told now is kept.
fn tell(backing: &Backing, event: &Event, outcome: &mut Outcome) {
    let key = format!("owed/{}", key_part(&actor(backing, event)));
    let Ok(owed) = slice(backing, &key) else { return };
    let owed: Vec<String> = match owed {
        Some(Value::Array(notes)) => {
            notes.iter().filter_map(|note| Some(note.as_str()?.to_owned())).collect()
        }
        _ => Vec::new(),
    };
    if event.host.is_none() {
        return;
    }
    if outcome.effect > Effect::Redact || !lacks(event, HostLimit::Notes) {
        if !owed.is_empty() {
            outcome.changes.insert(key, None);
            outcome.feedback = [owed, outcome.feedback.clone()].concat();
        }
        return;
    }
    let mut kept = [owed.clone(), outcome.feedback.clone()].concat();
    if outcome.effect == Effect::Warn {
        let advice = outcome.advice.as_ref().map_or(String::new(), |advice| format!(" {advice}"));
        let by = outcome.by.clone().unwrap_or_default();
        kept.push(format!("Warning of `{by}`: {}{advice}", outcome.reason));
    }
    if kept.len() > owed.len() {
        outcome.changes.insert(key, Some(json!(kept[kept.len().saturating_sub(32)..])));
    }
}

/// Who paused the project that the event comes from, where that has begun, is not over, and is not for longer than an
/// hour. What cannot be read is no pause.
fn paused(backing: &Backing, event: &Event) -> Option<String> {
    let rows = slice(backing, "shared/pause").ok()??.as_array()?;
    let now = event.time?;
    for row in rows {
        let time = |name: &str| row[name].as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let (Some(since), Some(until)) = (time("since"), time("until")) else { continue };
        let (Some(by), Some(_)) = (row["by"].as_str(), row["reason"].as_str()) else { continue };
        let is_here = match (row["project"].as_str(), &backing.root) {
            (None, _) => row["project"].is_null(),
            (Some(_), None) => false,
            (Some(project), Some(root)) => *root == project || root.starts_with(&format!("{project}/")),
        };
        let lasts = until.duration_since(since);
        if is_here && now >= since && now < until && lasts <= jiff::SignedDuration::from_mins(60) {
            return Some(by.to_owned());
        }
    }
    None
}

/// By priority, then category, then declaration. Of two with one id the first stays.
fn in_order(plans: &[Plan]) -> Vec<&Plan> {
    let mut chain: Vec<(usize, &Plan)> = Vec::new();
    for (declared, plan) in plans.iter().enumerate() {
        if chain.iter().all(|(_, other)| other.id != plan.id) {
            chain.push((declared, plan));
        }
    }
    chain.sort_by_key(|(declared, plan)| {
        let rank = ["safety", "compliance", "budget", "scope", "quality"]
            .iter()
            .position(|word| *word == plan.category.as_str());
        (plan.priority, rank.unwrap(), *declared)
    });
    chain.into_iter().map(|(_, plan)| plan).collect()
}

fn voice_of_the_law(backing: &Backing) -> Option<Voice> {
    let verdict = match slice(backing, "halted") {
        Ok(None) => return None,
        Ok(Some(halted)) => {
            let part = |name: &str| halted[name].as_str().unwrap_or("").to_owned();
            let mut verdict = Verdict::new(
                Effect::Halt,
                format!("this run was halted by `{}`: {}", part("by"), part("reason")),
            );
            verdict.user_message = (!part("user_message").is_empty()).then(|| part("user_message"));
            verdict.advice = Some(format!(
                "Nothing more is done in it. A supervisor lets it go on with `midrail quarantine lift --run {}`; a \
                 new session begins anew.",
                backing.session
            ));
            verdict
        }
        Err(missing) => Verdict::block(missing),
    };
    Some(Voice { is_law: true, ..Voice::new("midrail", false, verdict) })
}

/// Where it is kept that the stream of a chunk is over. Other events are no chunks, and a chunk without a stream is one
/// by itself.
fn chunk_of(event: &Event) -> Option<String> {
    let stream = event.stream.as_ref()?;
    (event.kind == EventKind::ModelChunk).then(|| format!("stream/over/{stream}"))
}

/// Whether a person was asked about just this chunk.
fn is_same_chunk(backing: &Backing, event: &Event, over: Option<&Value>) -> bool {
    over.is_some_and(|over| over["action"] == json!(backing.names("g0", event, None).0))
}

fn stream_is_over(backing: &Backing, event: &Event) -> Option<Voice> {
    match slice(backing, &chunk_of(event)?) {
        Ok(Some(over)) if !is_same_chunk(backing, event, Some(over)) => {
            let part = |name: &str| over[name].as_str().unwrap_or("").to_owned();
            let reason = format!("this stream was stopped by `{}`: {}", part("by"), part("reason"));
            let advice =
                "Nothing more of it passes on. What is to be said otherwise goes into a stream of its own.";
            Some(law(Verdict::block(reason).advise(advice)))
        }
        Ok(_) if backing.overlong => {
            let reason =
                "More of this stream would have to be held back than can be: it may all be one secret.";
            let advice = "Leave long keys and tokens out of the answer.";
            Some(law(Verdict::block(reason).advise(advice)))
        }
        Ok(_) => None,
        Err(missing) => Some(law(Verdict::block(missing))),
    }
}

/// What of a chunk passes on: what comes behind that which has passed already, with what is hidden hidden.
fn rest_of_chunk(voices: &[&Voice], event: &Event, passed: usize) -> String {
    let text = event.text.clone().unwrap_or_default();
    let Some(rest) = text.get(passed..) else { return String::new() };
    let redactions: Vec<&Redaction> = voices.iter().flat_map(|voice| &voice.verdict.redactions).collect();
    let replacement = voices.iter().filter_map(|voice| voice.verdict.replacement.clone()).next_back();
    let Some(replacement) = replacement else {
        let of_rest = whole_characters(&text, &redactions).into_iter().filter(|(_, end, _)| *end > passed);
        let moved = of_rest.map(|(start, end, with)| (start.max(passed) - passed, end - passed, with));
        return redacted(rest, moved.collect());
    };
    let own = replacement.strip_prefix(&text[..passed]).unwrap_or(&replacement).to_owned();
    hidden_elsewhere(&text, whole_characters(&text, &redactions), &own)
}

fn is_action(event: &Event) -> bool {
    matches!(event.kind, EventKind::BeforeTool | EventKind::BeforeHandoff)
}

fn actor(backing: &Backing, event: &Event) -> String {
    let agent = event.agent.as_ref().and_then(|agent| agent.id.clone());
    agent.unwrap_or_else(|| format!("session:{}", backing.session))
}

fn law(verdict: Verdict) -> Voice {
    Voice { is_law: true, ..Voice::new("midrail", false, verdict) }
}

fn quarantined(backing: &Backing, event: &Event) -> Option<Voice> {
    let stop = "Stop here and report. A person lifts the quarantine once the cause is found.";
    let rests = "Whoever works for it, or in it, rests too. Stop here and report. A person lifts the quarantine once the \
                 cause is found.";
    let acts = is_quarantined(backing, event, actor(backing, event), stop);
    let started = ancestors(backing, event).into_iter().find_map(|parent| {
        is_quarantined(backing, event, parent.clone(), rests)
            .or_else(|| is_quarantined(backing, event, format!("session:{parent}"), rests))
    });
    let around = is_quarantined(backing, event, format!("session:{}", backing.session), rests);
    acts.or(started).or(around).or_else(|| {
        let to = event.handoff.as_ref().filter(|_| event.kind == EventKind::BeforeHandoff)?.to.clone()?;
        let other = "Hand over to another agent, or wait until a person lifts the quarantine.";
        is_quarantined(backing, event, to, other)
    })
}

/// Who started the agent, and who started that one, as far as the session has seen.
fn ancestors(backing: &Backing, event: &Event) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut next = event.parent.as_deref().map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned);
    while let Some(parent) = next.filter(|parent| !all.contains(parent)) {
        let seen = slice(backing, "sub_agents").ok().flatten();
        next = seen.and_then(|seen| seen[&parent].as_str().map(str::to_owned));
        all.push(parent);
    }
    all
}

/// What the session keeps in mind of who started the agent of an event.
fn sub_agents(backing: &Backing, event: &Event) -> Option<Value> {
    let parent = event.parent.as_deref().map(str::trim).filter(|parent| !parent.is_empty())?;
    let name =
        event.agent.as_ref()?.id.as_deref().map(str::trim).filter(|it| !it.is_empty() && *it != parent)?;
    let mut seen = slice(backing, "sub_agents").ok()?.cloned().unwrap_or_else(|| json!({}));
    let is_new = is_action(event) && seen[name] != parent;
    seen[name] = parent.into();
    is_new.then_some(seen)
}

fn is_quarantined(backing: &Backing, event: &Event, who: String, advice: &str) -> Option<Voice> {
    match slice(backing, &format!("shared/quarantine/{who}")) {
        _ if !is_action(event) => None,
        Ok(None) => None,
        Ok(Some(held)) => {
            let reason = held["reason"].as_str().unwrap_or("");
            Some(law(Verdict::block(format!("`{who}` is quarantined: {reason}")).advise(advice)))
        }
        Err(missing) => Some(law(Verdict::block(missing))),
    }
}

fn not_at_work(backing: &Backing, event: &Event) -> Option<Voice> {
    let task = event.task.as_ref().and_then(|task| task.id.clone()).filter(|id| !id.is_empty())?;
    match slice(backing, &format!("shared/task/{task}")) {
        _ if !is_action(event) => None,
        Ok(Some(held))
            if ["draft", "suspended", "completed"].contains(&held["status"].as_str().unwrap_or("")) =>
        {
            let reason = format!("the task `{task}` is {}", held["status"].as_str().unwrap_or(""));
            let advice = "Nothing is to be done for it now. Ask who set it so.";
            Some(law(Verdict::block(reason).advise(advice)))
        }
        Ok(_) => None,
        Err(missing) => Some(law(Verdict::block(missing))),
    }
}

/// The share of the tightest budget that is left, from 1 to 0.
fn left(backing: &Backing, event: &Event) -> Result<f64, String> {
    let task = event.task.clone().unwrap_or_default();
    let spent = spent_key(&task.id.clone().unwrap_or_default());
    let usage = event.usage.clone().unwrap_or_default();
    let mut left = 1.0_f64;
    if let Some(budget) = task.token_budget {
        let used = match usage.tokens {
            Some(tokens) => tokens as f64,
            None => slice(backing, &spent)?.and_then(|spent| spent["tokens"].as_f64()).unwrap_or(0.0),
        };
        left = left.min((budget as f64 - used) / budget as f64);
    }
    if let Some(budget) = task.time_budget_s {
        let since = slice(backing, &spent)?.and_then(|spent| spent["since"].as_str()).map(str::to_owned);
        let now = event.time.ok_or("the event tells no time")?;
        let since: Option<jiff::Timestamp> = since.and_then(|text| text.parse().ok());
        let used = since.map_or(0.0, |since| now.duration_since(since).as_secs_f64().max(0.0));
        left = left.min((budget - used) / budget);
    }
    if let Some(deadline) = event.deadline {
        let began = slice(backing, "began")?.and_then(|began| began.as_str()).map(str::to_owned);
        let now = event.time.ok_or("the event tells no time")?;
        let began: jiff::Timestamp = began.and_then(|text| text.parse().ok()).unwrap_or(now).min(now);
        let (all, rest) =
            (deadline.duration_since(began).as_secs_f64(), deadline.duration_since(now).as_secs_f64());
        left = left.min(if rest > 0.0 { rest / all } else { 0.0 });
    }
    Ok(left.max(0.0))
}

fn spent_key(task: &str) -> String {
    if task.is_empty() { "spent/".to_owned() } else { format!("shared/spent/{task}") }
}

/// What came of the strikes that verdicts ask for.
struct Struck {
    before: Value,
    after: Value,
    /// Who asks for one.
    asking: Vec<String>,
    /// A person was asked because of the strikes of just this action, and has not said no.
    is_asked: bool,
}

/// Every verdict that asks for a strike adds one to its guardrail's, unless a person was asked about just this before: an
/// action that waits, or is let pass, counts once.
fn struck(
    rules: &[StrikeRule],
    backing: &Backing,
    event: &Event,
    voices: &[Voice],
    is_new_run: bool,
) -> Struck {
    let asks = |voice: &&Voice| voice.verdict.effects.iter().any(|effect| effect == "increment_strike");
    let asking: Vec<&Voice> = voices.iter().filter(|voice| !voice.is_shadow).filter(asks).collect();
    let before = match slice(backing, "strikes").unwrap() {
        Some(strikes) if !is_new_run => strikes.clone(),
        _ => json!({}),
    };
    let mut is_asked = false;
    let is_reached = |rule: &StrikeRule| {
        let is_of_rule = asking.iter().any(|voice| rule.guardrail.as_ref().is_none_or(|of| *of == voice.id));
        rule.effect == Effect::Escalate && is_of_rule && strikes_of(rule, &before) >= rule.count
    };
    if rules.iter().any(is_reached) {
        let key = format!("approval/%strikes/{}", backing.names("strikes", event, None).0);
        is_asked = matches!(slice(backing, &key), Ok(Some(held)) if text_of(held, "state") != "denied");
    }
    // Whoever asked: an action that is held, or was let pass, is known.
    let is_stopped = voices.iter().any(|voice| !voice.is_shadow && voice.verdict.effect >= Effect::Block);
    let is_known = voices.iter().any(|voice| voice.was_asked && !voice.is_of_run) && !is_stopped;
    let mut after = before.clone();
    for voice in asking.iter().filter(|voice| !voice.was_asked && !is_asked && !is_known) {
        after[&voice.id] = json!(after[&voice.id].as_u64().unwrap_or(0) + 1);
    }
    Struck { before, after, asking: asking.iter().map(|voice| voice.id.clone()).collect(), is_asked }
}

/// The strikes that count for a rule.
fn strikes_of(rule: &StrikeRule, all: &Value) -> u64 {
    match &rule.guardrail {
        Some(id) => all[id].as_u64().unwrap_or(0),
        None => all.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum(),
    }
}

/// What so many strikes lead to: the strongest that the policy says, and of equals the first. A strike below its number
/// leads to nothing, and so does the strike of another. Where a person was asked because of them, the question stands.
fn struck_out(rules: &[StrikeRule], struck: &Struck, backing: &Backing, event: &Event) -> Option<Voice> {
    let Struck { before, after, asking, is_asked } = struck;
    let mut strongest: Option<(&StrikeRule, u64)> = None;
    for rule in rules {
        let count = |all: &Value| strikes_of(rule, all);
        let is_of_rule = asking.iter().any(|id| rule.guardrail.as_ref().is_none_or(|of| of == id));
        let stands = *is_asked && rule.effect == Effect::Escalate && is_of_rule;
        let is_reached = count(after) >= rule.count && (count(after) > count(before) || stands);
        if is_reached && strongest.is_none_or(|(other, _)| rule.effect > other.effect) {
            strongest = Some((rule, count(after)));
        }
    }
    let (rule, count) = strongest?;
    let of = rule.guardrail.as_ref().map_or(String::new(), |id| format!(" of `{id}`"));
    let reason = format!("this is strike {count}{of} in this session, and {} are the limit", rule.count);
    let verdict = Verdict { user_message: rule.user_message.clone(), ..Verdict::new(rule.effect, reason) };
    let mut voice = Voice::new("strikes", false, verdict.clone());
    if rule.effect == Effect::Escalate {
        let asks =
            Plan { approval_timeout_s: rule.approval_timeout_s, ..plan("strikes", Does::Says(verdict)) };
        let (action, _) = backing.names("strikes", event, None);
        ask_a_person(&asks, &mut voice, &action, backing, event);
    }
    if event.kind == EventKind::AfterHandoff {
        voice.verdict.effect = voice.verdict.effect.min(Effect::Warn);
    }
    Some(voice)
}

/// What holds a run until a person has answered, and what becomes of it with this event.
struct Hold {
    guardrail: String,
    action: String,
    reason: String,
    advice: Option<String>,
    /// The event that it was found about, as it was told.
    about: Value,
    fate: Fate,
}

#[derive(PartialEq)]
enum Fate {
    Stays,
    /// A person let it go: it ends with an event that goes on.
    Lifted,
    /// A person is asked with this event.
    Asked,
}

/// Whether answers that come late are heard with an event at all.
fn asks_late(chain: &[&Plan], event: &Event) -> bool {
    let is_made =
        matches!(event.kind, EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered);
    chain.iter().any(|plan| plan.is_late) && !is_made
}

fn text_of(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("").to_owned()
}

/// What held the run before holds it still. A run that waits may end, begin and tell of errors.
fn still_held(chain: &[&Plan], backing: &Backing, event: &Event, voices: &mut Vec<Voice>) -> Vec<Hold> {
    let mut holds = Vec::new();
    if !asks_late(chain, event) {
        return holds;
    }
    let Some(Value::Array(rows)) = slice(backing, "late/held").unwrap() else { return holds };
    for row in rows {
        let (guardrail, action, reason) =
            (text_of(row, "guardrail"), text_of(row, "action"), text_of(row, "reason"));
        let advice = row["advice"].as_str().map(str::to_owned);
        let about = row["about"].clone();
        let mut fate = Fate::Stays;
        // Of one that is gone nobody is asked, and nothing is forgotten.
        let Some(plan) = chain.iter().find(|plan| plan.id == guardrail && plan.is_late) else {
            holds.push(Hold { guardrail, action, reason, advice, about, fate });
            continue;
        };
        let key = format!("approval/{}/{action}", key_part(&guardrail));
        let is_asked = matches!(slice(backing, &key), Ok(Some(held)) if text_of(held, "state") != "approved");
        let can_wait = !matches!(
            event.kind,
            EventKind::BeforeModel
                | EventKind::ModelChunk
                | EventKind::AfterModel
                | EventKind::BeforeTool
                | EventKind::AfterTool
                | EventKind::BeforeHandoff
        );
        if plan.mode != Mode::Shadow && !(can_wait && is_asked) {
            let verdict =
                Verdict { advice: advice.clone(), ..Verdict::new(Effect::Escalate, reason.clone()) };
            let mut voice = Voice { is_of_run: true, ..Voice::new(&guardrail, false, verdict) };
            ask_a_person(plan, &mut voice, &action, backing, event);
            fate = match voice.verdict.effect {
                Effect::Allow => Fate::Lifted,
                Effect::Escalate => Fate::Asked,
                _ => Fate::Stays,
            };
            if event.kind == EventKind::AfterHandoff {
                voice.verdict.effect = voice.verdict.effect.min(Effect::Warn);
            }
            voices.push(voice);
        }
        holds.push(Hold { guardrail, action, reason, advice, about, fate });
    }
    holds
}

/// Answers that came too late for their own event. One that asks for a person holds the run from now on.
fn hear_late(
    chain: &[&Plan],
    backing: &Backing,
    event: &Event,
    voices: &mut Vec<Voice>,
    holds: &mut Vec<Hold>,
) {
    let Ok(Some(Value::Array(answers))) = slice(backing, "late") else { return };
    for late in answers.iter().filter(|_| asks_late(chain, event)) {
        let guardrail = text_of(late, "guardrail");
        let Some(plan) = chain.iter().find(|plan| plan.id == guardrail && plan.is_late) else { continue };
        let said = match late["answer"].is_null() {
            false => {
                let mut verdict = dressed(plan, of_answer(&late["answer"]), event);
                if verdict.effect != Effect::Allow {
                    verdict.reason += " (found about an earlier event of this run)";
                }
                Heard { verdict, fault: None }
            }
            true => {
                let why = text_of(late, "error");
                let verdict = Verdict::new(step(plan.on_error), format!("`{guardrail}` failed: {why}"));
                Heard { verdict, fault: Some(why) }
            }
        };
        let heard = Plan { when: When::Always, ..(*plan).clone() };
        let action = late_answer_digest(&backing.session, late);
        let (voice, asked) = considered_for(&heard, said, Some(&action), backing, event);
        let known = holds.iter().any(|hold| hold.guardrail == guardrail && hold.action == action);
        if let (Some((verdict, effect)), false) = (asked, known || holds.len() >= 64)
            && effect != Effect::Allow
        {
            let fate = if effect == Effect::Escalate { Fate::Asked } else { Fate::Stays };
            let Verdict { reason, advice, .. } = verdict;
            holds.push(Hold { guardrail, action, reason, advice, about: late["about"].clone(), fate });
        }
        voices.push(voice);
    }
}

/// What holds the run after this event. The user of a host that asks is the person, and has been asked once what is shown.
fn kept_holds(holds: Vec<Hold>, backing: &Backing, outcome: &Outcome, asks_there: bool) -> Changes {
    let mut rows = Vec::new();
    for hold in holds {
        let is_shown =
            outcome.by.as_deref() == Some(hold.guardrail.as_str()) && outcome.reason == hold.reason;
        let is_over = match hold.fate {
            Fate::Stays => false,
            Fate::Lifted => outcome.effect <= Effect::Redact,
            Fate::Asked => asks_there && is_shown,
        };
        if !is_over {
            let mut row = json!({"guardrail": hold.guardrail, "action": hold.action, "reason": hold.reason});
            if let Some(advice) = hold.advice {
                row["advice"] = json!(advice);
            }
            if !hold.about.is_null() {
                row["about"] = hold.about;
            }
            rows.push(row);
        }
    }
    match slice(backing, "late/held").unwrap() {
        Some(before) if *before == json!(rows) => Changes::new(),
        None if rows.is_empty() => Changes::new(),
        Some(_) if rows.is_empty() => Changes::from([("late/held".to_owned(), None)]),
        _ => Changes::from([("late/held".to_owned(), Some(json!(rows)))]),
    }
}

/// When the run began is kept once somebody sets it a deadline.
fn run_start(backing: &Backing, event: &Event) -> Changes {
    let is_made =
        matches!(event.kind, EventKind::ApprovalDecided | EventKind::Restored | EventKind::Administered);
    match (event.deadline, event.time, slice(backing, "began")) {
        (Some(_), Some(time), Ok(None)) if !is_made => {
            Changes::from([("began".to_owned(), Some(json!(time.to_string())))])
        }
        _ => Changes::new(),
    }
}

/// What is added to the sum of a task that has a budget.
fn spent(backing: &Backing, event: &Event) -> Changes {
    let task = event.task.clone().unwrap_or_default();
    let begins =
        matches!(event.kind, EventKind::SessionStart | EventKind::BeforeModel | EventKind::BeforeTool);
    let ends = matches!(event.kind, EventKind::AfterTool | EventKind::AfterModel);
    let has_budget = task.token_budget.is_some() || task.time_budget_s.is_some();
    let key = spent_key(&task.id.unwrap_or_default());
    let Ok(before) = slice(backing, &key) else { return Changes::new() };
    if !has_budget || !(begins || ends) {
        return Changes::new();
    }
    let mut after = before.cloned().unwrap_or(json!({}));
    if let (Some(time), true) = (event.time, after["since"].is_null()) {
        after["since"] = json!(time.to_string());
    }
    let call = event.usage.as_ref().and_then(|usage| usage.call.as_ref()).and_then(|call| call.tokens);
    if let (Some(tokens), true) = (call, ends) {
        after["tokens"] = json!(after["tokens"].as_f64().unwrap_or(0.0) + tokens as f64);
    }
    let after = if after["since"].is_null() && after["tokens"].is_null() { json!({}) } else { after };
    if before == Some(&after) { Changes::new() } else { Changes::from([(key, Some(after))]) }
}

/// What a guardrail said, or what is said in its place.
struct Heard {
    verdict: Verdict,
    fault: Option<String>,
}

fn step(on_fault: OnFault) -> Effect {
    match on_fault {
        OnFault::Block => Effect::Block,
        OnFault::Escalate => Effect::Escalate,
        OnFault::Allow => Effect::Allow,
    }
}

/// What a guardrail says before the law has made anything of it.
fn heard(plan: &Plan, backing: &Backing, event: &Event) -> Option<Heard> {
    let id = &plan.id;
    let at_fault = |on_fault: OnFault, reason: String, fault: &str| {
        let fault = Some(fault.to_owned());
        Some(Heard { verdict: Verdict::new(step(on_fault), reason), fault })
    };
    let failed = |why: &str| at_fault(plan.on_error, format!("`{id}` failed: {why}"), why);
    let lacking =
        |what: &str| at_fault(plan.on_missing, format!("`{id}` could not be checked: {what}"), what);

    match applies(plan, backing, event) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(why) => return failed(&why),
    }
    let said = match &plan.does {
        Does::Says(verdict) => verdict,
        Does::Fails(why) => return failed(why),
        Does::FailsAfter(said, why) => {
            let said = dressed(plan, said.clone(), event);
            let is_stronger = said.effect >= step(plan.on_error);
            return if is_stronger {
                Some(Heard { verdict: said, fault: Some(why.clone()) })
            } else {
                failed(why)
            };
        }
        Does::Panics(why) => return failed(&format!("it panicked: {SCRIPTED} {why}")),
        Does::Reads { key, present, absent } => match slice(backing, key) {
            Ok(Some(_)) => present,
            Ok(None) => absent,
            Err(missing) => return lacking(&missing),
        },
        Does::Recalls { name, present, absent } => match slice(backing, &own_key(plan, event, name)) {
            Ok(Some(_)) => present,
            Ok(None) => absent,
            Err(missing) => return lacking(&missing),
        },
        Does::Asks { name, yes, no } => match backing.facts.get(&FactKey::Answer(name.clone())) {
            Some(Fact::Answer(Value::Bool(true))) => yes,
            Some(Fact::Answer(_)) => no,
            Some(Fact::Unavailable(why)) => return lacking(&format!("`answer:{name}` is not known: {why}")),
            Some(_) => return lacking(&format!("`answer:{name}` is not an answer")),
            None => return lacking(&format!("`answer:{name}` was not looked up")),
        },
    };
    Some(Heard { verdict: dressed(plan, said.clone(), event), fault: None })
}

/// A verdict with what is said around it in the policy.
fn dressed(plan: &Plan, mut said: Verdict, event: &Event) -> Verdict {
    // That nobody answered in time is no objection.
    if said.timed_out && plan.effect != Some(Effect::Allow) {
        return said;
    }
    let risk = event.task.as_ref().and_then(|task| task.risk);
    if let (Some(risk), true) = (risk, plan.effect_by_risk && said.effect != Effect::Allow) {
        said.effect = match risk {
            Risk::Low => Effect::Warn,
            Risk::Medium => Effect::Escalate,
            Risk::High | Risk::Critical => Effect::Block,
        };
    }
    if said.effect != Effect::Allow {
        said.effect = plan.effect.unwrap_or(said.effect);
        said.reason = plan.reason.clone().unwrap_or(said.reason);
        said.advice = plan.advice.clone().or(said.advice);
    }
    said
}

/// What the law makes of a verdict: repeated warnings, used-up tries, a person's answer, a hand-off that is done.
fn considered(plan: &Plan, said: Heard, backing: &Backing, event: &Event) -> Voice {
    considered_for(plan, said, None, backing, event).0
}

/// The same, where a person is asked about something else than the event. Told is with what a person was asked, and what
/// came of it.
fn considered_for(
    plan: &Plan,
    said: Heard,
    late: Option<&str>,
    backing: &Backing,
    event: &Event,
) -> (Voice, Option<(Verdict, Effect)>) {
    let id = key_part(&plan.id);
    let is_shadow = plan.mode == Mode::Shadow;
    let shadow = if is_shadow { "shadow/" } else { "" };
    let task = event.task.as_ref().and_then(|task| task.id.clone()).unwrap_or_default();
    let tool = event.tool.as_ref().map(|tool| tool.name.clone()).unwrap_or_default();
    let is_fault = said.fault.is_some();
    let mut voice = Voice { error: said.fault, ..Voice::new(&plan.id, is_shadow, said.verdict) };

    // With next to nothing left, a warning stops the action. Budgets warn all the same, and an agent can always end.
    let stops = !matches!(
        event.kind,
        EventKind::SessionStart
            | EventKind::SessionEnd
            | EventKind::AfterHandoff
            | EventKind::OnError
            | EventKind::BeforeStop
            | EventKind::Observed
            | EventKind::ApprovalDecided
            | EventKind::Restored
            | EventKind::Administered
    );
    if voice.verdict.effect == Effect::Warn && plan.category != Category::Budget && stops {
        match left(backing, event) {
            Ok(left) if left < 0.2 => {
                let mode = if left > 0.0 { "lockdown" } else { "halt" };
                voice.verdict.effect = Effect::Block;
                voice.verdict.reason += &format!(
                    " (in {mode}, with less than a fifth of the budget left, a warning stops the action)"
                );
            }
            Ok(_) => {}
            Err(missing) if step(plan.on_missing) > Effect::Warn => {
                voice.verdict.effect = step(plan.on_missing);
                voice.verdict.reason = format!("`{}` could not be checked: {missing}", plan.id);
                voice.error = Some(missing);
            }
            Err(_) => {}
        }
    }

    // Warnings.
    if voice.verdict.effect == Effect::Warn && plan.warn_limit > 0 {
        let key = format!("{shadow}warn/{id}/{task}");
        if let Some(so_far) = kept(plan, &mut voice, backing, &key) {
            let count = so_far.as_u64().unwrap_or(0).saturating_add(1);
            if count >= u64::from(plan.warn_limit) {
                voice.verdict.effect = Effect::Escalate;
                voice.verdict.reason += &format!(" (warning {count} of this guardrail in this task)");
            } else {
                voice.if_it_goes_on.insert(key, Some(json!(count)));
            }
        }
    }

    // Tries. A fault is neither a try nor a success.
    let can_retry = plan.effect.map_or(plan.does.can_retry(), |effect| effect == Effect::Retry);
    // Each sub-agent that wants to stop has its own.
    let sub_agent = event.parent.as_deref().is_some_and(|parent| !parent.trim().is_empty());
    let whose = match event.agent.as_ref().and_then(|agent| agent.id.as_deref()) {
        _ if event.kind != EventKind::BeforeStop || !sub_agent => tool.to_owned(),
        Some(agent) => format!("{tool}@{agent}"),
        None => format!("{tool}@session:{}", backing.session),
    };
    let key = format!("{shadow}retry/{id}/{}/{whose}", event.kind);
    if voice.verdict.effect == Effect::Retry {
        if let Some(so_far) = kept(plan, &mut voice, backing, &key) {
            count_a_try(plan, &mut voice, key, so_far.as_u64().unwrap_or(0), event);
        }
    } else if !is_fault && can_retry && !voice.verdict.not_checked && voice.verdict.effect <= Effect::Redact {
        // A success gives the tries back, where there are any to be seen. Not to have looked is no success.
        if let Ok(Some(_)) = slice(backing, &key) {
            voice.if_it_goes_on.insert(key, None);
        }
    }

    // A person's answer. Shadow mode asks nobody.
    let condition_lacks = matches!(&plan.when, When::Slice(key) if slice(backing, key).is_err());
    let is_unfetched =
        |error: &String| error.ends_with("was not loaded") || error.ends_with("was not looked up");
    let is_too_early = voice.error.as_ref().is_some_and(|error| condition_lacks || is_unfetched(error));
    let liftable = voice.verdict.effect == Effect::Block && plan.bypass != Bypass::Never && !is_too_early;
    let mut asked = None;
    if (voice.verdict.effect == Effect::Escalate || liftable) && !is_shadow {
        let before = voice.verdict.clone();
        // A block is of the event that it stops, whatever it was found about.
        let late = late.filter(|_| before.effect == Effect::Escalate);
        // Who lets an agent stop lets it stop with what was found. Elsewhere an answer is about the event.
        let found = voice.verdict.stop_finding.clone().filter(|_| event.kind == EventKind::BeforeStop);
        let action = late.map_or_else(|| backing.names(&plan.id, event, found).0, str::to_owned);
        voice.is_of_run = late.is_some();
        ask_a_person(plan, &mut voice, &action, backing, event);
        asked = (before.effect == Effect::Escalate).then_some((before, voice.verdict.effect));
    }

    // A hand-off that is done cannot be stopped.
    if event.kind == EventKind::AfterHandoff {
        voice.verdict.effect = voice.verdict.effect.min(Effect::Warn);
    }
    (voice, asked)
}

/// What the law keeps of a guardrail; null where there is nothing. What cannot be had is taken for nothing, unless
/// `on_missing` is stricter than what the guardrail said itself: then that is said in its place, and `None` comes back.
fn kept(plan: &Plan, voice: &mut Voice, backing: &Backing, key: &str) -> Option<Value> {
    match slice(backing, key) {
        Ok(slice) => Some(slice.cloned().unwrap_or(Value::Null)),
        Err(missing) if step(plan.on_missing) > voice.verdict.effect => {
            voice.verdict.effect = step(plan.on_missing);
            voice.verdict.reason = format!("`{}` could not be checked: {missing}", plan.id);
            voice.error = Some(missing);
            None
        }
        Err(_) => Some(Value::Null),
    }
}

fn count_a_try(plan: &Plan, voice: &mut Voice, key: String, so_far: u64, event: &Event) {
    if so_far >= u64::from(plan.max_attempts) {
        voice.verdict.reason += &format!(" (its {} tries are used up)", plan.max_attempts);
        voice.verdict.effect = match plan.on_exhausted {
            None if event.kind == EventKind::BeforeStop => Effect::Warn,
            Some(OnFault::Allow) => Effect::Warn,
            None | Some(OnFault::Escalate) => Effect::Escalate,
            Some(OnFault::Block) => Effect::Block,
        };
        return;
    }
    let attempt = u32::try_from(so_far + 1).unwrap();
    // Nobody follows a shadow's guidance, so its count does not wait for the decision.
    let changes = if voice.is_shadow { &mut voice.always } else { &mut voice.if_retry };
    changes.insert(key, Some(json!(attempt)));
    let message = voice.verdict.retry_message.clone().unwrap_or_else(|| voice.verdict.reason.clone());
    voice.retry = Some(Retry { message, attempt, max_attempts: plan.max_attempts });
}

fn ask_a_person(plan: &Plan, voice: &mut Voice, action: &str, backing: &Backing, event: &Event) {
    let key = format!("approval/{}/{action}", key_part(&plan.id));
    let reason = voice.verdict.reason.clone();
    let request = |id: String, expires| ApprovalRequest {
        id,
        kind: ApprovalKind::Escalation,
        approver: "reviewer".to_owned(),
        expires,
        guardrail: plan.id.as_str().into(),
        action: action.to_owned(),
    };
    let Some(held) = kept(plan, voice, backing, &key) else { return };
    let is_block = voice.verdict.effect == Effect::Block;
    if is_block && held["kind"] != json!("bypass") {
        // Nobody asked for this block to be lifted.
        return;
    }
    if held.is_null() {
        let new_id = backing.new_id(&plan.id, action, event);
        let timeout = jiff::SignedDuration::from_secs(i64::from(plan.approval_timeout_s));
        let expires = event.time.map(|time| time.checked_add(timeout).unwrap());
        let text = expires.map(|time: jiff::Timestamp| time.to_string());
        let pending = json!({"id": new_id, "state": "pending", "expires": text});
        let is_done = event.kind == EventKind::AfterHandoff;
        let changes = if is_done { &mut voice.if_it_goes_on } else { &mut voice.if_escalate };
        changes.insert(key, Some(pending));
        voice.request = Some(request(new_id, expires));
        return;
    }
    let text = |name: &str| held[name].as_str().unwrap_or("").to_owned();
    voice.was_asked = text("state") != "denied";
    let expires: Option<jiff::Timestamp> = text("expires").parse().ok();
    let is_over = expires.is_some_and(|expires| event.time.is_some_and(|now| now >= expires));
    let is_bypass = text("kind") == "bypass";
    let word = if is_bypass { "bypass" } else { "approval" };
    if text("state") == "denied" {
        voice.verdict.effect = Effect::Block;
        let how = match (held["taken_back"] == json!(true), is_bypass) {
            (true, _) => format!("{word} taken back"),
            (false, true) => "bypass denied".to_owned(),
            (false, false) => "denied".to_owned(),
        };
        voice.verdict.reason = format!("{how} by {} ({}): {reason}", text("by"), text("id"));
    } else if is_over {
        voice.verdict.effect = Effect::Block;
        let how = if text("state") == "approved" { "before it was used" } else { "with no answer" };
        voice.verdict.reason = format!("the {word} {} timed out {how}: {reason}", text("id"));
        voice.tidied.insert(key);
    } else if text("state") == "approved" {
        match is_bypass.then(|| too_little_authority(plan, &held, is_block, backing, event)).flatten() {
            None => {
                voice.verdict.effect = Effect::Allow;
                let word = if is_bypass { "lifted" } else { "approved" };
                voice.verdict.reason = format!("{word} by {} ({}): {reason}", text("by"), text("id"));
                voice.if_it_goes_on.insert(key, None);
            }
            Some(why) => {
                voice.verdict.effect = Effect::Block;
                voice.verdict.reason = format!("{reason} (the bypass {} does not hold: {why})", text("id"));
            }
        }
    } else if is_block {
        voice.verdict.reason = format!("{reason} (the bypass {} waits for an answer)", text("id"));
    } else {
        voice.request = Some(request(text("id"), expires));
    }
}

/// Why an approved bypass does not hold, if it does not.
fn too_little_authority(
    plan: &Plan,
    held: &Value,
    is_block: bool,
    backing: &Backing,
    event: &Event,
) -> Option<String> {
    let is_emergency = held["urgency"] == json!("emergency");
    let role = held["role"].as_str().unwrap_or("");
    if is_block && plan.bypass == Bypass::Emergency && !is_emergency {
        return Some("this guardrail is lifted in an emergency only".to_owned());
    }
    let why = match left(backing, event) {
        Err(missing) => return Some(missing),
        Ok(left) if left > 0.5 => return None,
        Ok(left) if left >= 0.2 && !["architect", "human_operator"].contains(&role) => {
            "with half of the budget used, only a supervisor lifts guardrails"
        }
        Ok(left) if left > 0.0 && left < 0.2 && role != "human_operator" => {
            "with less than a fifth of the budget left, only a person lifts guardrails"
        }
        Ok(0.0) if !is_emergency => "with the budget used up, guardrails are lifted in an emergency only",
        Ok(_) => return None,
    };
    Some(why.to_owned())
}

/// Retries of several guardrails: all messages, and the numbers of the one that has the fewest tries left.
fn joined(voices: &[&Voice]) -> Option<Retry> {
    let retries: Vec<&Retry> = voices.iter().filter_map(|voice| voice.retry.as_ref()).collect();
    let messages: Vec<&str> = retries.iter().map(|retry| retry.message.as_str()).collect();
    let scarcest = retries.iter().min_by_key(|retry| retry.max_attempts - retry.attempt)?;
    Some(Retry { message: messages.join("\n\n"), ..(*scarcest).clone() })
}

/// The text that passes on, where anyone changed it.
fn passing_on(voices: &[&Voice], event: &Event, effect: Effect) -> Option<String> {
    if effect >= Effect::Escalate {
        return None;
    }
    let redactions: Vec<&Redaction> = voices.iter().flat_map(|voice| &voice.verdict.redactions).collect();
    let replacement = voices.iter().filter_map(|voice| voice.verdict.replacement.clone()).next_back();
    if redactions.is_empty() && replacement.is_none() {
        return None;
    }
    let result = event.result.as_ref().and_then(|result| result.content.as_ref());
    let own = event.text.clone().or_else(|| match result {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
        None => None,
    });
    // Without a text of its own there is nothing to hide.
    let Some(own) = own else { return replacement };
    let parts = whole_characters(&own, &redactions);
    let Some(text) = replacement else { return Some(redacted(&own, parts)) };
    Some(hidden_elsewhere(&own, parts, &text))
}

/// What is hidden in the event's own text is hidden in another one too, wherever it stands.
fn hidden_elsewhere(own: &str, parts: Vec<Part>, text: &str) -> String {
    let mut elsewhere: Vec<Part> = Vec::new();
    for (start, end, with) in parts {
        let hidden = &own[start..end];
        let mut from = 0;
        while let Some(at) = text[from..].find(hidden) {
            from += at + hidden.len();
            elsewhere.push((from - hidden.len(), from, with.clone()));
        }
    }
    redacted(text, elsewhere)
}

/// Where a part of a text begins and ends, and what stands there instead.
type Part = (usize, usize, String);

/// The parts of a text that are touched, as whole characters.
fn whole_characters(text: &str, redactions: &[&Redaction]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for redaction in redactions {
        let (from, to) = (redaction.start.min(redaction.end), redaction.start.max(redaction.end));
        let covered: Vec<(usize, usize)> = text
            .char_indices()
            .map(|(at, c)| (at, at + c.len_utf8()))
            .filter(|(start, end)| {
                (*start < to && from < *end) || (from == to && *start < from && from < *end)
            })
            .collect();
        if let (Some(first), Some(last)) = (covered.first(), covered.last()) {
            parts.push((first.0, last.1, redaction.replacement.clone()));
        }
    }
    parts
}

/// The text without these parts, overlaps joined under the replacement of the part that begins first.
fn redacted(text: &str, mut parts: Vec<Part>) -> String {
    // A stable sort by beginning, longest first; then neighbours that overlap are joined until none are left.
    parts.sort_by_key(|(start, end, _)| (*start, usize::MAX - *end));
    while let Some(at) = (1..parts.len()).find(|at| parts[*at].0 < parts[*at - 1].1) {
        let (_, end, _) = parts.remove(at);
        parts[at - 1].1 = parts[at - 1].1.max(end);
    }
    let mut out = text.to_owned();
    for (start, end, replacement) in parts.iter().rev() {
        out.replace_range(*start..*end, replacement);
    }
    out
}

/// `Err`: the condition itself broke.
fn applies(plan: &Plan, backing: &Backing, event: &Event) -> Result<bool, String> {
    let agent = event.agent.as_ref().and_then(|agent| agent.id.clone());
    let task = event.task.as_ref().and_then(|task| task.id.clone());
    // An unknown name might be any.
    let fits = |patterns: &[String], name: Option<String>| {
        patterns.is_empty() || name.is_none_or(|name| patterns.iter().any(|pattern| matches(pattern, &name)))
    };
    let risk = event.task.as_ref().and_then(|task| task.risk);
    let is_too_low = matches!((plan.from_risk, risk), (Some(from), Some(risk)) if risk < from);
    if !fits(&plan.agents, agent) || !fits(&plan.tasks, task) || is_too_low {
        return Ok(false);
    }
    holds(plan, backing)
}

/// Whether a guardrail's condition holds, whoever acts: it learns from everyone.
fn holds(plan: &Plan, backing: &Backing) -> Result<bool, String> {
    match &plan.when {
        When::Always => Ok(true),
        When::Never => Ok(false),
        // What is not known counts as true.
        When::Slice(key) => {
            Ok(slice(backing, key).is_ok_and(|slice| slice.is_some()) || slice(backing, key).is_err())
        }
        When::Panics => Err(format!("it panicked: {SCRIPTED} condition")),
    }
}

fn learnt(plan: &Plan, backing: &Backing, event: &Event, effect: Effect) -> Changes {
    let own = |name: &str| own_key(plan, event, name);
    let mut changes = Changes::new();
    match &plan.learns {
        Learns::Nothing | Learns::Fails | Learns::Panics => {}
        Learns::Counts => {
            if let Ok(seen) = counter(backing, &own("seen")) {
                changes.insert(own("seen"), Some(json!(seen.unwrap_or(0) + 1)));
            }
        }
        Learns::Remembers => {
            changes.insert(own("last"), Some(json!(effect.as_str())));
        }
        Learns::Copies(key) => {
            if let Ok(value) = slice(backing, key) {
                changes.insert(own("copy"), value.cloned());
            }
        }
    }
    changes
}

fn governs(plan: &Plan, event: &Event) -> bool {
    tool_fits(&plan.governs, event)
}

/// An event without a tool, or with one that has no name, concerns everyone.
fn tool_fits(tools: &Option<Vec<String>>, event: &Event) -> bool {
    match (tools, &event.tool) {
        (Some(names), Some(tool)) if !tool.name.is_empty() => {
            names.iter().any(|name| matches(name, &tool.name))
        }
        _ => true,
    }
}

/// A name, or a beginning of one with a star.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => pattern == name,
    }
}

fn own_key(plan: &Plan, event: &Event, name: &str) -> String {
    match &event.prompt {
        Some(prompt) if plan.per_prompt => format!("{}@{}/{name}", key_part(&plan.id), key_part(prompt)),
        _ => format!("{}/{name}", key_part(&plan.id)),
    }
}

fn slice<'a>(backing: &'a Backing, key: &str) -> Result<Option<&'a Value>, String> {
    if backing.unreadable.contains(key) {
        return Err(format!("the session's `{key}` was not loaded"));
    }
    // Null is none.
    Ok(backing.slices.get(key).filter(|value| **value != Value::Null))
}

fn counter(backing: &Backing, key: &str) -> Result<Option<u64>, String> {
    Ok(slice(backing, key)?.and_then(Value::as_u64))
}
