//! What outlives a process: several of them on one SQLite file, servers that misbehave, a clock that is moved.

use midrail_store::{AuditFilter, AuditLog, Commit, Slices, SqliteStore};
use serde_json::{Value, json};

use super::server::{Reply, Server};
use super::*;
use crate::admin::event::AdminEvent;
use crate::{Effect, Engine, Event};

struct Disk {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

impl Disk {
    fn new() -> Self {
        Disk { folder: tempfile::tempdir().unwrap(), clock: clock() }
    }

    fn store(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open(self.folder.path().join("midrail.db")).unwrap())
    }

    /// A process that decides one event and ends, as hooks are.
    fn process(&self) -> DeepQueue {
        on_store(self.store(), self.clock.clone(), true)
    }

    fn ask(&self, settings: &Arc<DeepSettings>, run: &str, text: &str) -> Result<Answer, String> {
        let asking = self.process();
        answered(asking.ask("g", settings, question(run, text)))
    }

    fn slice(&self, run: &str, key: &str) -> Value {
        let slices = self.store().load(run, &[key]).unwrap();
        slices.into_iter().next().unwrap().value.unwrap_or_default()
    }
}

fn verdict() -> Reply {
    let text = json!({"verdict": "allow", "confidence": 1, "reason": "because"}).to_string();
    let usage = json!({"prompt_tokens": 1_000_000, "completion_tokens": 100_000});
    Reply::Json(
        200,
        json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}),
    )
}

/// A judge of whom every answer costs 2.
fn judge(server: &Server, budget: Value, more: Value) -> Arc<DeepSettings> {
    let url = server.url("/v1/chat/completions");
    let judge = json!({"api": "openai", "url": url, "model": "m", "prompt": "Fine?", "retries": 0,
        "cost": {"input": 1, "output": 10}, "budget": budget});
    let mut value = json!({"judge": judge, "cache": 0});
    for (name, of) in more.as_object().unwrap() {
        value[name] = of.clone();
    }
    settings(value)
}

#[test]
fn budget_applies_across_processes() {
    let (disk, server) = (Disk::new(), Server::new(vec![verdict()]));
    let judge = judge(&server, json!({"session": 3.5, "day": 7}), json!({}));
    for _ in 0..2 {
        assert_eq!(disk.ask(&judge, "one", "x").unwrap().cost, Some(2.0));
    }
    let error = disk.ask(&judge, "one", "x").unwrap_err();
    assert!(error.contains("budget of 3.5 for a session is used up"), "{error}");
    assert_eq!(disk.slice("one", "spent/judge/g")["gone"], json!(4.0));
    // All sessions share the day's.
    disk.ask(&judge, "two", "x").unwrap();
    disk.ask(&judge, "three", "x").unwrap();
    let error = disk.ask(&judge, "four", "x").unwrap_err();
    assert!(error.contains("budget of 7 for a day is used up"), "{error}");
    assert_eq!(server.count(), 4);
    // What was spent does not change with the settings.
    let raised = self::judge(&server, json!({"session": 3.75}), json!({}));
    assert!(disk.ask(&raised, "one", "x").unwrap_err().contains("budget of 3.75 for a session"));
    disk.clock.advance(86_400.0);
    assert!(disk.ask(&judge, "four", "x").is_ok());
    assert!(disk.ask(&judge, "one", "x").is_err(), "a session stays what it is");
    // Each change is recorded with what was spent.
    let log = disk.store().entries(&AuditFilter::default()).unwrap();
    let whats: Vec<Value> =
        log.iter().map(|entry| entry.record().unwrap().event.extra["what"].clone()).collect();
    assert_eq!(whats[..2], [json!("question_asked"), json!("question_settled")]);
    let report = log[1].record().unwrap().event.extra["question"].clone();
    assert_eq!(report["changes"]["session"]["gone"], json!(2.0), "{report}");
}

