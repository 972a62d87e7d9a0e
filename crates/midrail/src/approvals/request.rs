//! Requests of agents about a stopped action: to lift a guardrail for it, or to make its escalation more urgent. In an
//! emergency that the packs allow, a request about an action that no person has denied grants itself.

use jiff::SignedDuration;
use midrail_core::{
    ApprovalKind, ApprovalRequest, Authorities, Autonomy, Bypass, Effect, Fact, FactKey, HookAnswer,
    HookRequest, Policy, Record, Session, Severity, Spec, action_digest, allows_emergency_override,
};
use midrail_store::{
    Approval, ApprovalChange, ApprovalFilter, ApprovalState, NewNotice, Result, Store, Urgency,
};
use serde_json::json;

use super::handle::{Approvals, request_about};
use super::justification::check_justification;
use super::waiting::{Waiting, is_noticed};
use crate::admin::event::{AdminEvent, notice};
use crate::error::{EngineError, EngineResult, MAX_ROUNDS, retry_on_conflict};
use crate::ids::random_hex;
use crate::reproduce::recorded_fact;

/// The request of an agent about an action that was stopped.
#[derive(Debug, Clone)]
pub struct BypassRequest {
    /// The audit record of the decision that stopped the action.
    pub seq: u64,
    /// The guardrail to lift. `None`: the one that decided.
    pub guardrail: Option<String>,
    /// Why the action is needed.
    pub reason: String,
    /// How urgent it is.
    pub urgency: Urgency,
}

