//! The paths of a request, on a clock that is moved by hand, with two handles on one SQLite file: the agent's and the
//! approver's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use midrail::admin::Person;
use midrail::approvals::{BypassRequest, policy_for_approval, policy_for_record};
use midrail::core::Severity;
use midrail::store::{Approval, ApprovalFilter, ApprovalState, AuditFilter, Urgency};
use midrail::{
    Agent, Decision, Effect, Engine, EngineError, Event, EventKind, ManualClock, SqliteStore, Task, ToolCall,
    Usage,
};
use serde_json::{Value, json};

use crate::sessions::policy;

const PACK: &str = "
pack: shop
guardrails:
  - {id: friday, tools: deploy, effect: block, reason: It is Friday, bypass: {allowed: true, requires_approval: reviewer}}
  - {id: ask, tools: refund, effect: escalate, approver: reviewer}
";

const HELD: &str = "  - {id: held, tools: [deploy, refund], when: session.held == true, effect: block}\n";

pub(crate) const EMERGENCY: &str = "
approvals:
  emergency: {only_for: \"tool.args.target == 'importer'\"}
";

pub(crate) const REASON: &str = "The login outage is fixed by this release";

/// One store with two handles on it, at a time of its own.
pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pack: String,
    pub(crate) agent: Arc<Engine>,
    pub(crate) approver: Arc<Engine>,
}

impl World {
    pub(crate) fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-11-13T10:00:00Z".parse().unwrap()));
        let pack = format!("{PACK}{more}");
        let open = || handle(&folder.path().join("s.db"), &pack, &clock);
        let (agent, approver) = (open(), open());
        World { folder, clock, pack, agent, approver }
    }

    pub(crate) fn minutes(&self, minutes: f64) {
        self.clock.advance(minutes * 60.0);
    }

    pub(crate) fn deploy(&self, args: Value) -> Decision {
        self.agent.decide(call("deploy", args))
    }

    pub(crate) fn refund(&self, order: u64) -> Decision {
        self.agent.decide(call("refund", json!({"order": order})))
    }

    /// The agent asks for what a decision stopped.
    pub(crate) fn ask(&self, decision: &Decision, urgency: Urgency) -> Approval {
        self.try_ask(decision, REASON, urgency).unwrap()
    }

    pub(crate) fn try_ask(
        &self,
        decision: &Decision,
        reason: &str,
        urgency: Urgency,
    ) -> Result<Approval, EngineError> {
        let seq = decision.audit.0.as_ref().unwrap().seq;
        self.agent.approvals().request(&BypassRequest {
            seq,
            guardrail: None,
            reason: reason.to_owned(),
            urgency,
        })
    }

    pub(crate) fn approve(&self, id: &str, role: &str) -> Result<Approval, EngineError> {
        self.approver.approvals().answer(id, true, &person("ann", role), Some("fine"))
    }

    /// The status of a request, as a third handle sees it.
    pub(crate) fn status(&self, id: &str) -> (ApprovalState, &'static str) {
        let third = handle(&self.folder.path().join("s.db"), &self.pack, &self.clock);
        let approval = third.approvals().get(id).unwrap();
        (approval.state, approval.status_at(third.now()))
    }

    pub(crate) fn bodies(&self, kind: EventKind) -> Vec<Value> {
        let filter = AuditFilter { kind: Some(kind), ..AuditFilter::default() };
        let entries = self.approver.store().entries(&filter).unwrap();
        entries.iter().map(|entry| serde_json::from_str(&entry.body).unwrap()).collect()
    }
}

pub(crate) fn handle(path: &std::path::Path, pack: &str, clock: &Arc<ManualClock>) -> Arc<Engine> {
    let (policy, source) = policy(pack);
    let store = Arc::new(SqliteStore::open(path).unwrap());
    Arc::new(Engine::builder(policy, &source).store(store).clock(clock.clone()).build().unwrap())
}

pub(crate) fn call(tool: &str, args: Value) -> Event {
    let mut event = Event::new(EventKind::BeforeTool).in_session("s");
    event.agent = Some(Agent { id: Some("coder".to_owned()), ..Agent::default() });
    event.tool = Some(ToolCall::new(tool, args));
    event
}

