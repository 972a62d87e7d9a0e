//! The status of an approval request at a time, and its allowed transitions. Pure functions of the request and the time.

use jiff::{SignedDuration, Timestamp};

use crate::approval::{Approval, ApprovalState, Urgency};

/// A transition that time alone causes, and when it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueTransition {
    /// It was passed to the next authority.
    NextAuthority(Timestamp),
    /// It was not answered in time.
    TimedOut(Timestamp),
    /// It was approved, but not used in time.
    Lapsed(Timestamp),
}

impl Approval {
    /// The first transition that time has caused and that has no record yet.
    pub fn due_transition(&self, now: Timestamp) -> Option<DueTransition> {
        if self.state == ApprovalState::Pending
            && let Some(next) = self.next_turn()
            && now >= next
            && self.deadline().is_none_or(|deadline| next < deadline)
        {
            return Some(DueTransition::NextAuthority(next));
        }
        let deadline = self.deadline().filter(|deadline| now >= *deadline)?;
        match self.state {
            ApprovalState::Pending => Some(DueTransition::TimedOut(deadline)),
            ApprovalState::Approved => Some(DueTransition::Lapsed(deadline)),
            ApprovalState::Denied | ApprovalState::Expired | ApprovalState::Used => None,
        }
    }

    /// The authority that has it, according to the records.
    pub fn recorded_authority(&self) -> &str {
        let turn = usize::try_from(self.turn).unwrap_or(usize::MAX);
        self.approvers.get(turn).unwrap_or(&self.approver)
    }

    /// When it is passed from the recorded authority to the next one. `None`: there is no next one.
    fn next_turn(&self) -> Option<Timestamp> {
        let each = self.timeout_s.filter(|each| self.urgency == Urgency::Urgent && *each > 0)?;
        let next = u64::from(self.turn).checked_add(1)?;
        if next >= u64::try_from(self.approvers.len()).unwrap_or(0) {
            return None;
        }
        let seconds = i64::try_from(each.checked_mul(next)?).ok()?;
        self.turns_begin().checked_add(SignedDuration::from_secs(seconds)).ok()
    }

    fn turns_begin(&self) -> Timestamp {
        self.hastened.unwrap_or(self.created)
    }

