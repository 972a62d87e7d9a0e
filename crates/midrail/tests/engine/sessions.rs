//! Sessions, snapshots, approvals, permits, registration and records, through the library.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use midrail::admin::Person;
use midrail::guardrails::{Middleware, Prerequisites, VerdictObserver};
use midrail::pack::{Layer, PackDocument};
use midrail::{
    CallError, Effect, Engine, Event, EventKind, Files, ManualClock, Policy, PolicyEntry, PolicySource, Spec,
    SqliteStore, ToolResult,
};
use serde_json::json;

pub(crate) fn policy(pack: &str) -> (Policy, PolicySource) {
    let documents = PackDocument::read("test.yaml", pack, None).unwrap_or_else(|report| panic!("{report}"));
    let layered: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
    midrail::pack::compile_policy(&layered).unwrap()
}

pub(crate) fn engine(pack: &str) -> Arc<Engine> {
    let (policy, source) = policy(pack);
    let files = Arc::new(Files::simulated([("a.txt".to_owned(), "v1".to_owned())].into()));
    Arc::new(Engine::builder(policy, &source).files(files).build().unwrap())
}

const RULES: &str = "pack: t\nguardrails:\n  - read_before_write\n  - sequential: {deploy: [build]}\n";

/// Someone of every role.
fn person(name: &str) -> Person {
    Person::authenticated(name, ["reviewer", "architect", "human_operator"])
}

#[test]
fn snapshot_is_one_value_and_guardrails_see_the_restore() {
    struct Counts(Arc<AtomicUsize>);
    impl midrail::Guardrail for Counts {
        fn check(&self, _: &midrail::Context<'_>) -> Result<midrail::Verdict, midrail::Fault> {
            Ok(midrail::Verdict::allow())
        }
        fn observe(
            &self,
            context: &midrail::Context<'_>,
            _: Effect,
            changes: &mut midrail::Changes,
        ) -> Result<(), midrail::Fault> {
            self.0.fetch_add(1, Ordering::SeqCst);
            changes.set(context.key("restored"), true);
            Ok(())
        }
        fn observes(&self) -> &[EventKind] {
            &[EventKind::Restored]
        }
    }
    let engine = engine(RULES);
    let restores = Arc::new(AtomicUsize::new(0));
    engine.register(PolicyEntry::new(Spec::new("counts"), Arc::new(Counts(restores.clone()))));
    let session = engine.session("s");
    let before = session.snapshot().unwrap();
    session.notify_result("build", json!({}), ToolResult::ok(""));
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Allow);

    let text = serde_json::to_string(&before).unwrap();
    session.restore(&serde_json::from_str(&text).unwrap()).unwrap();
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Block);
    assert!(restores.load(Ordering::SeqCst) >= 1);
    assert_eq!(session.state_of("counts").unwrap()["restored"], json!(true));
    let last = engine.store().entries(&Default::default()).unwrap();
    assert!(last.iter().any(|entry| entry.labels.kind == "restored"));
}

#[test]
fn state_lists_files_read_and_tools_that_succeeded() {
    let engine = engine(RULES);
    let session = engine.session("s");
    session.notify_result("read_file", json!({"path": "./a.txt"}), ToolResult::ok("v1"));
    session.notify_result("build", json!({}), ToolResult::ok(""));
    assert_eq!(session.state_of("read_before_write").unwrap().keys().collect::<Vec<_>>(), ["read/a.txt"]);
    assert_eq!(session.state_of("sequential_dependency").unwrap().keys().collect::<Vec<_>>(), ["ok/build"]);
    let governing: Vec<String> =
        engine.policy().entries_for_tool("deploy").iter().map(|entry| entry.spec.id.to_string()).collect();
    assert!(governing.contains(&"sequential_dependency".to_owned()), "{governing:?}");
}

#[test]
fn a_tool_is_reached_only_with_a_permit() {
    let engine = engine(RULES);
    let session = engine.session("s");
    let runs = AtomicUsize::new(0);
    let denied = session.call("write_file", json!({"path": "a.txt"}), |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        Ok(json!("written"))
    });
    assert!(matches!(denied, Err(CallError::Denied(_))));
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    session.call("read_file", json!({"path": "a.txt"}), |_| Ok(json!("v1"))).unwrap();
    let args = session
        .call("write_file", json!({"path": "a.txt"}), |permit| Ok(json!(permit.text("path"))))
        .unwrap();
    assert_eq!(args, json!("a.txt"));
    let failed = session.call("build", json!({}), |_| Err("it broke".into()));
    assert!(matches!(failed, Err(CallError::Failed(why)) if why == "it broke"));
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Block);
}

