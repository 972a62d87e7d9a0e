//! Keys of programs: what they open, and what they do not.

use midrail::admin::KeyRight::{Ask, Decide, Read};
use midrail::admin::{KeyScope, Person};
use midrail_service::{At, ServeError, run_until};

use crate::access::fixture::{
    Fixture, bearer, config, engine, eventually, key, logged, person, scope, secret,
};

#[test]
fn this_machine_needs_no_key_until_there_is_one() {
    let fixture = Fixture::new();
    assert_eq!(fixture.decide(&[]).is(200).json()["effect"], "block");
    fixture.get("/v1/policy", &[]).is(200);
    fixture.get("/v1/keys", &[]).is(401);
    fixture.post("/v1/policy/reload", &[], "").is(401);
    let key = key(&fixture.config, &scope(&[Decide]));
    // The service caches which credentials exist.
    assert!(eventually(|| fixture.get("/v1/policy", &[]).status == 401));
    let refused = fixture.decide(&[]).is(401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
    fixture.get("/v1/policy", &[]).is(401);
    fixture.decide(&[("authorization", &bearer(&key))]).is(200);
    fixture.get("/healthz", &[]).is(200);
    fixture.get("/healthz", &[("authorization", "Basic nonsense")]).is(200);
}

#[test]
fn revoked_key_is_rejected() {
    let fixture = Fixture::new();
    let key = key(&fixture.config, &scope(&[Decide]));
    let own = bearer(&key);
    fixture.decide(&[("authorization", &own)]).is(200);
    let store = engine(&fixture.config, "default");
    let id = store.admin().list::<midrail::admin::ApiKey>().unwrap()[0].id.clone();
    store.admin().revoke_api_key(&id, Some(&Person::authenticated("root", [midrail::admin::ADMIN]))).unwrap();
    // The service caches keys.
    assert!(eventually(|| fixture.decide(&[("authorization", &own)]).status == 401));
    for wrong in ["Bearer", "Bearer ", "Bearer mra_00_11", "Basic abc", "bearer\tx", "Bearer \u{fc}"] {
        fixture.decide(&[("authorization", wrong)]).is(401);
    }
}

#[test]
fn key_is_limited_to_its_projects_agents_and_rights() {
    let fixture = Fixture::new();
    let own = KeyScope {
        projects: vec!["acme/*".to_owned()],
        agents: Some(vec!["build-*".to_owned()]),
        ..scope(&[Decide])
    };
    let key = bearer(&key(&fixture.config, &own));
    let key = ("authorization", key.as_str());
    let event =
        |agent: &str| format!(r#"{{"kind":"before_tool","session":"s","tool":{{"name":"x"}}{agent}}}"#);
    let ours = event(r#","agent":{"id":"build-1"}"#);
    let project = ("midrail-project", "acme/web");
    fixture.post("/v1/decide", &[key, project], &ours).is(200);
    fixture.post("/v1/decide?project=acme%2Fweb", &[key], &ours).is(200);
    fixture.post("/v1/decide", &[key], &ours).is(403);
    for other in ["default", "other/web", "acme", "../acme/web", "acme/../default", "acme/web/x", "acme/"] {
        let refused = fixture.post("/v1/decide", &[key, ("midrail-project", other)], &ours);
        assert!([403, 422].contains(&refused.status), "{other}: {}", refused.head);
    }
    assert!(!fixture.file("default.db").exists() && !fixture.file("projects/default.db").exists());
    for other in [event(""), event(r#","agent":{"id":"deploy"}"#), event(r#","agent":{}"#)] {
        fixture.post("/v1/decide", &[key, project], &other).is(403);
        let batch = format!(r#"{{"events":[{ours},{other}]}}"#);
        let refused = fixture.post("/v1/decide/batch", &[key, project], &batch).is(403);
        assert!(refused.json()["detail"].as_str().unwrap().starts_with("events[1]"));
    }
    fixture.get("/v1/policy", &[key, project]).is(403);
    fixture.get("/v1/projects", &[key, project]).is(403);
    fixture.get("/v1/keys", &[key, project]).is(403);
    fixture.post("/v1/policy/reload", &[key, project], "").is(403);
}

#[test]
fn reader_sees_its_own_projects_and_decides_nothing() {
    let fixture = Fixture::new();
    engine(&fixture.config, "acme/web");
    let own = bearer(&key(&fixture.config, &scope(&[Read, Ask])));
    let own = ("authorization", own.as_str());
    fixture.decide(&[own]).is(403);
    let projects = fixture.get("/v1/projects", &[own]).is(200).json();
    assert_eq!(projects["items"], serde_json::json!([{"name": "default", "current": true}]));
    fixture.get("/v1/policy", &[own, ("midrail-project", "acme/web")]).is(403);
    fixture.get("/v1/policy", &[own, ("midrail-project", "nowhere")]).is(403);
}

#[test]
fn rate_limited_key_gets_a_retry_time() {
    let fixture = Fixture::new();
    let own = KeyScope { per_minute: Some(5), ..scope(&[Decide]) };
    let own = bearer(&key(&fixture.config, &own));
    let own = ("authorization", own.as_str());
    fixture.decide(&[own]).is(200);
    // A batch is no way around it.
    let event = crate::access::fixture::EVENT;
    let refused = fixture
        .post("/v1/decide/batch", &[own], &format!(r#"{{"events":[{}]}}"#, [event; 6].join(",")))
        .is(429);
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    let mut last = 200;
    for _ in 0..5 {
        last = fixture.decide(&[own]).status;
    }
    assert_eq!(last, 429);
}

#[test]
fn unknown_and_closed_projects_look_alike() {
    let fixture = Fixture::new();
    engine(&fixture.config, "acme/web");
    for project in ["acme/web", "nowhere"] {
        let name = ("midrail-project", project);
        fixture.get("/healthz", &[name]).is(200);
        let body = format!(r#"{{"name":"ann","key":"x","project":"{project}"}}"#);
        assert_eq!(
            fixture.post("/v1/login", &[], &body).is(401).json()["detail"],
            "there is no approver of this name with this key"
        );
    }
    assert!(!fixture.file("projects/nowhere.db").exists());
}

#[test]
fn public_address_requires_keys_and_tls() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = config(&folder);
    open.listen = At::Address("0.0.0.0:0".parse().unwrap());
    let serve = |config| run_until(config, |_| panic!("it serves"), async {});
    assert!(matches!(serve(open.clone()), Err(ServeError::Unguarded(_))));
    // A proxy in front makes this machine's own address everybody's.
    let mut proxied = config(&folder);
    proxied.behind_proxy = true;
    assert!(matches!(serve(proxied.clone()), Err(ServeError::Unguarded(_))));
    key(&open, &scope(&[Decide]));
    assert!(matches!(serve(open), Err(ServeError::Plain(_))));
    let fixture = Fixture::start(folder, proxied);
    fixture.decide(&[("host", "midrail.example")]).is(401);
    fixture.get("/healthz", &[("host", "midrail.example")]).is(200);
}

#[test]
fn no_secret_is_in_the_log() {
    let fixture = Fixture::new();
    let own = key(&fixture.config, &scope(&[Decide]));
    let ann = person(&fixture.config, "default", "ann", &["human_operator", "admin"]);
    let (cookie, csrf) = fixture.log_in("ann", &ann, None);
    let held = "AKIAQ4ZTX7RK2MPLWN3J";
    secret(held);
    secret("unknown-key");
    let event =
        format!(r#"{{"kind":"before_tool","session":"s","tool":{{"name":"x","args":{{"key":"{held}"}}}}}}"#);
    fixture.post("/v1/decide", &[("authorization", &bearer(&own))], &event).is(200);
    fixture.post("/v1/decide", &[("authorization", &bearer(&own))], &event.replace("kind", held)).is(422);
    fixture.decide(&[("authorization", "Bearer mra_1_unknown-key")]).is(401);
    fixture.post("/v1/login", &[], r#"{"name":"ann","key":"unknown-key"}"#).is(401);
    fixture.get("/v1/me", &[("cookie", &cookie)]).is(200);
    let made = fixture.post(
        "/v1/keys",
        &[("cookie", &cookie), ("x-csrf-token", &csrf)],
        r#"{"name":"k","projects":["*"],"rights":["read"]}"#,
    );
    let made = made.is(201).json();
    secret(made["key"].as_str().unwrap().rsplit('_').next().unwrap());
    fixture.post("/v1/logout", &[("cookie", &cookie), ("x-csrf-token", &csrf)], "").status.to_string();
    let (log, secrets) = logged();
    assert!(log.contains("has logged in") && log.contains("a wrong approver key"), "{log}");
    for secret in secrets {
        assert!(secret.len() > 8 && !log.contains(&secret), "a secret is in the log: {secret}");
    }
}