    /// When a missing answer becomes a timeout: `expires`, or the sum of the authorities' timeouts. `None`: never.
    ///
    /// An urgent request is passed from one authority to the next, so each has `timeout_s`; any other stays with the first.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.expires.or_else(|| {
            let turns = match self.urgency {
                Urgency::Urgent => u64::try_from(self.approvers.len()).unwrap_or(1).max(1),
                Urgency::Normal | Urgency::Emergency => 1,
            };
            let seconds = i64::try_from(self.timeout_s?.saturating_mul(turns)).ok()?;
            self.turns_begin().checked_add(SignedDuration::from_secs(seconds)).ok()
        })
    }

    /// Its status: `pending`, `timed out` (not answered in time), `override` (an unanswered emergency that is granted
    /// automatically), `approved`, `expired` (approved, but not used in time), `denied` or `used`.
    pub fn status_at(&self, now: Timestamp) -> &'static str {
        let is_over = self.deadline().is_some_and(|deadline| now >= deadline);
        match self.state {
            ApprovalState::Pending if is_over => "timed out",
            ApprovalState::Pending if self.overrides_at(now) => "override",
            ApprovalState::Approved if is_over => "expired",
            ApprovalState::Expired if self.decided_at.is_none() => "timed out",
            state => state.as_str(),
        }
    }

    /// The role that may answer it. `None`: it does not wait for an answer.
    ///
    /// The second authority has an urgent request `timeout_s` after it became urgent, the third after
    /// `2 * timeout_s`, and the last one keeps it. Any other request stays with the first.
    pub fn authority_at(&self, now: Timestamp) -> Option<&str> {
        if !matches!(self.status_at(now), "pending" | "override") {
            return None;
        }
        let last = self.approvers.len().saturating_sub(1);
        let turn = match (self.urgency, self.timeout_s) {
            (Urgency::Urgent, Some(each @ 1..)) => {
                let waited = u64::try_from(now.duration_since(self.turns_begin()).as_secs()).unwrap_or(0);
                usize::try_from(waited / each).unwrap_or(last).min(last)
            }
            _ => 0,
        };
        Some(self.approvers.get(turn).unwrap_or(&self.approver))
    }

    /// Whether it is an unanswered emergency that is granted automatically.
    pub fn overrides_at(&self, now: Timestamp) -> bool {
        self.state == ApprovalState::Pending
            && self.urgency == Urgency::Emergency
            && self.denied_before.is_none()
            && self.override_at.is_some_and(|time| now >= time)
            && self.deadline().is_none_or(|deadline| now < deadline)
    }

    /// Whether its review is required and not filed.
    pub fn needs_review(&self) -> bool {
        self.review.as_ref().is_some_and(|review| !review.is_filed())
    }

    /// Why a change to `next` is not allowed. The request never changes, an answer changes only by being revoked, and a
    /// filed review never changes.
    pub(crate) fn refuses(&self, next: &Approval) -> Option<String> {
        let id = &self.id;
        let request = |row: &Approval| {
            let Approval { kind, session, task, guardrail, action, requested_by, created, .. } = row.clone();
            (kind, session, task, guardrail, action, requested_by, created)
        };
        if request(self) != request(next) {
            return Some(format!("the approval `{id}` is bound to the action that it was requested for"));
        }
        if self.denied_before.is_some() && self.denied_before != next.denied_before {
            return Some(format!("the approval `{id}` repeats a denied request, and this cannot be changed"));
        }
        let takes_back = self.state == ApprovalState::Approved && next.state == ApprovalState::Denied;
        let is_step = match (self.state, next.state) {
            (ApprovalState::Pending, _) => true,
            (ApprovalState::Approved, ApprovalState::Used | ApprovalState::Expired) => true,
            (was, now) => was == now || (takes_back && next.taken_back.is_some()),
        };
        if !is_step {
            let (was, now) = (self.state.as_str(), next.state.as_str());
            return Some(format!("the approval `{id}` is {was} and cannot become {now}"));
        }
        if self.state != ApprovalState::Pending {
            let used_at = if self.state == next.state { self.used_at } else { next.used_at };
            let mut same =
                Approval { state: next.state, used_at, review: next.review.clone(), ..self.clone() };
            if takes_back {
                same.taken_back = Some(self.revoked_answer());
                same.seal = None;
                same.decided_by.clone_from(&next.decided_by);
                same.decided_role.clone_from(&next.decided_role);
                same.decided_at = next.decided_at;
                same.note.clone_from(&next.note);
            }
            if same != *next {
                return Some(format!("the approval `{id}` was decided and cannot be changed"));
            }
        }
        let is_kept = match (&self.review, &next.review) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(was), Some(now)) => was == now || (!was.is_filed() && was.due == now.due),
        };
        (!is_kept)
            .then(|| format!("the review of the approval `{id}` is required or filed and cannot be changed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Review;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000 + seconds)
    }

    fn new_request(urgency: Urgency) -> Approval {
        Approval {
            id: "r".to_owned(),
            urgency,
            approver: "reviewer".to_owned(),
            approvers: ["reviewer", "architect", "human_operator"].map(str::to_owned).to_vec(),
            timeout_s: Some(900),
            created: at(0),
            ..Approval::default()
        }
    }

    #[test]
    fn normal_request_stays_with_the_first_authority_and_times_out() {
        let request = new_request(Urgency::Normal);
        assert_eq!(request.deadline(), Some(at(900)));
        assert_eq!(
            (request.status_at(at(899)), request.authority_at(at(899))),
            ("pending", Some("reviewer"))
        );
        assert_eq!((request.status_at(at(900)), request.authority_at(at(900))), ("timed out", None));
        let later = Approval { expires: Some(at(1800)), ..request };
        assert_eq!((later.status_at(at(1799)), later.authority_at(at(1799))), ("pending", Some("reviewer")));
        assert_eq!(later.status_at(at(1800)), "timed out");
    }

    #[test]
    fn urgent_request_is_passed_from_authority_to_authority() {
        let request = new_request(Urgency::Urgent);
        assert_eq!(request.deadline(), Some(at(2700)));
        for (seconds, role) in [
            // A clock that is behind the clock of the requester.
            (-5, Some("reviewer")),
            (0, Some("reviewer")),
            (899, Some("reviewer")),
            (900, Some("architect")),
            (1799, Some("architect")),
            (1800, Some("human_operator")),
            (2699, Some("human_operator")),
            (2700, None),
        ] {
            assert_eq!(request.authority_at(at(seconds)), role, "{seconds}");
        }
        assert_eq!(request.status_at(at(2700)), "timed out");
        // The last one keeps it until the deadline.
        let longer = Approval { expires: Some(at(9000)), ..request.clone() };
        assert_eq!(longer.authority_at(at(8999)), Some("human_operator"));
        let alone = Approval { approvers: Vec::new(), ..request.clone() };
        assert_eq!((alone.deadline(), alone.authority_at(at(10))), (Some(at(900)), Some("reviewer")));
        for timeout_s in [None, Some(0)] {
            let odd = Approval { timeout_s, expires: Some(at(60)), ..request.clone() };
            assert_eq!(odd.authority_at(at(59)), Some("reviewer"));
        }
        let endless = Approval { timeout_s: Some(u64::MAX), ..request };
        assert_eq!((endless.deadline(), endless.status_at(Timestamp::MAX)), (None, "pending"));
    }

    #[test]
    fn due_transitions_happen_one_after_the_other() {
        let mut request = new_request(Urgency::Urgent);
        assert_eq!(request.due_transition(at(899)), None);
        // Each transition has the time at which it was due, even if it is detected late.
        for (turn, role) in ["reviewer", "architect"].into_iter().enumerate() {
            assert_eq!(request.recorded_authority(), role);
            let due = at(900 * (i64::try_from(turn).unwrap() + 1));
            assert_eq!(
                (request.due_transition(due), request.due_transition(at(9000))),
                (Some(DueTransition::NextAuthority(due)), Some(DueTransition::NextAuthority(due)))
            );
            request.turn += 1;
        }
        assert_eq!(
            (request.recorded_authority(), request.due_transition(at(2699))),
            ("human_operator", None)
        );
        assert_eq!(request.due_transition(at(9000)), Some(DueTransition::TimedOut(at(2700))));
        for (state, due) in [
            (ApprovalState::Approved, Some(DueTransition::Lapsed(at(2700)))),
            (ApprovalState::Denied, None),
            (ApprovalState::Expired, None),
            (ApprovalState::Used, None),
        ] {
            assert_eq!(Approval { state, ..request.clone() }.due_transition(at(9000)), due, "{state:?}");
        }
        for urgency in [Urgency::Normal, Urgency::Emergency] {
            assert_eq!(new_request(urgency).due_transition(at(9000)), Some(DueTransition::TimedOut(at(900))));
        }
        // It expires before the next authority would have it.
        let short = Approval { expires: Some(at(900)), ..new_request(Urgency::Urgent) };
        assert_eq!(short.due_transition(at(900)), Some(DueTransition::TimedOut(at(900))));
        let odd = Approval { turn: u32::MAX, ..new_request(Urgency::Urgent) };
        assert_eq!((odd.due_transition(at(900)), odd.recorded_authority()), (None, "reviewer"));
    }

    #[test]
    fn turns_count_from_when_it_became_urgent() {
        let request = Approval { hastened: Some(at(1200)), ..new_request(Urgency::Urgent) };
        assert_eq!(request.authority_at(at(2099)), Some("reviewer"));
        assert_eq!(request.authority_at(at(2100)), Some("architect"));
        assert_eq!(request.due_transition(at(2100)), Some(DueTransition::NextAuthority(at(2100))));
        assert_eq!(request.deadline(), Some(at(3900)));
    }

    #[test]
    fn emergency_is_granted_automatically_until_its_deadline() {
        let request = Approval { override_at: Some(at(60)), ..new_request(Urgency::Emergency) };
        assert_eq!((request.status_at(at(59)), request.overrides_at(at(59))), ("pending", false));
        assert_eq!((request.status_at(at(60)), request.overrides_at(at(60))), ("override", true));
        assert_eq!(request.authority_at(at(60)), Some("reviewer"));
        assert_eq!((request.status_at(at(900)), request.overrides_at(at(900))), ("timed out", false));
        for near in [
            Approval { override_at: None, ..request.clone() },
            Approval { denied_before: Some("r-0".to_owned()), ..request.clone() },
            Approval { urgency: Urgency::Urgent, ..request.clone() },
            Approval { state: ApprovalState::Denied, ..request.clone() },
        ] {
            assert!(!near.overrides_at(at(60)), "{near:?}");
        }
    }

    #[test]
    fn answered_request_has_no_authority() {
        let decided = |state| Approval { state, decided_at: Some(at(5)), ..new_request(Urgency::Normal) };
        for (state, early, late) in [
            (ApprovalState::Approved, "approved", "expired"),
            (ApprovalState::Denied, "denied", "denied"),
            (ApprovalState::Used, "used", "used"),
            (ApprovalState::Expired, "expired", "expired"),
        ] {
            assert_eq!((decided(state).status_at(at(10)), decided(state).status_at(at(9000))), (early, late));
            assert_eq!(decided(state).authority_at(at(10)), None);
        }
        let unanswered = Approval { state: ApprovalState::Expired, ..new_request(Urgency::Normal) };
        assert_eq!(unanswered.status_at(at(10)), "timed out");
    }

    #[test]
    fn review_is_due_then_overdue_then_filed() {
        let mut review = Review::due(at(60));
        assert_eq!((review.status_at(at(59)), review.status_at(at(60))), ("due", "overdue"));
        let owed = |review| Approval { review, ..Approval::default() };
        assert!(owed(Some(review.clone())).needs_review() && !owed(None).needs_review());
        review.filed_at = Some(at(100));
        assert_eq!(review.status_at(at(200)), "filed");
        assert!(!owed(Some(review)).needs_review());
    }

    #[test]
    fn request_never_goes_back() {
        use ApprovalState::{Approved, Denied, Expired, Pending, Used};
        let in_state = |state| Approval { state, ..new_request(Urgency::Normal) };
        let all = [Pending, Approved, Denied, Expired, Used];
        for was in all {
            for now in all {
                let may = was == Pending || was == now || (was == Approved && matches!(now, Used | Expired));
                assert_eq!(in_state(was).refuses(&in_state(now)).is_none(), may, "{was:?} {now:?}");
            }
        }
        let text = in_state(Denied).refuses(&in_state(Approved)).unwrap();
        assert_eq!(text, "the approval `r` is denied and cannot become approved");

        let pending = in_state(Pending);
        for other in [
            Approval { action: "x".to_owned(), ..pending.clone() },
            Approval { guardrail: "x".to_owned(), ..pending.clone() },
            Approval { requested_by: Some("x".to_owned()), ..pending.clone() },
            Approval { session: "x".to_owned(), ..pending.clone() },
        ] {
            assert!(pending.refuses(&other).unwrap().contains("bound to the action"));
        }
        let answer = Approval { decided_by: Some("ada".to_owned()), ..in_state(Approved) };
        assert_eq!(pending.refuses(&answer), None);
        let used = Approval { state: Used, used_at: Some(at(9)), ..answer.clone() };
        assert_eq!(answer.refuses(&used), None);
        for other in [
            Approval { decided_by: Some("bob".to_owned()), ..used.clone() },
            Approval { used_at: Some(at(10)), ..used.clone() },
            Approval { expires: Some(at(99)), ..used.clone() },
        ] {
            assert!(used.refuses(&other).unwrap().contains("was decided"));
        }
    }

    #[test]
    fn approval_is_revoked_by_a_denial_that_records_it() {
        let pending = new_request(Urgency::Normal);
        let approved = Approval {
            state: ApprovalState::Approved,
            decided_by: Some("ada".to_owned()),
            decided_at: Some(at(5)),
            seal: Some("sealed".to_owned()),
            ..pending.clone()
        };
        let back = Approval {
            state: ApprovalState::Denied,
            decided_by: Some("bob".to_owned()),
            decided_at: Some(at(9)),
            taken_back: Some(approved.revoked_answer()),
            seal: None,
            ..approved.clone()
        };
        assert_eq!(approved.refuses(&back), None);
        assert_eq!(back.status_at(at(10)), "denied");
        for wrong in [
            Approval { taken_back: None, ..back.clone() },
            Approval { taken_back: Some(pending.revoked_answer()), ..back.clone() },
            Approval { seal: approved.seal.clone(), ..back.clone() },
            Approval { expires: Some(at(9999)), ..back.clone() },
        ] {
            assert!(approved.refuses(&wrong).is_some(), "{wrong:?}");
        }
        let used = Approval { state: ApprovalState::Used, used_at: Some(at(7)), ..approved.clone() };
        assert!(used.refuses(&back).unwrap().contains("is used and cannot become denied"));
        assert!(back.refuses(&approved).unwrap().contains("is denied and cannot become approved"));
    }

    #[test]
    fn link_to_the_denied_request_cannot_be_removed() {
        let again = Approval { denied_before: Some("r-0".to_owned()), ..new_request(Urgency::Emergency) };
        assert!(
            again
                .refuses(&Approval { denied_before: None, ..again.clone() })
                .unwrap()
                .contains("cannot be changed")
        );
        assert_eq!(new_request(Urgency::Emergency).refuses(&again), None);
    }

    #[test]
    fn review_is_filed_once() {
        let used = Approval { state: ApprovalState::Used, ..new_request(Urgency::Emergency) };
        let with = |review| Approval { review, ..used.clone() };
        let due = Review::due(at(60));
        let filed = Review { filed_by: Some("ada".to_owned()), filed_at: Some(at(50)), ..due.clone() };
        assert_eq!(used.refuses(&with(Some(due.clone()))), None);
        assert_eq!(with(Some(due.clone())).refuses(&with(Some(filed.clone()))), None);
        assert!(with(Some(due.clone())).refuses(&with(None)).is_some());
        assert!(with(Some(due.clone())).refuses(&with(Some(Review::due(at(61))))).is_some());
        assert!(with(Some(filed.clone())).refuses(&with(Some(due))).is_some());
        let other = Review { text: Some("other".to_owned()), ..filed.clone() };
        assert!(with(Some(filed)).refuses(&with(Some(other))).is_some());
    }
}