#[test]
fn guarded_call_returns_the_redacted_result() {
    let engine = engine(
        "pack: t\nguardrails:\n  - secret-redaction\n  - {id: withhold, on: after_tool, tools: leak}\n",
    );
    let session = engine.session("s");
    let text = session.call("env", json!({}), |_| Ok(json!("key AKIAABCDEFGHIJKLMNOP"))).unwrap();
    assert!(text.as_str().unwrap().starts_with("key [redacted:aws-access-key#"), "{text}");
    let parts = session.call("env", json!({}), |_| Ok(json!({"out": ["AKIAABCDEFGHIJKLMNOP", 7]}))).unwrap();
    assert_eq!(parts["out"][1], json!(7));
    assert!(!parts.to_string().contains("AKIA"), "{parts}");
    let withheld = session.call("leak", json!({}), |_| Ok(json!("everything")));
    assert!(matches!(withheld, Err(CallError::Withheld(decision)) if decision.rollback_requested));
}

#[test]
fn guarded_call_runs_with_redacted_arguments() {
    let engine = engine("pack: t\nguardrails:\n  - {use: secret-redaction, on: before_tool}\n");
    let args = json!({"query": "key AKIAABCDEFGHIJKLMNOP", "limit": 3});
    let seen = engine.session("s").call("search", args, |permit| {
        assert_eq!(permit.args()["limit"], json!(3));
        Ok(json!(permit.text("query").unwrap()))
    });
    let seen = seen.unwrap();
    assert!(seen.as_str().unwrap().starts_with("key [redacted:aws-access-key#"), "{seen}");
}

#[test]
fn an_approval_passes_one_call_and_leaves_a_trail() {
    let (policy, source) =
        policy("pack: t\nguardrails:\n  - {id: ask, tools: deploy, effect: escalate, approver: architect}\n");
    let clock = Arc::new(ManualClock::at("2026-11-15T10:00:00Z".parse().unwrap()));
    let engine = Arc::new(Engine::builder(policy, &source).clock(clock.clone()).build().unwrap());
    let agent = midrail::Agent { id: Some("coder".into()), ..Default::default() };
    let session = engine.session("s").agent(agent);
    let decision = session.check("deploy", json!({"to": "prod"}));
    let request = decision.approval.unwrap();
    assert_eq!(request.approver, "architect");
    assert_eq!(session.check("deploy", json!({"to": "prod"})).approval.unwrap().id, request.id);

    let own = engine.approvals().answer(&request.id, true, &person("coder"), None).unwrap_err();
    assert!(own.to_string().contains("cannot answer it"), "{own}");
    engine.approvals().answer(&request.id, true, &person("ada"), Some("go")).unwrap();
    assert!(engine.approvals().answer(&request.id, true, &person("bob"), None).is_err());
    assert_eq!(session.check("deploy", json!({"to": "prod"})).effect, Effect::Allow);
    assert_eq!(session.check("deploy", json!({"to": "prod"})).effect, Effect::Escalate);
    let kept = engine.store().approval(&request.id).unwrap().unwrap();
    assert_eq!(kept.state, midrail::store::ApprovalState::Used);
    assert_eq!(kept.decided_by.as_deref(), Some("ada"));

    clock.advance(31.0 * 60.0);
    let late = session.check("deploy", json!({"to": "prod"}));
    assert_eq!(late.effect, Effect::Block);
    assert!(late.reason.contains("timed out"), "{}", late.reason);
    assert!(engine.store().verify(&Default::default(), &mut |_, _| {}).unwrap().is_intact());
}