pub(crate) fn person(name: &str, role: &str) -> Person {
    Person::authenticated(name, [role])
}

#[track_caller]
pub(crate) fn refusal<T>(result: Result<T, EngineError>, part: &str) {
    match result {
        Ok(_) => panic!("it was done, and should be refused: {part}"),
        Err(error) => assert!(error.to_string().contains(part), "`{part}` is not in: {error}"),
    }
}

#[test]
fn an_approved_call_passes_once_and_leaves_its_whole_story() {
    let world = World::new("");
    let stopped = world.deploy(json!({"to": "prod"}));
    assert_eq!(stopped.effect, Effect::Block);
    assert!(
        world
            .agent
            .approvals()
            .guidance(&stopped)
            .unwrap()
            .contains("midrail approvals request --decision 1 ")
    );
    let asked = world.ask(&stopped, Urgency::Normal);
    assert_eq!((asked.approver.as_str(), asked.seq), ("reviewer", Some(1)));

    let waiting = world.deploy(json!({"to": "prod"}));
    assert_eq!(waiting.effect, Effect::Block);
    let guidance = world.agent.approvals().guidance(&waiting).unwrap();
    assert!(guidance.contains(&format!("midrail approvals wait {}", asked.id)), "{guidance}");
    let records = world.approver.store().head().unwrap().unwrap().seq;
    assert_eq!(world.ask(&waiting, Urgency::Normal), asked, "asking again is answered with what waits");
    assert_eq!(world.approver.store().head().unwrap().unwrap().seq, records, "and writes nothing");

    world.approve(&asked.id, "reviewer").unwrap();
    refusal(world.try_ask(&waiting, REASON, Urgency::Urgent), "is already approved");
    assert_eq!(world.deploy(json!({"to": "prod", "now": true})).effect, Effect::Block, "changed arguments");
    assert_eq!(world.status(&asked.id).0, ApprovalState::Approved);
    assert_eq!(world.deploy(json!({"to": "prod"})).effect, Effect::Allow);
    assert_eq!(world.status(&asked.id).0, ApprovalState::Used);
    assert_eq!(world.deploy(json!({"to": "prod"})).effect, Effect::Block);

    let report = &world.bodies(EventKind::Administered)[0]["event"];
    assert_eq!(report["what"], json!("bypass_requested"));
    assert_eq!(report["approval"]["justification"], json!(REASON));
    let decided = &world.bodies(EventKind::ApprovalDecided)[0]["event"]["approval"];
    for (name, value) in [
        ("decided_by", json!("ann")),
        ("decided_role", json!("reviewer")),
        ("note", json!("fine")),
        ("requested_by", json!("coder")),
        ("guardrail", json!("friday")),
        ("summary", json!("{\"to\":\"prod\"}")),
    ] {
        assert_eq!(decided[name], value, "{name}");
    }
    assert!(world.approver.store().verify(&Default::default(), &mut |_, _| {}).unwrap().is_intact());
}

#[test]
fn a_denied_call_stays_blocked_and_can_be_asked_for_anew() {
    let world = World::new("");
    let asked = world.ask(&world.deploy(json!({})), Urgency::Normal);
    world
        .approver
        .approvals()
        .answer(&asked.id, false, &person("ann", "reviewer"), Some("not today"))
        .unwrap();
    let denied = world.deploy(json!({}));
    assert_eq!(denied.effect, Effect::Block);
    assert!(denied.reason.contains("denied by ann"), "{}", denied.reason);
    refusal(world.approve(&asked.id, "reviewer"), "is denied");
    let again = world.ask(&denied, Urgency::Normal);
    assert_ne!(again.id, asked.id);
    world.approve(&again.id, "reviewer").unwrap();
    assert_eq!(world.deploy(json!({})).effect, Effect::Allow);
}

