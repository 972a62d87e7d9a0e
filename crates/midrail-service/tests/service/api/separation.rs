//! Projects do not see each other. Two of them hold sessions, requests, locks and alerts of the same names, and every
//! route that the OpenAPI document knows is walked with the means of one: nothing of the other shows, nothing of it
//! changes, and callers without the right are rejected.

use std::path::Path;
use std::time::Duration;

use midrail::Engine;
use midrail::admin::{KeyRight, Person, TaskStatus};
use midrail::approvals::BypassRequest;
use midrail::store::{Alert, ApprovalFilter};
use serde_json::{Value, json};

use crate::api::fixture::{ALL, Answer, Auth, Fixture, PACK, Service, call};

const OWN: &str = "acme/web";
const OTHER: &str = "umbra/web";

/// Stands in everything that is in the other project, and nowhere else.
const MARK: &str = "umbra";

/// Fills a project. What a program gives names to has the same ones in each. Answers the requests to people.
fn fill(engine: &Engine, mark: &str) -> Vec<String> {
    let decide = |session: &str, tool: &str| {
        let mut event = call(session, tool);
        event["agent"]["id"] = json!(format!("coder-{mark}"));
        event["tool"]["args"]["what"] = json!(mark);
        engine.decide(serde_json::from_value(event).unwrap())
    };
    decide("s", "look");
    decide(if mark == MARK { "only-there" } else { "only-here" }, "look");
    let escalated = decide("s", "refund").approval.unwrap().id;
    let stopped = decide("s", "deploy").audit.0.unwrap().seq;
    let reason = format!("The outage of {mark} needs this hotfix");
    let asked = engine.approvals().request(&BypassRequest {
        seq: stopped,
        guardrail: None,
        reason,
        urgency: "urgent".parse().unwrap(),
    });
    engine
        .admin()
        .take_lock(Path::new("/work/same.rs"), &format!("coder-{mark}"), "s", Duration::from_secs(3600))
        .unwrap();
    engine.admin().quarantine("same", "root", &format!("for {mark}")).unwrap();
    engine.admin().set_task(&format!("task-{mark}"), TaskStatus::Active, "root").unwrap();
    let by = Person::authenticated("root", ["human_operator"]);
    let folder = format!("/work/{mark}");
    engine.admin().pause(Some(Path::new(&folder)), Duration::from_secs(600), &by, mark).unwrap();
    let alert = Alert {
        name: "same".to_owned(),
        key: String::new(),
        fired_at: engine.now(),
        value: 1.0,
        message: format!("alert of {mark}"),
    };
    assert!(engine.store().fire_alert(&alert, 60, &[]).unwrap());
    decide("s", "last");
    vec![escalated, asked.unwrap().id]
}

/// What a project holds, for telling whether any of it changed.
fn holds(engine: &Engine) -> String {
    let store = engine.store();
    let mut sessions = store.sessions().unwrap();
    sessions.retain(|session| session.session != "midrail");
    let approvals = store.approvals(&ApprovalFilter::default()).unwrap();
    let standing = (
        engine.admin().list::<midrail::admin::Lock>().unwrap(),
        engine.admin().list::<midrail::admin::QuarantinedAgent>().unwrap(),
        engine.admin().list::<midrail::admin::TaskState>().unwrap(),
    );
    format!(
        "{sessions:?} {approvals:?} {standing:?} {:?}",
        engine.admin().list::<midrail::core::Pause>().unwrap()
    )
}

/// A route of the document.
#[derive(Debug, Clone)]
struct Route {
    method: String,
    path: String,
    id: String,
    right: String,
    takes_body: bool,
    /// What it says that it answers, by status.
    responses: Value,
    components: Value,
}

fn routes(service: &Service) -> Vec<Route> {
    let document = service.get("/v1/openapi.json", &Auth::Anonymous).good();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, report) in methods.as_object().unwrap() {
            routes.push(Route {
                method: method.to_uppercase(),
                path: path.clone(),
                id: report["operationId"].as_str().unwrap().to_owned(),
                right: report["x-midrail-right"].as_str().unwrap().to_owned(),
                takes_body: report.get("requestBody").is_some(),
                responses: report["responses"].clone(),
                components: document["components"].clone(),
            });
        }
    }
    // What only looks comes first, so that there is still everything to be seen.
    routes.sort_by_key(|route| route.method != "GET");
    assert!(routes.len() > 30, "{routes:?}");
    routes
}