#[test]
fn middleware_listeners_and_registration_work_at_run_time() {
    let engine = engine("pack: t\nguardrails: []\n");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    engine.on_denied(move |denied| log.lock().unwrap().push(denied.clone()));
    let looked = Arc::new(AtomicUsize::new(0));
    let count = looked.clone();
    let inspect = VerdictObserver::new(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let guardrail = inspect.wrap(Arc::new(Prerequisites::new("deploy", ["build"])));
    engine.register(PolicyEntry::new(Spec::new("seq"), guardrail));
    assert_eq!(engine.session("s").check("deploy", json!({})).effect, Effect::Block);
    assert!(looked.load(Ordering::SeqCst) >= 1);
    let denied = seen.lock().unwrap().pop().unwrap();
    assert_eq!((denied.policy_name.as_str(), denied.tool_name.as_str()), ("seq", "deploy"));
    assert_eq!(denied.event_id.len(), 36);
    assert!(engine.unregister("seq"));
    assert!(!engine.unregister("seq"));
    assert_eq!(engine.session("s").check("deploy", json!({})).effect, Effect::Allow);
}

/// Whoever writes an event chooses what is found secret in it. A name that it chooses so is looked for all the same.
#[test]
fn no_secret_takes_a_name_from_what_is_kept() {
    let pack = "pack: t\nguardrails:\n  - {id: stop-1, tools: stop, effect: halt}\n  - {id: ask2nd, tools: nag, effect: warn, warn_limit: 2}\n";
    let words = ["halted", "shared/pause", "session-4711", "stop-1", "ask2nd", "warn/ask2nd", "strikes"];
    let url = |word: &str| json!({"url": format!("https://bob:{word}@db.example.com/x"), "password": word});
    for word in words {
        let engine = engine(pack);
        let session = engine.session("session-4711");
        assert_eq!(session.check("nag", json!({})).effect, Effect::Warn, "{word}");
        let second = session.check("nag", url(word));
        assert_eq!(second.effect, Effect::Escalate, "{word}: {second:?}");
        // Neither the event that halts a run nor one that comes later gets past it.
        assert_eq!(session.check("stop", url(word)).effect, Effect::Halt, "{word}");
        for args in [json!({}), url(word)] {
            assert_eq!(session.check("read", args).effect, Effect::Halt, "{word}");
        }
        for entry in engine.store().entries(&Default::default()).unwrap() {
            let record = entry.record().unwrap();
            assert_eq!(
                record.replay(&engine.policy()).effect,
                record.decision.effect,
                "{word}: {}",
                entry.body
            );
        }
    }
}

#[test]
fn a_record_holds_no_secret_and_replays_to_the_same_decision() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, source) = policy(
        "pack: t\nguardrails:\n  - secret-redaction\n  - {id: ask, tools: send, effect: escalate}\n  - sequential: {deploy: [build]}\n",
    );
    let store = Arc::new(SqliteStore::open(folder.path().join("s.db")).unwrap());
    let engine = Arc::new(Engine::builder(policy, &source).store(store.clone()).build().unwrap());
    let session = engine.session("s").cwd("/repo");
    let secret = "AKIAABCDEFGHIJKLMNOP";
    session.notify_result("env", json!({"note": secret}), ToolResult::ok(format!("key {secret}")));
    let asked = session.check("send", json!({"body": secret}));
    engine.approvals().answer(&asked.approval.unwrap().id, true, &person("ada"), None).unwrap();
    assert_eq!(session.check("send", json!({"body": "something else"})).effect, Effect::Escalate);
    assert_eq!(session.check("send", json!({"body": secret})).effect, Effect::Allow);
    session.check("deploy", json!({}));

    use midrail::store::AuditLog;
    let entries = store.entries(&Default::default()).unwrap();
    assert!(entries.len() >= 6);
    for entry in &entries {
        assert!(!entry.body.contains(secret), "{}", entry.body);
        let record = entry.record().unwrap();
        if record.event.kind == EventKind::ApprovalDecided {
            continue;
        }
        let replayed = record.replay(&engine.policy());
        assert_eq!(replayed.effect, record.decision.effect, "record {}", entry.seq);
        assert_eq!(replayed.reason, record.decision.reason);
        assert_eq!(replayed.by, record.decision.by);
        assert_eq!(replayed.content, record.decision.content);
    }
    let bytes = std::fs::read(folder.path().join("s.db")).unwrap();
    let wal = std::fs::read(folder.path().join("s.db-wal")).unwrap_or_default();
    for file in [bytes, wal] {
        assert!(!file.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn deciding_can_be_awaited() {
    use std::future::Future;
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let engine = engine(RULES);
    let mut deciding = std::pin::pin!(engine.decide_async(Event::before_tool("deploy", json!({}))));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let decision = loop {
        match deciding.as_mut().poll(&mut context) {
            Poll::Ready(decision) => break decision,
            Poll::Pending => std::thread::park_timeout(std::time::Duration::from_secs(5)),
        }
    };
    assert_eq!(decision.effect, Effect::Block);
}

#[test]
fn restore_does_not_undo_decisions() {
    let engine = engine(
        "pack: t\nguardrails:\n  - {id: ask, tools: deploy, effect: escalate}\n  - {id: stop, tools: leak, effect: halt}\n",
    );
    let session = engine.session("s");
    let asked = session.check("deploy", json!({}));
    engine.approvals().answer(&asked.approval.unwrap().id, true, &person("ada"), None).unwrap();
    let approved = session.snapshot().unwrap();
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Allow);
    session.restore(&approved).unwrap();
    assert_eq!(session.check("deploy", json!({})).effect, Effect::Escalate, "an approval is used once");
    assert_eq!(session.check("leak", json!({})).effect, Effect::Halt);
    session.restore(&approved).unwrap();
    assert_eq!(session.check("build", json!({})).effect, Effect::Halt, "a halted run stays halted");
    assert!(engine.session("other").restore(&approved).is_err());
}

#[test]
fn a_secret_that_an_encoding_or_a_script_hid_is_nowhere_either() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, source) = policy("pack: t\nguardrails: [safety-001]\n");
    let store = Arc::new(SqliteStore::open(folder.path().join("s.db")).unwrap());
    let script = "rm -rf ~ --token=ghp_Zq8Rk3Vt6Wm1Xp9Ys4Bn7Cd2Ff5Gh0Jj8KkL\n";
    let files = Arc::new(Files::simulated([("x.sh".to_owned(), script.to_owned())].into()));
    let engine =
        Arc::new(Engine::builder(policy, &source).store(store.clone()).files(files).build().unwrap());
    let session = engine.session("s");
    // `rm -rf ~ AKIAQ4ZTX7RK2MPLWN3J`, encoded.
    let encoded = "echo cm0gLXJmIH4gQUtJQVE0WlRYN1JLMk1QTFdOM0o= | base64 -d | sh";
    let decoded = session.check("Bash", json!({"command": encoded}));
    assert_eq!(session.check("Write", json!({"file_path": "x.sh", "content": ""})).effect, Effect::Allow);
    let script = session.check("Bash", json!({"command": "sh x.sh"}));
    let mut kept = String::new();
    for answer in [&decoded, &script] {
        assert_eq!(answer.effect, Effect::Block, "{answer:?}");
        kept.push_str(&serde_json::to_string(answer).unwrap());
    }
    use midrail::store::AuditLog;
    for entry in store.entries(&Default::default()).unwrap() {
        let record = entry.record().unwrap();
        let replayed = record.replay(&engine.policy());
        assert_eq!(replayed.effect, record.decision.effect, "{}", entry.seq);
        kept.push_str(&serde_json::to_string(&record).unwrap());
    }
    for secret in ["AKIAQ4ZTX7RK2MPLWN3J", "ghp_Zq8Rk3Vt6Wm1Xp9Ys4Bn7Cd2Ff5Gh0Jj8KkL"] {
        assert!(!kept.contains(secret), "{secret} is in {kept}");
    }
}