#[test]
fn timeout_is_reported_as_timeout() {
    let world = World::new("");
    let asked = world.ask(&world.deploy(json!({})), Urgency::Normal);
    world.clock.advance(899.0);
    assert_eq!(world.status(&asked.id).1, "pending");
    world.clock.advance(1.0);
    assert_eq!(world.status(&asked.id).1, "timed out");
    refusal(world.approve(&asked.id, "human_operator"), "is timed out");
    let late = world.deploy(json!({}));
    assert_eq!(late.effect, Effect::Block);
    assert!(
        late.reason.contains("timed out with no answer") && !late.reason.contains("denied"),
        "{}",
        late.reason
    );
    assert_eq!(world.status(&asked.id), (ApprovalState::Expired, "timed out"));

    // An approval that is not used in time expires, too.
    let asked = world.ask(&world.deploy(json!({})), Urgency::Normal);
    world.approve(&asked.id, "reviewer").unwrap();
    world.minutes(15.0);
    let late = world.deploy(json!({}));
    assert!(late.reason.contains("timed out before it was used"), "{}", late.reason);
    assert_eq!(world.status(&asked.id), (ApprovalState::Expired, "expired"));
}

#[test]
fn an_escalation_is_a_block_after_thirty_minutes() {
    let world = World::new("");
    let held = world.refund(7);
    let id = held.approval.unwrap().id;
    world.minutes(29.9);
    assert_eq!(world.refund(7).approval.unwrap().id, id);
    world.minutes(0.1);
    let late = world.refund(7);
    assert_eq!(late.effect, Effect::Block);
    assert!(late.reason.contains("timed out"), "{}", late.reason);
    assert_eq!(world.status(&id), (ApprovalState::Expired, "timed out"));
    let anew = world.refund(7);
    assert_eq!(anew.effect, Effect::Escalate);
    assert_ne!(anew.approval.unwrap().id, id);
}

#[test]
fn an_urgent_request_goes_to_the_next_authority() {
    let world = World::new("");
    let asked = world.ask(&world.deploy(json!({})), Urgency::Urgent);
    assert_eq!(asked.approvers, ["reviewer", "architect", "human_operator"]);
    for (role, too_low) in [("architect", "reviewer"), ("human_operator", "architect")] {
        world.minutes(15.0);
        assert_eq!(
            world.approver.approvals().get(&asked.id).unwrap().authority_at(world.approver.now()),
            Some(role)
        );
        refusal(world.approve(&asked.id, too_low), &format!("is for the role `{role}`"));
    }
    world.minutes(14.9);
    world.approve(&asked.id, "human_operator").unwrap();
    assert_eq!(world.deploy(json!({})).effect, Effect::Allow);

    let asked = world.ask(&world.deploy(json!({})), Urgency::Urgent);
    world.minutes(45.0);
    assert_eq!(world.status(&asked.id).1, "timed out");
}

#[test]
fn an_escalation_can_be_made_urgent() {
    let world = World::new("");
    let held = world.refund(7);
    let asked = world.ask(&held, Urgency::Urgent);
    assert_eq!(asked.id, held.approval.unwrap().id);
    assert_eq!(asked.justification.as_deref(), Some(REASON));
    world.minutes(44.0);
    world.approve(&asked.id, "human_operator").unwrap();
    assert_eq!(world.refund(7).effect, Effect::Allow);
}

#[test]
fn more_authority_may_always_answer_and_less_never() {
    let world = World::new("");
    let ask = || world.ask(&world.deploy(json!({})), Urgency::Normal);
    let asked = ask();
    refusal(world.approve(&asked.id, "intern"), "is for the role `reviewer`");
    refusal(
        world.approver.approvals().answer(&asked.id, true, &person("coder", "human_operator"), None),
        "cannot answer it",
    );
    refusal(
        world.approver.approvals().answer("no-such", true, &person("ann", "reviewer"), None),
        "there is no approval",
    );
    assert_eq!(world.status(&asked.id).0, ApprovalState::Pending);
    let decided = world.approve(&asked.id, "human_operator").unwrap();
    assert_eq!(decided.decided_role.as_deref(), Some("human_operator"));
}

#[test]
fn emergency_without_a_rule_is_a_normal_request() {
    let world = World::new("");
    let args = json!({"target": "importer"});
    let asked = world.ask(&world.deploy(args.clone()), Urgency::Emergency);
    assert_eq!(asked.override_at, None);
    world.minutes(2.0);
    assert_eq!(world.deploy(args.clone()).effect, Effect::Block);
    world.minutes(13.0);
    assert!(world.deploy(args).reason.contains("timed out"));
}