impl Route {
    /// The place with everything that its parameter could be.
    fn places(&self, names: &[String]) -> Vec<String> {
        let query = match self.id.as_str() {
            "live" => "?after=0",
            "wait_for_answer" => "?timeout_s=0",
            _ => "",
        };
        let Some((before, rest)) = self.path.split_once('{') else {
            return vec![format!("{}{query}", self.path)];
        };
        let (_, after) = rest.split_once('}').unwrap();
        names.iter().map(|name| format!("{before}{name}{after}{query}")).collect()
    }

    /// Holds an answer against what the document says of it.
    #[track_caller]
    fn check(&self, answer: &Answer, about: &str) {
        let (status, text) = (answer.status, &answer.text);
        let report = self.responses.get(status.to_string());
        let report = report.unwrap_or_else(|| panic!("{about}: {status} is not in the document: {text}"));
        let Some(content) = report.get("content").and_then(Value::as_object) else {
            assert_eq!(text, "", "{about}");
            return;
        };
        let media = answer.media.split(';').next().unwrap();
        let content = content.get(media).unwrap_or_else(|| panic!("{about}: {media} is not in the document"));
        if media.ends_with("json") {
            let mut schema = content["schema"].clone();
            schema["components"] = self.components.clone();
            let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
            compiler.add_resource("schema:/", schema).unwrap();
            let root = compiler.compile("schema:/", &mut schemas).unwrap();
            let value = answer.json();
            let wrong = schemas.validate(&value, root).err();
            assert!(wrong.is_none(), "{about}: {status} {text}: {}", wrong.unwrap());
        }
    }

    /// A body that means something to it.
    fn body(&self, seq: u64) -> Option<Value> {
        let lock = json!({"path": "/work/same.rs", "agent": "x", "session": "s"});
        let body = match self.id.as_str() {
            "decide" => call("s", "look"),
            "restore_session" => json!({"session": "s", "slices": {}}),
            "end_session" => json!({"agent": "coder"}),
            "answer" => json!({"approve": true}),
            "review" => json!({"text": "It was right, and nothing follows from it."}),
            "ask" => json!({"decision": seq, "reason": "The login outage needs this hotfix"}),
            "take_lock" => lock,
            "release_lock" => json!({"path": "/work/same.rs", "agent": "x"}),
            "break_lock" => json!({"path": "/work/same.rs"}),
            "quarantine" | "lift_quarantine" => json!({"actor": "same", "reason": "Let it"}),
            "set_task" => json!({"task": "t", "status": "active"}),
            _ => json!({}),
        };
        (self.takes_body || self.method != "GET").then_some(body)
    }
}

#[test]
fn projects_are_isolated_from_each_other() {
    let fixture = Fixture::new(PACK);
    let (own, other) = (fixture.engine(OWN), fixture.engine(OTHER));
    let everything = ["admin", "human_operator", "architect", "reviewer"];
    let keys = [OWN, OTHER].map(|project| fixture.person(project, "pat", &everything));
    let mut names = fill(&own, "acme");
    names.extend(fill(&other, MARK));
    names.extend(["s", "only-here", "only-there", "1", "5", "9"].map(str::to_owned));
    names.extend([own.policy().revision().to_string(), "umbra%2Fweb".to_owned()]);
    let program = fixture.key(&[OWN], None, &ALL);
    let service = fixture.serve();
    let pat = service.login(OWN, "pat", &keys[0]);
    let there = service.login(OTHER, "pat", &keys[1]);
    let seen = service.get("/v1/approvals", &there).good().to_string();
    assert!(seen.contains(MARK), "{seen}");
    let (before, at_home) = (holds(&other), holds(&own));
    let routes = routes(&service);

    for route in routes.iter().filter(|route| route.right != "open") {
        for place in route.places(&names) {
            for (who, auth) in [("program", &program), ("person", &pat)] {
                if route.id == "logout" {
                    continue;
                }
                let body = route.body(4);
                let about = format!("{who}: {} {place}", route.method);
                let answer = service.send(&route.method, &place, body.clone(), auth, None);
                route.check(&answer, &about);
                let report = answer.text.replace("`umbra/web`", "");
                assert!(!report.contains(MARK), "{about}: {} {}", answer.status, answer.text);
                assert!(answer.status < 500, "{about}: {} {}", answer.status, answer.text);
                let answer = service.send(&route.method, &place, body.clone(), auth, Some(OTHER));
                assert_eq!(answer.status, 403, "{about} with the header: {}", answer.text);
                let joint = if place.contains('?') { '&' } else { '?' };
                let named = format!("{place}{joint}project=umbra%2Fweb");
                let answer = service.send(&route.method, &named, body, auth, None);
                assert_eq!(answer.status, 403, "{about} with the query: {}", answer.text);
            }
        }
    }
    assert_eq!(holds(&other), before);
    assert_ne!(holds(&own), at_home, "the walk did nothing at all");

    // A cookie that names another project is no way in, either.
    let Auth::Person { cookie, csrf } = &pat else { panic!("a person") };
    let viewer =
        Auth::Person { cookie: format!("{cookie}; midrail_project=umbra%2Fweb"), csrf: csrf.clone() };
    let answer = service.get("/v1/approvals", &viewer);
    assert!(answer.status == 200 && !answer.text.contains(MARK), "{} {}", answer.status, answer.text);
}

