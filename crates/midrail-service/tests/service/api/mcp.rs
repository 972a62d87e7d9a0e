//! Pins of MCP servers over HTTP: a person accepts what they have read, and nothing else.

use serde_json::{Value, json};

use crate::api::fixture::{ALL, Fixture, PACK};

fn offer(text: &str) -> Value {
    json!({"kind": "tools_offered", "session": "s", "server": {"name": "toy", "key": "sha256:toy"},
        "tools": [{"name": "add", "text": text, "hash": text}, {"name": "sub", "text": "Subtracts.", "hash": "sub"}]})
}

#[test]
fn a_person_accepts_exactly_what_they_have_read() {
    let fixture = Fixture::new(PACK);
    let agent = fixture.key(&["default"], None, &ALL);
    let keys =
        [fixture.person("default", "rita", &["reviewer"]), fixture.person("default", "vera", &["viewer"])];
    let service = fixture.serve();
    let [rita, vera] =
        ["rita", "vera"].map(|name| service.login("default", name, &keys[usize::from(name == "vera")]));

    service.post("/v1/decide", offer("Adds."), &agent).good();
    let servers = service.get("/v1/mcp", &rita).good();
    assert_eq!((&servers["items"][0]["name"], &servers["items"][0]["waiting"]), (&json!("toy"), &json!(2)));
    let shown = service.get("/v1/mcp/sha256:toy", &rita).good();
    assert_eq!(
        (&shown["definitions"][0]["state"], &shown["definitions"][0]["hash"]),
        (&json!("new"), &json!("Adds."))
    );
    service.get("/v1/mcp/sha256:other", &rita).problem(404);

    let trust = |add: &str| json!({"server": "sha256:toy", "definitions": {"add": add}});
    for caller in [&agent, &vera] {
        service.post("/v1/mcp/trust", trust("Adds."), caller).problem(403);
        service.post("/v1/mcp/forget", json!({"server": "sha256:toy"}), caller).problem(403);
    }
    // The definition changed after the person has read it.
    service.post("/v1/decide", offer("Adds and mails."), &agent).good();
    service.post("/v1/mcp/trust", trust("Adds."), &rita).problem(409);
    service.post("/v1/mcp/trust", json!({"server": "sha256:toy", "definitions": {}}), &rita).problem(422);
    let accepted = service.post("/v1/mcp/trust", trust("Adds and mails."), &rita).good();
    assert_eq!(accepted["accepted"], json!(["add"]));
    service.post("/v1/mcp/trust", trust("Adds and mails."), &rita).problem(409);
    let list = service.post("/v1/decide", offer("Adds and mails."), &agent).good();
    assert_eq!(list["content"], json!("[\"add\"]"), "{list}");

    service.post("/v1/mcp/forget", json!({"server": "sha256:toy"}), &rita).good();
    assert_eq!(service.get("/v1/mcp", &rita).good()["items"], json!([]));
}
