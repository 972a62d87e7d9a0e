//! Sessions over HTTP.

use serde_json::{Value, json};

use crate::api::fixture::{ALL, Auth, Fixture, PACK, call};

/// A name with everything that a path could stumble over, and how it is written there.
const ODD: &str = "a/b ü?#%25&..";
const ODD_IN_PATH: &str = "a%2Fb%20%C3%BC%3F%23%2525%26..";

#[test]
fn session_is_shown_saved_restored_and_ended() {
    let fixture = Fixture::new(PACK);
    let program = fixture.key(&["default"], None, &ALL);
    let admin_key = fixture.person("default", "ada", &["admin"]);
    let service = fixture.serve();
    let admin = service.login("default", "ada", &admin_key);

    service.post("/v1/decide", call("other", "look"), &program).good();
    service.post("/v1/decide", call(ODD, "look"), &program).good();
    service.post("/v1/decide", call(ODD, "erase"), &program).good();
    let place = format!("/v1/sessions/{ODD_IN_PATH}");

    let list = service.get("/v1/sessions", &program).good();
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|it| it["session"].as_str().unwrap()).collect();
    assert_eq!(names.first(), Some(&ODD), "the latest active comes first: {names:?}");
    assert!(names.contains(&"other"));

    let shown = service.get(&place, &program).good();
    assert_eq!((&shown["session"], &shown["records"]), (&json!(ODD), &json!(2)));
    assert_eq!(shown["latest"][0]["effect"], "block");
    assert_eq!(shown["latest"][0]["by"], "never");
    assert_eq!(shown["latest"][1]["effect"], "allow");
    let verdict = json!({"guardrail": "never", "effect": "block", "reason": "Nothing is erased"});
    assert!(shown["latest"][0]["verdicts"].as_array().unwrap().contains(&verdict), "{shown}");
    assert_eq!(shown.get("halted"), None);

    let records = service.get(&format!("{place}/records?limit=1"), &program).good();
    assert_eq!(records["items"].as_array().unwrap().len(), 1);
    let next = records["next"].as_str().unwrap();
    let rest = service.get(&format!("{place}/records?full=true&after={next}"), &program).good();
    assert_eq!(rest["items"][0]["record"]["event"]["tool"]["name"], "erase");
    let blocked = service.get(&format!("{place}/records?effect=block"), &program).good();
    assert_eq!(blocked["items"].as_array().unwrap().len(), 1);

    let snapshot = service.post(&format!("{place}/snapshot"), json!({}), &program).good();
    assert_eq!(snapshot["session"], ODD);
    let refused = service.post(&format!("{place}/restore"), snapshot.clone(), &program).problem(403);
    let why = "may not do this: it takes a person with the role `admin`";
    assert!(refused["detail"].as_str().unwrap().ends_with(why), "{refused}");
    let restored = service.post(&format!("{place}/restore"), snapshot.clone(), &admin).good();
    assert_eq!(restored["effect"], "allow");
    let records = service.get(&format!("{place}/records?full=true"), &program).good();
    let put_back = records["items"].as_array().unwrap().iter().find(|it| it["kind"] == "restored");
    assert_eq!(put_back.unwrap()["record"]["event"]["by"], "ada", "{records}");
    service.post("/v1/sessions/other/restore", snapshot.clone(), &admin).problem(422);
    let mut shared = snapshot;
    shared["slices"]["shared/pause"] = json!([]);
    service.post(&format!("{place}/restore"), shared, &admin).problem(422);

    let ended = service.post(&format!("{place}/end"), json!({"agent": "coder"}), &program).good();
    assert_eq!(ended["effect"], "allow");
    let last = service.get(&place, &program).good();
    assert_eq!(last["latest"][0]["kind"], "session_end");
}

