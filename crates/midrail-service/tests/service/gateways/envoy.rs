//! Envoy's external authorization over gRPC. The messages are encoded by hand, by the numbers of `envoy.service.auth.v3`.

use axum::body::Body;
use axum::http::Request;
use hyper::body::Body as _;
use hyper::client::conn::http2::handshake;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};

use super::fixture::{KEY, records, serve};
use crate::api::fixture::{ALL, Auth, Fixture, Service};

/// A field with a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    out.extend(content);
    out
}

/// The fields of a message: numbers and contents. Numbers without a length are their own content.
fn fields(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = u8::try_from(varint(&mut bytes)).unwrap();
        let length = varint(&mut bytes);
        if tag & 7 == 2 {
            found.push((tag >> 3, bytes[..length].to_vec()));
            bytes = &bytes[length..];
        } else {
            found.push((tag >> 3, vec![u8::try_from(length).unwrap()]));
        }
    }
    found
}

fn get(fields: &[(u8, Vec<u8>)], number: u8) -> Option<&[u8]> {
    fields.iter().find(|(found, _)| *found == number).map(|(_, content)| content.as_slice())
}

/// `CheckRequest` for a request of a client.
fn check_request(method: &str, headers: &[(&str, &str)], body: &[u8], is_raw: bool) -> Vec<u8> {
    let entry = |(key, value): &(&str, &str)| [field(1, key.as_bytes()), field(2, value.as_bytes())].concat();
    let headers: Vec<u8> = headers.iter().flat_map(|header| field(3, &entry(header))).collect();
    let body = field(if is_raw { 12 } else { 11 }, body);
    let http = [field(1, b"id"), field(2, method.as_bytes()), headers, field(4, b"/mcp"), body].concat();
    let extension = field(10, &entry(&("mcp_server", "files")));
    let attributes = [field(4, &field(2, &http)), extension].concat();
    field(1, &attributes)
}

/// The answer: the code of the status, and the body for the client if it is denied.
fn send(service: &Service, headers: &[(&str, &str)], framed: Vec<u8>) -> Result<(u8, Option<String>), u16> {
    let address = service.url.strip_prefix("http://").unwrap().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let path = "/envoy.service.auth.v3.Authorization/Check";
        let mut request =
            Request::post(format!("http://{address}{path}")).header("content-type", "application/grpc");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = sender.send_request(request.body(Body::from(framed)).unwrap()).await.unwrap();
        if answer.status() != 200 {
            return Err(answer.status().as_u16());
        }
        assert_eq!(answer.headers()["content-type"], "application/grpc");
        let (mut bytes, mut status) = (Vec::new(), None);
        while let Some(frame) =
            std::future::poll_fn(|context| std::pin::Pin::new(answer.body_mut()).poll_frame(context)).await
        {
            match frame.unwrap().into_data() {
                Ok(data) => bytes.extend(data),
                Err(frame) => status = Some(frame.into_trailers().unwrap()["grpc-status"].clone()),
            }
        }
        assert_eq!(status.unwrap(), "0", "the trailer has the status");
        assert_eq!(bytes[..5], [&[0][..], &u32::try_from(bytes.len() - 5).unwrap().to_be_bytes()].concat());
        let response = fields(&bytes[5..]);
        let code =
            get(&response, 1).and_then(|status| get(&fields(status), 1).map(|code| code[0])).unwrap_or(0);
        let denied = get(&response, 2).map(|denied| {
            let denied = fields(denied);
            // 403 needs two bytes, and the first has its lower bits.
            assert!(get(&denied, 1).is_some());
            String::from_utf8(get(&denied, 3).unwrap().to_vec()).unwrap()
        });
        assert_eq!(denied.is_none(), get(&response, 3).is_some(), "it is either allowed or denied");
        Ok((code, denied))
    })
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0_u8][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

fn ask(service: &Service, message: &Value) -> (u8, Option<String>) {
    let headers = [("mcp-session-id", "m-1"), ("midrail-agent", "desk")];
    let request = check_request("POST", &headers, message.to_string().as_bytes(), true);
    send(service, &[], framed(&request)).unwrap()
}

fn call(name: &str, args: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": args}})
}

const RULES: &str = "pack: t
extends: none
guardrails:
  - {use: secret-redaction, on: before_tool}
  - {id: never, tools: mcp__files__erase, effect: block, reason: Nothing is erased}
  - {id: ask, tools: mcp__files__move, effect: escalate, approver: reviewer}
  - {id: etc, tools: mcp__files__resources/read, effect: block, reason: No resources}
";

#[test]
fn calls_are_allowed_and_denied() {
    let fixture = Fixture::new(RULES);
    let service = fixture.serve();
    for _ in 0..2 {
        assert_eq!(ask(&service, &call("look", json!({"path": "a"}))), (0, None));
    }
    let (code, body) = ask(&service, &call("erase", json!({})));
    let error: Value = serde_json::from_str(&body.unwrap()).unwrap();
    assert_eq!((code, &error["id"]), (7, &json!(7)));
    assert!(error["error"]["message"].as_str().unwrap().contains("Nothing is erased"), "{error}");
    let read = json!({"jsonrpc": "2.0", "id": 8, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}});
    assert_eq!(ask(&service, &read).0, 7);
    let all = records(&fixture, "before_tool");
    assert_eq!(all.len(), 4, "each call is a new one");
    assert_eq!(all[0]["session"], "envoy-m-1");
    assert_eq!(all[0]["event"]["tool"], json!({"name": "mcp__files__look", "args": {"path": "a"}}));
    assert_eq!(all[0]["event"]["agent"]["id"], "desk");
    // Envoy cannot replace a secret.
    assert_eq!(ask(&service, &call("look", json!({"key": KEY}))).0, 7);
    // One denied call denies the batch.
    assert_eq!(ask(&service, &json!([call("look", json!({})), call("erase", json!({}))])).0, 7);
}

