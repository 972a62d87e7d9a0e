//! A guardrail as plain data, so that `decide` and its specification can both run it.

use std::sync::{Arc, Once};

use midrail_core::{
    Bypass, Category, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Mode, OnFault, Policy,
    PolicyEntry, Risk, Spec, Tools, Verdict,
};
use serde_json::{Value, json};

/// Everything around a check and the check itself, as data.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) priority: u32,
    pub(crate) category: Category,
    pub(crate) on: Vec<EventKind>,
    /// The tools of the spec. `None`: all.
    pub(crate) tools: Option<Vec<String>>,
    /// The tools of the guardrail itself. `None`: all.
    pub(crate) governs: Option<Vec<String>>,
    pub(crate) agents: Vec<String>,
    pub(crate) tasks: Vec<String>,
    pub(crate) when: When,
    pub(crate) effect: Option<Effect>,
    pub(crate) reason: Option<String>,
    pub(crate) advice: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) on_error: OnFault,
    pub(crate) on_missing: OnFault,
    pub(crate) warn_limit: u32,
    pub(crate) max_attempts: u32,
    pub(crate) on_exhausted: Option<OnFault>,
    pub(crate) approval_timeout_s: u32,
    pub(crate) per_prompt: bool,
    pub(crate) bypass: Bypass,
    pub(crate) from_risk: Option<Risk>,
    pub(crate) effect_by_risk: bool,
    pub(crate) always_on: bool,
    pub(crate) does: Does,
    /// Never below what `does` can say: these guardrails do not lie.
    pub(crate) ceiling: Effect,
    pub(crate) has_consequences: bool,
    pub(crate) watches: Vec<EventKind>,
    pub(crate) learns: Learns,
    /// Answers on its behalf can come late.
    pub(crate) is_late: bool,
}

/// What a check does.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Says(Verdict),
    Fails(String),
    FailsAfter(Verdict, String),
    Panics(String),
    /// Reads a slice by its whole key.
    Reads {
        key: String,
        present: Verdict,
        absent: Verdict,
    },
    /// Reads a slice of its own.
    Recalls {
        name: String,
        present: Verdict,
        absent: Verdict,
    },
    /// Reads a probe's answer.
    Asks {
        name: String,
        yes: Verdict,
        no: Verdict,
    },
}

/// When a guardrail applies.
#[derive(Debug, Clone)]
pub(crate) enum When {
    Always,
    Never,
    /// While a slice is there. Not known while it is not loaded.
    Slice(String),
    Panics,
}

/// What a guardrail does in `observe`.
#[derive(Debug, Clone)]
pub(crate) enum Learns {
    Nothing,
    /// Counts events in its slice `seen`.
    Counts,
    /// Keeps the last effect in its slice `last`.
    Remembers,
    Fails,
    Panics,
    /// Copies a slice, by its whole key, into its slice `copy`.
    Copies(String),
}

/// A custom guardrail that is asked about every kind of event.
pub(crate) fn plan(id: &str, does: Does) -> Plan {
    Plan {
        id: id.to_owned(),
        priority: 100,
        category: Category::default(),
        on: EventKind::ALL.to_vec(),
        tools: None,
        governs: None,
        agents: Vec::new(),
        tasks: Vec::new(),
        when: When::Always,
        effect: None,
        reason: None,
        advice: None,
        mode: Mode::Enforce,
        on_error: OnFault::Block,
        on_missing: OnFault::Block,
        warn_limit: 3,
        max_attempts: 3,
        on_exhausted: None,
        approval_timeout_s: 1_800,
        per_prompt: false,
        bypass: Bypass::default(),
        from_risk: None,
        effect_by_risk: false,
        always_on: false,
        ceiling: does.strongest(),
        does,
        has_consequences: false,
        watches: Vec::new(),
        learns: Learns::Nothing,
        is_late: false,
    }
}

/// What is made of an answer that came late: what it says itself.
pub(crate) fn of_answer(answer: &Value) -> Verdict {
    let effect = answer["effect"].as_str().and_then(|word| word.parse().ok()).unwrap_or(Effect::Allow);
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let effects = text("strikes").map(|_| vec!["increment_strike".to_owned()]).unwrap_or_default();
    Verdict { advice: text("advice"), effects, ..Verdict::new(effect, text("reason").unwrap_or_default()) }
}

/// A guardrail that always says the same.
pub(crate) fn says(id: &str, effect: Effect) -> Plan {
    plan(id, Does::Says(Verdict::new(effect, format!("{id} says {effect}"))))
}

pub(crate) fn policy(plans: &[Plan]) -> Policy {
    Policy::new(plans.iter().map(Plan::entry).collect(), Vec::new(), b"test")
}

impl Does {
    /// Whether it can say anything that leads to more than its effect. These guardrails do not lie.
    fn has_effects(&self) -> bool {
        let leads_on = |verdict: &Verdict| !verdict.effects.is_empty();
        match self {
            Does::Says(verdict) | Does::FailsAfter(verdict, _) => leads_on(verdict),
            Does::Fails(_) | Does::Panics(_) => false,
            Does::Reads { present: one, absent: other, .. }
            | Does::Recalls { present: one, absent: other, .. }
            | Does::Asks { yes: one, no: other, .. } => leads_on(one) || leads_on(other),
        }
    }

    /// The strongest effect that it can say where nobody answered in time.
    fn timeout_effect(&self) -> Effect {
        let of = |verdict: &Verdict| if verdict.timed_out { verdict.effect } else { Effect::Allow };
        match self {
            Does::Says(verdict) | Does::FailsAfter(verdict, _) => of(verdict),
            Does::Fails(_) | Does::Panics(_) => Effect::Allow,
            Does::Reads { present: one, absent: other, .. }
            | Does::Recalls { present: one, absent: other, .. }
            | Does::Asks { yes: one, no: other, .. } => of(one).max(of(other)),
        }
    }

