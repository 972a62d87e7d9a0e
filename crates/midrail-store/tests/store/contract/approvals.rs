//! Approvals with all that is known of them, and the people who answer them.

use midrail_core::{ApprovalKind, Severity};
use midrail_store::{
    Approval, ApprovalChange, ApprovalCount, ApprovalFilter, ApprovalState, ApproverChange, Commit,
    NewApprover, Review, Store, StoreError, Urgency,
};

use crate::common::{at, record, request};

fn write(store: &dyn Store, change: ApprovalChange) -> midrail_store::Result<()> {
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    commit.approvals.push(change);
    store.commit(&commit).map(|_| ())
}

fn bypass(id: &str, seconds: i64, urgency: Urgency, by: &str) -> Approval {
    Approval {
        kind: ApprovalKind::Bypass,
        urgency,
        requested_by: Some(by.to_owned()),
        ..request(id, "s", seconds)
    }
}

pub(crate) fn approvals_come_back_with_all_that_is_known(store: &dyn Store) {
    let full = Approval {
        urgency: Urgency::Emergency,
        severity: Some(Severity::Critical),
        seq: Some(812),
        revises: Some("before".to_owned()),
        justification: Some("the deploy is stuck".to_owned()),
        approvers: vec!["reviewer".to_owned(), "architect".to_owned()],
        timeout_s: Some(900),
        override_at: Some(at(61)),
        decided_by: Some("ada".to_owned()),
        decided_role: Some("architect".to_owned()),
        decided_at: Some(at(30)),
        note: Some("go on".to_owned()),
        used_at: Some(at(31)),
        review: Some(Review {
            due: at(86_400),
            filed_by: Some("bob".to_owned()),
            filed_at: Some(at(90)),
            text: Some("fine".to_owned()),
        }),
        ..bypass("r", 1, Urgency::Normal, "a")
    };
    write(store, ApprovalChange::create(full.clone())).unwrap();
    assert_eq!(store.approval("r").unwrap(), Some(full));
}

pub(crate) fn approvals_are_found_by_what_they_are(store: &dyn Store) {
    let owed = |filed: bool| {
        let review = Review { filed_at: filed.then(|| at(9)), ..Review::due(at(60)) };
        Approval {
            review: Some(review),
            ..bypass(if filed { "e" } else { "d" }, 4, Urgency::Emergency, "agent-1")
        }
    };
    for row in [
        request("a", "s", 1),
        bypass("b", 2, Urgency::Normal, "agent-1"),
        bypass("c", 3, Urgency::Urgent, "agent-2"),
        owed(false),
        owed(true),
    ] {
        write(store, ApprovalChange::create(row)).unwrap();
    }
    let all = ApprovalFilter::default;
    let ids = |filter: ApprovalFilter| {
        store.approvals(&filter).unwrap().into_iter().map(|row| row.id).collect::<String>()
    };
    assert_eq!(ids(all()), "edcba");
    assert_eq!(ids(ApprovalFilter { kind: Some(ApprovalKind::Bypass), ..all() }), "edcb");
    assert_eq!(ids(ApprovalFilter { kind: Some(ApprovalKind::Escalation), ..all() }), "a");
    assert_eq!(ids(ApprovalFilter { urgency: Some(Urgency::Urgent), ..all() }), "c");
    assert_eq!(ids(ApprovalFilter { urgency: Some(Urgency::Normal), ..all() }), "ba");
    assert_eq!(ids(ApprovalFilter { requested_by: Some("agent-1".to_owned()), ..all() }), "edb");
    assert_eq!(ids(ApprovalFilter { created_after: Some(at(2)), ..all() }), "edc");
    assert_eq!(ids(ApprovalFilter { needs_review: true, ..all() }), "d");
    // A page holds so many of those that fit, not of those that were looked at.
    assert_eq!(ids(ApprovalFilter { urgency: Some(Urgency::Normal), limit: Some(1), ..all() }), "b");
    assert_eq!(ids(ApprovalFilter { limit: Some(0), ..all() }), "");
    // Pages go on after the last of the one before, also between requests of one moment.
    let after = |seconds: i64, id: &str| Some((at(seconds), id.to_owned()));
    assert_eq!(ids(ApprovalFilter { after: after(3, "c"), ..all() }), "ba");
    assert_eq!(ids(ApprovalFilter { after: after(3, "cc"), limit: Some(2), ..all() }), "cb");
    assert_eq!(ids(ApprovalFilter { after: after(1, "a"), ..all() }), "");
    let narrow = ApprovalFilter {
        state: Some(ApprovalState::Pending),
        session: Some("s".to_owned()),
        kind: Some(ApprovalKind::Bypass),
        urgency: Some(Urgency::Emergency),
        requested_by: Some("agent-1".to_owned()),
        created_after: Some(at(3)),
        needs_review: true,
        after: Some((at(5), String::new())),
        limit: Some(5),
    };
    assert_eq!(ids(narrow), "d");
}