#[test]
fn killed_process_has_spent_its_reservation() {
    let (disk, server) = (Disk::new(), Server::new(vec![Reply::Silent]));
    let judge = judge(&server, json!({"session": 0.004}), json!({}));
    let asking = disk.process();
    let ticket = asking.ask("g", &judge, question("s", "x")).unwrap();
    until("it is asked", || server.count() == 1);
    let held = disk.slice("s", "spent/judge/g")["gone"].as_f64().unwrap();
    assert!(held > 0.005, "{held}");
    // Beside it another process finds the budget used up.
    let error = disk.ask(&judge, "s", "y").unwrap_err();
    assert!(error.contains("is used up"), "{error}");
    drop(asking);
    assert!(matches!(ticket.wait(LONG), Ok(Err(_))));
    assert_eq!(disk.slice("s", "spent/judge/g")["gone"].as_f64(), Some(held), "it may be charged for");
}

#[test]
fn unsent_question_costs_nothing() {
    let (disk, server) = (Disk::new(), Server::new(vec![Reply::Silent]));
    let judge = judge(&server, json!({"session": 100}), json!({"max_concurrent": 1}));
    let asking = disk.process();
    let first = asking.ask("g", &judge, question("s", "x")).unwrap();
    until("it is asked", || server.count() == 1);
    let second = asking.ask("g", &judge, question("other", "y")).unwrap();
    assert!(disk.slice("other", "spent/judge/g")["gone"].as_f64() > Some(0.0));
    asking.cancel_run("other");
    assert_eq!(disk.slice("other", "spent/judge/g")["gone"], json!(0.0));
    drop((asking, first, second));
}

#[test]
fn many_processes_at_once_lose_no_payment() {
    let (disk, server) = (Disk::new(), Server::new(vec![verdict()]));
    let judge = judge(&server, json!({"day": 1000}), json!({}));
    std::thread::scope(|scope| {
        for process in 0..4 {
            let (disk, judge) = (&disk, &judge);
            scope.spawn(move || {
                for _ in 0..3 {
                    disk.ask(judge, &format!("s{process}"), "x").unwrap();
                }
            });
        }
    });
    assert_eq!(disk.slice("any", "shared/judge/g")["gone"], json!(24.0));
}

#[test]
fn unreadable_ledger_stops_questions() {
    let (disk, server) = (Disk::new(), Server::new(vec![verdict()]));
    let judge = judge(&server, json!({"session": 3.5}), json!({}));
    let store = disk.store();
    let record =
        AdminEvent::new("test").in_session("s").into_record(clock_now(&disk), b"key", &"sha256:0".into());
    let mut commit = Commit::new(&record);
    commit.changes.set("spent/judge/g", "all of it");
    midrail_store::Store::commit(&*store, &commit).unwrap();
    let error = disk.ask(&judge, "s", "x").unwrap_err();
    assert!(error.contains("cannot be read") && server.count() == 0, "{error}");
}

fn clock_now(disk: &Disk) -> Timestamp {
    crate::clock::Clock::now(&*disk.clock)
}

