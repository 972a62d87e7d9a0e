//! The audit log over HTTP.

use std::io::BufReader;

use midrail::store::{TrustAnchor, verify_export};
use serde_json::{Value, json};

use crate::api::fixture::{Auth, Fixture, PACK, Service, call};

fn seqs(page: &Value) -> Vec<u64> {
    page["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()).collect()
}

/// A service whose log has records 1 to 6. The first is the service's own: it records its policy.
fn six() -> (Fixture, Service) {
    let fixture = Fixture::new(PACK);
    let service = fixture.serve();
    for (session, tool) in [("a", "erase"), ("b", "look"), ("b", "erase"), ("b", "refund"), ("a", "look")] {
        service.post("/v1/decide", call(session, tool), &Auth::Anonymous).good();
    }
    (fixture, service)
}

#[test]
fn records_are_filtered_and_paged() {
    let (_world, service) = six();
    let list = |query: &str| seqs(&service.get(&format!("/v1/audit?{query}"), &Auth::Anonymous).good());
    assert_eq!(list(""), [1, 2, 3, 4, 5, 6]);
    assert_eq!(list("newest_first=true&limit=2"), [6, 5]);
    assert_eq!(list("newest_first=true&limit=2&after=5"), [4, 3]);
    assert_eq!(list("after=4"), [5, 6]);
    assert_eq!(list("after=6"), Vec::<u64>::new());
    assert_eq!(list("session=b"), [3, 4, 5]);
    assert_eq!(list("session=b&effect=block"), [4]);
    assert_eq!(list("guardrail=never"), [2, 4]);
    assert_eq!(list("tool=refund&project=default"), [5]);
    assert_eq!(list("kind=before_tool").len(), 5);
    assert_eq!(list("kind=administered"), [1]);
    assert_eq!(list("kind=after_tool"), Vec::<u64>::new());
    let page = service.get("/v1/audit?limit=3", &Auth::Anonymous).good();
    assert_eq!(page["next"], "3");
    let third = page["items"][2]["time"].as_str().unwrap();
    assert_eq!(list(&format!("since={third}")), [3, 4, 5, 6]);
    assert_eq!(list(&format!("until={third}")), [1, 2]);
    let line = &page["items"][1];
    assert_eq!(
        (&line["by"], &line["reason"], &line["agent"]),
        (&json!("never"), &json!("Nothing is erased"), &json!("coder"))
    );
    assert_eq!(line.get("record"), None);
    for wrong in ["effect=maybe", "since=yesterday", "limit=0", "limit=1001", "unknown=1", "after=-1"] {
        service.get(&format!("/v1/audit?{wrong}"), &Auth::Anonymous).problem(400);
    }
}

#[test]
fn record_has_its_proof_and_explanation() {
    let (fixture, service) = six();
    let record = service.get("/v1/audit/4", &Auth::Anonymous).good();
    let before = service.get("/v1/audit/3", &Auth::Anonymous).good();
    assert_eq!(record["prev"], before["hash"]);
    let body: Value = serde_json::from_str(record["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, record["record"]);
    assert_eq!(record["labels"]["guardrails"], json!(["never"]));
    let engine = fixture.engine("default");
    engine.store().checkpoint_now(engine.now()).unwrap();
    let record = service.get("/v1/audit/4", &Auth::Anonymous).good();
    assert!(record["checkpoint"]["seq"].as_u64().unwrap() >= 4, "{record}");

    let report = service.get("/v1/audit/4/explanation", &Auth::Anonymous).good();
    assert_eq!(
        (&report["decision"]["effect"], &report["decision"]["by"]),
        (&json!("block"), &json!("never"))
    );
    assert_eq!(report["replay"], json!({"outcome": "same"}));
    assert!(
        report["decision"]["verdicts"].as_array().unwrap().iter().any(|said| said["guardrail"] == "never")
    );
    assert_eq!(report["event"]["tool"]["name"], "erase");
    engine.session("a").set("x", 1).unwrap();
    let report = service.get("/v1/audit/7/explanation", &Auth::Anonymous).good();
    assert_eq!((&report["replay"]["outcome"], &report["what"]), (&json!("nothing"), &json!("variable_set")));
    for path in ["/v1/audit/99", "/v1/audit/99/explanation"] {
        let problem = service.get(path, &Auth::Anonymous).problem(404);
        assert!(problem["help"].as_str().unwrap().contains("1 to 7"), "{problem}");
    }
    service.get("/v1/audit/x", &Auth::Anonymous).problem(400);
}

#[test]
fn export_verifies_without_the_store() {
    let (_world, service) = six();
    for query in ["", "?session=a"] {
        let export = service.get(&format!("/v1/audit/export{query}"), &Auth::Anonymous);
        assert_eq!((export.status, export.media.as_str()), (200, "application/jsonl"));
        let found =
            verify_export(&mut BufReader::new(export.text.as_bytes()), &TrustAnchor::default()).unwrap();
        assert!(found.is_intact(), "{found:?}");
        assert_eq!((found.records, found.withheld), (6, if query.is_empty() { 0 } else { 4 }));
    }
    let found = service.post("/v1/audit/verify", json!({}), &Auth::Anonymous).good();
    assert_eq!((&found["sound"], &found["records"]), (&json!(true), &json!(6)));
    let (seq, hash) = (found["head"]["seq"].clone(), found["head"]["hash"].clone());
    let known = json!({"head": {"seq": seq, "hash": hash}});
    assert_eq!(service.post("/v1/audit/verify", known, &Auth::Anonymous).good()["sound"], true);
    let wrong = json!({"head": {"seq": 6, "hash": "0".repeat(64)}});
    let found = service.post("/v1/audit/verify", wrong, &Auth::Anonymous).good();
    assert_eq!((&found["sound"], &found["misfit"]["kind"]), (&json!(false), &json!("head")));
    service.post("/v1/audit/verify", json!({"heed": 1}), &Auth::Anonymous).problem(422);
}