#[test]
fn messages_of_the_protocol_pass() {
    let (fixture, service) = serve();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
    ] {
        assert_eq!(ask(&service, &message), (0, None), "{message}");
    }
    for method in ["GET", "DELETE"] {
        let request = check_request(method, &[], b"", false);
        assert_eq!(send(&service, &[], framed(&request)).unwrap(), (0, None));
    }
    assert!(records(&fixture, "before_tool").is_empty());
}

#[test]
fn what_is_not_understood_is_denied() {
    let (_fixture, service) = serve();
    for body in [
        "",
        "{",
        "7",
        "{}",
        "[7]",
        r#"{"method":7}"#,
        r#"{"method":"tools/call"}"#,
        r#"{"method":"tools/call","params":{"name":"look","arguments":"x"}}"#,
        r#"{"method":"tools/call","params":{"name":"look"},"params":{"name":"erase"}}"#,
    ] {
        for is_raw in [true, false] {
            let request = check_request("POST", &[], body.as_bytes(), is_raw);
            assert_eq!(send(&service, &[], framed(&request)).unwrap().0, 7, "{body}");
        }
    }
    let request = check_request("GET", &[], call("look", json!({})).to_string().as_bytes(), true);
    assert_eq!(send(&service, &[], framed(&request)).unwrap().0, 7);
    let good = check_request("POST", &[], call("look", json!({})).to_string().as_bytes(), true);
    for bad in [
        Vec::new(),
        good.clone(),
        framed(b"\xff\xff"),
        framed(b""),
        [&[1_u8][..], &framed(&good)[1..]].concat(),
    ] {
        assert_eq!(send(&service, &[], bad).unwrap().0, 7);
    }
}

#[test]
fn caller_needs_a_key_and_waits_no_longer_than_it_says() {
    let fixture = Fixture::new(RULES);
    let Auth::Key(key) = fixture.key(&["default"], None, &ALL) else { panic!() };
    let service = fixture.serve();
    let look = || framed(&check_request("POST", &[], call("look", json!({})).to_string().as_bytes(), true));
    assert_eq!(send(&service, &[], look()), Err(401));
    assert_eq!(send(&service, &[("x-api-key", &key)], look()), Ok((0, None)));
    let held = framed(&check_request("POST", &[], call("move", json!({})).to_string().as_bytes(), true));
    let (code, body) = send(&service, &[("x-api-key", &key), ("grpc-timeout", "300m")], held).unwrap();
    assert!(code == 7 && body.unwrap().contains("was not given in time"));
}