#[test]
fn circuit_breaker_applies_across_processes() {
    let (disk, server) = (Disk::new(), Server::new(vec![Reply::Json(500, json!({}))]));
    let http = |timeout: &str| {
        settings(json!({"http": {"url": server.url("/"), "retries": 0}, "timeout": timeout, "cache": 0,
            "breaker": {"failures": 3, "pause": "30s"}}))
    };
    let one = http("1m");
    for _ in 0..3 {
        assert!(disk.ask(&one, "s", "x").unwrap_err().contains("answered 500"));
    }
    disk.clock.advance(10.0);
    let error = disk.ask(&one, "other", "x").unwrap_err();
    assert!(
        error.contains("failed 3 times in a row, so it is not called; it is called again in 20 s"),
        "{error}"
    );
    assert!(error.contains("Last: `127.0.0.1:") && server.count() == 3, "{error}");
    // Other settings are another matter.
    assert!(disk.ask(&http("2m"), "s", "x").unwrap_err().contains("answered 500"));

    // After the pause one question goes out; others wait for it, but not for ever: its process may have died.
    disk.clock.advance(20.0);
    server.reply(vec![Reply::Silent]);
    let dies = disk.process();
    let ticket = dies.ask("g", &one, question("s", "x")).unwrap();
    until("it is asked", || server.count() == 5);
    let error = disk.ask(&one, "s", "x").unwrap_err();
    assert!(error.contains("one question is testing"), "{error}");
    disk.clock.advance(60.0);
    server.reply(vec![Reply::Echo]);
    let tries = disk.process();
    let trying = tries.ask("g", &one, question("s", "x"));
    assert_eq!(answered(trying).unwrap().value, json!("x"));
    drop((dies, ticket));
    // It went well, so nothing is left of it.
    assert!(disk.ask(&one, "s", "x").is_ok());
    assert!(disk.store().load_prefix("any", "shared/breaker/").unwrap().len() <= 1);
}

#[test]
fn stored_answers_are_bounded_and_outlive_a_process() {
    let (disk, server) = (Disk::new(), Server::new(vec![Reply::Echo]));
    let http = settings(
        json!({"http": {"url": server.url("/"), "retries": 0}, "cache": "10m", "max_text": 100_000}),
    );
    assert!(!disk.ask(&http, "s", "a").unwrap().cached);
    let again = disk.ask(&http, "s", "a").unwrap();
    assert_eq!((again.cached, again.value, server.count()), (true, json!("a"), 1));
    assert!(!disk.ask(&http, "other", "a").unwrap().cached, "a session's answers are its own");
    disk.clock.advance(601.0);
    assert!(!disk.ask(&http, "s", "a").unwrap().cached);
    for number in 0..40 {
        disk.ask(&http, "s", &number.to_string()).unwrap();
    }
    assert_eq!(disk.slice("s", "late/answers/g").as_array().unwrap().len(), 16);
    let before = server.count();
    assert!(!disk.ask(&http, "s", "a").unwrap().cached && disk.ask(&http, "s", "39").unwrap().cached);
    // One that is large is not kept at all.
    let large = "x".repeat(15_000);
    for _ in 0..2 {
        disk.ask(&http, "s", &format!("{large}{large}{large}")).unwrap();
    }
    assert_eq!(server.count(), before + 3);
    assert!(disk.slice("s", "late/answers/g").to_string().len() < 40_000);
}

#[test]
fn two_engines_on_one_file_share_the_budget() {
    let (disk, server) = (Disk::new(), Server::new(vec![verdict()]));
    let url = server.url("/v1/chat/completions");
    let pack = format!(
        "pack: t\nguardrails:\n  - id: polite\n    deep:\n      required: true\n      cache: 0\n      judge: \
         {{api: openai, url: \"{url}\", model: m, prompt: Polite?, cost: {{input: 1, output: 10}}, \
         budget: {{session: 3}}}}\n"
    );
    let decide = || {
        let documents = midrail_pack::PackDocument::read("t.yaml", &pack, None).unwrap();
        let layered: Vec<_> = documents.into_iter().map(|it| (midrail_pack::Layer::Project, it)).collect();
        let (policy, source) = midrail_pack::compile_policy(&layered).unwrap();
        let engine = Engine::builder(policy, &source).store(disk.store()).clock(disk.clock.clone());
        let engine = engine.for_one_event().build().unwrap();
        engine.decide(Event::before_tool("send", json!({"text": "hi"})).in_session("s"))
    };
    assert_eq!((decide().effect, decide().effect), (Effect::Allow, Effect::Allow));
    let decision = decide();
    assert_eq!(decision.effect, Effect::Escalate);
    assert!(decision.reason.contains("budget of 3 for a session is used up"), "{}", decision.reason);
    assert_eq!(server.count(), 2);
}
