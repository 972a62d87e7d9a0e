//! Tests of texts that arrive in chunks.

use super::super::resumable::ResumableScan;
use super::super::stream::{MAX_HELD, Redactor, SecretDetector, Stream, WindowedDetector};
use super::*;
use proptest::prelude::*;

const PARTS: &[&str] = &[
    "AKIAABCDEFGHIJKLMNOP",
    "ghp_9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9",
    "password = \"Kx7zzq21w\"",
    "export DB_PASSWORD=turtle99X",
    "Authorization: Bearer 9f3Kq71vB0xTz28LmWc4",
    "postgres://marie:Kx7zzq21w@host/db",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8\n-----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6G",
    "a1b2c3d4e5f60718293a4b5c6d7e8f90-us12",
    "<token>\n  9fA3kQ71vB0xTz28\n</token>",
    "password=\x1b[32mXk29fLqPz7\x1b[0m ",
    "API_TOKEN=9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi99f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9",
    "- name: DB_PASSWORD\n  value: Xk29fLqPz7\n",
    "password:\n  Xk29fLqPz7\n",
    "| DB_PASSWORD | Xk29fLqPz7 |",
    "INSERT INTO users (name, password) VALUES ('bob', 'Xk29fLqPz7');",
    "echo turtle99x | docker login",
    "\x1b[01;31m\x1b[KAKIA\x1b[m\x1b[KABCDEFGHIJKLMNOP",
    "Set-Cookie: session=9f3Kq71vB0xTz28LmWc4; Path=/",
    "     1→-----BEGIN PRIVATE KEY-----\n     2→MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "пароль: Xk29fLqPz7",
    "AKIA",
    "password",
    "password = ",
    "-----BEGIN ",
    "eyJ",
    "://",
    "token: string",
    "the quick brown fox ",
    "né à Zürich ",
    " ",
    "\n",
    "\"",
    "=",
    "x",
    "key",
];

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PARTS), 0..14).prop_map(|parts| parts.concat())
}