pub(crate) fn approvals_are_counted_by_outcome(store: &dyn Store) {
    assert_eq!(store.approval_counts().unwrap(), []);
    let denied = Approval { state: ApprovalState::Denied, ..bypass("c", 1, Urgency::Normal, "a") };
    for row in [request("a", "s", 1), request("b", "s", 1), bypass("d", 1, Urgency::Urgent, "b"), denied] {
        write(store, ApprovalChange::create(row)).unwrap();
    }
    let count = |kind, state, count| ApprovalCount { guardrail: "safety-001".to_owned(), kind, state, count };
    assert_eq!(
        store.approval_counts().unwrap(),
        [
            count(ApprovalKind::Escalation, ApprovalState::Pending, 2),
            count(ApprovalKind::Bypass, ApprovalState::Pending, 1),
            count(ApprovalKind::Bypass, ApprovalState::Denied, 1),
        ]
    );
}

pub(crate) fn decided_approval_never_goes_back(store: &dyn Store) {
    let asked = request("r", "s", 1);
    write(store, ApprovalChange::create(asked.clone())).unwrap();
    let other = Approval { action: "cd".repeat(32), ..asked.clone() };
    let refused = write(store, ApprovalChange::update(ApprovalState::Pending, other)).unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }) && !refused.is_conflict(), "{refused:?}");

    let denied =
        Approval { state: ApprovalState::Denied, decided_by: Some("ada".to_owned()), ..asked.clone() };
    write(store, ApprovalChange::update(ApprovalState::Pending, denied.clone())).unwrap();
    for state in
        [ApprovalState::Pending, ApprovalState::Approved, ApprovalState::Expired, ApprovalState::Used]
    {
        let back = Approval { state, ..denied.clone() };
        let refused = write(store, ApprovalChange::update(ApprovalState::Denied, back)).unwrap_err();
        let word = state.as_str();
        let text = format!("the approval `r` is denied and cannot become {word}, and nothing was written");
        assert_eq!(refused.to_string(), text);
    }
    let by_another = Approval { decided_by: Some("bob".to_owned()), ..denied.clone() };
    assert!(write(store, ApprovalChange::update(ApprovalState::Denied, by_another)).is_err());
    assert_eq!(store.approval("r").unwrap(), Some(denied));
    assert_eq!(store.head().unwrap().unwrap().seq, 2, "what was refused left no record");
}

pub(crate) fn approval_is_taken_back_or_used(store: &dyn Store) {
    for (id, is_used) in [("r", false), ("q", true)] {
        let asked = request(id, "s", 1);
        write(store, ApprovalChange::create(asked.clone())).unwrap();
        let approved = Approval {
            state: ApprovalState::Approved,
            decided_by: Some("ada".to_owned()),
            decided_at: Some(at(2)),
            ..asked
        };
        write(store, ApprovalChange::update(ApprovalState::Pending, approved.clone())).unwrap();
        let used = Approval { state: ApprovalState::Used, used_at: Some(at(3)), ..approved.clone() };
        let back = Approval {
            state: ApprovalState::Denied,
            decided_by: Some("bob".to_owned()),
            decided_at: Some(at(3)),
            taken_back: Some(approved.revoked_answer()),
            ..approved
        };
        let (first, late) = if is_used { (used, back) } else { (back, used) };
        write(store, ApprovalChange::update(ApprovalState::Approved, first.clone())).unwrap();
        assert!(
            write(store, ApprovalChange::update(ApprovalState::Approved, late)).unwrap_err().is_conflict()
        );
        assert_eq!(store.approval(id).unwrap(), Some(first));
    }
}

