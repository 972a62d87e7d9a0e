//! The policy in force: shown, checked, read again, and the same with all instances.

use std::time::Duration;

use midrail_service::{At, Config, ServeError, run_until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::fixture::{Fixture, config, eventually, person};

const STRICTER: &str =
    "pack: p\nguardrails:\n  - {use: secret-redaction}\n  - {id: no-x, tools: x}\n  - {id: no-y, tools: y}\n";

fn revision(fixture: &Fixture) -> Value {
    fixture.get("/v1/policy", &[]).is(200).json()["revision"].clone()
}

#[test]
fn policy_layers_and_revisions_are_shown() {
    let fixture = Fixture::new();
    let policy = fixture.get("/v1/policy", &[]).is(200).json();
    let guardrails = policy["guardrails"].as_array().unwrap();
    let own = guardrails.iter().find(|one| one["id"] == "no-x").unwrap();
    assert_eq!(
        (&own["effect"], &own["tools"], &own["mode"]),
        (&json!("block"), &json!(["x"]), &json!("enforce"))
    );
    let layers = fixture.get("/v1/policy/layers", &[]).is(200).json();
    assert_eq!((&layers["packs"][0]["pack"], &layers["packs"][1]["pack"]), (&json!("default"), &json!("p")));
    let kept =
        fixture.get(&format!("/v1/policy/{}", policy["revision"].as_str().unwrap()), &[]).is(200).json();
    assert_eq!(kept["source"][1]["pack"]["pack"], "p");
    fixture.get("/v1/policy/nothing", &[]).is(404);
    fixture.get("/v1/policy/diff?from=nothing", &[]).is(404);
    fixture.get("/v1/policy/diff", &[]).is(400);
    assert_eq!(fixture.get("/v1/shadow", &[]).is(200).json()["decisions"], 0);
    let docs = fixture.get("/v1/docs", &[]).is(200);
    assert!(
        docs.body.contains("/v1/decide/batch")
            && !docs.body.contains("<script")
            && !docs.body.contains("style=")
    );
}

#[test]
fn administrator_reloads_packs() {
    let fixture = Fixture::new();
    let key = person(&fixture.config, "default", "root", &["human_operator", "admin"]);
    let (cookie, csrf) = fixture.log_in("root", &key, None);
    let root = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    let shown = || fixture.get("/v1/policy", &root).is(200).json();
    let before = shown()["revision"].clone();
    let pack = fixture.file("pack.yaml");
    std::fs::write(&pack, "pack: p\nguardrail: []\n").unwrap();
    let refused = fixture.post("/v1/policy/reload", &root, "").is(422).json();
    assert_eq!((&refused["problems"][0]["line"], &refused["problems"][0]["column"]), (&json!(2), &json!(1)));
    assert_eq!(shown()["revision"], before);
    assert!(shown()["reloads"]["last_error"].is_string());
    std::fs::write(&pack, STRICTER).unwrap();
    let after = fixture.post("/v1/policy/reload", &root, "").is(200).json();
    assert_eq!(shown()["revision"], after["revision"]);
    assert_ne!(after["revision"], before);
    let path = format!(
        "/v1/policy/diff?from={}&to={}",
        before.as_str().unwrap(),
        after["revision"].as_str().unwrap()
    );
    let diff = fixture.get(&path, &root).is(200).json();
    assert_eq!(
        (diff["added"][0]["id"].as_str(), diff["removed"].as_array().unwrap().len()),
        (Some("no-y"), 0)
    );
}

/// A running service, and the configuration of another instance on the same store with another pack.
fn two_policies() -> (Fixture, Config, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let one = config(&folder);
    let mut other = one.clone();
    let elsewhere = tempfile::tempdir().unwrap();
    let pack = elsewhere.path().join("other.yaml");
    std::fs::write(&pack, STRICTER).unwrap();
    other.load.packs = vec![pack];
    (Fixture::start(folder, one), other, elsewhere)
}

/// Starts an instance that must not serve.
fn refused(config: Config) -> ServeError {
    run_until(config, |ready| panic!("it serves at {}", ready.url), async {}).unwrap_err()
}

#[test]
fn instance_that_cannot_listen_changes_nothing() {
    let (first, mut other, _folder) = two_policies();
    let store = crate::access::fixture::engine(&first.config, "default").store().clone();
    let (own, head) = (revision(&first), store.head().unwrap());
    let policy = other.load.load().unwrap().policy.revision().to_string();
    other.listen = At::Address(first.address);
    let error = refused(other);
    assert!(matches!(error, ServeError::Listen { .. }), "{error}");
    assert_eq!((revision(&first), store.head().unwrap()), (own, head));
    assert_eq!(store.policy(&policy).unwrap(), None);
    assert_eq!(store.live_instances(Duration::from_secs(60)).unwrap().len(), 1);
}

#[test]
fn instance_with_another_policy_starts_only_if_it_is_confirmed() {
    let (first, other, _folder) = two_policies();
    let engine = crate::access::fixture::engine(&first.config, "default");
    let (own, head) = (revision(&first), engine.store().head().unwrap());
    let error = refused(other.clone());
    let differs = error.policy_differs().unwrap_or_else(|| panic!("{error}"));
    let wanted = differs.revision.clone();
    assert_eq!(Value::from(differs.others[0].revision.clone()), own);
    let help = error.help().unwrap();
    assert!(help.contains(&format!("midrail policy confirm {wanted}")), "{help}");
    assert_eq!(
        (revision(&first), engine.store().head().unwrap()),
        (own.clone(), head),
        "it changed something"
    );
    assert_eq!(engine.store().policy(&wanted).unwrap(), None);

    let key = person(&first.config, "default", "root", &["human_operator", "admin"]);
    let (cookie, csrf) = first.log_in("root", &key, None);
    let root = [("cookie", cookie.as_str()), ("x-csrf-token", csrf.as_str())];
    first.post("/v1/policy/confirm", &root, &json!({"revision": "sha256:1"}).to_string()).is(422);
    first.post("/v1/policy/confirm", &[], &json!({"revision": wanted}).to_string()).is(401);
    let confirmed = first.post("/v1/policy/confirm", &root, &json!({"revision": wanted}).to_string()).is(200);
    assert_eq!(confirmed.json()["by"], "root");

    let second = Fixture::start(tempfile::tempdir().unwrap(), other.clone());
    let shown = |fixture: &Fixture| fixture.get("/v1/policy", &root).is(200).json();
    assert_eq!(shown(&second)["revision"], wanted);
    // The first keeps its own policy, and shows the difference.
    assert!(eventually(|| shown(&first)["drift"] == true), "{}", shown(&first));
    assert_eq!((&shown(&first)["revision"], shown(&first)["instances"].as_array().unwrap().len()), (&own, 2));
    let metrics = first.get("/metrics", &root).is(200).body;
    for line in [
        format!("midrail_policy_info{{project=\"default\",revision={own}}} 1"),
        "midrail_policy_drift{project=\"default\"} 1".to_owned(),
        "midrail_instances{project=\"default\"} 2".to_owned(),
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line}\n{metrics}");
    }
    let alerts = first.get("/v1/alerts", &root).is(200).json();
    assert_eq!(
        (&alerts["items"][0]["name"], alerts["items"].as_array().unwrap().len()),
        (&json!("policy_drift"), 1)
    );
    let notices = first.get("/v1/notices", &root).is(200).body;
    assert!(
        notices.contains("the policy changed from") && notices.contains("different policies"),
        "{notices}"
    );
    for page in ["/", "/policy"] {
        let text = first.get(page, &root).body;
        assert!(text.contains("enforce another policy"), "{page}");
    }
    let head = engine.store().head().unwrap();
    // Both instances renew their membership while these requests are answered.
    for _ in 0..500 {
        shown(&first);
    }
    assert_eq!(engine.store().head().unwrap(), head, "records though nothing changes");

    // Another policy than the confirmed one is still refused.
    let mut third = other;
    std::fs::write(&third.load.packs[0], STRICTER.replace("no-y", "no-z")).unwrap();
    third.listen = At::Address("127.0.0.1:0".parse().unwrap());
    assert!(refused(third).policy_differs().is_some());
    // Without other instances, an instance starts with its own packs, and the change is recorded.
    drop(second);
    drop(engine);
    let (folder, config) = stopped(first);
    std::fs::write(folder.path().join("pack.yaml"), STRICTER.replace("no-y", "no-w")).unwrap();
    let last = Fixture::start(folder, config);
    assert_ne!(shown(&last)["revision"], wanted);
    let records = last.get("/v1/audit?kind=administered&limit=1000", &root).is(200).body;
    assert!(records.contains("policy_changed"), "{records}");
}