fn chunks<'t>(text: &'t str, cuts: &[usize]) -> Vec<&'t str> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    places.retain(|place| text.is_char_boundary(*place));
    places.extend([0, text.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chunks_give_the_hits_of_the_whole_text(text in text(), cuts in proptest::collection::vec(any::<usize>(), 0..40)) {
        let mut stream = Stream::new(SecretDetector::default());
        let mut redactor = Redactor::for_secrets(b"k");
        let (mut hits, mut whole, mut redacted) = (Vec::new(), String::new(), String::new());
        for chunk in chunks(&text, &cuts) {
            let released = stream.push(chunk);
            prop_assert_eq!(released.start, whole.len());
            hits.extend(released.hits);
            whole.push_str(&released.text);
            redacted.push_str(&redactor.push(chunk));
        }
        let released = stream.finish();
        hits.extend(released.hits);
        whole.push_str(&released.text);
        redacted.push_str(&redactor.finish());
        prop_assert_eq!(&whole, &text);
        let expected = scan(&text);
        let mut masked = String::new();
        let mut done = 0;
        for hit in &expected {
            masked.push_str(&text[done..hit.start]);
            let fingerprint = fingerprint(&text[hit.start..hit.end], b"k");
            masked.push_str(&format!("[redacted:{}#{}]", hit.kind, &fingerprint[..4]));
            done = hit.end;
        }
        masked.push_str(&text[done..]);
        prop_assert_eq!(hits, expected);
        prop_assert_eq!(redacted, masked);
    }

    // The scan is stored as JSON after every chunk, and taken in pieces of any size.
    #[test]
    fn resumable_scan_finds_what_whole_scan_finds(
        text in text(),
        cuts in proptest::collection::vec(any::<usize>(), 0..40),
        most in 0_usize..60,
    ) {
        let mut kept = serde_json::to_string(&ResumableScan::default()).unwrap();
        let (mut hits, mut whole) = (Vec::new(), String::new());
        let chunks = chunks(&text, &cuts);
        for (at, chunk) in chunks.iter().enumerate() {
            let last = at + 1 == chunks.len();
            let mut tail: ResumableScan = serde_json::from_str(&kept).unwrap();
            tail.push(chunk, last);
            let (piece, found) = tail.take(if last { usize::MAX } else { most });
            hits.extend(found.into_iter().map(|hit| Hit {
                start: hit.start + whole.len(),
                end: hit.end + whole.len(),
                ..hit
            }));
            whole.push_str(&piece);
            kept = serde_json::to_string(&tail).unwrap();
        }
        prop_assert_eq!(&whole, &text);
        prop_assert_eq!(hits, scan(&text));
    }
}

#[test]
fn very_long_value_gives_same_hits_in_chunks() {
    for head in ["API_TOKEN=", "the \"secret\": \"", "Authorization: Bearer ", "sk-"] {
        let text = format!("a {head}{}\" and more AKIAABCDEFGHIJKLMNOP.", random(60_000));
        let mut stream = Stream::new(SecretDetector::default());
        let mut hits = Vec::new();
        for place in (0..text.len()).step_by(997) {
            hits.extend(stream.push(&text[place..text.len().min(place + 997)]).hits);
            assert!(stream.held() <= MAX_HELD, "{head} {}", stream.held());
        }
        hits.extend(stream.finish().hits);
        assert_eq!(hits, scan(&text), "{head}");
    }
}

#[test]
fn prose_and_long_blocks_are_not_held_back() {
    let mut stream = Stream::new(SecretDetector::default());
    for _ in 0..2_000 {
        stream.push("the quick brown fox jumps over it, ");
        assert!(stream.held() < 64, "{}", stream.held());
    }
    stream.push("\n-----BEGIN RSA PRIVATE KEY-----\n");
    for _ in 0..400 {
        stream.push("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDAC4AWkdwKYSd8\n");
        assert!(stream.held() < 400, "{}", stream.held());
    }
    let released =
        stream.push("-----END RSA PRIVATE KEY-----\n and more prose, which goes on for a while, and on");
    assert_eq!(released.hits.len(), 1);
    assert_eq!(released.hits[0].end - released.hits[0].start, 32 + 400 * 65 + 29);
}

#[test]
fn held_text_is_bounded() {
    let begin = "-----BEGIN RSA PRIVATE KEY-----";
    let token = "eyJhbGciOiJIUzI1NiJ9.";
    for (head, part) in [
        ("", "eyJhbGciOiJIUzI1NiJ9"),
        ("", "password="),
        ("", "sk-a1"),
        ("", begin),
        (begin, "     "),
        (begin, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
        (begin, "word "),
        (token, "a1b2c3"),
        (token, "a1b2c3."),
        ("", "://a"),
        ("", "key: \""),
        ("", "\\"),
    ] {
        let mut stream = Stream::new(SecretDetector::default());
        stream.push(head);
        for _ in 0..60_000 / part.len() {
            stream.push(part);
            assert!(stream.held() <= MAX_HELD, "{head}{part} {}", stream.held());
        }
    }
}

#[test]
fn other_detectors_use_the_same_stream() {
    fn digits(text: &str) -> Vec<Hit> {
        text.match_indices("4242")
            .map(|(at, found)| Hit::new("card", at, at + found.len(), "a card"))
            .collect()
    }
    let mut redactor = Redactor::new(WindowedDetector::new(digits, 8), b"k");
    let mut out = String::new();
    for chunk in ["pay 42", "4", "2 now, and again 424", "2 there is more to come here"] {
        out.push_str(&redactor.push(chunk));
    }
    out.push_str(&redactor.finish());
    assert_eq!(out.matches("[redacted:card#").count(), 2, "{out}");
    assert!(!out.contains("4242"));
}
