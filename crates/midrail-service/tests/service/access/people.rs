//! People: cookies, CSRF tokens, and the permissions of administrators.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use midrail::admin::KeyRight::Decide;
use midrail::admin::Person;
use serde_json::json;
use sha2::Sha256;

use crate::access::fixture::{Fixture, bearer, engine, key, person, scope};

#[test]
fn cookie_is_http_only_and_same_site() {
    let fixture = Fixture::new();
    let ann = person(&fixture.config, "default", "ann", &["human_operator"]);
    let body = json!({"name": "ann", "key": ann}).to_string();
    let cookie = fixture.post("/v1/login", &[], &body).is(200).header("set-cookie").unwrap().to_owned();
    for flag in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age="] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    assert!(!cookie.contains("Secure"));
    let fixture = Fixture::with(|config| {
        config.behind_proxy = {
            person(config, "default", "eve", &["x"]);
            true
        }
    });
    let bob = person(&fixture.config, "default", "bob", &["human_operator"]);
    let body = json!({"name": "bob", "key": bob}).to_string();
    assert!(
        fixture.post("/v1/login", &[], &body).is(200).header("set-cookie").unwrap().ends_with("; Secure")
    );
}

#[test]
fn forged_or_expired_cookie_is_rejected() {
    let mut ann = String::new();
    let fixture = Fixture::with(|config| ann = person(config, "default", "ann", &["human_operator"]));
    let (cookie, csrf) = fixture.log_in("ann", &ann, None);
    let me = |cookie: &str| fixture.get("/v1/me", &[("cookie", cookie)]);
    assert_eq!(me(&cookie).is(200).json()["name"], "ann");
    let (name, value) = cookie.split_once('=').unwrap();
    let (body, seal) = value.split_once('.').unwrap();
    let unhex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let report = String::from_utf8(unhex(body)).unwrap();
    // Another name under the same seal, no seal, a seal of nothing.
    for forged in [
        format!("{name}={}.{seal}", hex(report.replace("ann", "eve").as_bytes())),
        format!("{name}={body}."),
        format!("{name}={body}"),
        format!("{name}={body}.{}", "00".repeat(32)),
        format!("{name}={}.{seal}", hex(b"{}")),
    ] {
        me(&forged).is(401);
    }
    // A valid seal, but expired.
    let mut ticket: serde_json::Value = serde_json::from_str(&report).unwrap();
    ticket["until"] = json!("2020-01-01T00:00:00Z");
    let store_key = engine(&fixture.config, "default").store().fingerprint_key().unwrap();
    let mac = |key: &[u8], text: &[u8]| {
        Hmac::<Sha256>::new_from_slice(key).unwrap().chain_update(text).finalize().into_bytes()
    };
    let own = mac(&store_key, b"midrail-cookie-v1");
    let sealed = |ticket: &serde_json::Value| {
        let body = hex(ticket.to_string().as_bytes());
        format!("{name}={body}.{}", hex(&mac(&own, body.as_bytes())))
    };
    me(&sealed(&ticket)).is(401);
    ticket["until"] = json!("2199-01-01T00:00:00Z");
    me(&sealed(&ticket)).is(200);
    // Signed out.
    fixture.send("POST", "/v1/logout", &[("cookie", &cookie), ("x-csrf-token", &csrf)], "").is(204);
    me(&cookie).is(401);
    // Revoked, and another approver of the same name.
    let (cookie, _) = fixture.log_in("ann", &ann, None);
    let engine = engine(&fixture.config, "default");
    engine.admin().revoke_approver("ann", Some(&Person::authenticated("ann", ["human_operator"]))).unwrap();
    me(&cookie).is(401);
    person(&fixture.config, "default", "ann", &["human_operator"]);
    me(&cookie).is(401);
}

#[test]
fn cross_site_request_is_rejected() {
    let fixture = Fixture::new();
    let ann = person(&fixture.config, "default", "ann", &["human_operator", "admin"]);
    let (cookie, csrf) = fixture.log_in("ann", &ann, None);
    let cookie = ("cookie", cookie.as_str());
    let reload = |headers: &[(&str, &str)]| fixture.send("POST", "/v1/policy/reload", headers, "");
    reload(&[cookie]).is(403);
    reload(&[cookie, ("x-csrf-token", "")]).is(403);
    reload(&[cookie, ("x-csrf-token", &"0".repeat(csrf.len()))]).is(403);
    let (_, other) = fixture.log_in("ann", &ann, None);
    reload(&[cookie, ("x-csrf-token", &other)]).is(403);
    let csrf = ("x-csrf-token", csrf.as_str());
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "", "http://127.0.0.1"] {
        reload(&[cookie, csrf, ("origin", origin)]).is(403);
    }
    for site in ["cross-site", "same-site"] {
        reload(&[cookie, csrf, ("sec-fetch-site", site)]).is(403);
    }
    reload(&[cookie, csrf, ("origin", &format!("http://{}", fixture.address))]).is(200);
    reload(&[cookie, csrf]).is(200);
}

