//! Notices reach webhooks and commands, and none is lost while a webhook is down.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use midrail::store::{Notices, Stats};
use midrail::{Engine, Store};
use serde_json::Value;

use crate::shared_store::{SharedStore, until};

/// What a server does with a request.
#[derive(Clone, Copy)]
enum Manner {
    Accepts,
    /// It says yes, and keeps the connection open.
    KeepsOpen,
    Refuses,
    TalksGarbage,
    Hangs,
    /// One byte at a time, for ever.
    Dribbles,
}

/// A server on loopback, and what it was sent.
struct Server {
    address: String,
    manner: Arc<Mutex<Manner>>,
    bodies: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
        let (manner, bodies) = (Arc::new(Mutex::new(manner)), Arc::new(Mutex::new(Vec::new())));
        let server = Server { address, manner: manner.clone(), bodies: bodies.clone() };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (manner, bodies) = (*manner.lock().unwrap(), bodies.clone());
                thread::spawn(move || answer(stream.unwrap(), manner, &bodies));
            }
        });
        server
    }

    fn becomes(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    fn ids(&self) -> Vec<u64> {
        self.bodies.lock().unwrap().iter().map(|body| body["id"].as_u64().unwrap()).collect()
    }
}

fn answer(mut stream: TcpStream, manner: Manner, bodies: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
            break;
        }
        head.push(line.trim_end().to_ascii_lowercase());
    }
    assert_eq!(head[0], "post /hook?key=1 http/1.1");
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut say = |text: &str| drop(stream.write_all(text.as_bytes()));
    match manner {
        Manner::Accepts | Manner::KeepsOpen => {
            bodies.lock().unwrap().push(body);
            say("HTTP/1.1 204 No\r\n\r\n");
            if matches!(manner, Manner::KeepsOpen) {
                wait_for_close(&mut reader);
            }
        }
        Manner::Refuses => say("HTTP/1.1 503 Service Unavailable\r\n\r\n"),
        Manner::TalksGarbage => say("\u{1}\u{2}220 mail ready, and much more that is no HTTP at all\r\n"),
        Manner::Hangs => wait_for_close(&mut reader),
        Manner::Dribbles => {
            say("HTTP");
            wait_for_close(&mut reader);
        }
    }
}

/// Waits until the client has closed the connection.
fn wait_for_close(reader: &mut impl Read) {
    let _ = reader.read_to_end(&mut Vec::new());
}

fn pack(server: &Server) -> String {
    format!("pack: t\nnotify:\n  human_operator: {{webhook: '{}'}}\n", server.address)
}

fn send_notice(engine: &Engine, actor: &str) {
    engine.admin().quarantine(actor, "ada", "it went astray").unwrap();
}

fn waiting(store: &dyn Store) -> Vec<(u64, u64)> {
    let waiting = store.pending_deliveries("webhook", 100).unwrap();
    waiting.iter().map(|it| (it.notice.id, it.attempts)).collect()
}

#[test]
fn a_webhook_is_sent_each_notice_once() {
    let (shared, server) = (SharedStore::new(), Server::start(Manner::Accepts));
    let engine = shared.engine(&pack(&server));
    send_notice(&engine, "eve");
    until(|| server.ids() == [1]);
    send_notice(&engine, "mallory");
    // The engine waits for what is under way.
    drop(engine);
    assert_eq!(server.ids(), [1, 2]);
    let other = shared.engine(&pack(&server));
    assert_eq!((other.background().deliver_notices(), waiting(&shared.store())), (0, vec![]));
    let first = server.bodies.lock().unwrap()[0].clone();
    assert_eq!((&first["to"], &first["kind"]), (&"human_operator".into(), &"quarantine".into()));
    assert!(first["message"].as_str().unwrap().contains("`eve`"), "{first}");
}

#[test]
fn server_that_keeps_the_connection_open_does_not_delay() {
    let (shared, server) = (SharedStore::new(), Server::start(Manner::KeepsOpen));
    let engine = shared.engine(&pack(&server));
    send_notice(&engine, "eve");
    drop(engine);
    assert_eq!((server.ids(), waiting(&shared.store())), (vec![1], vec![]));
}

#[test]
fn failing_server_loses_no_notice_and_delays_no_decision() {
    for manner in [Manner::Refuses, Manner::TalksGarbage, Manner::Hangs, Manner::Dribbles] {
        let (shared, server) = (SharedStore::new(), Server::start(manner));
        let engine = shared.engine(&pack(&server));
        send_notice(&engine, "eve");
        drop(engine);
        assert_eq!((server.ids(), waiting(&shared.store())), (vec![], vec![(1, 1)]));
        server.becomes(Manner::Accepts);
        // It is not tried again at once.
        let other = shared.engine(&pack(&server));
        assert_eq!((other.background().deliver_notices(), server.ids()), (0, vec![]));
        shared.clock.advance(30.0);
        assert_eq!(
            (other.background().deliver_notices(), server.ids(), waiting(&shared.store())),
            (1, vec![1], vec![])
        );
    }
}

