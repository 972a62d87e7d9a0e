//! A connection to servers that do what they should, and to servers that do not: every request gets an answer.

#[path = "../../../tests/support/http_server.rs"]
mod http_server;

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};

use self::http_server::{Connection, HttpServer};
use super::upstream::{Upstream, UpstreamError};
use super::{Link, Received};

const LONG: Duration = Duration::from_secs(60);

/// A connection, and what it receives.
struct Talk {
    server: HttpServer,
    link: Link,
    received: Receiver<Received>,
}

impl Talk {
    fn new(handle: impl Fn(&http_server::Received, &mut Connection) + Send + Sync + 'static) -> Self {
        let server = HttpServer::start(handle);
        let upstream =
            Upstream::new(&server.url, &[("Authorization".to_owned(), "Bearer k".to_owned())]).unwrap();
        let (sender, received) = mpsc::sync_channel(4);
        let sender = std::sync::Mutex::new(sender);
        let receive = move |message| {
            let sender = sender.lock().unwrap().clone();
            drop(sender.send(message));
        };
        let link = Link::new(upstream, Box::new(receive));
        Talk { server, link, received }
    }

    fn send(&self, method: &str, id: Option<u64>, params: Value) {
        let mut line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        if let Some(id) = id {
            line["id"] = json!(id);
        }
        self.link.send(&line.to_string());
    }

    /// The next message.
    fn line(&self) -> String {
        match self.received.recv_timeout(LONG).unwrap() {
            Received::Line(line) => String::from_utf8(line).unwrap(),
            Received::Failed { why, .. } => panic!("failed: {why}"),
            Received::Remark(remark) => panic!("{remark}"),
            Received::Closed(why) => panic!("closed: {why}"),
        }
    }

