//! The audit log: filters, pages, checkpoints, verification, export.

use midrail_core::{Effect, EventKind};
use midrail_store::{AuditFilter, Commit, MisfitKind, Store, TrustAnchor, verify_export};

use crate::common::{at, blocked, fill, record, verify};

fn seqs(store: &dyn Store, filter: AuditFilter) -> Vec<u64> {
    store.entries(&filter).unwrap().iter().map(|entry| entry.seq).collect()
}

fn mixed_log(store: &dyn Store) {
    for record in [
        record("s", 10),
        blocked("s", 20, "safety-001"),
        record("t", 30),
        blocked("t", 40, "safety-0011"),
        // The clock was set back.
        record("s", 15),
    ] {
        store.commit(&Commit::new(&record)).unwrap();
    }
}

pub(crate) fn filters_find_their_records(store: &dyn Store) {
    mixed_log(store);
    let all = AuditFilter::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(seqs(store, all()), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(store, AuditFilter { session: text("s"), ..all() }), [1, 2, 5]);
    assert_eq!(seqs(store, AuditFilter { session: text("s%"), ..all() }), [0; 0]);
    assert_eq!(seqs(store, AuditFilter { guardrail: text("safety-001"), ..all() }), [2]);
    assert_eq!(seqs(store, AuditFilter { guardrail: text("loud"), ..all() }), [2, 4]);
    assert_eq!(seqs(store, AuditFilter { guardrail: text("quiet"), ..all() }), [0; 0]);
    assert_eq!(seqs(store, AuditFilter { effect: Some(Effect::Block), ..all() }), [2, 4]);
    assert_eq!(seqs(store, AuditFilter { effect: Some(Effect::Allow), ..all() }), [1, 3, 5]);
    assert_eq!(seqs(store, AuditFilter { kind: Some(EventKind::BeforeTool), ..all() }).len(), 5);
    assert_eq!(seqs(store, AuditFilter { kind: Some(EventKind::AfterTool), ..all() }), [0; 0]);
    assert_eq!(seqs(store, AuditFilter { tool: text("Write"), ..all() }), [2, 4]);
    assert_eq!(seqs(store, AuditFilter { since: Some(at(20)), ..all() }), [2, 3, 4]);
    assert_eq!(seqs(store, AuditFilter { until: Some(at(20)), ..all() }), [1, 5]);
    assert_eq!(seqs(store, AuditFilter { since: Some(at(15)), until: Some(at(30)), ..all() }), [2, 5]);
    assert_eq!(seqs(store, AuditFilter { since: Some(at(50)), ..all() }), [0; 0]);
    let narrow = AuditFilter {
        session: text("t"),
        guardrail: text("loud"),
        effect: Some(Effect::Block),
        kind: Some(EventKind::BeforeTool),
        tool: text("Write"),
        since: Some(at(1)),
        until: Some(at(100)),
        after_seq: Some(5),
        limit: Some(10),
        newest_first: true,
    };
    assert_eq!(seqs(store, narrow), [4]);
}

pub(crate) fn pages_go_through_the_log_both_ways(store: &dyn Store) {
    fill(store, 10);
    let page = |after_seq, newest_first| {
        seqs(store, AuditFilter { after_seq, newest_first, limit: Some(4), ..AuditFilter::default() })
    };
    assert_eq!(page(None, false), [1, 2, 3, 4]);
    assert_eq!(page(Some(4), false), [5, 6, 7, 8]);
    assert_eq!(page(Some(8), false), [9, 10]);
    assert_eq!(page(Some(10), false), [0; 0]);
    assert_eq!(page(None, true), [10, 9, 8, 7]);
    assert_eq!(page(Some(7), true), [6, 5, 4, 3]);
    assert_eq!(page(Some(1), true), [0; 0]);
    assert_eq!(page(Some(u64::MAX), false), [0; 0]);
    assert_eq!(page(Some(u64::MAX), true), [10, 9, 8, 7]);
    assert_eq!(seqs(store, AuditFilter { limit: Some(0), ..AuditFilter::default() }), [0; 0]);
}

pub(crate) fn records_come_back_as_written(store: &dyn Store) {
    mixed_log(store);
    let entry = store.entry(2).unwrap().unwrap();
    assert_eq!(entry.record().unwrap(), blocked("s", 20, "safety-001"));
    assert_eq!(entry.prev, store.entry(1).unwrap().unwrap().hash);
    assert_eq!(entry.body, serde_json::to_string(&blocked("s", 20, "safety-001")).unwrap());
    assert_eq!(entry.labels.guardrails, ["loud", "safety-001"]);
    assert_eq!(entry.labels.tool.as_deref(), Some("Write"));
    assert_eq!(store.entry(6).unwrap(), None);
}