#[test]
fn every_route_requires_its_documented_right() {
    let fixture = Fixture::new(PACK);
    let engine = fixture.engine(OWN);
    let keys = [fixture.person(OWN, "pat", &["reviewer"]), fixture.person(OWN, "vera", &["viewer"])];
    let admin_key = fixture.person(OWN, "ada", &["admin"]);
    let names = vec![fill(&engine, "acme").remove(0)];
    let only = |right| (format!("{right:?}").to_lowercase(), fixture.key(&[OWN], None, &[right]));
    let programs = [only(KeyRight::Decide), only(KeyRight::Ask), only(KeyRight::Read)];
    let service = fixture.serve();
    let [pat, vera] =
        [("pat", &keys[0]), ("vera", &keys[1])].map(|(name, key)| service.login(OWN, name, key));
    let ada = service.login(OWN, "ada", &admin_key);

    for route in routes(&service) {
        // A caller with the right may still be rejected for an invalid body.
        let place = route.places(&names).remove(0);
        let status = |auth: &Auth| service.send(&route.method, &place, Some(json!("")), auth, None).status;
        let let_in = |status: u16| !matches!(status, 401 | 403);
        if route.right == "open" || route.id == "logout" {
            continue;
        }
        assert_eq!(status(&Auth::Anonymous), 401, "{route:?}");
        for (right, program) in &programs {
            let may = route.right == "known" || route.right == *right;
            assert_eq!(let_in(status(program)), may, "{right} {route:?}");
        }
        let people = [
            ("viewer", &vera, &["known", "read"][..]),
            ("reviewer", &pat, &["known", "read", "ask", "answer"][..]),
            ("admin", &ada, &["known", "read", "administer"][..]),
        ];
        for (role, auth, may) in people {
            // Some administrative routes are only for the home project.
            if let (true, true) = (role == "admin", route.right == "administer") {
                continue;
            }
            assert_eq!(let_in(status(auth)), may.contains(&route.right.as_str()), "{role} {route:?}");
        }
        // Without the token of the page nothing is changed, whatever the person may.
        if route.method != "GET"
            && let Auth::Person { cookie, .. } = &pat
        {
            let forged = Auth::Person { cookie: cookie.clone(), csrf: "0".repeat(64) };
            assert_eq!(status(&forged), 403, "{route:?}");
        }
    }
}

/// What one agent does, alone and in a session that it shares with others. Answers its requests to people.
fn acts(engine: &Engine, agent: &str, mark: &str) -> Vec<String> {
    let decide = |session: &str, tool: &str| {
        let mut event = call(session, tool);
        event["agent"]["id"] = json!(agent);
        event["tool"]["args"]["what"] = json!(mark);
        engine.decide(serde_json::from_value(event).unwrap())
    };
    let own = format!("s-{mark}");
    decide("both", "look");
    let escalated = decide(&own, "refund").approval.unwrap().id;
    let seq = decide(&own, "deploy").audit.0.unwrap().seq;
    let reason = format!("The outage of {mark} needs this hotfix");
    let urgency = "urgent".parse().unwrap();
    let asked =
        engine.approvals().request(&BypassRequest { seq, guardrail: None, reason, urgency }).unwrap().id;
    let by = Person::authenticated("root", ["human_operator"]);
    engine.approvals().answer(&escalated, true, &by, Some(mark)).unwrap();
    let file = format!("/work/{mark}.rs");
    engine.admin().take_lock(Path::new(&file), agent, "both", Duration::from_secs(3600)).unwrap();
    decide("both", "last");
    engine.admin().quarantine(agent, "root", mark).unwrap();
    vec![escalated, asked]
}

