//! The risks of tools, the routing of deep guardrails, and the effects of strikes.

use midrail_core::{Effect, Risk, Routing, STRIKES, Spec, StrikeRule};
use midrail_guardrails::guardrail_id;

use crate::compile::compiler::Compiler;
use crate::compile::flow::label_rows;
use crate::issue::{Issue, pointer_key};
use crate::raw::{Pack, RiskRouter};

impl Compiler<'_> {
    /// The effects of strikes.
    pub(super) fn strikes(&mut self) -> Vec<StrikeRule> {
        let mut rules = Vec::new();
        for (i, limit) in self.pack.strikes.iter().enumerate() {
            if limit.count == 0 {
                let help = "write the number of strikes that has the effect";
                self.issue(format!("/strikes/{i}/count"), "`count` must be at least 1", help);
            }
            if !matches!(limit.effect, Effect::Warn | Effect::Escalate | Effect::Block | Effect::Halt) {
                let help = "use `warn`, `escalate`, `block` or `halt`";
                self.issue(format!("/strikes/{i}/effect"), "strikes cannot have this effect", help);
            }
            let default = Spec::new(STRIKES);
            let defaults = &self.pack.defaults;
            let timeout = limit.approval_timeout.or(defaults.approval_timeout);
            rules.push(StrikeRule {
                count: limit.count,
                guardrail: limit.of.as_deref().map(guardrail_id),
                effect: limit.effect,
                user_message: limit.user_message.clone(),
                approver: limit.approver.clone().or(defaults.approver.clone()).unwrap_or(default.approver),
                approval_timeout_s: timeout.map_or(default.approval_timeout_s, |timeout| timeout.whole()),
            });
        }
        rules
    }

    pub(super) fn tool_risks(&mut self) {
        for pattern in self.pack.tool_risks.keys().filter(|pattern| *pattern != UNLISTED) {
            self.pattern(&format!("/tool_risks/{}", pointer_key(pattern)), pattern);
        }
    }
}

/// The key of `tool_risks` for tools that no pack lists.
pub(crate) const UNLISTED: &str = "__default__";

/// The routing of several packs, the highest layer first. A tool has the highest risk of all packs; other settings come from
/// the first pack that has them, and requirements add up. After a pack that requires a guardrail, lower packs cannot reduce
/// the default wait time or weaken the default effect of a timeout.
pub(crate) fn routing<'p>(packs: impl Iterator<Item = &'p Pack> + Clone) -> Routing {
    let default = Routing::default();
    let all = || packs.clone().enumerate();
    let first = |get: fn(&RiskRouter) -> Option<u64>| {
        all().find_map(|(at, pack)| Some((at, get(&pack.risk_router)?)))
    };
    let tier = |risk: Risk, wait: Option<(usize, u64)>| {
        let mut tier = default.tier(risk).clone();
        let requires =
            |pack: &Pack| pack.risk_router.require.iter().any(|(from, ids)| *from <= risk && !ids.is_empty());
        let requiring = packs.clone().position(requires);
        let is_below = |at: usize| requiring.is_some_and(|above| at > above);
        let timeout =
            all().find_map(|(at, pack)| Some((at, pack.risk_router.on_timeout.get(&risk)?.effect())));
        // A requirement for a risk applies to all higher risks.
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
    let high = first(|router| router.high_risk_wait_ms);
    let tools = packs.clone().map(|pack| {
        let listed = pack.tool_risks.iter().filter(|(pattern, _)| *pattern != UNLISTED);
        listed.map(|(pattern, risk)| (pattern.clone(), *risk)).collect::<Vec<_>>()
    });
    let unlisted = packs.clone().filter_map(|pack| pack.tool_risks.get(UNLISTED)).max();
    let tools = tools.filter(|tools| !tools.is_empty()).collect();
    Routing {
        low: tier(Risk::Low, first(|router| router.low_risk_wait_ms)),
        medium: tier(Risk::Medium, first(|router| router.medium_risk_wait_ms)),
        high: tier(Risk::High, high),
        critical: tier(Risk::Critical, first(|router| router.critical_risk_wait_ms).or(high)),
        model_wait_ms: first(|router| router.model_wait_ms).map_or(default.model_wait_ms, |(_, wait)| wait),
        unlisted: unlisted.copied().unwrap_or(default.unlisted),
        tools,
        labels: label_rows(packs),
    }
}

/// Guardrails of requirements and strikes that do not exist.
pub(crate) fn unknown_ids(pack: &Pack, is_known: impl Fn(&str) -> bool) -> Vec<Issue> {
    let help = "use the id of a guardrail of this policy; `midrail policy` lists them";
    let mut issues = Vec::new();
    for (risk, ids) in &pack.risk_router.require {
        for (i, id) in ids.iter().enumerate().filter(|(_, id)| !is_known(&guardrail_id(id))) {
            let at = format!("/risk_router/require/{}/{i}", risk.as_str());
            issues.push(
                Issue::new(at, format!("the required guardrail `{id}` does not exist, or is disabled"))
                    .help(help),
            );
        }
    }
    for (i, of) in pack.strikes.iter().enumerate().filter_map(|(i, limit)| Some((i, limit.of.as_ref()?))) {
        if !is_known(&guardrail_id(of)) {
            let message = format!("there is no guardrail `{of}`, so it has no strikes");
            issues.push(Issue::new(format!("/strikes/{i}/of"), message).help(help));
        }
    }
    issues
}