#[test]
fn a_secret_is_nowhere_in_what_is_kept_or_answered() {
    let folder = tempfile::tempdir().unwrap();
    let (policy, source) = policy(
        "pack: t\nguardrails:\n  - require_before: {tool: merge, requires: review, key: pr_id}\n  - {id: no, tools: Bash}\n",
    );
    let store = Arc::new(SqliteStore::open(folder.path().join("s.db")).unwrap());
    let engine = Arc::new(Engine::builder(policy, &source).store(store.clone()).build().unwrap());
    let secret = "AKIAABCDEFGHIJKLMNOP";
    let session = engine.session(format!("s-{secret}"));
    let mut answers = Vec::new();
    answers.push(session.check("merge", json!({"pr_id": secret})));
    answers.push(
        session
            .check("Bash", json!({"command": format!("export K={secret}"), "path": format!("d/{secret}/x")})),
    );
    session.notify_result("review", json!({"pr_id": secret}), ToolResult::ok("fine"));
    let passed = session.check("merge", json!({"pr_id": secret}));
    assert_eq!(passed.effect, Effect::Allow, "{}", passed.reason);
    session.set("note", format!("the key is {secret}")).unwrap();
    answers.push(passed);
    for answer in &answers {
        assert!(!serde_json::to_string(answer).unwrap().contains(secret), "{answer:?}");
    }
    for name in ["s.db", "s.db-wal"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
        assert!(
            !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
            "{name} holds the secret"
        );
    }
    use midrail::store::AuditLog;
    for entry in
        store.entries(&Default::default()).unwrap().iter().filter(|entry| entry.labels.kind != "administered")
    {
        let record = entry.record().unwrap();
        let replayed = record.replay(&engine.policy());
        assert_eq!(
            (replayed.effect, &replayed.reason),
            (record.decision.effect, &record.decision.reason),
            "{}",
            entry.seq
        );
    }
}

