//! An agent asks for something that was stopped: that a guardrail be lifted for one action, or that its escalation be
//! looked at sooner.

use jiff::SignedDuration;
use midrail_core::{
    ApprovalKind, Authorities, Autonomy, Bypass, Effect, Record, Severity, Spec, approval_key,
    digest_of_action,
};
use midrail_store::{Approval, ApprovalChange, Commit, NewNotice, Urgency};
use serde_json::{Value, json};

use super::reasons::substantive;
use super::{held, kind_of, not_allowed, refused, senseless, short_arguments};
use crate::administer::Act;
use crate::engine::{Engine, EngineError};

/// What an agent asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The audit record of the decision that stopped the action.
    pub seq: u64,
    /// The guardrail to lift. `None`: the one that decided.
    pub guardrail: Option<String>,
    /// Why the action is needed.
    pub reason: String,
    /// How urgent it is.
    pub urgency: Urgency,
}

impl Engine {
    /// Asks a person to let pass an action that was stopped. What comes back waits for an answer.
    pub fn request(&self, ask: &Ask) -> Result<Approval, EngineError> {
        substantive(&ask.reason)?;
        let entry = self.store().entry(ask.seq)?;
        let entry = entry.ok_or_else(|| refused(format!("there is no record {}", ask.seq)))?;
        let record: Record = serde_json::from_str(&entry.body)?;
        let guardrail = ask.guardrail.clone().or_else(|| record.decision.by.as_deref().map(str::to_owned));
        let guardrail =
            guardrail.ok_or_else(|| senseless(format!("the record {} stopped nothing", ask.seq)))?;
        let said = record.decision.verdicts.iter().find(|said| {
            *said.guardrail == *guardrail && !said.shadow && said.effect >= Some(Effect::Escalate)
        });
        match said.and_then(|said| said.effect) {
            Some(Effect::Escalate) => self.hasten(ask, &record, &guardrail, None),
            Some(Effect::Block) => self.bypass(ask, &record, &guardrail),
            Some(_) => Err(not_allowed(format!("`{guardrail}` ended the run, and that is not lifted"))),
            None => Err(senseless(format!(
                "`{guardrail}` stopped nothing in the record {}, so there is nothing to lift",
                ask.seq
            ))),
        }
    }

    /// An escalation that waits already gets what the agent says for it. A role that was told of it just now is not told
    /// again.
    pub(super) fn hasten(
        &self,
        ask: &Ask,
        record: &Record,
        guardrail: &str,
        told: Option<&str>,
    ) -> Result<Approval, EngineError> {
        // What it is about need not be the action of the record: it may hold the whole run.
        let asked =
            record.decision.approval.as_ref().filter(|_| record.decision.by.as_deref() == Some(guardrail));
        let asked = match asked {
            Some(asked) => self.store().approval(&asked.id)?,
            None => None,
        };
        let action = asked.map_or_else(|| action_of(record, guardrail), |asked| asked.action);
        let key = approval_key(guardrail, &action);
        let slices = self.store().load(&record.session, &[&key])?;
        let slice = slices.into_iter().next().unwrap_or_default();
        let id = slice.value.as_ref().and_then(|held| held.get("id")).and_then(Value::as_str);
        let waits = |approval: &Approval| matches!(approval.status_at(self.now()), "pending" | "override");
        let found = match id {
            Some(id) => self.store().approval(id)?.filter(waits),
            None => None,
        };
        let Some(found) = found else {
            return Err(refused("its approval does not wait any more; try the action again".to_owned()));
        };
        self.make_urgent(ask, record, found, (key, slice.version), told)
    }