pub(crate) fn review_is_filed_once(store: &dyn Store) {
    let used = Approval {
        state: ApprovalState::Used,
        review: Some(Review::due(at(60))),
        ..bypass("r", 1, Urgency::Emergency, "a")
    };
    write(store, ApprovalChange::create(used.clone())).unwrap();
    let file = |who: &str| {
        let review = Review {
            filed_by: Some(who.to_owned()),
            filed_at: Some(at(50)),
            text: Some("seen".to_owned()),
            ..Review::due(at(60))
        };
        write(
            store,
            ApprovalChange::update(ApprovalState::Used, Approval { review: Some(review), ..used.clone() }),
        )
    };
    file("ada").unwrap();
    assert!(file("bob").unwrap_err().to_string().contains("the review of the approval `r`"));
    let row = store.approval("r").unwrap().unwrap();
    assert_eq!(row.review.unwrap().filed_by.as_deref(), Some("ada"));
    assert_eq!(store.approvals(&ApprovalFilter { needs_review: true, ..Default::default() }).unwrap(), []);
}

const KEY: &str = "Zm9yIGEgdGVzdCBvbmx5LCBub3QgYSByZWFsIGtleSE";

fn add(name: &str, role: &str, key: &str) -> ApproverChange {
    let roles = vec![role.to_owned()];
    ApproverChange::Add(NewApprover { name: name.to_owned(), roles, key: key.to_owned() })
}

fn enrol(store: &dyn Store, seconds: i64, changes: Vec<ApproverChange>) -> midrail_store::Result<u64> {
    let record = record("people", seconds);
    let mut commit = Commit::new(&record);
    commit.approvers = changes;
    store.commit(&commit).map(|place| place.seq)
}

pub(crate) fn approver_is_known_by_the_key(store: &dyn Store) {
    assert_eq!(store.approvers().unwrap(), []);
    assert_eq!(store.check_key("ada", KEY).unwrap(), None);
    let seq =
        enrol(store, 1, vec![add("ada", "architect", KEY), add("bob", "reviewer", &KEY.repeat(2))]).unwrap();
    assert_eq!(store.head().unwrap().unwrap().seq, seq, "it is on record");
    let ada = store.approver("ada").unwrap().unwrap();
    assert_eq!(
        (&*ada.name, &*ada.roles, ada.created, ada.revoked),
        ("ada", &["architect".to_owned()][..], at(1), None)
    );
    assert_eq!(store.check_key("ada", KEY).unwrap(), Some(ada));
    assert_eq!(store.check_key("bob", KEY).unwrap(), None);
    assert_eq!(store.check_key("Ada", KEY).unwrap(), None);
    assert_eq!(store.check_key("ada", &KEY.to_lowercase()).unwrap(), None);
    assert_eq!(store.check_key("ada", "").unwrap(), None);
    let names: Vec<_> = store.approvers().unwrap().into_iter().map(|approver| approver.name).collect();
    assert_eq!(names, ["ada", "bob"]);
}

pub(crate) fn name_is_free_again_after_it_was_revoked(store: &dyn Store) {
    enrol(store, 1, vec![add("ada", "architect", KEY)]).unwrap();
    let taken = enrol(store, 2, vec![add("bob", "reviewer", KEY), add("ada", "reviewer", KEY)]).unwrap_err();
    assert_eq!(taken.to_string(), "an approver `ada` exists already, and nothing was written");
    assert_eq!((store.approver("bob").unwrap(), store.head().unwrap().unwrap().seq), (None, 1));
    let unknown = enrol(store, 2, vec![ApproverChange::Revoke("bob".to_owned())]).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no approver `bob`, and nothing was written");

    enrol(store, 3, vec![ApproverChange::Revoke("ada".to_owned())]).unwrap();
    assert_eq!(store.check_key("ada", KEY).unwrap(), None);
    assert_eq!(store.approver("ada").unwrap(), None);
    assert!(enrol(store, 4, vec![ApproverChange::Revoke("ada".to_owned())]).is_err());

    let new = KEY.replace('Z', "Y");
    enrol(store, 5, vec![add("ada", "human_operator", &new)]).unwrap();
    assert_eq!(store.check_key("ada", KEY).unwrap(), None, "the old key stays revoked");
    assert_eq!(store.check_key("ada", &new).unwrap().unwrap().roles, ["human_operator"]);
    let rows = store.approvers().unwrap();
    let times: Vec<_> = rows.iter().map(|row| (row.created, row.revoked)).collect();
    assert_eq!(times, [(at(1), Some(at(3))), (at(5), None)]);
    // A key is changed in one go.
    enrol(store, 6, vec![ApproverChange::Revoke("ada".to_owned()), add("ada", "architect", KEY)]).unwrap();
    assert_eq!(store.check_key("ada", KEY).unwrap().unwrap().created, at(6));
}