#[test]
fn agent_key_sees_only_records_of_its_agents() {
    let fixture = Fixture::new(PACK);
    let engine = fixture.engine(OWN);
    let others = acts(&engine, "umbra-bot", MARK);
    let own = acts(&engine, "coder-1", "mine");
    let alert = Alert {
        name: "all".to_owned(),
        key: String::new(),
        fired_at: engine.now(),
        value: 1.0,
        message: format!("alert of {MARK}"),
    };
    assert!(engine.store().fire_alert(&alert, 60, &[]).unwrap());
    let records = engine.store().head().unwrap().unwrap().seq;
    let key = fixture.key(&[OWN], Some(&["coder-*"]), &ALL);
    let whole = fixture.key(&[OWN], None, &ALL);
    let service = fixture.serve();
    let mut names: Vec<String> = own.iter().chain(&others).cloned().collect();
    names.extend((1..=records).map(|seq| seq.to_string()));
    names.extend(["both", "s-mine", "s-umbra"].map(str::to_owned));

    // Whatever a key with every right can reach, nothing of the other agent shows.
    let mut hidden = 0;
    for route in routes(&service).iter().filter(|route| route.method == "GET" && route.right != "open") {
        for place in route.places(&names) {
            let about = format!("{} {place}", route.method);
            let answer = service.send("GET", &place, None, &key, None);
            route.check(&answer, &about);
            // An answer may name the requested resource.
            let report = answer.text.replace("`s-umbra`", "");
            assert!(!report.contains(MARK), "{about}: {}", answer.text);
            let all = service.send("GET", &place, None, &whole, None);
            hidden += usize::from(all.text.contains(MARK));
        }
    }
    assert!(hidden > 25, "there was nothing to hide: {hidden}");
    for page in
        ["/", "/sessions", "/sessions/both", "/audit", "/audit/1", "/approvals", "/live/stream?after=0"]
    {
        assert_eq!(service.get(page, &key).status, 403, "{page}");
    }
    for place in ["/v1/sessions/both/snapshot", "/v1/audit/verify"] {
        service.post(place, json!({}), &key).problem(403);
    }

    // They see their own records.
    let listed = |place: &str, field: &str, auth: &Auth| -> Vec<String> {
        let page = service.get(place, auth).good();
        let text = |item: &Value| item[field].as_str().map_or_else(|| item[field].to_string(), str::to_owned);
        let mut found: Vec<String> = page["items"].as_array().unwrap().iter().map(text).collect();
        found.sort();
        found
    };
    assert_eq!(listed("/v1/sessions", "session", &key), ["both", "s-mine"]);
    assert_eq!(listed("/v1/sessions?limit=1", "session", &key).len(), 1);
    let mut ids = own.clone();
    ids.sort();
    assert_eq!(listed("/v1/approvals", "id", &key), ids);
    assert_eq!(listed("/v1/approvals?limit=1", "id", &key).len(), 1);
    assert_eq!(listed("/v1/locks", "path", &key), ["/work/mine.rs"]);
    assert_eq!(listed("/v1/quarantine", "actor", &key), ["coder-1"]);
    assert_eq!(listed("/v1/sessions/both/records", "agent", &key), ["coder-1", "coder-1"]);
    let seen = listed("/v1/audit", "seq", &key);
    // Four events, and two records of what became of their requests.
    assert_eq!(seen.len(), 6, "{seen:?}");
    for seq in &seen {
        service.get(&format!("/v1/audit/{seq}/explanation"), &key).good();
    }
    let export = service.get("/v1/audit/export", &key);
    assert_eq!(export.text.matches("\"body\":").count(), seen.len());
    let live = service.get("/v1/live?after=0", &key).text;
    assert!(live.contains("s-mine") && live.matches("event: decision").count() == 4, "{live}");
    for id in &others {
        service.get(&format!("/v1/approvals/{id}"), &key).problem(404);
    }
}

/// What a session holds: its slices, and the state of its approvals.
fn session_state(engine: &Engine, session: &str) -> String {
    let slices = engine.store().load_prefix(session, "").unwrap();
    let filter = ApprovalFilter { session: Some(session.to_owned()), ..ApprovalFilter::default() };
    format!("{slices:?} {:?}", engine.store().approvals(&filter).unwrap())
}

