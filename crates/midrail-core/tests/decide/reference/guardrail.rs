//! One guardrail: its verdict or what replaces it, then lockdown, warnings and attempts.

use midrail_core::{
    Bypass, Category, Effect, EventKind, Fact, FactKey, Missing, Mode, OnFault, Retry, Risk, Verdict,
};
use serde_json::{Value, json};

use super::{If, Model, Vote};
use crate::plan::{Does, Plan, SCRIPTED, When};
use crate::world::key_part;

impl Model<'_> {
    /// The verdict of a guardrail, and the error if it has none. `None`: it does not apply. If its condition is not known, the
    /// reason says why it applies.
    pub(super) fn check(&self, plan: &Plan) -> Option<(Verdict, Option<String>)> {
        let (mut verdict, error) = self.check_regardless(plan)?;
        if let When::Slice(key) = &plan.when
            && let Err(Missing(why)) = self.slice(key)
            && verdict.effect != Effect::Allow
        {
            verdict.reason.push_str(&format!(" (This applies because {why}.)"));
        }
        Some((verdict, error))
    }

    fn check_regardless(&self, plan: &Plan) -> Option<(Verdict, Option<String>)> {
        let fault = |on_fault: OnFault, how: &str, why: String| {
            Some((Verdict::new(on_fault.effect(), format!("`{}` {how}: {why}", plan.id)), Some(why)))
        };
        let failed = |why: String| fault(plan.on_error, "failed", why);
        let missing = |why: String| fault(plan.on_missing, "could not be checked", why);
        match self.applies(plan) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(Missing(why)) => return failed(why),
        }
        let choose = |slice: Result<Option<&Value>, Missing>, present: &Verdict, absent: &Verdict| {
            slice.map(|slice| if slice.is_some() { present.clone() } else { absent.clone() })
        };
        let verdict = match &plan.does {
            Does::Says(verdict) => Ok(verdict.clone()),
            Does::Fails(why) => return failed(why.clone()),
            Does::FailsAfter(verdict, why) => {
                let verdict = self.apply_overrides(plan, verdict.clone());
                let is_stronger = verdict.effect >= plan.on_error.effect();
                return if is_stronger { Some((verdict, Some(why.clone()))) } else { failed(why.clone()) };
            }
            Does::Panics(why) => return failed(format!("it panicked: {SCRIPTED} {why}")),
            Does::Reads { key, present, absent } => choose(self.slice(key), present, absent),
            Does::Recalls { name, present, absent } => {
                choose(self.slice(&self.own_key(plan, name)), present, absent)
            }
            Does::Asks { name, yes, no } => match self.backing.facts.get(&FactKey::Answer(name.clone())) {
                Some(Fact::Answer(Value::Bool(true))) => Ok(yes.clone()),
                Some(Fact::Answer(_)) => Ok(no.clone()),
                Some(Fact::Unavailable(why)) => Err(Missing(format!("`answer:{name}` is not known: {why}"))),
                Some(_) => Err(Missing(format!("`answer:{name}` is not an answer"))),
                None => Err(Missing(format!("`answer:{name}` was not looked up"))),
            },
        };
        match verdict {
            Ok(verdict) => Some((self.apply_overrides(plan, verdict), None)),
            Err(Missing(why)) => missing(why),
        }
    }

    /// Whether a guardrail checks the event. `Err`: its condition failed. An agent or task without a name could be any.
    pub(super) fn applies(&self, plan: &Plan) -> Result<bool, Missing> {
        let agent = self.event.agent.as_ref().and_then(|agent| agent.id.as_deref());
        let task = self.event.task.as_ref().and_then(|task| task.id.as_deref());
        let risk = self.event.task.as_ref().and_then(|task| task.risk);
        let fits = |patterns: &[String], name: Option<&str>| {
            patterns.is_empty() || name.is_none_or(|name| patterns.iter().any(|it| matches(it, name)))
        };
        let is_below = matches!((plan.from_risk, risk), (Some(from), Some(risk)) if risk < from);
        Ok(fits(&plan.agents, agent) && fits(&plan.tasks, task) && !is_below && self.holds(plan)?)
    }

    /// Whether a guardrail's condition holds. One that cannot be evaluated is treated as true.
    pub(super) fn holds(&self, plan: &Plan) -> Result<bool, Missing> {
        match &plan.when {
            When::Always => Ok(true),
            When::Never => Ok(false),
            When::Slice(key) => Ok(self.slice(key).map_or(true, |slice| slice.is_some())),
            When::Panics => Err(Missing(format!("it panicked: {SCRIPTED} condition"))),
        }
    }

    /// An event without a tool concerns every guardrail.
    pub(super) fn fits_tool(&self, tools: &Option<Vec<String>>) -> bool {
        let tool = self.event.tool_name().filter(|name| !name.is_empty());
        match (tools, tool) {
            (Some(patterns), Some(tool)) => patterns.iter().any(|pattern| matches(pattern, tool)),
            _ => true,
        }
    }

    pub(super) fn own_key(&self, plan: &Plan, name: &str) -> String {
        match &self.event.prompt {
            Some(prompt) if plan.per_prompt => format!("{}@{}/{name}", key_part(&plan.id), key_part(prompt)),
            _ => format!("{}/{name}", key_part(&plan.id)),
        }
    }

    /// An objection takes effect, reason and advice from the policy. A timeout is no objection.
    pub(super) fn apply_overrides(&self, plan: &Plan, mut verdict: Verdict) -> Verdict {
        let is_timeout = verdict.timed_out && plan.effect != Some(Effect::Allow);
        if verdict.effect == Effect::Allow || is_timeout {
            return verdict;
        }
        let risk = self.event.task.as_ref().and_then(|task| task.risk).filter(|_| plan.effect_by_risk);
        let by_risk = risk.map(|risk| match risk {
            Risk::Low => Effect::Warn,
            Risk::Medium => Effect::Escalate,
            Risk::High | Risk::Critical => Effect::Block,
        });
        verdict.effect = plan.effect.or(by_risk).unwrap_or(verdict.effect);
        verdict.reason = plan.reason.clone().unwrap_or(verdict.reason);
        verdict.advice = plan.advice.clone().or(verdict.advice);
        verdict
    }

    /// The vote of a verdict. Of a late answer, `late` is the digest of its approval; the second value is then what an approver
    /// was asked about.
    pub(super) fn review(
        &self,
        plan: &Plan,
        verdict: Verdict,
        error: Option<String>,
        late: Option<&str>,
    ) -> (Vote, Option<Verdict>) {
        let is_failure = error.is_some();
        let is_shadow = plan.mode == Mode::Shadow;
        let mut vote = Vote { id: plan.id.clone(), is_shadow, verdict, error, ..Vote::default() };
        self.apply_lockdown(plan, &mut vote);
        self.count_warning(plan, &mut vote);
        self.apply_sandbox(&mut vote);
        self.count_attempt(plan, &mut vote, is_failure);
        if late.is_none() {
            self.apply_unattended(plan, &mut vote);
        }
        // A guardrail whose inputs are still to be fetched cannot be bypassed.
        let is_pending = |why: &String| why.ends_with("was not loaded") || why.ends_with("was not looked up");
        let is_condition_missing = matches!(&plan.when, When::Slice(key) if self.slice(key).is_err());
        let is_too_early = vote.error.as_ref().is_some_and(|why| is_condition_missing || is_pending(why));
        let is_bypassable =
            vote.verdict.effect == Effect::Block && plan.bypass != Bypass::Never && !is_too_early;
        let is_escalation = vote.verdict.effect == Effect::Escalate;
        let mut asked = None;
        if (is_escalation || is_bypassable) && !is_shadow {
            asked = Some(vote.verdict.clone()).filter(|_| is_escalation);
            // A block is of the event that it stops, whatever it was found about.
            vote.is_about_run = late.is_some() && is_escalation;
            let is_stop = self.event.kind == EventKind::BeforeStop;
            let finding = vote.verdict.stop_finding.clone().filter(|_| is_stop);
            let action = match late.filter(|_| is_escalation) {
                Some(late) => late.to_owned(),
                None => self.backing.names(&plan.id, self.event, finding).0,
            };
            self.apply_approval(plan, &mut vote, &action);
        }
        let asked = asked.map(|before| Verdict { effect: vote.verdict.effect, ..before });
        self.limit_handoff(&mut vote);
        (vote, asked)
    }

    /// A call that cannot be put into a sandbox is sent back.
    fn apply_sandbox(&self, vote: &mut Vote) {
        if vote.verdict.effect == Effect::Contain && self.sandboxed("").is_none() {
            vote.verdict.effect = Effect::Retry;
            let advice = "Run the command as `midrail run -- COMMAND`: in a sandbox that can change only this project and reaches no network.";
            let message = format!("{} {advice}", vote.verdict.reason);
            vote.verdict.retry_message = vote.verdict.retry_message.take().or(Some(message));
        }
    }

    /// The arguments of the call in the sandbox with an id.
    pub(super) fn sandboxed(&self, id: &str) -> Option<String> {
        let Some(Fact::Sandbox(Some(_))) = self.backing.facts.get(&FactKey::Sandbox) else { return None };
        let tool = self.event.tool.as_ref().filter(|_| self.event.kind == EventKind::BeforeTool)?;
        let file = tool.args.get("file_path")?.as_str()?;
        let mut args = tool.args.clone();
        let id = if id.is_empty() { "''" } else { id };
        args.insert("file_path".to_owned(), format!("midrail run --box {id} -- sh -c {file}").into());
        Some(Value::Object(args).to_string())
    }

    /// A hand-off that is done cannot be stopped.
    pub(super) fn limit_handoff(&self, vote: &mut Vote) {
        if self.event.kind == EventKind::BeforeTool {
            // Nobody would judge a call that a verdict changes.
            if vote.verdict.replacement.take().is_some() {
                vote.verdict.effect = vote.verdict.effect.max(Effect::Block);
            }
            vote.verdict.redactions.clear();
        }
        if self.event.kind == EventKind::AfterHandoff {
            vote.verdict.effect = vote.verdict.effect.min(Effect::Warn);
        }
    }

    /// With little budget left, a warning blocks the action, except a warning about budgets.
    pub(super) fn apply_lockdown(&self, plan: &Plan, vote: &mut Vote) {
        if vote.verdict.effect != Effect::Warn || plan.category == Category::Budget || !self.can_wait() {
            return;
        }
        match self.remaining() {
            Ok(share) if share < 0.2 => {
                let mode = if share > 0.0 { "lockdown" } else { "halt" };
                vote.verdict.effect = Effect::Block;
                vote.verdict.reason += &format!(
                    " (in {mode}, with less than a fifth of the budget left, a warning stops the action)"
                );
            }
            Ok(_) => {}
            Err(Missing(missing)) => {
                apply_missing(plan, vote, missing);
            }
        }
    }

    pub(super) fn count_warning(&self, plan: &Plan, vote: &mut Vote) {
        if vote.verdict.effect != Effect::Warn || plan.warn_limit == 0 {
            return;
        }
        let key = counter_key(plan, "warn", self.event.task_id());
        let Some(stored) = self.stored(plan, vote, &key) else { return };
        let count = stored.as_u64().unwrap_or(0).saturating_add(1);
        let is_tight = self.event.task.as_ref().is_some_and(|task| task.risk == Some(Risk::Critical))
            || !matches!(self.remaining(), Ok(share) if share > 0.5);
        let limit = u64::from(plan.warn_limit);
        if count.saturating_mul(5) >= (if is_tight { 4 } else { 5 }) * limit {
            vote.verdict.effect = Effect::Escalate;
            vote.verdict.reason += &format!(" (warning {count} of this guardrail in this task)");
        } else {
            vote.changes.push((If::Allowed, key, Some(json!(count))));
        }
    }

    /// A retry is counted, and a success resets the count. A failure is neither.
    pub(super) fn count_attempt(&self, plan: &Plan, vote: &mut Vote, is_failure: bool) {
        let tool = self.event.tool_name().unwrap_or_default();
        let is_sub_agent_stop = self.event.kind == EventKind::BeforeStop && self.parent().is_some();
        let actor = if is_sub_agent_stop { format!("@{}", self.actor()) } else { String::new() };
        let key = counter_key(plan, "retry", &format!("{}/{tool}{actor}", self.event.kind));
        if vote.verdict.effect != Effect::Retry {
            let can_retry = plan.effect.map_or(plan.does.can_retry(), |effect| effect == Effect::Retry);
            let is_success = vote.verdict.effect.allows() && !vote.verdict.not_checked && !is_failure;
            if can_retry && is_success && matches!(self.slice(&key), Ok(Some(_))) {
                vote.changes.push((If::Allowed, key, None));
            }
            return;
        }
        let Some(stored) = self.stored(plan, vote, &key) else { return };
        let stored = stored.as_u64().unwrap_or(0);
        if stored >= u64::from(plan.max_attempts) {
            let is_stop = self.event.kind == EventKind::BeforeStop;
            vote.verdict.reason += &format!(" (its {} tries are used up)", plan.max_attempts);
            vote.verdict.effect = match plan.on_exhausted {
                None if is_stop => Effect::Warn,
                None => Effect::Escalate,
                Some(on_exhausted) => on_exhausted.effect().max(Effect::Warn),
            };
            return;
        }
        let attempt = u32::try_from(stored + 1).unwrap();
        let changed_if = if vote.is_shadow { If::Always } else { If::Retry };
        vote.changes.push((changed_if, key, Some(json!(attempt))));
        let message = vote.verdict.retry_message.clone().unwrap_or_else(|| vote.verdict.reason.clone());
        vote.retry = Some(Retry { message, attempt, max_attempts: plan.max_attempts });
    }

    /// A stored slice, or null. If it is missing and `on_missing` is stronger, that replaces the verdict.
    pub(super) fn stored(&self, plan: &Plan, vote: &mut Vote, key: &str) -> Option<Value> {
        match self.slice(key) {
            Ok(slice) => Some(slice.cloned().unwrap_or(Value::Null)),
            Err(Missing(missing)) => (!apply_missing(plan, vote, missing)).then_some(Value::Null),
        }
    }
}

/// Replaces a verdict by `on_missing` if that is stronger. Returns whether it is.
fn apply_missing(plan: &Plan, vote: &mut Vote, missing: String) -> bool {
    let is_stronger = plan.on_missing.effect() > vote.verdict.effect;
    if is_stronger {
        vote.verdict.effect = plan.on_missing.effect();
        vote.verdict.reason = format!("`{}` could not be checked: {missing}", plan.id);
        vote.error = Some(missing);
    }
    is_stronger
}

pub(super) fn counter_key(plan: &Plan, counter: &str, subject: &str) -> String {
    let shadow = if plan.mode == Mode::Shadow { "shadow/" } else { "" };
    format!("{shadow}{counter}/{}/{subject}", key_part(&plan.id))
}

/// A name, or the start of one followed by a star.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}
