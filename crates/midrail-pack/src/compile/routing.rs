//! The risks of tools and what follows from them, and what strikes lead to.

use midrail_core::{Effect, Risk, Routing, STRIKES, Spec, StrikeRule};
use midrail_guardrails::guardrail_id;

use super::{Compiler, Issue, key};
use crate::raw::{Pack, RiskRouter};

impl Compiler<'_> {
    /// What a pack says of strikes.
    pub(super) fn strikes(&mut self) -> Vec<StrikeRule> {
        let mut rules = Vec::new();
        for (i, limit) in self.pack.strikes.iter().enumerate() {
            if limit.count == 0 {
                let issue = Issue::new(format!("/strikes/{i}/count"), "no strike is not a number of strikes");
                self.issues.push(issue.help("write the number that leads to it, from 1 on"));
            }
            if !matches!(limit.effect, Effect::Warn | Effect::Escalate | Effect::Block | Effect::Halt) {
                let issue = Issue::new(format!("/strikes/{i}/effect"), "strikes cannot lead to this");
                self.issues.push(issue.help("use `warn`, `escalate`, `block` or `halt`"));
            }
            let usual = Spec::new(STRIKES);
            let defaults = &self.pack.defaults;
            let timeout = limit.approval_timeout.or(defaults.approval_timeout);
            rules.push(StrikeRule {
                count: limit.count,
                guardrail: limit.of.as_deref().map(guardrail_id),
                effect: limit.effect,
                user_message: limit.user_message.clone(),
                approver: limit.approver.clone().or(defaults.approver.clone()).unwrap_or(usual.approver),
                approval_timeout_s: timeout.map_or(usual.approval_timeout_s, |timeout| timeout.whole()),
            });
        }
        rules
    }

    pub(super) fn tool_risks(&mut self) {
        for pattern in self.pack.tool_risks.keys() {
            self.pattern(&format!("/tool_risks/{}", key(pattern)), pattern);
        }
    }
}

/// The routing of several packs, the highest layer first. A tool has the highest risk that any of them says; what else
/// several say is as the first says it, and what they require is required together. Where one requires a guardrail, those
/// after it give it no less time than is usual, and let pass no more.
pub(crate) fn routing<'p>(packs: impl Iterator<Item = &'p Pack> + Clone) -> Routing {
    let usual = Routing::default();
    let all = || packs.clone().enumerate();
    let said = |get: fn(&RiskRouter) -> Option<u64>| {
        all().find_map(|(at, pack)| Some((at, get(&pack.risk_router)?)))
    };
    let tier = |risk: Risk, wait: Option<(usize, u64)>| {
        let mut tier = usual.tier(risk).clone();
        let requires =
            |pack: &Pack| pack.risk_router.require.iter().any(|(from, ids)| *from <= risk && !ids.is_empty());
        let requiring = packs.clone().position(requires);
        let is_below = |at: usize| requiring.is_some_and(|above| at > above);
        let timeout =
            all().find_map(|(at, pack)| Some((at, pack.risk_router.on_timeout.get(&risk)?.effect())));
        // What is required for some risk is required for any above it.
        let required = packs.clone().flat_map(|pack| &pack.risk_router.require);
        let required = required.filter(|(from, _)| **from <= risk).map(|(_, ids)| ids);
        tier.wait_ms = match wait {
            Some((at, wait)) if is_below(at) => wait.max(tier.wait_ms),
            wait => wait.map_or(tier.wait_ms, |(_, wait)| wait),
        };
        tier.on_timeout = match timeout {
            Some((at, then)) if is_below(at) => then.max(tier.on_timeout),
            timeout => timeout.map_or(tier.on_timeout, |(_, then)| then),
        };
        for id in required.flat_map(|ids| ids.iter()).map(|id| guardrail_id(id)) {
            if !tier.require.contains(&id) {
                tier.require.push(id);
            }
        }
        tier
    };
    let high = said(|router| router.high_risk_wait_ms);
    let tools = packs.clone().map(|pack| {
        pack.tool_risks.iter().map(|(pattern, risk)| (pattern.clone(), *risk)).collect::<Vec<_>>()
    });
    let tools = tools.filter(|tools| !tools.is_empty()).collect();
    Routing {
        low: tier(Risk::Low, said(|router| router.low_risk_wait_ms)),
        medium: tier(Risk::Medium, said(|router| router.medium_risk_wait_ms)),
        high: tier(Risk::High, high),
        critical: tier(Risk::Critical, said(|router| router.critical_risk_wait_ms).or(high)),
        model_wait_ms: said(|router| router.model_wait_ms).map_or(usual.model_wait_ms, |(_, wait)| wait),
        tools,
    }
}

/// Guardrails that a pack requires or strikes at and that nobody has.
pub(crate) fn unknown_ids(pack: &Pack, is_known: impl Fn(&str) -> bool) -> Vec<Issue> {
    let help = "name the id of a guardrail of this policy; `midrail policy` lists them";
    let mut issues = Vec::new();
    for (risk, ids) in &pack.risk_router.require {
        for (i, id) in ids.iter().enumerate().filter(|(_, id)| !is_known(&guardrail_id(id))) {
            let word = serde_json::to_value(risk).ok().and_then(|word| Some(word.as_str()?.to_owned()));
            let at = format!("/risk_router/require/{}/{i}", word.unwrap_or_default());
            issues.push(
                Issue::new(at, format!("the required guardrail `{id}` does not exist, or is switched off"))
                    .help(help),
            );
        }
    }
    for (i, of) in pack.strikes.iter().enumerate().filter_map(|(i, limit)| Some((i, limit.of.as_ref()?))) {
        if !is_known(&guardrail_id(of)) {
            let message = format!("there is no guardrail `{of}` whose strikes could count");
            issues.push(Issue::new(format!("/strikes/{i}/of"), message).help(help));
        }
    }
    issues
}
