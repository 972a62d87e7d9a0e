//! Archives and erasures, for every store that has them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use midrail_store::{
    AuditFilter, Commit, MisfitKind, Store, TrustAnchor, Verification, gzip_reader, verify_export,
};
use serde_json::json;

use crate::common::{at, fill, record, verify};

fn verify_archive(path: &Path, keys: Option<Vec<String>>) -> Verification {
    let reader = gzip_reader(BufReader::new(File::open(path).unwrap()));
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

/// Replaces the signing key twice: the log and its archives verify with each key, and a store that was open all the time
/// uses the new one.
pub(crate) fn replaced_key_signs_nothing_more(store: &dyn Store, other: &dyn Store, folder: &Path) {
    let pinned = |key: &str| TrustAnchor { head: None, keys: Some(vec![key.to_owned()]) };
    assert!(store.replace_signing_key(at(1)).is_err(), "there is no record to sign");
    fill(store, 10);
    let fingerprints = store.fingerprint_key().unwrap();
    let first = store.replace_signing_key(at(11)).unwrap();
    assert_eq!((first.seq, &first.signer), (10, &first.old));
    fill(other, 100);
    let second = other.replace_signing_key(at(101)).unwrap();
    assert_eq!((second.seq, &second.old), (100, &first.new));
    fill(store, 130);
    store.checkpoint_now(at(131)).unwrap();
    assert_eq!(store.fingerprint_key().unwrap(), fingerprints);
    let signers: Vec<_> =
        store.checkpoints(0, 100).unwrap().into_iter().map(|one| (one.seq, one.key)).collect();
    let expected =
        [(10, &first.old), (64, &first.new), (100, &first.new), (128, &second.new), (130, &second.new)];
    assert_eq!(signers, expected.map(|(seq, key)| (seq, key.clone())));
    let path = folder.join("a.gz");
    store.archive(120, at(200), &path).unwrap();
    for key in [&first.old, &first.new, &second.new] {
        assert_eq!(store.verify(&pinned(key), &mut |_, _| ()).unwrap().misfit, None, "{key}");
        assert_eq!(verify_archive(&path, Some(vec![key.clone()])).misfit, None, "{key}");
    }
    assert!(store.verify(&pinned("0000"), &mut |_, _| ()).unwrap().misfit.is_some());
}