#[test]
fn rules_of_one_policy_keep_their_state_apart() {
    let engine = engine(
        "policy: p\nrules:\n  - require_before: {tool: merge, requires: review, key: pr_id}\n  - require_before: {tool: publish, requires: review, key: doc_id}\n",
    );
    let session = engine.session("s");
    session.notify_result("review", json!({"doc_id": 7}), ToolResult::ok(""));
    assert_eq!(session.check("publish", json!({"doc_id": 7})).effect, Effect::Allow);
    assert_eq!(session.check("merge", json!({"pr_id": 7})).effect, Effect::Block);
}

#[test]
fn reserved_event_kinds_are_rejected() {
    let engine = engine(RULES);
    for kind in [EventKind::ApprovalDecided, EventKind::Restored] {
        assert_eq!(engine.decide(Event::new(kind)).effect, Effect::Block);
    }
    assert!(!engine.unregister("builtin-003"), "what is always on stays");
}

#[test]
fn a_session_keeps_the_folder_of_its_first_event() {
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repo");
    std::fs::create_dir_all(repo.join("secrets")).unwrap();
    std::fs::write(repo.join("secrets/x"), "").unwrap();
    let pack = "pack: t\nagents: {coder: {scope: {files: {deny: [\"secrets/**\"]}}}}\nguardrails:\n  - read_before_write\n";
    let (policy, source) = policy(pack);
    let engine = Arc::new(Engine::builder(policy, &source).build().unwrap());
    let at = |cwd: &std::path::Path| engine.session("s").cwd(cwd.to_string_lossy());
    assert_eq!(at(&repo).check("Read", json!({"file_path": "secrets/x"})).effect, Effect::Block);
    // The agent moves; what its guardrails speak of does not.
    assert_eq!(at(&repo.join("secrets")).check("Read", json!({"file_path": "x"})).effect, Effect::Block);
    // Above the folder it is another file of that name, and was not read.
    std::fs::write(folder.path().join("x"), "").unwrap();
    assert_eq!(at(folder.path()).check("Write", json!({"file_path": "x"})).effect, Effect::Block);
}

#[test]
fn links_are_followed_by_every_guardrail_on_files() {
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().canonicalize().unwrap();
    std::fs::write(repo.join(".env"), "K=1").unwrap();
    std::fs::create_dir(repo.join("src")).unwrap();
    std::os::unix::fs::symlink("../.env", repo.join("src/innocent.txt")).unwrap();
    let loaded = midrail::Load { packs: vec!["default".into()], ..Default::default() }.load().unwrap();
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build().unwrap());
    let session = engine.session("s").cwd(repo.to_string_lossy());
    let decision = session.check("Read", json!({"file_path": "src/innocent.txt"}));
    assert_eq!(decision.by.as_deref(), Some("safety-002"), "{}", decision.reason);
}

#[test]
fn forged_answer_lifts_nothing() {
    use midrail::store::{ApprovalChange, Commit};
    let engine = engine("pack: t\nguardrails:\n  - {id: e, effect: escalate}\n");
    let session = engine.session("s");
    let asked = session.check("t", json!({})).approval.unwrap();
    // Whoever can write the store, and does not have its key, writes what a person would have.
    let row = engine.approvals().get(&asked.id).unwrap();
    let forged = midrail::store::Approval {
        state: midrail::store::ApprovalState::Approved,
        decided_by: Some("eve".to_owned()),
        ..row.clone()
    };
    let slices = session.snapshot().unwrap().slices;
    let key = slices.keys().find(|key| key.starts_with("approval/")).unwrap();
    let record = engine.store().entry(1).unwrap().unwrap().record().unwrap();
    let mut commit = Commit::new(&record);
    commit.approvals.push(ApprovalChange::update(row.state, forged));
    commit.changes.set(key.clone(), json!({"id": asked.id, "state": "approved", "by": "eve"}));
    engine.store().commit(&commit).unwrap();
    let decision = session.check("t", json!({}));
    assert_eq!(decision.effect, Effect::Block);
    assert!(decision.reason.contains("was not written by an approver"), "{}", decision.reason);
}