#[test]
fn agent_key_changes_nothing_of_other_agents() {
    let fixture = Fixture::new(PACK);
    let engine = fixture.engine(OWN);
    let others = acts(&engine, "umbra-bot", MARK);
    engine.decide(
        serde_json::from_value(json!({"kind": "before_tool", "session": "s-none", "tool": {"name": "look"}}))
            .unwrap(),
    );
    let key = fixture.key(&[OWN], Some(&["other-*"]), &ALL);
    let service = fixture.serve();
    let spend = |agent: &str, session: &str| {
        let mut event = call(session, "refund");
        event["agent"]["id"] = json!(agent);
        event["tool"]["args"]["what"] = json!(MARK);
        event
    };
    let before = session_state(&engine, "s-umbra");
    // Its approval is for exactly this call, and the key may not make it under any name.
    service.post("/v1/decide", spend("umbra-bot", "s-umbra"), &key).problem(403);
    service.post("/v1/decide", spend("other-1", "s-umbra"), &key).problem(403);
    let batch = json!({"events": [spend("other-1", "own"), spend("other-1", "s-umbra")]});
    service.post("/v1/decide/batch", batch, &key).problem(403);
    let opening = json!({"open": {"session": "s-umbra", "agent": {"id": "other-1"}}});
    let answer = service.open("POST", "/v1/stream", None, &key, None);
    assert_eq!(answer.status().as_u16(), 415);
    let lines = ureq::Agent::config_builder().http_status_as_error(false).build();
    let Auth::Key(text) = &key else { panic!("a key") };
    let streamed = ureq::Agent::from(lines)
        .post(format!("{}/v1/stream", service.url))
        .header("authorization", format!("Bearer {text}"))
        .header("content-type", "application/x-ndjson")
        .send(format!("{opening}\n"))
        .unwrap();
    assert_eq!(streamed.status().as_u16(), 403);
    for agent in ["other-1", "umbra-bot"] {
        service.post("/v1/sessions/s-umbra/end", json!({"agent": agent}), &key).problem(403);
        let lock = json!({"path": "/work/a.rs", "agent": agent, "session": "s-umbra"});
        service.post("/v1/locks/take", lock, &key).problem(403);
    }
    service.post("/v1/sessions/s-umbra/end", json!({}), &key).problem(403);
    // A session of agents without an id belongs to others, too.
    service.post("/v1/decide", spend("other-1", "s-none"), &key).problem(403);
    service
        .post("/v1/locks/release", json!({"path": "/work/umbra.rs", "agent": "other-1"}), &key)
        .problem(409);
    service
        .post("/v1/locks/release", json!({"path": "/work/umbra.rs", "agent": "umbra-bot"}), &key)
        .problem(403);
    for id in &others {
        service.get(&format!("/v1/approvals/{id}/wait?timeout_s=0"), &key).problem(404);
        service.post(&format!("/v1/approvals/{id}/decide"), json!({"approve": false}), &key).problem(403);
        service.post(&format!("/v1/approvals/{id}/review"), json!({"text": "x"}), &key).problem(403);
    }
    let records = engine.store().head().unwrap().unwrap().seq;
    for seq in 1..=records {
        let ask = json!({"decision": seq, "reason": "The login outage needs this hotfix"});
        let status = service.post("/v1/approvals", ask, &key).status;
        assert!(matches!(status, 403 | 404 | 409 | 422), "{seq}: {status}");
    }
    service.get("/v1/tasks", &key).problem(403);
    assert_eq!(session_state(&engine, "s-umbra"), before);

    // In a session of its own the key acts as before, and ends it.
    let own = service.post("/v1/decide", spend("other-1", "own"), &key).good();
    assert_eq!(own["effect"], "escalate");
    service.post("/v1/decide", spend("other-2", "own"), &key).good();
    service.post("/v1/sessions/own/end", json!({"agent": "other-1"}), &key).good();
    // The agent itself still has its approval.
    let whole = fixture.key(&[OWN], None, &ALL);
    engine
        .admin()
        .lift_quarantine("umbra-bot", &Person::authenticated("root", ["human_operator"]), "It is fine")
        .unwrap();
    assert_eq!(service.post("/v1/decide", spend("umbra-bot", "s-umbra"), &whole).good()["effect"], "allow");
}