#[test]
fn unanswered_emergency_passes_once_and_requires_a_review() {
    let world = World::new(EMERGENCY);
    let args = json!({"target": "importer"});
    let asked = world.ask(&world.deploy(args.clone()), Urgency::Emergency);
    assert_eq!(asked.severity, Some(Severity::Critical));
    world.clock.advance(59.0);
    assert_eq!(world.deploy(args.clone()).effect, Effect::Block);
    world.clock.advance(1.0);
    assert_eq!(world.status(&asked.id).1, "override");
    let passed = world.deploy(args.clone());
    assert_eq!(passed.effect, Effect::Allow, "{}", passed.reason);
    assert_eq!(passed.effects, ["emergency_override"]);
    assert_eq!(world.deploy(args).effect, Effect::Block, "the guardrail is back");

    let used = world.approver.approvals().get(&asked.id).unwrap();
    assert_eq!((used.state, used.severity), (ApprovalState::Used, Some(Severity::Critical)));
    assert_eq!(used.decided_by.as_deref(), Some("emergency override"));
    let notices = world.approver.store().notices(0, 100).unwrap();
    for role in ["architect", "human_operator"] {
        let is_notified = |notice: &&midrail::store::StoredNotice| {
            notice.to == role && notice.message.contains("emergency override")
        };
        assert_eq!(notices.iter().filter(is_notified).count(), 1, "{role}");
    }

    let owed = || {
        let filter = ApprovalFilter { needs_review: true, ..ApprovalFilter::default() };
        let rows = world.approver.store().approvals(&filter).unwrap();
        rows.iter()
            .map(|row| row.review.as_ref().unwrap().status_at(world.approver.now()))
            .collect::<Vec<_>>()
    };
    world.minutes(24.0 * 60.0 - 0.1);
    assert_eq!(owed(), ["due"]);
    world.minutes(0.1);
    assert_eq!(owed(), ["overdue"]);
    let text = "The importer had filled the disk; stopping it was right, and it has a quota now.";
    refusal(world.approver.approvals().review(&asked.id, &person("rob", "reviewer"), text), "cannot review");
    refusal(
        world.approver.approvals().review(&asked.id, &person("coder", "architect"), text),
        "cannot review",
    );
    refusal(
        world.approver.approvals().review(&asked.id, &person("ann", "architect"), "fine"),
        "say what happened",
    );
    world.approver.approvals().review(&asked.id, &person("ann", "architect"), text).unwrap();
    assert!(owed().is_empty());
    refusal(
        world.approver.approvals().review(&asked.id, &person("ann", "architect"), text),
        "no review is due",
    );
    let filed = world.bodies(EventKind::Administered);
    assert!(filed.iter().any(|body| body["event"]["what"] == json!("approval_reviewed")));
}

#[test]
fn emergency_covers_only_what_the_pack_allows() {
    let world = World::new(EMERGENCY);
    let asked = world.ask(&world.deploy(json!({"target": "shop"})), Urgency::Emergency);
    assert_eq!((asked.urgency, asked.override_at), (Urgency::Emergency, None));
    world.minutes(2.0);
    assert_eq!(world.status(&asked.id).1, "pending");
    assert_eq!(
        world.approver.approvals().wait(&asked.id, Duration::ZERO).unwrap().status_at(world.approver.now()),
        "pending"
    );
    assert_eq!(world.deploy(json!({"target": "shop"})).effect, Effect::Block);
    world.approve(&asked.id, "reviewer").unwrap();
    assert_eq!(world.deploy(json!({"target": "shop"})).effect, Effect::Allow);
    assert_eq!(world.approver.approvals().get(&asked.id).unwrap().review, None);
}