#[test]
fn foreign_host_name_is_rejected() {
    let fixture = Fixture::new();
    for host in
        ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "10.1.1.1"]
    {
        fixture.decide(&[("host", host)]).is(403);
        fixture.get("/v1/policy", &[("host", host)]).is(403);
    }
    fixture.decide(&[("host", "localhost")]).is(200);
    fixture.decide(&[("origin", "http://evil.example")]).is(403);
    // A page can open a WebSocket to any site, and read the answers.
    let socket = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let from = |origin| socket.iter().copied().chain([("origin", origin)]).collect::<Vec<_>>();
    fixture.get("/v1/stream", &from("http://evil.example")).is(403);
}

#[test]
fn wrong_keys_are_rate_limited() {
    // The allowance does not refill while the test runs, however slow the machine is.
    let fixture = Fixture::with(|config| config.limits.wrong_keys = Duration::from_secs(86_400));
    let ann = person(&fixture.config, "default", "ann", &["human_operator"]);
    let wrong = r#"{"name":"ann","key":"mrk_wrong"}"#;
    let answers: Vec<_> = (0..25).map(|_| fixture.post("/v1/login", &[], wrong)).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [[401; 20].as_slice(), &[429; 5]].concat());
    assert!(answers[24].header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    // The right key is accepted meanwhile.
    let right = json!({"name": "ann", "key": ann}).to_string();
    std::thread::scope(|scope| {
        let tries: Vec<_> =
            (0..8).map(|_| scope.spawn(|| fixture.post("/v1/login", &[], wrong).status)).collect();
        for _ in 0..5 {
            fixture.post("/v1/login", &[], &right).is(200);
        }
        assert!(tries.into_iter().all(|status| status.join().unwrap() == 429));
    });
    // Programs with a valid key are not affected.
    let own = key(&fixture.config, &scope(&[Decide]));
    for _ in 0..20 {
        fixture.decide(&[("authorization", "Bearer mra_00_11")]).is(401);
    }
    fixture.decide(&[("authorization", "Bearer mra_00_11")]).is(429);
    fixture.decide(&[("authorization", &bearer(&own))]).is(200);
}

#[test]
fn home_administrators_manage_keys_and_projects() {
    let fixture = Fixture::new();
    let root = person(&fixture.config, "default", "root", &["human_operator", "admin"]);
    let eve = person(&fixture.config, "acme/web", "eve", &["human_operator", "admin"]);
    let bob = person(&fixture.config, "default", "bob", &["viewer"]);
    let signed = |name: &str, key: &str, project| fixture.log_in(name, key, project);
    let (root, root_csrf) = signed("root", &root, None);
    let root = [("cookie", root.as_str()), ("x-csrf-token", root_csrf.as_str())];
    let (eve, eve_csrf) = signed("eve", &eve, Some("acme/web"));
    let eve = [("cookie", eve.as_str()), ("x-csrf-token", eve_csrf.as_str())];
    let (bob, bob_csrf) = signed("bob", &bob, None);
    let bob = [("cookie", bob.as_str()), ("x-csrf-token", bob_csrf.as_str())];
    let scope = r#"{"name":"k","projects":["*"],"rights":["decide"]}"#;
    // An administrator of one project has no rights in others, whatever project is named.
    for headers in [&eve[..], &[eve[0], eve[1], ("midrail-project", "default")], &bob[..]] {
        fixture.post("/v1/keys", headers, scope).is(403);
        fixture.get("/v1/keys", headers).is(403);
    }
    let made = fixture.post("/v1/keys", &root, scope).is(201).json();
    fixture.decide(&[("authorization", &bearer(made["key"].as_str().unwrap()))]).is(200);
    let id = made["about"]["id"].as_str().unwrap();
    assert!(!fixture.get("/v1/keys", &root).is(200).body.contains(made["key"].as_str().unwrap()));
    fixture.post(&format!("/v1/keys/{id}/revoke"), &root, "").is(200);
    fixture.decide(&[("authorization", &bearer(made["key"].as_str().unwrap()))]).is(401);
    fixture.post(&format!("/v1/keys/{id}/revoke"), &root, "").is(409);
    fixture.post("/v1/keys/nothing/revoke", &root, "").is(404);
    let names = |headers: &[(&str, &str)]| fixture.get("/v1/projects", headers).is(200).body;
    assert!(names(&root).contains("acme/web") && names(&root).contains("default"));
    assert!(names(&eve).contains("acme/web") && !names(&eve).contains("default"));
    assert!(!names(&bob).contains("acme"));
    // People of a project.
    let added = fixture.post("/v1/people", &eve, r#"{"name":"dan","roles":["reviewer"]}"#).is(201).json();
    fixture.log_in("dan", added["key"].as_str().unwrap(), Some("acme/web"));
    assert!(!fixture.get("/v1/people", &root).is(200).body.contains("dan"));
    fixture.post("/v1/people", &bob, r#"{"name":"x","roles":["admin"]}"#).is(403);
    fixture.post("/v1/people", &eve, r#"{"name":"dan","roles":["reviewer"]}"#).is(409);
    // Invalid scopes, and callers who may not change approvers.
    fixture.post("/v1/keys", &root, r#"{"name":"k","projects":[],"rights":["read"]}"#).is(422);
    fixture.post("/v1/people/dan/revoke", &eve, "").is(204);
    fixture.post("/v1/people/unknown/revoke", &eve, "").is(404);
    let again = json!({"name": "dan", "key": added["key"], "project": "acme/web"}).to_string();
    fixture.post("/v1/login", &[], &again).is(401);
}