impl Approvals<'_> {
    /// Requests the approval of an action that was stopped. The returned approval waits for an answer.
    pub fn request(&self, ask: &BypassRequest) -> EngineResult<Approval> {
        retry_on_conflict(|| self.try_request(ask))
    }

    fn try_request(&self, ask: &BypassRequest) -> EngineResult<Approval> {
        check_justification(&ask.reason)?;
        let entry = self.engine.store().entry(ask.seq)?;
        let entry = entry.ok_or_else(|| EngineError::conflict(format!("there is no record {}", ask.seq)))?;
        let record: Record = serde_json::from_str(&entry.body)?;
        let guardrail = ask.guardrail.clone().or_else(|| record.decision.by.as_deref().map(str::to_owned));
        let guardrail = guardrail
            .ok_or_else(|| EngineError::invalid(format!("the record {} stopped nothing", ask.seq)))?;
        let verdict = record.decision.verdicts.iter().find(|verdict| {
            *verdict.guardrail == *guardrail && !verdict.shadow && verdict.effect >= Some(Effect::Escalate)
        });
        match verdict.and_then(|verdict| verdict.effect) {
            Some(Effect::Escalate) => self.hasten(ask, &record, &guardrail, None),
            Some(Effect::Block) => self.bypass(ask, &record, &guardrail),
            Some(_) => {
                Err(EngineError::not_allowed(format!("`{guardrail}` ended the run, which cannot be lifted")))
            }
            None => Err(EngineError::invalid(format!(
                "`{guardrail}` stopped nothing in the record {}, so there is nothing to lift",
                ask.seq
            ))),
        }
    }

    /// Adds the agent's justification and urgency to an escalation that waits. `informed`: a role that already has a notice.
    pub(super) fn hasten(
        &self,
        ask: &BypassRequest,
        record: &Record,
        guardrail: &str,
        informed: Option<&str>,
    ) -> EngineResult<Approval> {
        // The approval may be about the whole run, not the action of the record.
        let decided = record.decision.approval.as_ref();
        let decided = decided.filter(|_| record.decision.by.as_deref() == Some(guardrail));
        let asked = decided.map(|request| self.engine.store().approval(&request.id)).transpose()?.flatten();
        let action = asked.map_or_else(|| action_digest_of(record, guardrail), |asked| asked.action);
        let (found, version) = self.held(&record.session, guardrail, &action)?;
        match found.filter(|approval| self.waits(approval)) {
            Some(found) => self.make_urgent(ask, record, found, version, informed),
            None => Err(EngineError::conflict("its approval no longer waits; try the action again")),
        }
    }

    fn waits(&self, approval: &Approval) -> bool {
        matches!(approval.status_at(self.engine.now()), "pending" | "override")
    }

    /// Raises the urgency of a request that waits, and stores the justification. Repeating the same request changes nothing
    /// and gives it no more time.
    fn make_urgent(
        &self,
        ask: &BypassRequest,
        record: &Record,
        found: Approval,
        version: u64,
        informed: Option<&str>,
    ) -> EngineResult<Approval> {
        let is_raised = ask.urgency > found.urgency;
        if !is_raised && found.justification.is_some() {
            return Ok(found);
        }
        let mut hastened =
            Approval { justification: Some(self.engine.masked_text(ask.reason.trim())), ..found.clone() };
        if is_raised {
            let policy = self.engine.policy();
            let schedule = self.schedule(&policy, record, ask.urgency, &found)?;
            hastened.urgency = ask.urgency;
            hastened.approvers = schedule.approvers;
            hastened.timeout_s = found.timeout_s.or(schedule.timeout_s);
            hastened.hastened = found.hastened.or(Some(self.engine.now()));
            hastened.expires = found.expires.max(schedule.expires);
            hastened.override_at = schedule.override_at;
            hastened.denied_before = found.denied_before.clone().or(schedule.denied_before);
            if found.kind == ApprovalKind::Bypass && ask.urgency == Urgency::Emergency {
                hastened.severity = Some(Severity::Critical);
            }
        }
        let mut notices = request_notices(&hastened);
        notices.retain(|notice| Some(notice.to.as_str()) != informed);
        let change = ApprovalChange::update(found.state, hastened);
        let hastened = self.write(AdminEvent::new("approval_hastened"), change, Some(version), notices)?;
        if is_raised && hastened.kind == ApprovalKind::Bypass {
            self.engine.alert_on_request(&hastened);
        }
        Ok(hastened)
    }

    fn bypass(&self, ask: &BypassRequest, stopped: &Record, guardrail: &str) -> EngineResult<Approval> {
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        let spec = policy.get(guardrail).map(|entry| &entry.spec);
        let spec =
            spec.ok_or_else(|| EngineError::conflict(format!("`{guardrail}` is no longer in force")))?;
        let autonomy = stopped.decision.autonomy.unwrap_or_default();
        let approver = approver(spec, ask.urgency, autonomy, authorities)?;
        let action = action_digest_of(stopped, guardrail);
        let (held, version) = self.held(&stopped.session, guardrail, &action)?;
        match held {
            Some(held) if self.waits(&held) => return self.make_urgent(ask, stopped, held, version, None),
            Some(held) if held.status_at(self.engine.now()) == "approved" => {
                let why = format!("the request `{}` for this action is already approved", held.id);
                return Err(EngineError::conflict(why));
            }
            _ => {}
        }
        let request = Approval {
            id: random_hex::<8>()?,
            kind: ApprovalKind::Bypass,
            urgency: ask.urgency,
            severity: (ask.urgency == Urgency::Emergency).then_some(Severity::Critical),
            seq: Some(ask.seq),
            justification: Some(self.engine.masked_text(ask.reason.trim())),
            approver,
            created: self.engine.now(),
            ..request_about(stopped, guardrail, action)
        };
        let asked = self.schedule(&policy, stopped, ask.urgency, &request)?;
        let (store, agent) = (&**self.engine.store(), asked.requested_by.as_deref());
        let waiting = Waiting::load(store, authorities, &stopped.session, agent, self.engine.now())?;
        if let Some(limit) = &waiting.limit {
            return Err(EngineError::conflict(limit.clone()));
        }
        let is_noticed = is_noticed(waiting.alike(&asked)) || asked.urgency > Urgency::Normal;
        let notices = if is_noticed { request_notices(&asked) } else { Vec::new() };
        let (event, change) = (AdminEvent::new("bypass_requested"), ApprovalChange::create(asked));
        let asked = self.write_among(event, change, Some(version), notices, &waiting)?;
        self.engine.alert_on_request(&asked);
        Ok(asked)
    }

    /// A request with its approvers and deadlines. A request about a stopped action grants itself if it is not answered,
    /// where the emergency rule of the packs covers the action and no person has denied it.
    fn schedule(
        &self,
        policy: &Policy,
        record: &Record,
        urgency: Urgency,
        request: &Approval,
    ) -> EngineResult<Approval> {
        let Approval { guardrail, action, approver, .. } = request;
        let authorities = policy.authorities();
        let denied_before = denied_before(&**self.engine.store(), &record.session, guardrail, action)?;
        let overrides = urgency == Urgency::Emergency
            && denied_before.is_none()
            && self.is_emergency_action(policy, record, guardrail)?;
        let approvers = match urgency {
            Urgency::Normal => vec![approver.clone()],
            Urgency::Urgent | Urgency::Emergency => authorities.escalation_path(approver),
        };
        let each_s = u64::from(authorities.bypass_timeout_s);
        let turns = if urgency == Urgency::Urgent { approvers.len() } else { 1 };
        let whole = each_s.saturating_mul(u64::try_from(turns).unwrap_or(1));
        let after = |seconds: u64| {
            let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
            self.engine.now().checked_add(seconds).ok()
        };
        let emergency = authorities.emergency.as_ref().filter(|_| overrides);
        Ok(Approval {
            approvers,
            timeout_s: Some(each_s),
            expires: after(whole),
            override_at: emergency.and_then(|emergency| after(u64::from(emergency.wait_s))),
            denied_before,
            ..request.clone()
        })
    }
}