pub(crate) fn checkpoints_are_signed_and_the_log_verifies(store: &dyn Store) {
    fill(store, 130);
    let now = store.checkpoint_now(at(500)).unwrap().unwrap();
    assert_eq!((now.seq, store.checkpoint_now(at(501)).unwrap()), (130, Some(now.clone())));
    fill(store, 133);
    let checkpoints = store.checkpoints(0, 100).unwrap();
    assert_eq!(checkpoints.iter().map(|checkpoint| checkpoint.seq).collect::<Vec<_>>(), [64, 128, 130]);
    assert_eq!(store.checkpoints(64, 1).unwrap(), checkpoints[1..2]);
    assert_eq!(store.last_checkpoint().unwrap(), Some(now));

    let mut received = Vec::new();
    let found = store.verify(&TrustAnchor::default(), &mut |done, all| received.push((done, all))).unwrap();
    assert_eq!(found.misfit, None);
    assert_eq!(
        (found.records, found.checkpoints, found.last_checkpoint, found.unsigned),
        (133, 3, Some(130), 3)
    );
    assert_eq!(found.head, store.head().unwrap());
    assert_eq!(found.keys, [store.public_key().unwrap().id]);
    assert_eq!(received.last(), Some(&(133, 133)));
}

pub(crate) fn head_that_was_noted_down_must_be_there(store: &dyn Store) {
    fill(store, 5);
    let verify = |seq, hash: &str| {
        let expect = TrustAnchor { head: Some((seq, hash.to_owned())), keys: None };
        store.verify(&expect, &mut |_, _| ()).unwrap().misfit.map(|misfit| (misfit.seq, misfit.kind))
    };
    let hash = store.entry(3).unwrap().unwrap().hash;
    assert_eq!(verify(3, &hash), None);
    assert_eq!(verify(4, &hash), Some((4, MisfitKind::Head)));
    assert_eq!(verify(7, &hash), Some((6, MisfitKind::Truncated)));
}

pub(crate) fn keys_that_are_trusted_must_have_signed(store: &dyn Store) {
    fill(store, 64);
    let verify = |keys: Vec<String>| {
        let expect = TrustAnchor { head: None, keys: Some(keys) };
        store.verify(&expect, &mut |_, _| ()).unwrap().misfit.map(|misfit| (misfit.seq, misfit.kind))
    };
    assert_eq!(verify(vec![store.public_key().unwrap().id]), None);
    assert_eq!(verify(vec!["0123456789abcdef".to_owned()]), Some((64, MisfitKind::Signature)));
}

fn exported(store: &dyn Store, filter: &AuditFilter) -> String {
    let mut out = Vec::new();
    store.export(filter, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn export_verifies_by_itself(store: &dyn Store) {
    assert!(
        verify_export(&mut exported(store, &AuditFilter::default()).as_bytes(), &TrustAnchor::default())
            .unwrap()
            .is_intact()
    );
    fill(store, 600);
    let text = exported(store, &AuditFilter::default());
    let found = verify_export(&mut text.as_bytes(), &TrustAnchor::default()).unwrap();
    assert_eq!(found, verify(store));
    assert_eq!((found.records, found.checkpoints, found.withheld), (600, 9, 0));
    // The bodies are there byte for byte.
    assert!(
        text.contains(&format!("\"body\":{},\"changes\":\"\"}}\n", store.entry(70).unwrap().unwrap().body))
    );
}

pub(crate) fn filtered_export_verifies_and_shows_no_other_content(store: &dyn Store) {
    mixed_log(store);
    fill(store, 70);
    let filter = AuditFilter { session: Some("t".to_owned()), limit: Some(1), ..AuditFilter::default() };
    let text = exported(store, &filter);
    assert!(!text.contains("\"session\":\"s\"") && !text.contains("safety-001\""), "{text}");
    assert_eq!(text.matches("\"session\":\"t\"").count(), 2);
    let found = verify_export(&mut text.as_bytes(), &TrustAnchor::default()).unwrap();
    assert_eq!(found.misfit, None);
    assert_eq!((found.records, found.withheld, found.head), (70, 68, store.head().unwrap()));
}

pub(crate) fn export_for_a_reader_withholds_the_rest(store: &dyn Store) {
    mixed_log(store);
    let mut out = Vec::new();
    let filter = AuditFilter { session: Some("s".to_owned()), ..AuditFilter::default() };
    let done = store.export_shown(&filter, &|entry| entry.seq == 1, &mut out).unwrap();
    let all = store.head().unwrap().unwrap().seq;
    assert_eq!((done.shown, done.withheld), (1, all - 1));
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("\"body\":").count(), 1);
    assert_eq!(verify_export(&mut text.as_bytes(), &TrustAnchor::default()).unwrap().misfit, None);
}
