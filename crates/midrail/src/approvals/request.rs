//! Requests of agents about a stopped action: to lift a guardrail for it, or to make its escalation more urgent.

use jiff::SignedDuration;
use midrail_core::{
    ApprovalKind, Authorities, Autonomy, Bypass, Effect, Record, Severity, Spec, action_digest, approval_key,
};
use midrail_store::{Approval, ApprovalChange, Commit, NewNotice, Urgency};
use serde_json::json;

use super::common::{
    approval_id, approval_slice, invalid, not_allowed, other_kind, refused, short_arguments,
};
use super::emergency::EmergencyOverride;
use super::handle::Approvals;
use super::justification::check_justification;
use crate::admin::event::AdminEvent;
use crate::error::EngineError;

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
    pub fn request(&self, ask: &BypassRequest) -> Result<Approval, EngineError> {
        check_justification(&ask.reason)?;
        let entry = self.engine.store().entry(ask.seq)?;
        let entry = entry.ok_or_else(|| refused(format!("there is no record {}", ask.seq)))?;
        let record: Record = serde_json::from_str(&entry.body)?;
        let guardrail = ask.guardrail.clone().or_else(|| record.decision.by.as_deref().map(str::to_owned));
        let guardrail =
            guardrail.ok_or_else(|| invalid(format!("the record {} stopped nothing", ask.seq)))?;
        let verdict = record.decision.verdicts.iter().find(|verdict| {
            *verdict.guardrail == *guardrail && !verdict.shadow && verdict.effect >= Some(Effect::Escalate)
        });
        match verdict.and_then(|verdict| verdict.effect) {
            Some(Effect::Escalate) => self.hasten(ask, &record, &guardrail, None),
            Some(Effect::Block) => self.bypass(ask, &record, &guardrail),
            Some(_) => Err(not_allowed(format!("`{guardrail}` ended the run, which cannot be lifted"))),
            None => Err(invalid(format!(
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
    ) -> Result<Approval, EngineError> {
        // The approval may be about the whole run, not the action of the record.
        let asked =
            record.decision.approval.as_ref().filter(|_| record.decision.by.as_deref() == Some(guardrail));
        let asked = match asked {
            Some(asked) => self.engine.store().approval(&asked.id)?,
            None => None,
        };
        let action = asked.map_or_else(|| action_digest_of(record, guardrail), |asked| asked.action);
        let key = approval_key(guardrail, &action);
        let slices = self.engine.store().load(&record.session, &[&key])?;
        let slice = slices.into_iter().next().unwrap_or_default();
        let id = approval_id(slice.value.as_ref());
        let waits =
            |approval: &Approval| matches!(approval.status_at(self.engine.now()), "pending" | "override");
        let found = match id {
            Some(id) => self.engine.store().approval(id)?.filter(waits),
            None => None,
        };
        let Some(found) = found else {
            return Err(refused("its approval no longer waits; try the action again".to_owned()));
        };
        self.make_urgent(ask, record, found, (key, slice.version), informed)
    }

    /// Raises the urgency of a request that waits, and stores the justification. Repeating the same request changes nothing
    /// and gives it no more time.
    fn make_urgent(
        &self,
        ask: &BypassRequest,
        record: &Record,
        found: Approval,
        (key, version): (String, u64),
        informed: Option<&str>,
    ) -> Result<Approval, EngineError> {
        let is_raised = ask.urgency > found.urgency;
        if !is_raised && found.justification.is_some() {
            return Ok(found);
        }
        let mut hastened =
            Approval { justification: Some(self.engine.masked_text(&ask.reason)?), ..found.clone() };
        if is_raised {
            let policy = self.engine.policy();
            let EmergencyOverride { is_possible, denied_before } =
                self.emergency_override(&policy, record, ask.urgency, &found.guardrail, &found.action)?;
            let times = self.times(policy.authorities(), &found.approver, ask.urgency, is_possible);
            hastened.urgency = ask.urgency;
            hastened.approvers = times.approvers;
            hastened.timeout_s = found.timeout_s.or(Some(times.each_s));
            hastened.hastened = found.hastened.or(Some(self.engine.now()));
            hastened.expires = found.expires.max(times.expires);
            hastened.override_at = times.override_at;
            hastened.denied_before = found.denied_before.clone().or(denied_before);
            if found.kind == ApprovalKind::Bypass && ask.urgency == Urgency::Emergency {
                hastened.severity = Some(Severity::Critical);
            }
        }
        let act = AdminEvent::new("approval_hastened").in_session(&record.session);
        let record = self.engine.admin_record(act.with("approval", serde_json::to_value(&hastened)?));
        let mut commit = Commit {
            read: vec![(key.clone(), version)],
            approvals: vec![ApprovalChange::update(found.state, hastened.clone())],
            notices: request_notices(&hastened)
                .into_iter()
                .filter(|it| Some(it.to.as_str()) != informed)
                .collect(),
            ..Commit::new(&record)
        };
        commit.changes.set(key, approval_slice(&hastened));
        self.engine.commit(&commit)?;
        if is_raised && hastened.kind == ApprovalKind::Bypass {
            self.engine.alert_on_request(&hastened);
        }
        Ok(hastened)
    }

    fn bypass(
        &self,
        ask: &BypassRequest,
        stopped: &Record,
        guardrail: &str,
    ) -> Result<Approval, EngineError> {
        let policy = self.engine.policy();
        let authorities = policy.authorities();
        let spec = policy.get(guardrail).map(|entry| &entry.spec);
        let spec = spec.ok_or_else(|| refused(format!("`{guardrail}` is no longer in force")))?;
        let autonomy = stopped.decision.autonomy.unwrap_or_default();
        let approver = approver(spec, ask.urgency, autonomy, authorities)?;
        let action = action_digest_of(stopped, guardrail);
        let key = approval_key(guardrail, &action);
        let slices = self.engine.store().load(&stopped.session, &[&key])?;
        let slice = slices.into_iter().next().unwrap_or_default();
        if let Some(waiting) = approval_id(slice.value.as_ref())
            && let Some(approval) = self.engine.store().approval(waiting)?
        {
            match approval.status_at(self.engine.now()) {
                "pending" | "override" => {
                    return self.make_urgent(ask, stopped, approval, (key, slice.version), None);
                }
                "approved" => {
                    return Err(refused(format!(
                        "the request `{waiting}` for this action is already approved"
                    )));
                }
                _ => {}
            }
        }
        let EmergencyOverride { is_possible, denied_before } =
            self.emergency_override(&policy, stopped, ask.urgency, guardrail, &action)?;
        let times = self.times(authorities, &approver, ask.urgency, is_possible);
        let event = &stopped.event;
        let requested_by = event.agent.as_ref().and_then(|agent| agent.id.clone());
        let asked = Approval {
            id: self.new_id()?,
            kind: ApprovalKind::Bypass,
            urgency: ask.urgency,
            severity: (ask.urgency == Urgency::Emergency).then_some(Severity::Critical),
            session: stopped.session.clone(),
            task: event.task.as_ref().and_then(|task| task.id.clone()),
            guardrail: guardrail.to_owned(),
            action,
            seq: Some(ask.seq),
            requested_by,
            reason: stopped.decision.reason.clone(),
            justification: Some(self.engine.masked_text(&ask.reason)?),
            tool: event.tool_name().map(str::to_owned),
            event: other_kind(event),
            summary: short_arguments(event),
            approver,
            approvers: times.approvers,
            timeout_s: Some(times.each_s),
            created: self.engine.now(),
            expires: times.expires,
            override_at: times.override_at,
            denied_before,
            ..Approval::default()
        };
        let act = AdminEvent::new("bypass_requested").in_session(&stopped.session);
        let record = self.engine.admin_record(act.with("approval", serde_json::to_value(&asked)?));
        let mut commit = Commit {
            read: vec![(key.clone(), slice.version)],
            approvals: vec![ApprovalChange::create(asked.clone())],
            notices: request_notices(&asked),
            ..Commit::new(&record)
        };
        commit.changes.set(key, approval_slice(&asked));
        self.engine.commit(&commit)?;
        self.engine.alert_on_request(&asked);
        Ok(asked)
    }

    fn times(
        &self,
        authorities: &Authorities,
        approver: &str,
        urgency: Urgency,
        may_override: bool,
    ) -> Times {
        let approvers = match urgency {
            Urgency::Normal => vec![approver.to_owned()],
            Urgency::Urgent | Urgency::Emergency => authorities.escalation_path(approver),
        };
        let each_s = u64::from(authorities.bypass_timeout_s);
        let turns = if urgency == Urgency::Urgent { approvers.len() } else { 1 };
        let whole = each_s.saturating_mul(u64::try_from(turns).unwrap_or(1));
        let after = |seconds: u64| {
            let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
            self.engine.now().checked_add(seconds).ok()
        };
        let emergency = authorities.emergency.as_ref().filter(|_| may_override);
        let override_at = emergency.and_then(|emergency| after(u64::from(emergency.wait_s)));
        Times { approvers, each_s, expires: after(whole), override_at }
    }
}

/// The approvers of a request and its deadlines.
struct Times {
    approvers: Vec<String>,
    each_s: u64,
    expires: Option<jiff::Timestamp>,
    override_at: Option<jiff::Timestamp>,
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
) -> Result<String, EngineError> {
    let is_emergency = urgency == Urgency::Emergency;
    let role = match &spec.bypass {
        Bypass::Never => return Err(not_allowed(format!("`{}` is never lifted", spec.id))),
        Bypass::Emergency if !is_emergency => {
            return Err(not_allowed(format!("`{}` is lifted in an emergency only", spec.id)));
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
        Autonomy::Halt => {
            Err(not_allowed("with the budget used up, guardrails are lifted in an emergency only".to_owned()))
        }
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
    let urgency = approval.urgency.as_str();
    NewNotice {
        to: role.to_owned(),
        kind: "approval".to_owned(),
        message: format!(
            "{who} asks to allow `{what}`, which `{}` stopped ({urgency}): {why}",
            approval.guardrail
        ),
        body: json!({"approval": approval}),
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