/// The digest that binds an approval to what a guardrail stopped: the exact action, or its finding.
pub(super) fn action_digest_of(record: &Record, guardrail: &str) -> String {
    let mut verdicts = record.decision.verdicts.iter();
    let verdict = verdicts.find(|verdict| *verdict.guardrail == *guardrail && !verdict.skipped);
    verdict
        .and_then(|verdict| verdict.action.clone())
        .unwrap_or_else(|| action_digest(&record.facts, &record.event, &record.session))
}

/// The role that decides a request to lift a guardrail. The less is left of the budgets, the more authority it needs.
pub(super) fn approver(
    spec: &Spec,
    urgency: Urgency,
    autonomy: Autonomy,
    authorities: &Authorities,
) -> EngineResult<String> {
    let is_emergency = urgency == Urgency::Emergency;
    let role = match &spec.bypass {
        Bypass::Never => return Err(EngineError::not_allowed(format!("`{}` is never lifted", spec.id))),
        Bypass::Emergency if !is_emergency => {
            return Err(EngineError::not_allowed(format!("`{}` is lifted in an emergency only", spec.id)));
        }
        Bypass::Emergency => authorities.humans.first().cloned().unwrap_or_default(),
        Bypass::By(role) => role.clone(),
    };
    let at_least = |roles: &[String]| {
        let first = roles.first().filter(|_| !roles.contains(&role));
        first.unwrap_or(&role).clone()
    };
    match autonomy {
        Autonomy::Standard => Ok(role),
        Autonomy::Strict => Ok(at_least(&authorities.supervisors)),
        Autonomy::Lockdown => Ok(at_least(&authorities.humans)),
        Autonomy::Halt if is_emergency => Ok(at_least(&authorities.humans)),
        Autonomy::Halt => Err(EngineError::not_allowed(
            "with the budget used up, guardrails are lifted in an emergency only",
        )),
    }
}

/// The notices about a new request. An urgent one informs each authority in its turn, an emergency all at once.
fn request_notices(approval: &Approval) -> Vec<NewNotice> {
    match approval.urgency {
        Urgency::Emergency => approval.approvers.iter().map(|role| request_notice(approval, role)).collect(),
        Urgency::Normal | Urgency::Urgent => vec![request_notice(approval, approval.recorded_authority())],
    }
}

/// The notice about a request for one role.
pub(super) fn request_notice(approval: &Approval, role: &str) -> NewNotice {
    let who = approval.requested_by.as_deref().unwrap_or("an agent");
    let what = approval.subject();
    let why = approval.justification.as_deref().unwrap_or(&approval.reason);
    let (urgency, guardrail) = (approval.urgency.as_str(), &approval.guardrail);
    let message = format!("{who} asks to allow `{what}`, which `{guardrail}` stopped ({urgency}): {why}");
    notice(role, "approval", message, json!({"approval": approval}))
}

/// The latest request of a session about the same action that a person denied.
pub(super) fn denied_before(
    store: &dyn Store,
    session: &str,
    guardrail: &str,
    action: &str,
) -> Result<Option<String>> {
    let mut filter = ApprovalFilter {
        state: Some(ApprovalState::Denied),
        session: Some(session.to_owned()),
        ..ApprovalFilter::default()
    };
    loop {
        let rows = store.approvals(&filter)?;
        let is_full = rows.len() >= filter.page();
        filter.after = rows.last().map(|row| (row.created, row.id.clone()));
        let mut rows = rows.into_iter();
        let found = rows.find(|row| row.guardrail == guardrail && row.action == action);
        if found.is_some() || !is_full {
            return Ok(found.map(|row| row.id));
        }
    }
}