    /// Makes a request that waits as urgent as is asked for, and keeps what is said for it. Asking once more for the same
    /// changes nothing, and gives it no more time.
    fn make_urgent(
        &self,
        ask: &Ask,
        record: &Record,
        found: Approval,
        (key, version): (String, u64),
        told: Option<&str>,
    ) -> Result<Approval, EngineError> {
        let is_raised = ask.urgency > found.urgency;
        if !is_raised && found.justification.is_some() {
            return Ok(found);
        }
        let mut hastened = Approval { justification: Some(self.masked_text(&ask.reason)?), ..found.clone() };
        if is_raised {
            let policy = self.policy();
            let chance = self.chance(&policy, record, ask.urgency, &found.guardrail, &found.action)?;
            let times = self.times(policy.authorities(), &found.approver, ask.urgency, chance.may_override);
            hastened.urgency = ask.urgency;
            hastened.approvers = times.approvers;
            hastened.timeout_s = found.timeout_s.or(Some(times.each_s));
            hastened.hastened = found.hastened.or(Some(self.now()));
            hastened.expires = found.expires.max(times.expires);
            hastened.override_at = times.override_at;
            hastened.denied_before = found.denied_before.clone().or(chance.denied_before);
            if found.kind == ApprovalKind::Bypass && ask.urgency == Urgency::Emergency {
                hastened.severity = Some(Severity::Critical);
            }
        }
        let act = Act::of("approval_hastened").in_session(&record.session);
        let record = self.administered(act.with("approval", serde_json::to_value(&hastened)?))?;
        let mut commit = Commit {
            read: vec![(key.clone(), version)],
            approvals: vec![ApprovalChange::from(found.state, hastened.clone())],
            notices: asks_for(&hastened).into_iter().filter(|it| Some(it.to.as_str()) != told).collect(),
            ..Commit::new(&record)
        };
        commit.changes.set(key, held(&hastened));
        self.commit(&commit)?;
        if is_raised && hastened.kind == ApprovalKind::Bypass {
            self.alert_on_request(&hastened);
        }
        Ok(hastened)
    }

    fn bypass(&self, ask: &Ask, stopped: &Record, guardrail: &str) -> Result<Approval, EngineError> {
        let policy = self.policy();
        let authorities = policy.authorities();
        let spec = policy.get(guardrail).map(|entry| &entry.spec);
        let spec = spec.ok_or_else(|| refused(format!("`{guardrail}` is not in force any more")))?;
        let autonomy = stopped.decision.autonomy.unwrap_or_default();
        let approver = approver(spec, ask.urgency, autonomy, authorities).map_err(not_allowed)?;
        let action = action_of(stopped, guardrail);
        let key = approval_key(guardrail, &action);
        let slices = self.store().load(&stopped.session, &[&key])?;
        let slice = slices.into_iter().next().unwrap_or_default();
        if let Some(waiting) = slice.value.as_ref().and_then(|held| held.get("id")).and_then(Value::as_str)
            && let Some(approval) = self.store().approval(waiting)?
        {
            match approval.status_at(self.now()) {
                "pending" | "override" => {
                    return self.make_urgent(ask, stopped, approval, (key, slice.version), None);
                }
                "approved" => {
                    return Err(refused(format!(
                        "the request `{waiting}` for this action is approved already"
                    )));
                }
                _ => {}
            }
        }
        let chance = self.chance(&policy, stopped, ask.urgency, guardrail, &action)?;
        let times = self.times(authorities, &approver, ask.urgency, chance.may_override);
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
            justification: Some(self.masked_text(&ask.reason)?),
            tool: event.tool_name().map(str::to_owned),
            event: kind_of(event),
            summary: short_arguments(event),
            approver,
            approvers: times.approvers,
            timeout_s: Some(times.each_s),
            created: self.now(),
            expires: times.expires,
            override_at: times.override_at,
            denied_before: chance.denied_before,
            ..Approval::default()
        };
        let act = Act::of("bypass_requested").in_session(&stopped.session);
        let record = self.administered(act.with("approval", serde_json::to_value(&asked)?))?;
        let mut commit = Commit {
            read: vec![(key.clone(), slice.version)],
            approvals: vec![ApprovalChange::ask(asked.clone())],
            notices: asks_for(&asked),
            ..Commit::new(&record)
        };
        commit.changes.set(key, held(&asked));
        self.commit(&commit)?;
        self.alert_on_request(&asked);
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
            Urgency::Urgent | Urgency::Emergency => authorities.from(approver),
        };
        let each_s = u64::from(authorities.bypass_timeout_s);
        let turns = if urgency == Urgency::Urgent { approvers.len() } else { 1 };
        let whole = each_s.saturating_mul(u64::try_from(turns).unwrap_or(1));
        let after = |seconds: u64| {
            let seconds = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
            self.now().checked_add(seconds).ok()
        };
        let emergency = authorities.emergency.as_ref().filter(|_| may_override);
        let override_at = emergency.and_then(|emergency| after(u64::from(emergency.wait_s)));
        Times { approvers, each_s, expires: after(whole), override_at }
    }

    /// What somebody says, with secrets replaced.
    pub(crate) fn masked_text(&self, text: &str) -> Result<String, EngineError> {
        use midrail_detect::secrets::{self, Mask};
        let value = Value::from(text.trim());
        let found = secrets::scan_json(&value, self.fingerprint_key());
        match Mask::of(&value, &found).value(value) {
            Value::String(text) => Ok(text),
            other => Ok(other.to_string()),
        }
    }
}