#[test]
fn unreachable_recipient_is_retried_with_growing_delays_then_given_up() {
    let shared = SharedStore::new();
    // A port without a listener.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let pack = format!("pack: t\nnotify:\n  human_operator: {{webhook: 'http://{free}/'}}\n");
    let engine = shared.engine(&pack);
    send_notice(&engine, "eve");
    until(|| waiting(&shared.store()) == [(1, 1)]);
    for (seconds, attempts) in [(29.0, 1), (1.0, 2), (59.0, 2), (1.0, 3), (119.0, 3), (1.0, 4)] {
        shared.clock.advance(seconds);
        engine.background().deliver_notices();
        assert_eq!(waiting(&shared.store()), [(1, attempts)]);
    }
    for _ in 0..16 {
        shared.clock.advance(6.0 * 3_600.0);
        engine.background().deliver_notices();
    }
    // It is still in the list of notices.
    assert_eq!((waiting(&shared.store()), shared.store().notices(0, 9).unwrap().len()), (vec![], 1));
    assert_eq!(shared.store().counters().unwrap()["notices_given_up"], 1);
}

#[test]
fn unreachable_recipient_does_not_delay_others() {
    let (shared, server) = (SharedStore::new(), Server::start(Manner::Accepts));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let quiet = shared.engine("pack: t\nnotify:\n  human_operator: {log: false}\n");
    let store = quiet.store().clone();
    // Written by a process that is gone before it delivers: nothing is marked for these channels yet.
    let alert = |n: usize| midrail::store::Alert {
        name: format!("a{n}"),
        key: String::new(),
        fired_at: quiet.now(),
        value: 1.0,
        message: "m".to_owned(),
    };
    let notice = |to: &str| midrail::store::NewNotice { to: to.to_owned(), ..Default::default() };
    for n in 0..60 {
        store.fire_alert(&alert(n), 0, &[notice("dead")]).unwrap();
    }
    store.fire_alert(&alert(60), 0, &[notice("alive")]).unwrap();
    let pack = format!(
        "pack: t\nnotify:\n  dead: {{webhook: 'http://{free}/'}}\n  alive: {{webhook: '{}'}}\n",
        server.address
    );
    let engine = shared.engine(&pack);
    engine.background().deliver_notices();
    assert_eq!(server.ids(), [61]);
    // One attempt showed that there is no listener.
    let tried = waiting(&shared.store()).iter().filter(|(_, attempts)| *attempts > 0).count();
    assert_eq!((tried, waiting(&shared.store()).len()), (1, 60));
}

#[test]
fn delivery_of_a_killed_process_is_taken_over() {
    let (shared, server) = (SharedStore::new(), Server::start(Manner::Accepts));
    let doomed = shared.engine("pack: t\nnotify:\n  human_operator: {command: 'true'}\n");
    let now = doomed.now();
    let alert = midrail::store::Alert {
        name: "a".to_owned(),
        key: String::new(),
        fired_at: now,
        value: 1.0,
        message: "m".to_owned(),
    };
    let notice = midrail::store::NewNotice { to: "human_operator".to_owned(), ..Default::default() };
    doomed.store().fire_alert(&alert, 0, &[notice]).unwrap();
    assert!(doomed.store().claim_delivery(1, "webhook", now, 30).unwrap());
    drop(doomed);
    let heir = shared.engine(&pack(&server));
    assert_eq!(
        (heir.background().deliver_notices(), server.ids()),
        (0, vec![]),
        "it is claimed for half a minute"
    );
    shared.clock.advance(30.0);
    heir.background().deliver_notices();
    assert_eq!(server.ids(), [1]);
}

#[test]
fn a_command_gets_the_notice_on_its_standard_input() {
    let shared = SharedStore::new();
    let out = shared.path("out.jsonl");
    let pack = format!("pack: t\nnotify:\n  human_operator: {{command: 'cat >> {}'}}\n", out.display());
    let engine = shared.engine(&pack);
    send_notice(&engine, "eve");
    drop(engine);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!((&report["id"], &report["body"]["actor"]), (&1.into(), &"eve".into()));
}

#[test]
fn a_command_that_fails_or_never_ends_is_tried_again() {
    for command in ["exit 3", "sleep 30", "exec sleep 30 < /dev/null"] {
        let shared = SharedStore::new();
        let engine =
            shared.engine(&format!("pack: t\nnotify:\n  human_operator: {{command: '{command}'}}\n"));
        // More than fits into a pipe without a reader.
        engine.admin().quarantine("eve", "ada", &"x".repeat(200_000)).unwrap();
        drop(engine);
        let waiting = shared.store().pending_deliveries("command", 10).unwrap();
        assert_eq!(waiting.iter().map(|it| it.attempts).collect::<Vec<_>>(), [1], "{command}");
        shared.clock.advance(30.0);
        assert_eq!(
            shared
                .engine("pack: t\nnotify:\n  human_operator: {command: 'cat > /dev/null'}\n")
                .background()
                .deliver_notices(),
            1
        );
        assert!(shared.store().pending_deliveries("command", 10).unwrap().is_empty());
    }
}

#[test]
fn request_names_its_guardrail_readably() {
    let pack = "pack: p\nguardrails:\n  - {use: safety-001, effect: escalate, approver: reviewer}\n";
    let shared = SharedStore::new();
    let engine = shared.engine(pack);
    engine.decide(midrail::Event::before_tool("Bash", serde_json::json!({"command": "rm -rf /etc"})));
    let notices = crate::shared_store::notices(&**engine.store(), "approval");
    assert!(
        notices[0].message.starts_with("`destructive-command (safety-001)` asks about `Bash`"),
        "{notices:?}"
    );
}
