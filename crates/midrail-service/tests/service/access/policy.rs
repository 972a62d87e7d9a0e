//! The policy in force: shown, checked, read again, and the same with all instances.

use serde_json::{Value, json};

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

#[test]
fn last_announced_policy_applies_to_all_instances() {
    let folder = tempfile::tempdir().unwrap();
    let one = config(&folder);
    let mut other = one.clone();
    let elsewhere = folder.path().join("other.yaml");
    std::fs::write(&elsewhere, STRICTER).unwrap();
    other.load.packs = vec![elsewhere.clone()];
    let first = Fixture::start(folder, one);
    let own = revision(&first);
    let second = Fixture::start(tempfile::tempdir().unwrap(), other);
    let announced = revision(&second);
    assert_ne!(own, announced);
    assert!(eventually(|| revision(&first) == announced), "the first did not follow");
    // A change of the first one's files is the last word then.
    let changed = STRICTER.replace("no-y", "no-z");
    std::fs::write(first.file("pack.yaml"), changed).unwrap();
    assert!(
        eventually(|| {
            let now = revision(&second);
            now != announced && now == revision(&first)
        }),
        "the second did not follow"
    );
    let head = crate::access::fixture::engine(&first.config, "default").store().head().unwrap();
    // Both instances poll while these requests are answered.
    for _ in 0..2_000 {
        revision(&first);
    }
    assert_eq!(
        crate::access::fixture::engine(&first.config, "default").store().head().unwrap(),
        head,
        "records though nothing changes"
    );
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