#[test]
fn an_approval_is_not_used_up_where_another_guardrail_blocks() {
    let world = World::new(HELD);
    let session = world.agent.session("s");
    session.set("held", json!(false)).unwrap();
    let asked = world.ask(&world.deploy(json!({})), Urgency::Normal);
    let id = world.refund(7).approval.unwrap().id;
    for id in [&asked.id, &id] {
        world.approve(id, "reviewer").unwrap();
    }
    session.set("held", json!(true)).unwrap();
    assert_eq!(world.deploy(json!({})).by.as_deref(), Some("held"));
    assert_eq!(world.refund(7).by.as_deref(), Some("held"));
    assert_eq!(world.status(&asked.id).0, ApprovalState::Approved);
    assert_eq!(world.status(&id).0, ApprovalState::Approved);
    session.set("held", json!(false)).unwrap();
    assert_eq!(world.deploy(json!({})).effect, Effect::Allow);
    assert_eq!(world.refund(7).effect, Effect::Allow);
}

#[test]
fn each_call_of_a_batch_has_its_own_approval() {
    let world = World::new("");
    let ids: Vec<String> = (1..=3).map(|order| world.refund(order).approval.unwrap().id).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    world.approve(&ids[1], "reviewer").unwrap();
    world.approver.approvals().answer(&ids[2], false, &person("ann", "reviewer"), None).unwrap();
    let effects: Vec<Effect> = (1..=3).map(|order| world.refund(order).effect).collect();
    assert_eq!(effects, [Effect::Escalate, Effect::Allow, Effect::Block]);
}

#[test]
fn concurrent_denial_beats_an_approval() {
    let world = World::new("");
    for order in 0..8 {
        let id = world.refund(order).approval.unwrap().id;
        let (yes, no) = thread::scope(|scope| {
            let yes = scope
                .spawn(|| world.approver.approvals().answer(&id, true, &person("ann", "reviewer"), None));
            let no =
                scope.spawn(|| world.agent.approvals().answer(&id, false, &person("bob", "reviewer"), None));
            (yes.join().unwrap(), no.join().unwrap())
        });
        // The approval came first and was revoked, or it is rejected because the denial came first.
        let no = no.unwrap();
        assert_eq!(no.taken_back.is_some(), yes.is_ok());
        if let Err(late) = yes {
            assert!(late.to_string().contains("cannot be answered"), "{late}");
        }
        assert_eq!(world.status(&id).0, ApprovalState::Denied);
        assert_eq!(world.refund(order).effect, Effect::Block);
    }
}

#[test]
fn concurrent_approvals_count_once() {
    let world = World::new("");
    for order in 0..8 {
        let id = world.refund(order).approval.unwrap().id;
        let answers = thread::scope(|scope| {
            let one = scope
                .spawn(|| world.approver.approvals().answer(&id, true, &person("ann", "reviewer"), None));
            let other =
                scope.spawn(|| world.agent.approvals().answer(&id, true, &person("bob", "reviewer"), None));
            [one.join().unwrap(), other.join().unwrap()]
        });
        let (received, late): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((received.len(), late.len()), (1, 1));
        let late = late.into_iter().next().unwrap().unwrap_err();
        assert!(late.to_string().contains("cannot be answered"), "{late}");
        assert_eq!(world.refund(order).effect, Effect::Allow);
    }
}

#[test]
fn lower_budget_requires_more_authority() {
    let world = World::new("");
    let spent = |tokens: u64| {
        let mut event = call("deploy", json!({}));
        event.task = Some(Task { id: Some("t".to_owned()), token_budget: Some(1_000), ..Task::default() });
        event.usage = Some(Usage { tokens: Some(tokens), ..Usage::default() });
        world.agent.decide(event)
    };
    let asked = world.ask(&spent(600), Urgency::Normal);
    assert_eq!(asked.approver, "architect");
    refusal(world.approve(&asked.id, "reviewer"), "is for the role `architect`");
    world.approve(&asked.id, "architect").unwrap();
    let low = spent(850);
    assert!(low.reason.contains("only a person lifts guardrails"), "{}", low.reason);
    assert_eq!(world.status(&asked.id).0, ApprovalState::Approved);
    assert!(spent(620).effect.allows(), "the architect's answer is enough again");
    assert_eq!(spent(620).effect, Effect::Block);
}

