//! Archives and erasures, for every store that has them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use midrail_store::{
    AuditFilter, Commit, GzipReader, MisfitKind, Store, TrustAnchor, Verification, verify_export,
};
use serde_json::json;

use crate::common::{at, fill, record, verify};

fn verify_archive(path: &Path, keys: Option<Vec<String>>) -> Verification {
    let reader = GzipReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    verify_export(&mut BufReader::new(reader), &TrustAnchor { head: None, keys }).unwrap()
}

/// Archives twice: each file verifies alone, the store verifies across the cuts, and its state is still covered.
pub(crate) fn archives_verify_alone_and_the_store_across_the_cut(store: &dyn Store, folder: &Path) {
    let first = record("s", 1);
    let mut commit = Commit::new(&first);
    commit.changes.set("halted", true);
    store.commit(&commit).unwrap();
    fill(store, 150);
    let window = store.action_counts(at(0)).unwrap();
    let key = store.public_key().unwrap().id;
    let refused = store.archive(150, at(200), &folder.join("all.gz")).unwrap_err();
    assert!(refused.to_string().contains("records 1 to 149 can be archived"), "{refused}");
    for (through, first) in [(70, 1), (100, 71)] {
        let path = folder.join(format!("{through}.jsonl.gz"));
        let archive = store.archive(through, at(200), &path).unwrap();
        assert_eq!((archive.first, archive.through, archive.records), (first, through, through - first + 1));
        let found = verify_archive(&path, Some(vec![key.clone()]));
        assert_eq!((found.misfit, found.records, found.archived), (None, through - first + 1, first - 1));
        assert_eq!(found.head.unwrap().seq, through);
        let found = verify_archive(&path, Some(vec!["0".repeat(16)]));
        assert_eq!(found.misfit.unwrap().kind, MisfitKind::Signature);
        let found = verify(store);
        assert_eq!((found.misfit, found.archived, found.records), (None, through, 150 - through));
        assert!(store.archive(through, at(200), &path).is_err(), "it is archived already");
    }
    assert_eq!(store.entries(&AuditFilter::default()).unwrap()[0].seq, 101);
    assert_eq!(store.entry(100).unwrap(), None);
    assert_eq!(store.action_counts(at(0)).unwrap().decisions, window.decisions - 100);
    assert_eq!(store.load("s", &["halted"]).unwrap()[0].value, Some(json!(true)));
    fill(store, 160);
    let mut out = Vec::new();
    store.export(&AuditFilter::default(), &mut out).unwrap();
    let found = verify_export(&mut out.as_slice(), &TrustAnchor::default()).unwrap();
    assert_eq!((found.misfit, found.records, found.archived), (None, 60, 100));
}

/// Erases a session: the chain verifies, what is gone is known, and nothing else can be taken for an erasure.
pub(crate) fn erased_session_leaves_a_provable_gap(store: &dyn Store) {
    fill(store, 10);
    store.commit(&Commit::new(&record("private", 11))).unwrap();
    fill(store, 20);
    assert_eq!(store.erase_session("private", 20).unwrap(), 1);
    assert_eq!(store.erase_session("private", 20).unwrap(), 0, "it is erased already");
    let entry = store.entry(11).unwrap().unwrap();
    assert!(!entry.body.contains("src/"), "{}", entry.body);
    let outline = entry.record().unwrap();
    assert_eq!((outline.event.tool_name(), outline.session.as_str()), (Some("Read"), "private"));
    let found = verify(store);
    assert_eq!((found.misfit, found.records, found.withheld), (None, 20, 1));
    let mut out = Vec::new();
    store.export(&AuditFilter::default(), &mut out).unwrap();
    assert_eq!(verify_export(&mut out.as_slice(), &TrustAnchor::default()).unwrap().withheld, 1);
}
