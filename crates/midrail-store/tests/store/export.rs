//! Exports that someone changed, cut or made up. None of them is taken for sound, and none brings the verifier down.

use std::sync::LazyLock;

use crate::common::fill;
use midrail_store::{
    AuditFilter, AuditLog, MemoryStore, MisfitKind, TrustAnchor, Verification, verify_export,
};
use proptest::prelude::*;

/// The lines of an export of 70 records: a header, 70 records, a checkpoint after the 64th, an end.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let store = MemoryStore::with_seed(&[1; 32]);
    fill(&store, 70);
    let mut out = Vec::new();
    store.export(&AuditFilter::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
});

fn check(bytes: &[u8]) -> Verification {
    verify_export(&mut &*bytes, &TrustAnchor::default()).unwrap()
}

fn misfit(lines: &[String]) -> Option<(u64, MisfitKind)> {
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    check(text.as_bytes()).misfit.map(|misfit| (misfit.seq, misfit.kind))
}

fn changed(work: impl FnOnce(&mut Vec<String>)) -> Option<(u64, MisfitKind)> {
    let mut lines = LINES.clone();
    work(&mut lines);
    misfit(&lines)
}

#[test]
fn every_line_counts() {
    assert_eq!(misfit(&LINES), None);
    assert_eq!(changed(|lines| drop(lines.remove(10))), Some((10, MisfitKind::Missing)));
    assert_eq!(changed(|lines| lines.swap(10, 11)), Some((10, MisfitKind::Reordered)));
    assert_eq!(changed(|lines| lines[10] = lines[9].clone()), Some((10, MisfitKind::Reordered)));
    assert_eq!(
        changed(|lines| lines[10] = lines[10].replace("Read", "Raed")),
        Some((10, MisfitKind::Changed))
    );
    assert_eq!(changed(|lines| drop(lines.remove(65))), Some((64, MisfitKind::NoCheckpoint)));
    assert_eq!(changed(|lines| lines.swap(65, 66)), Some((64, MisfitKind::NoCheckpoint)));
    assert_eq!(
        changed(|lines| lines[65] = lines[65].replace("2026", "2025")),
        Some((64, MisfitKind::Signature))
    );
    assert_eq!(changed(|lines| drop(lines.remove(0))), Some((1, MisfitKind::Unreadable)));
    assert_eq!(changed(|lines| drop(lines.pop())), Some((71, MisfitKind::Unreadable)));
    assert_eq!(changed(|lines| drop(lines.remove(71))), Some((70, MisfitKind::Truncated)));
    assert_eq!(changed(|lines| lines.push(String::new())), Some((71, MisfitKind::Unreadable)));
    assert_eq!(changed(|lines| lines.insert(5, "{}".to_owned())), Some((5, MisfitKind::Unreadable)));
    assert_eq!(
        changed(|lines| lines[0] = lines[0].replace("\"version\":2", "\"version\":3")),
        Some((1, MisfitKind::Unreadable))
    );
}

#[test]
fn export_without_its_keys_is_not_sound() {
    let no_keys = r#"{"format":"midrail-audit-export","version":1,"keys":[]}"#;
    assert_eq!(changed(|lines| lines[0] = no_keys.to_owned()), Some((64, MisfitKind::Signature)));
}

#[test]
fn empty_file_is_not_an_export() {
    for bytes in [&b""[..], b"\n", b"{}\n", b"\xff\n", b"[[[[", "[".repeat(100_000).as_bytes()] {
        assert!(!check(bytes).is_intact());
    }
    let deep =
        format!("{}\n{{\"seq\":1,\"prev\":\"\",\"hash\":\"\",\"body\":{}", LINES[0], "[".repeat(1_000_000));
    assert!(!check(deep.as_bytes()).is_intact());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        prop_assert!(!check(&bytes).is_intact());
    }

    #[test]
    fn arbitrary_lines_after_a_header_never_panic(lines in prop::collection::vec(any_line(), 0..20)) {
        let mut text = LINES[0].clone();
        for line in lines {
            text.push('\n');
            text.push_str(&line);
        }
        check(text.as_bytes());
    }

    /// Any single byte that changes is noticed. (Inside the bodies and hashes, that is: JSON allows blanks elsewhere.)
    #[test]
    fn any_changed_character_is_detected(at: prop::sample::Index, to in b'a'..=b'z') {
        let mut bytes = LINES.join("\n").into_bytes();
        bytes.push(b'\n');
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        prop_assert!(!check(&bytes).is_intact());
    }

    #[test]
    fn any_truncation_is_detected(at: prop::sample::Index) {
        let text = LINES.join("\n");
        prop_assert!(!check(&text.as_bytes()[..at.index(text.len())]).is_intact());
    }
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        (any::<u64>(), "[0-9a-f]{0,64}", "\\PC{0,8}").prop_map(|(seq, hash, body)| format!(
            r#"{{"seq":{seq},"prev":"{hash}","hash":"{hash}","body":"{body}"}}"#
        )),
        (any::<u64>(), "[0-9a-f]{128}").prop_map(|(seq, signature)| format!(
            r#"{{"checkpoint":{{"seq":{seq},"hash":"","time":"","key":"","signature":"{signature}"}}}}"#
        )),
        (any::<u64>()).prop_map(|records| format!(r#"{{"end":{{"records":{records},"head":""}}}}"#)),
        prop::sample::select(LINES.clone()),
    ]
}