#[test]
fn sessions_are_paged_and_unknown_ones_are_not_found() {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    for number in 0..5 {
        service.post("/v1/decide", call(&format!("s-{number}"), "look"), &Auth::Anonymous).good();
    }
    let mut seen: Vec<Value> = Vec::new();
    let mut after = String::new();
    loop {
        let page = service.get(&format!("/v1/sessions?limit=2{after}"), &Auth::Anonymous).good();
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["session"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    // Records of the service itself, such as changes of the policy, have their own session.
    assert_eq!(seen, ["s-4", "s-3", "s-2", "s-1", "s-0", "midrail"]);
    for path in ["/v1/sessions/unknown", "/v1/sessions/unknown/records"] {
        let problem = service.get(path, &Auth::Anonymous).problem(404);
        assert!(problem["detail"].as_str().unwrap().contains("`unknown`"), "{problem}");
    }
    service.post("/v1/sessions/unknown/snapshot", json!({}), &Auth::Anonymous).problem(404);
    for query in ["limit=0", "limit=1001", "limit=x", "lim=1"] {
        service.get(&format!("/v1/sessions?{query}"), &Auth::Anonymous).problem(400);
    }
    service.get("/v1/sessions/%ff", &Auth::Anonymous).problem(400);
}

#[test]
fn agent_key_cannot_end_sessions_of_other_agents() {
    let fixture = Fixture::new(PACK);
    let key = fixture.key(&["default"], Some(&["coder"]), &ALL);
    let service = fixture.serve();
    service.post("/v1/decide", call("s", "look"), &key).good();
    for body in [json!({}), json!({"agent": "tester"})] {
        service.post("/v1/sessions/s/end", body, &key).problem(403);
    }
    service.post("/v1/sessions/s/end", json!({"agent": "coder"}), &key).good();
}

#[test]
fn ended_session_names_its_agent() {
    let fixture =
        Fixture::new("pack: t\nguardrails:\n  - {id: stop, tools: leak, effect: halt, reason: It leaks}\n");
    let service = fixture.serve();
    service.post("/v1/decide", call("s", "leak"), &Auth::Anonymous).good();
    let shown = service.get("/v1/sessions/s", &Auth::Anonymous).good();
    assert_eq!((&shown["halted"]["by"], &shown["halted"]["reason"]), (&json!("stop"), &json!("It leaks")));
}

#[test]
fn timeline_shows_all_verdicts_in_chain_order() {
    let fixture = Fixture::new(
        "pack: shop
guardrails:
  - {id: hour, tools: deploy, effect: warn, reason: It is late, priority: 900}
  - {id: tries, tools: deploy, effect: block, reason: Not now, mode: shadow, priority: 100}
  - {id: friday, tools: deploy, effect: escalate, reason: It is Friday, priority: 200}
  - {id: calm, tools: deploy, check: tool.args.n < 100, reason: Too much, priority: 300}
",
    );
    let program = fixture.key(&["default"], None, &ALL);
    let service = fixture.serve();
    let decided = service.post("/v1/decide", call("s", "deploy"), &program).good();
    let report = |verdicts: &Value| -> Vec<(String, String)> {
        let text = |verdict: &Value, name: &str| verdict[name].as_str().unwrap_or("-").to_owned();
        verdicts
            .as_array()
            .unwrap()
            .iter()
            .map(|verdict| (text(verdict, "guardrail"), text(verdict, "effect")))
            .collect()
    };
    let all = report(&decided["verdicts"]);
    let received: Vec<_> = all.iter().filter(|(_, effect)| effect != "-").cloned().collect();
    let quiet = received.iter().filter(|(_, effect)| effect == "allow").count();
    assert_eq!(received.len() - quiet, 3, "{decided}");
    let shown = service.get("/v1/sessions/s", &program).good();
    assert_eq!(report(&shown["latest"][0]["verdicts"]), received);
    let listed = service.get("/v1/sessions/s/records", &program).good();
    assert_eq!(listed["items"][0]["verdicts"], shown["latest"][0]["verdicts"]);
    let explained =
        service.get(&format!("/v1/audit/{}/explanation", decided["audit"]["seq"]), &program).good();
    assert_eq!(report(&explained["decision"]["verdicts"]), all);
    // The page of the session shows them in the same order: those that spoke, and the rest folded.
    let page = service.send("GET", "/sessions/s", None, &program, None);
    assert_eq!(page.status, 200, "{}", page.text);
    let list = page.text.split("<ul class=\"verdicts\">").nth(1).unwrap().split("</ul>").next().unwrap();
    let at = |id: &str| list.find(&format!("/guardrails/{id}\"")).unwrap();
    let spoke: Vec<usize> =
        received.iter().filter(|(_, effect)| effect != "allow").map(|(id, _)| at(id)).collect();
    assert!(spoke.len() == 3 && spoke.is_sorted(), "{list}");
    assert!(list.contains(&format!("{quiet} others allowed")) && at("calm") > spoke[2], "{list}");
    assert!(list.contains("It is late") && list.contains("shadow"), "{list}");
}