/// Stops a service, and returns its folder and configuration.
fn stopped(mut fixture: Fixture) -> (TempDir, Config) {
    fixture.ended().unwrap();
    let folder = std::mem::replace(&mut fixture.folder, tempfile::tempdir().unwrap());
    (folder, fixture.config.clone())
}

#[test]
fn reload_of_one_instance_leaves_the_other_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (one, elsewhere) = (config(&folder), tempfile::tempdir().unwrap());
    let mut other = one.clone();
    let copy = elsewhere.path().join("pack.yaml");
    std::fs::copy(&one.load.packs[0], &copy).unwrap();
    other.load.packs = vec![copy];
    let (first, second) = (Fixture::start(folder, one), Fixture::start(tempfile::tempdir().unwrap(), other));
    let before = revision(&first);
    assert_eq!(revision(&second), before, "the same packs in another folder");
    std::fs::write(first.file("pack.yaml"), STRICTER).unwrap();
    assert!(eventually(|| revision(&first) != before), "the first did not read its own files");
    assert!(eventually(|| second.get("/v1/policy", &[]).json()["drift"] == true), "no drift was shown");
    assert_eq!(revision(&second), before);
}

#[test]
fn validated_pack_is_not_applied() {
    let fixture = Fixture::new();
    let before = revision(&fixture);
    let check = |text: &str| {
        fixture
            .post("/v1/policy/validate", &[], &json!({"name": "mine.yaml", "text": text}).to_string())
            .is(200)
            .json()
    };
    assert_eq!(check("pack: p\nguardrails:\n  - {id: g, tools: x}\n")["valid"], true);
    assert_eq!(check("pack: p\nextends: none\n")["valid"], true);
    let wrong = check("pack: p\nguardrails:\n  - {id: g, tool: x}\n");
    assert_eq!(
        (&wrong["valid"], &wrong["problems"][0]["file"], &wrong["problems"][0]["line"]),
        (&json!(false), &json!("mine.yaml"), &json!(3))
    );
    assert_eq!(check("pack: p\nextends: /etc/passwd\n")["valid"], false);
    assert_eq!(revision(&fixture), before);
}