    /// Every effect that it can say.
    fn effects(&self) -> Vec<Effect> {
        match self {
            Does::Says(verdict) | Does::FailsAfter(verdict, _) => vec![verdict.effect],
            Does::Fails(_) | Does::Panics(_) => Vec::new(),
            Does::Reads { present: one, absent: other, .. }
            | Does::Recalls { present: one, absent: other, .. }
            | Does::Asks { yes: one, no: other, .. } => vec![one.effect, other.effect],
        }
    }

    /// The strongest effect that it can say.
    pub(crate) fn strongest(&self) -> Effect {
        self.effects().into_iter().max().unwrap_or(Effect::Allow)
    }

    pub(crate) fn can_retry(&self) -> bool {
        self.effects().contains(&Effect::Retry)
    }
}

impl Plan {
    pub(crate) fn entry(&self) -> PolicyEntry {
        silence_scripted_panics();
        let tools = |names: &Option<Vec<String>>| names.as_ref().map_or(Tools::All, Tools::only);
        let spec = Spec {
            priority: self.priority,
            category: self.category,
            on: self.on.clone(),
            tools: tools(&self.tools),
            agents: self.agents.clone(),
            tasks: self.tasks.clone(),
            effect: self.effect,
            reason: self.reason.clone(),
            advice: self.advice.clone(),
            mode: self.mode,
            on_error: self.on_error,
            on_missing: self.on_missing,
            warn_limit: self.warn_limit,
            max_attempts: self.max_attempts,
            on_exhausted: self.on_exhausted,
            approval_timeout_s: self.approval_timeout_s,
            per_prompt: self.per_prompt,
            bypass: self.bypass.clone(),
            from_risk: self.from_risk,
            effect_by_risk: self.effect_by_risk,
            always_on: self.always_on,
            limits_budget: self.category == Category::Budget,
            ..Spec::new(self.id.as_str())
        };
        PolicyEntry {
            spec,
            when: self.when.condition(),
            guardrail: Arc::new(Scripted { plan: self.clone(), tools: tools(&self.governs) }),
        }
    }
}

impl When {
    fn condition(&self) -> Option<Arc<dyn midrail_core::Condition>> {
        let when = self.clone();
        match self {
            When::Always => None,
            _ => Some(Arc::new(move |context: &Context<'_>| -> Result<bool, Missing> {
                match &when {
                    When::Always => Ok(true),
                    When::Never => Ok(false),
                    When::Slice(key) => Ok(context.slice(key)?.is_some()),
                    When::Panics => panic!("{SCRIPTED} condition"),
                }
            })),
        }
    }
}

struct Scripted {
    plan: Plan,
    tools: Tools,
}

impl Guardrail for Scripted {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match &self.plan.does {
            Does::Says(verdict) => Ok(verdict.clone()),
            Does::Fails(why) => Err(Fault::Failed(why.clone())),
            Does::FailsAfter(said, why) => Err(Fault::FailedAfter(Box::new(said.clone()), why.clone())),
            Does::Panics(why) => panic!("{SCRIPTED} {why}"),
            Does::Reads { key, present, absent } => Ok(pick(context.slice(key)?, present, absent)),
            Does::Recalls { name, present, absent } => Ok(pick(context.state(name)?, present, absent)),
            Does::Asks { name, yes, no } => {
                Ok(if context.probe_answer(name)? == &json!(true) { yes.clone() } else { no.clone() })
            }
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        match &self.plan.learns {
            Learns::Nothing => {}
            Learns::Counts => {
                let seen = context.state("seen")?.and_then(Value::as_u64).unwrap_or(0);
                changes.set(context.key("seen"), seen + 1);
            }
            Learns::Remembers => changes.set(context.key("last"), effect.as_str()),
            Learns::Fails => {
                changes.set(context.key("last"), "half done");
                return Err(Fault::Failed("no memory".to_owned()));
            }
            Learns::Panics => panic!("{SCRIPTED} observer"),
            Learns::Copies(key) => match context.slice(key)? {
                Some(value) => changes.set(context.key("copy"), value.clone()),
                None => changes.remove(context.key("copy")),
            },
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &self.plan.watches
    }

    fn tools(&self) -> Tools {
        self.tools.clone()
    }

    fn max_effect(&self) -> Effect {
        self.plan.ceiling
    }

    fn timeout_effect(&self, _: Effect) -> Effect {
        self.plan.does.timeout_effect()
    }

    fn has_consequences(&self) -> bool {
        self.plan.has_consequences || self.plan.does.has_effects()
    }

    fn can_retry(&self, _: EventKind) -> bool {
        self.plan.does.can_retry()
    }

    fn has_late_answers(&self) -> bool {
        self.plan.is_late
    }

    fn check_late_answer(&self, _: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        Ok(of_answer(answer))
    }
}

fn pick(slice: Option<&Value>, present: &Verdict, absent: &Verdict) -> Verdict {
    if slice.is_some() { present.clone() } else { absent.clone() }
}

/// How panics on purpose begin, so that they can be told from failing tests.
pub(crate) const SCRIPTED: &str = "scripted:";

/// Keeps panics on purpose out of the output of the tests, and no others.
fn silence_scripted_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.payload_as_str().is_some_and(|text| text.starts_with(SCRIPTED)) {
                usual(info);
            }
        }));
    });
}