#[test]
fn empty_reasons_and_allowed_records_are_rejected() {
    let world = World::new("");
    let stopped = world.deploy(json!({}));
    for reason in ["", "please approve", "hotfix"] {
        refusal(world.try_ask(&stopped, reason, Urgency::Normal), "the reason does not explain");
    }
    let passed = world.agent.decide(call("ls", json!({})));
    refusal(world.try_ask(&passed, REASON, Urgency::Normal), "stopped nothing");
    let ask =
        BypassRequest { seq: 999, guardrail: None, reason: REASON.to_owned(), urgency: Urgency::Normal };
    refusal(world.agent.approvals().request(&ask), "there is no record 999");
    assert_eq!(world.agent.approvals().guidance(&passed), None);
}

/// How often another thread is looked for before a test gives up.
const LOOKS: usize = 20_000;

/// One look at what another thread does, which is let run then.
fn look<T>(at: impl Fn() -> Option<T>) -> Option<T> {
    thread::yield_now();
    at()
}

#[test]
fn waiting_ends_when_another_handle_answers() {
    let world = World::new("");
    let decision = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            world
                .agent
                .approvals()
                .decide_and_wait(call("refund", json!({"order": 1})), Duration::from_secs(20))
        });
        let pending = ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
        let asked = || world.approver.store().approvals(&pending).unwrap().pop();
        let id = (0..LOOKS).find_map(|_| look(asked)).unwrap().id;
        world.approve(&id, "reviewer").unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(decision.effect, Effect::Allow);

    let mut old = call("refund", json!({"order": 2}));
    old.time = Some("2026-11-13T09:00:00Z".parse().unwrap());
    let decision = thread::scope(|scope| {
        let waiting = scope.spawn(|| world.agent.approvals().decide_and_wait(old, Duration::from_secs(20)));
        let count = || world.approver.store().approvals(&ApprovalFilter::default()).unwrap().len();
        (0..LOOKS).find_map(|_| look(|| (count() == 2).then_some(()))).unwrap();
        world.minutes(31.0);
        waiting.join().unwrap()
    });
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("timed out"), "{}", decision.reason);
}

#[test]
fn waiting_writes_few_records() {
    let world = World::new(EMERGENCY);
    let held = world.refund(1);
    let asked = world.ask(&held, Urgency::Emergency);
    world.minutes(2.0);
    // It is not for this action, and so it does not grant itself.
    assert_eq!(world.status(&asked.id).1, "pending");
    let before = world.approver.store().head().unwrap().unwrap().seq;
    let event = call("refund", json!({"order": 1}));
    let decision = world.agent.approvals().decide_and_wait(event, Duration::from_millis(400));
    assert_eq!(decision.effect, Effect::Escalate);
    let after = world.approver.store().head().unwrap().unwrap().seq;
    assert!(after - before <= 2, "{} records", after - before);
}

#[test]
fn request_uses_the_policy_that_stopped_the_action() {
    let world = World::new(EMERGENCY);
    let stopped = world.deploy(json!({}));
    let asked = world.ask(&stopped, Urgency::Normal);
    let held = world.refund(1).approval.unwrap();
    // Another policy is in force meanwhile.
    let (other, source) = policy("pack: other\nguardrails: []\n");
    world.approver.reload(other, &source).unwrap();
    let store = &**world.approver.store();
    let (of_record, _) = policy_for_record(store, asked.seq.unwrap()).unwrap().unwrap();
    assert_eq!(**of_record.revision(), *stopped.policy);
    for id in [&asked.id, &held.id] {
        let approval = world.approver.approvals().get(id).unwrap();
        let (found, _) = policy_for_approval(store, &approval).unwrap().unwrap();
        assert!(found.authorities().emergency.is_some());
    }
    assert!(policy_for_record(store, 999).unwrap().is_none());
}

#[test]
fn many_handles_use_one_approval_once() {
    let world = World::new("");
    let id = world.refund(1).approval.unwrap().id;
    world.approve(&id, "reviewer").unwrap();
    let passed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for engine in [&world.agent, &world.approver, &world.agent, &world.approver] {
            scope.spawn(|| {
                if engine.decide(call("refund", json!({"order": 1}))).effect == Effect::Allow {
                    passed.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(passed.into_inner(), 1);
}