impl Approvals<'_> {
    /// Whether the emergency rule of the packs covers the stopped action. Facts that were not recorded are unavailable.
    fn is_emergency_action(&self, policy: &Policy, record: &Record, guardrail: &str) -> EngineResult<bool> {
        let mut session = Session::new(&*record.session);
        let mut facts = record.facts.clone();
        for _ in 0..MAX_ROUNDS {
            let (is_covered, needs) =
                allows_emergency_override(policy, &session, &facts, &record.event, guardrail);
            if needs.is_empty() {
                return Ok(is_covered);
            }
            let keys: Vec<&str> = needs.slices.iter().map(String::as_str).collect();
            let slices = self.engine.store().load(&record.session, &keys)?;
            for (key, slice) in keys.into_iter().zip(slices) {
                session.load(key, slice.value);
            }
            for key in needs.facts {
                let unavailable = || Fact::Unavailable("it was not recorded".to_owned());
                let fact = recorded_fact(&key, record).unwrap_or_else(unavailable);
                facts.insert(key, fact);
            }
        }
        Ok(false)
    }
}

/// The request of a script in a record, by the id of its guardrail.
pub(super) fn script_request<'r>(record: &'r Record, guardrail: &str) -> Option<&'r HookRequest> {
    record.facts.known.iter().find_map(|(key, fact)| match (key, fact) {
        (FactKey::Hook(call), Fact::Hook(end)) if *call.script == *guardrail => match &end.answer {
            HookAnswer::Refuse { request, .. } => request.as_ref(),
            HookAnswer::Pass | HookAnswer::Replace { .. } => None,
        },
        _ => None,
    })
}

fn urgency(request: &HookRequest) -> Urgency {
    request.urgency.parse().unwrap_or(Urgency::Normal)
}

/// The urgency of a guardrail's request in a record.
pub(crate) fn urgency_in_record(record: &Record, guardrail: &str) -> Urgency {
    script_request(record, guardrail).map(urgency).unwrap_or_default()
}

impl Approvals<'_> {
    /// Makes the escalations of a record as urgent as its scripts ask, by the rules for agents, and returns those that
    /// became more urgent. If that fails, they stay as they are until the call is tried again.
    pub(crate) fn apply_script_urgency(&self, record: &Record, seq: u64) -> Vec<Approval> {
        let mut raised = Vec::new();
        for request in &record.decision.requests {
            let Some(asked) = script_request(record, &request.guardrail) else { continue };
            match self.apply_urgency(asked, record, request, seq) {
                Ok(approval) => raised.extend(approval),
                Err(error) => {
                    log::warn!("the request `{}` does not become `{}`: {error}", request.id, asked.urgency);
                }
            }
        }
        raised
    }

    fn apply_urgency(
        &self,
        asked: &HookRequest,
        record: &Record,
        request: &ApprovalRequest,
        seq: u64,
    ) -> EngineResult<Option<Approval>> {
        let urgency = urgency(asked);
        let found = self.get(&request.id)?;
        if urgency == Urgency::Normal || found.urgency >= urgency {
            return Ok(None);
        }
        // The notice of a new request already states its urgency.
        let informed = (found.created == record.time).then_some(found.approver.as_str());
        let guardrail = &*request.guardrail;
        let bypass = BypassRequest {
            seq,
            guardrail: Some(guardrail.to_owned()),
            reason: asked.reason.clone(),
            urgency,
        };
        self.hasten(&bypass, record, guardrail, informed).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_budget_needs_higher_authority() {
        let authorities = Authorities::default();
        let of = |bypass: Bypass| Spec { bypass, ..Spec::new("g") };
        let by_reviewer = of(Bypass::By("reviewer".to_owned()));
        let to = |spec: &Spec, urgency, autonomy| approver(spec, urgency, autonomy, &authorities);
        let normal = Urgency::Normal;
        assert_eq!(to(&by_reviewer, normal, Autonomy::Standard).unwrap(), "reviewer");
        assert_eq!(to(&by_reviewer, normal, Autonomy::Strict).unwrap(), "architect");
        assert_eq!(to(&by_reviewer, normal, Autonomy::Lockdown).unwrap(), "human_operator");
        assert!(to(&by_reviewer, normal, Autonomy::Halt).is_err());
        assert_eq!(to(&by_reviewer, Urgency::Emergency, Autonomy::Halt).unwrap(), "human_operator");
        assert!(to(&of(Bypass::Never), Urgency::Emergency, Autonomy::Standard).is_err());
        assert!(to(&of(Bypass::Emergency), normal, Autonomy::Standard).is_err());
        let built_in = to(&of(Bypass::Emergency), Urgency::Emergency, Autonomy::Standard);
        assert_eq!(built_in.unwrap(), "human_operator");
    }
}