/// Who is asked, and until when.
struct Times {
    approvers: Vec<String>,
    each_s: u64,
    expires: Option<jiff::Timestamp>,
    override_at: Option<jiff::Timestamp>,
}

/// What a guardrail stopped in a record, as approvals are bound to it: the exact action, or what it found.
pub(super) fn action_of(record: &Record, guardrail: &str) -> String {
    let said = record.decision.verdicts.iter().find(|said| *said.guardrail == *guardrail && !said.skipped);
    let found = said.and_then(|said| said.action.clone());
    found.unwrap_or_else(|| digest_of_action(&record.facts, &record.event, &record.session))
}

/// The role that a request to lift a guardrail goes to, or why there is none. The less is left of the budgets, the
/// more authority it takes.
pub(super) fn approver(
    spec: &Spec,
    urgency: Urgency,
    autonomy: Autonomy,
    authorities: &Authorities,
) -> Result<String, String> {
    let is_emergency = urgency == Urgency::Emergency;
    let role = match &spec.bypass {
        Bypass::Never => return Err(format!("`{}` is never lifted", spec.id)),
        Bypass::Emergency if !is_emergency => {
            return Err(format!("`{}` is lifted in an emergency only", spec.id));
        }
        Bypass::Emergency => authorities.humans.first().cloned().unwrap_or_default(),
        Bypass::By(role) => role.clone(),
    };
    let at_least = |roles: &[String]| match roles.contains(&role) {
        true => role.clone(),
        false => roles.first().cloned().unwrap_or_else(|| role.clone()),
    };
    match autonomy {
        Autonomy::Standard => Ok(role),
        Autonomy::Strict => Ok(at_least(&authorities.supervisors)),
        Autonomy::Lockdown => Ok(at_least(&authorities.humans)),
        Autonomy::Halt if is_emergency => Ok(at_least(&authorities.humans)),
        Autonomy::Halt => {
            Err("with the budget used up, guardrails are lifted in an emergency only".to_owned())
        }
    }
}

/// Those who are told of a request when it is made. An urgent one is told to each authority when it is theirs; of an
/// emergency all know at once.
fn asks_for(approval: &Approval) -> Vec<NewNotice> {
    match approval.urgency {
        Urgency::Emergency => approval.approvers.iter().map(|role| asks(approval, role)).collect(),
        Urgency::Normal | Urgency::Urgent => vec![asks(approval, approval.authority_on_record())],
    }
}

/// What someone of a role is told of a request.
pub(super) fn asks(approval: &Approval, role: &str) -> NewNotice {
    let who = approval.requested_by.as_deref().unwrap_or("an agent");
    let what = approval.subject();
    let why = approval.justification.as_deref().unwrap_or(&approval.reason);
    let urgency = approval.urgency.word();
    NewNotice {
        to: role.to_owned(),
        kind: "approval".to_owned(),
        message: format!("{who} asks to let `{what}` pass `{}` ({urgency}): {why}", approval.guardrail),
        body: json!({"approval": approval}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_left_the_higher_it_goes() {
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