    /// Why a request failed.
    fn failure(&self, id: u64) -> String {
        match self.received.recv_timeout(LONG).unwrap() {
            Received::Failed { id: failed, why } => {
                assert_eq!(failed, json!(id));
                why
            }
            Received::Line(line) => panic!("{}", String::from_utf8_lossy(&line)),
            Received::Remark(remark) | Received::Closed(remark) => panic!("{remark}"),
        }
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    params
}

#[test]
fn a_session_has_an_id_a_version_a_stream_and_an_end() {
    let talk =
        Talk::new(|request, connection| match (request.method.as_str(), request.rpc_method().as_str()) {
            ("GET", _) => {
                connection.stream("");
                connection.event(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
                connection.until_closed();
            }
            (_, "initialize") => connection.answer(
                200,
                "content-type: application/json\r\nmcp-session-id: s-1\r\n",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\n \"result\":{\"protocolVersion\":\"2025-11-25\"}}",
            ),
            (_, "tools/list") => {
                connection.stream("");
                connection.event(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#);
            }
            _ => connection.answer(202, "", ""),
        });
    talk.send("initialize", Some(1), json!({}));
    // On one line, as pipes need it.
    assert_eq!(talk.line(), r#"{"jsonrpc":"2.0","id":1,  "result":{"protocolVersion":"2025-11-25"}}"#);
    talk.send("notifications/initialized", None, json!({}));
    assert!(talk.line().contains("list_changed"));
    talk.send("tools/list", Some(2), json!({}));
    assert!(talk.line().contains("\"tools\":[]"));
    talk.link.close();
    let requests = talk.server.received();
    assert_eq!(requests.last().unwrap().method, "DELETE");
    for request in &requests {
        assert_eq!(request.header("authorization"), Some("Bearer k"));
        let is_first = request.rpc_method() == "initialize";
        assert_eq!(request.header("mcp-session-id"), (!is_first).then_some("s-1"), "{request:?}");
        assert_eq!(
            request.header("mcp-protocol-version"),
            (!is_first).then_some("2025-11-25"),
            "{request:?}"
        );
        assert_eq!(request.header("mcp-method"), None);
    }
}

#[test]
fn a_modern_request_has_headers_and_is_cancelled_by_closing_its_stream() {
    let (closed, is_closed) = mpsc::sync_channel(1);
    let closed = std::sync::Mutex::new(closed);
    let talk = Talk::new(move |request, connection| {
        match request.rpc_method().as_str() {
        "tools/list" => connection.json(
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"é","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}}"#,
        ),
        _ => {
            connection.stream("");
            connection.event(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#);
            connection.until_closed();
            closed.lock().unwrap().send(()).unwrap();
        }
    }
    });
    talk.send("tools/list", Some(1), modern(json!({})));
    talk.line();
    talk.send("tools/call", Some(2), modern(json!({"name": "é", "arguments": {"region": " eu"}})));
    assert!(talk.line().contains("progress"));
    let call = talk.server.wait_for(|request| request.rpc_method() == "tools/call");
    for (name, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?w6k=?="),
        ("mcp-param-region", "=?base64?IGV1?="),
    ] {
        assert_eq!(call.header(name), Some(value));
    }
    talk.send("notifications/cancelled", None, json!({"requestId": 2}));
    is_closed.recv_timeout(LONG).unwrap();
    assert_eq!(talk.server.received().len(), 2);
    assert!(talk.received.try_recv().is_err());
}

#[test]
fn a_stream_is_resumed_after_its_last_event() {
    let talk =
        Talk::new(|request, connection| match (request.method.as_str(), request.header("last-event-id")) {
            ("GET", Some("e-2")) => {
                connection.stream("");
                connection.send("id: e-3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
            }
            ("GET", Some("e-1")) => {
                connection.stream("");
                // Half an event does not count.
                connection.send(
                    "id: e-2\nretry: 1\ndata:\n\nid: e-9\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":",
                );
            }
            ("POST", _) => {
                connection.stream("");
                connection.send("id: e-1\nretry: 1\ndata: \n\n");
            }
            _ => connection.answer(400, "", ""),
        });
    talk.send("tools/call", Some(1), json!({"name": "slow"}));
    assert_eq!(talk.line(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
}

/// Every fault of a server: what it does, and what the client learns.
#[test]
fn servers_with_faults_leave_no_request_without_an_answer() {
    type Handle = fn(&mut Connection);
    let faults: [(&str, Handle, &str); 12] = [
        ("dies", |_| {}, "broke the connection"),
        ("dies in its head", |connection| _ = connection.send("HTTP/1.1 200 OK\r\ncontent-"), ""),
        (
            "dies in its body",
            |connection| {
                connection.send(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"id\"",
                );
            },
            "broke the connection",
        ),
        (
            "dies in an event",
            |connection| {
                connection.stream("");
                connection.send("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"resu");
            },
            "without an answer",
        ),
        (
            "100 MB",
            |connection| {
                connection.send(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"x\":\"",
                );
                while connection.send(vec![b'x'; 1 << 20]) {}
            },
            "larger than",
        ),
        (
            "an event of 100 MB",
            |connection| {
                connection.stream("");
                connection.send("data: \"");
                while connection.send(vec![b'x'; 1 << 20]) {}
            },
            "larger than",
        ),
        (
            "another type",
            |connection| connection.answer(200, "content-type: text/html\r\n", "<p>"),
            "something else",
        ),
        ("only accepts", |connection| connection.answer(202, "", ""), "something else"),
        ("another answer", |connection| connection.json(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), ""),
        ("500", |connection| connection.answer(500, "", "oops"), "answered 500"),
        (
            "401",
            |connection| {
                connection.answer(
                    401,
                    "content-type: application/json\r\n",
                    r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"Bearer k"}}"#,
                )
            },
            "OAuth",
        ),
        ("405", |connection| connection.answer(405, "", ""), "Streamable HTTP"),
    ];
    for (name, handle, wanted) in faults {
        let talk = Talk::new(move |_, connection| handle(connection));
        talk.send("tools/call", Some(1), json!({"name": "x"}));
        if name == "another answer" {
            // The proxy drops it, because no request has this id.
            assert!(talk.line().contains("\"id\":7"));
        }
        let why = talk.failure(1);
        assert!(why.contains(wanted) && !why.contains("Bearer k"), "{name}: {why}");
        assert!(talk.received.try_recv().is_err(), "{name}");
    }
}

#[test]
fn errors_with_a_status_are_answers() {
    let talk = Talk::new(|_, connection| {
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"old","data":{"supported":["2025-11-25"]}}}"#;
        connection.answer(400, "content-type: application/json\r\n", body);
    });
    talk.send("server/discover", Some(5), modern(json!({})));
    let answer: Value = serde_json::from_str(&talk.line()).unwrap();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32022)));
}

#[test]
fn a_session_that_the_server_has_ended_closes_the_connection() {
    let talk = Talk::new(|request, connection| match request.rpc_method().as_str() {
        "initialize" => connection.answer(
            200,
            "content-type: application/json\r\nmcp-session-id: s\r\n",
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        ),
        _ => connection.answer(404, "", ""),
    });
    talk.send("initialize", Some(1), json!({}));
    talk.line();
    talk.send("ping", Some(2), json!({}));
    assert!(talk.failure(2).contains("ended the session"));
    assert!(matches!(talk.received.recv_timeout(LONG).unwrap(), Received::Closed(_)));
}

#[test]
fn a_server_that_never_answers_is_cancelled_and_others_go_on() {
    let talk = Talk::new(|request, connection| match request.rpc_method().as_str() {
        "hang" => connection.until_closed(),
        _ => connection.json(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#),
    });
    talk.send("hang", Some(1), modern(json!({})));
    talk.server.wait_for(|request| request.rpc_method() == "hang");
    talk.send("ping", Some(2), modern(json!({})));
    assert!(talk.line().contains("\"id\":2"));
    talk.send("notifications/cancelled", None, json!({"requestId": 1}));
    talk.send("ping", Some(2), modern(json!({})));
    assert!(talk.line().contains("\"id\":2"));
    talk.link.close();
    assert!(talk.received.try_recv().is_err());
}

#[test]
fn a_server_that_floods_waits_for_its_reader() {
    let (sent, has_sent) = mpsc::channel();
    let sent = std::sync::Mutex::new(sent);
    let talk = Talk::new(move |_, connection| {
        connection.stream("");
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{}"}}}}"#,
            "x".repeat(1 << 16)
        );
        for at in 0..400 {
            if !connection.event(&line) {
                return;
            }
            sent.lock().unwrap().send(at).unwrap();
        }
        connection.event(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    });
    talk.send("tools/call", Some(1), json!({"name": "x"}));
    // 26 MB are more than what the queue, the buffers and the socket take.
    let mut most = 0;
    while let Ok(at) = has_sent.recv_timeout(Duration::from_millis(500)) {
        most = at;
    }
    assert!(most < 399, "{most}");
    for _ in 0..400 {
        assert!(talk.line().contains("notifications/message"));
    }
    assert!(talk.line().contains("\"id\":1"));
}

#[test]
fn redirects_to_other_origins_are_refused() {
    let other = HttpServer::start(|_, connection| connection.json("{}"));
    let to = other.url.clone();
    let talk =
        Talk::new(move |request, connection| match (request.path.as_str(), request.rpc_method().as_str()) {
            ("/mcp", "same") => connection.answer(307, "location: /other\r\n", ""),
            ("/mcp", "circle") => connection.answer(308, "location: /mcp\r\n", ""),
            ("/mcp", "moved") => connection.answer(301, "location: /other\r\n", ""),
            ("/other", _) => connection.json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            _ => connection.answer(307, &format!("location: {to}\r\n"), ""),
        });
    talk.send("same", Some(1), json!({}));
    assert!(talk.line().contains("\"result\""));
    for method in ["elsewhere", "moved", "circle"] {
        talk.send(method, Some(1), json!({}));
        assert!(talk.failure(1).contains("redirects"), "{method}");
    }
    assert!(other.received().is_empty());
}

#[test]
fn addresses_and_headers_are_checked() {
    let error = |url: &str, header: &str| {
        let headers = [(header.to_owned(), "v".to_owned())];
        Upstream::new(url, &headers).err().map(|error| error.to_string())
    };
    assert_eq!(error("https://mcp.example/mcp", "Authorization"), None);
    assert!(matches!(Upstream::new("file:///etc", &[]), Err(UpstreamError::Url(..))));
    assert!(Upstream::new("http://mcp.example/mcp", &[]).is_ok());
    assert!(error("http://mcp.example/mcp", "Authorization").unwrap().contains("unencrypted"));
    for own in ["Host", "Mcp-Session-Id", "content-type", "a b"] {
        assert!(error("https://mcp.example/mcp", own).is_some(), "{own}");
    }
    assert!(Upstream::new("https://mcp.example", &[("X".to_owned(), "a\r\nb: c".to_owned())]).is_err());
}
