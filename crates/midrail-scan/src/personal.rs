//! Personal data in texts: data that identifies a person, or leads to one.
//!
//! The outline of the text shows candidates (runs of digits, capitals, signs); rules examine only the bytes around them.
//! Examples and data that may be something else are omitted or reported with low confidence, because the texts of agents
//! are code, logs and documents.

mod addresses;
mod births;
mod checks;
mod context;
mod coordinates;
mod data;
mod digit_groups;
mod email;
mod finance;
mod identities;
mod name_triggers;
mod names;
mod network;
mod numbers;
mod phone;
mod rules;
mod token;
mod word_set;

pub use identities::{countries, countries_for_kind};

use email::Emails;
use midrail_core::Hit;
use numbers::Numbers;

use crate::bytes::{byte, byte_before};
use crate::outline::{Block, Outline, behind};

/// How many bytes before and after it a hit depends on. Two texts that agree that far around a place have the same hits
/// there.
pub const CONTEXT_BYTES: usize = 1024;

/// Whether personal data of this kind can be found: `email`.
pub fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind) || identities::is_kind(kind)
}

/// The kinds that are not ids.
const KINDS: &[&str] = &[
    "credit-card",
    "date-of-birth",
    "email",
    "gps-coordinate",
    "iban",
    "ip-address",
    "mac-address",
    "person-name",
    "phone",
    "postal-address",
    "postal-code",
];

/// Returns the personal data of a text, in order and without overlap.
pub fn scan(text: &str) -> Vec<Hit> {
    scan_outlined(text, &Outline::new(text.as_bytes()))
}

/// The same for a text whose outline is known.
pub(crate) fn scan_outlined(text: &str, outline: &Outline) -> Vec<Hit> {
    let bytes = text.as_bytes();
    let (mut emails, mut names) = (Emails::default(), Vec::new());
    emails.scan(bytes);
    outline.each_place(email::may_be_spelled, |place| emails.add_spelled(bytes, place));
    outline.each_place(begins_with_capital, |place| {
        if name_triggers::may_begin(byte_before(bytes, place), byte(bytes, place)) {
            names.extend(names::name_at(text, place));
        }
    });
    let mut numbers = Numbers::new(text);
    outline.each_number(|start, end| numbers.visit(start, end));
    let hits = merge(disjoint(emails.all()), disjoint(numbers.hits));
    let hits = merge(hits, disjoint(numbers.addresses));
    merge(hits, disjoint(names))
}

/// Places where a word begins with a capital, or with a letter beyond ASCII.
fn begins_with_capital(before: &Block, here: &Block) -> u64 {
    (here.capitals | here.high) & !behind::<1>(before.parts(), here.parts())
}

/// Cuts hits where the next one starts, so that the same bytes stay covered.
///
/// Each piece depends only on hits that overlap it, and so on the text nearby.
fn disjoint(mut hits: Vec<Hit>) -> Vec<Hit> {
    if hits.is_sorted_by(|left, right| left.end <= right.start) {
        return hits;
    }
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
    hits.dedup_by_key(|hit| hit.start);
    let mut farthest = 0;
    let starts: Vec<usize> = hits.iter().skip(1).map(|hit| hit.start).chain([usize::MAX]).collect();
    for (hit, next) in hits.iter_mut().zip(starts) {
        farthest = farthest.max(hit.end);
        hit.end = farthest.min(next);
    }
    hits
}

/// Merges weaker hits into stronger ones: of an overlapping weaker hit only the part before the stronger one is kept.
fn merge(strong: Vec<Hit>, weak: Vec<Hit>) -> Vec<Hit> {
    if weak.is_empty() {
        return strong;
    }
    let mut all = Vec::with_capacity(strong.len() + weak.len());
    let mut strong = strong.into_iter().peekable();
    for mut hit in weak {
        while let Some(before) = strong.next_if(|other| other.end <= hit.start) {
            all.push(before);
        }
        match strong.peek() {
            Some(other) if other.start <= hit.start => continue,
            Some(other) => hit.end = hit.end.min(other.start),
            None => {}
        }
        all.push(hit);
    }
    all.extend(strong);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_core::Confidence;
    use proptest::prelude::*;

    include!(concat!(env!("OUT_DIR"), "/personal_examples.rs"));

    #[test]
    fn data_finds_its_examples() {
        let has = |text: &str, kind: &str| scan(text).iter().any(|hit| hit.kind == kind);
        let mut wrong = Vec::new();
        for (kind, found, not_found) in EXAMPLES {
            assert!(is_kind(kind), "{kind}");
            wrong.extend(found.iter().filter(|text| !has(text, kind)).map(|text| (kind, "not found", *text)));
            wrong.extend(not_found.iter().filter(|text| has(text, kind)).map(|text| (kind, "found", *text)));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    fn found_kinds(text: &str) -> Vec<&'static str> {
        scan(text).iter().map(|hit| hit.kind).collect()
    }

    fn found(text: &str) -> Vec<&str> {
        scan(text).iter().map(|hit| &text[hit.start..hit.end]).collect()
    }

    #[test]
    fn personal_data_is_found() {
        for (kind, text, whole) in [
            ("email", "mail jana.novak@seznam.cz.", "jana.novak@seznam.cz"),
            ("email", "<mailto:o'neil@uni-bonn.de>", "o'neil@uni-bonn.de"),
            ("email", r"line\nana@uol.com.br\n", "ana@uol.com.br"),
            ("email", "leak: rolf@web.de:hunter2", "rolf@web.de"),
            ("email", "?to=ines.duarte%40sapo.pt&x=1", "ines.duarte%40sapo.pt"),
            ("email", r#"{"to":"tariq\u0040gmail.com"}"#, r"tariq\u0040gmail.com"),
            ("email", "<b>tariq&#64;gmail.com</b>", "tariq&#64;gmail.com"),
            ("email", "tariq&#x40;gmail.com", "tariq&#x40;gmail.com"),
            ("email", "write to tariq[at]gmail.com.", "tariq[at]gmail.com"),
            ("email", "tariq (AT) feld-bau (dot) de now", "tariq (AT) feld-bau (dot) de"),
            ("credit-card", "order 4539148803436467 came", "4539148803436467"),
            ("phone", "phone 212-736-5000-ask for Ines", "212-736-5000"),
            ("ip-address", "81.2.69.142 GET /v2/users", "81.2.69.142"),
            ("ip-address", "81.2.69.142 0.023 200", "81.2.69.142"),
            ("phone", "call +49 30 901820 now", "+49 30 901820"),
            ("phone", "ring (212) 736-5000", "(212) 736-5000"),
            ("phone", "212-736-5000x12", "212-736-5000"),
            ("phone", r"line\n212-736-5000\n", "212-736-5000"),
            ("phone", "+46 (0)8 928 571 38", "+46 (0)8 928 571 38"),
            ("phone", "Tel: 2127365000", "2127365000"),
            ("phone", r#"{"phone":"02079460958"}"#, "02079460958"),
            ("phone", "020 7946 0958", "020 7946 0958"),
            ("phone", "01 43 29 67 85", "01 43 29 67 85"),
            ("credit-card", "4539 1488 0343 6467", "4539 1488 0343 6467"),
            ("credit-card", "4539 1488 0343 6467 12/27", "4539 1488 0343 6467"),
            ("credit-card", "card 4539148803436467,", "4539148803436467"),
            ("credit-card", "4111111111111111", "4111111111111111"),
            ("iban", "DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"),
            ("iban", "iban=GB82WEST12345698765432", "GB82WEST12345698765432"),
            ("iban", "NO9386011117947.", "NO9386011117947"),
            ("ip-address", "from 81.2.69.142 port 22", "81.2.69.142"),
            ("ip-address", "peer [2a02:8071:b5c4::17]:443", "2a02:8071:b5c4::17"),
            ("mac-address", "ether 3c:22:fb:7a:01:9e", "3c:22:fb:7a:01:9e"),
            ("mac-address", "3C-22-FB-7A-01-9E", "3C-22-FB-7A-01-9E"),
            ("date-of-birth", "born on 7/5/1981.", "7/5/1981"),
            ("date-of-birth", "DOB: 1981-05-07", "1981-05-07"),
            ("date-of-birth", "geboren am 7. Mai 1981", "7. Mai 1981"),
            ("date-of-birth", "birthday: May 7, 1981", "May 7, 1981"),
            ("gps-coordinate", "latitude: 52.516275", "52.516275"),
            ("postal-code", "ZIP: 94110-1234", "94110-1234"),
        ] {
            assert_eq!(found_kinds(text), [kind], "{text}");
            assert_eq!(found(text), [whole], "{text}");
        }
    }

    #[test]
    fn hits_across_two_blocks_are_found() {
        for whole in ["jana.novak@seznam.cz", "tariq[at]gmail.com", "tariq%40gmail.com", "+49 30 901820"] {
            for back in 0..whole.len() + 2 {
                let text = format!("{} {whole} {}", "x".repeat(128 - 1 - back), "y".repeat(40));
                assert_eq!(found(&text), [whole], "{back} bytes before the end of the block");
            }
        }
        for before in ["Signed-off-by: ", "Mr. "] {
            for back in 0..before.len() + 2 {
                let text = format!("{}\n{before}Jana Novak\n", "x".repeat(128 - 1 - back));
                assert_eq!(found(&text), ["Jana Novak"], "{back} bytes before the end of the block");
            }
        }
    }

    #[test]
    fn code_and_logs_contain_none() {
        for text in [
            "git clone git@github.com:org/repo.git",
            "https://user:secret@host.io/path",
            "npm i lodash@4.17.21 @types/node@20.1.0",
            "icon@2x.png and getty@tty1.service",
            "user@example.com, noreply@github.com",
            "ssh deploy@build7.acme-tools.io uptime",
            "rsync -a x deploy@build7.acme-tools.io:/srv",
            "version 10.15.7.1 of 1.2.3.4",
            "pip install foo==81.2.69.142",
            "chrome/114.0.5735.199 safari",
            "127.0.0.1 10.0.0.8 192.168.1.20 8.8.8.8 203.0.113.9 255.255.255.0",
            "fe80::1 ::1 2001:db8::7 std::fs a::b",
            "00:11:22:33:44:55 02:42:ac:11:00:02 12:34:56 ab:cd",
            "2024-05-01T10:11:12.123456Z took 1714554672123 ns",
            "epoch 1714554672, id 5391480343646712",
            "commit 4111111a1b2c3d4e5f60718293a4b5c6d7e8f901",
            "550e8400-e29b-41d4-a716-446655440000",
            "0.4539148803436467 3.14159265358979",
            "@@ -12,7 +1234567,9 @@ fn main",
            "call 555-0123 or 212-555-0123",
            "rows 100 200 300 400 500 600",
            "sha256:0123456789012345678901234567890123456789",
            "let x = 2127365000; // 212.736",
            "created 2019-03-04, released 4 May 2019",
            "0x1234567890 1e10 100_000_000",
            r"mail \u003cnoreply@github.com\u003e",
            "run sa@proj.iam.gserviceaccount.com",
            "INSERT INTO BOX 2 OF THE FORM",
            r"Event: Birthday Party\nDate: 10/22/2025\n",
            "GET /items/2127365000 and /u/212736500",
            "isbn 978-3-16-148410-0",
            "matrix 52.516275 13.377704",
            "ann. stat. 7, pp. 412-438 (1981)",
            "j. algebra 9, 412-438(1981)",
            "see 412-438 1981",
            "d='M1.2-3.45 6.51.98.32 7.01z'",
            "1.25 6.51.98.32 7",
            "V8 is now at 6.0.81.47",
            "the release we run is 6.0.81.47",
            "born again\n# Release falcon 1.5.3 (2021-04-12)",
            "52DD 4539 1488 0343 6467",
            "4539 1488 0343 6467 5A4B",
            "52DD 5305 4539 1488 0343 6467",
            "4539 1488 0343 6467\n5A4B 5305",
            "normalize(4539148803436467, 778)",
            "order_id: 4539148803436467",
            "Build number: 212-736-5000-b",
            "if f(at) return x.me; list[at].is(at)",
            "%40types%2Fnode lodash%404.17.21 user%40example.com",
        ] {
            assert!(scan(text).is_empty(), "{text}: {:?}", scan(text));
        }
    }

    #[test]
    fn samples_and_companies_have_low_confidence() {
        for (kind, text) in [
            ("phone", r#"<input placeholder="+49 171 9018204">"#),
            ("phone", "example: 212-736-5000"),
            ("postal-address", "Falcon Foundation, Inc.,\n * 12 Tremont Street, Boston"),
            ("gps-coordinate", "latitude 52.516275"),
        ] {
            let hits = scan(text);
            assert_eq!(found_kinds(text), [kind], "{text}");
            assert!(hits.iter().all(|hit| hit.confidence == Confidence::Low), "{text}: {hits:?}");
        }
        for text in ["+49 171 9018204", "Ines, 12 Tremont Street, Boston", "lat 52.516275, lon 13.377704"] {
            let hits = scan(text);
            assert!(
                !hits.is_empty() && hits.iter().all(|hit| hit.confidence > Confidence::Low),
                "{text}: {hits:?}"
            );
        }
    }

    #[test]
    fn many_countries_are_known() {
        assert!(countries().len() >= 40, "{:?}", countries());
    }

    /// Pieces of random texts: hits, near misses and noise.
    const PIECES: &[&str] = &[
        " ",
        "\n",
        ", ",
        ":",
        "-",
        ".",
        "@",
        "+",
        "(",
        ")",
        "/",
        "1",
        "12",
        "0",
        "555-123-4567",
        "+49 30 901820",
        "4539 1488 0343 6467",
        "jana.novak@seznam.cz",
        "DE89 3704 0044 0532 0130 00",
        "81.2.69.142",
        "Mr. ",
        "Name: ",
        "Ines Duarte",
        "12 Main Street",
        "Hauptstraße 5",
        ", 10115 Berlin",
        "born ",
        "7/5/1981",
        "SSN ",
        "536-22-8726",
        "2a02:8071::17",
        "é",
        "漢字",
        "phone ",
        "RSSMRA85T10A562S",
        "_",
        "x",
        "1 2 3 4 5 6 7 8 9",
        "\\n",
        "\"",
        "ZIP: ",
        "address: ",
    ];

    #[test]
    fn code_and_legal_numbers_are_ignored() {
        for text in [
            "from_limbs([2251799813685228, 2251799813685247])",
            "[2241493124984347, 425987919032274, 2207028919301688]",
            "ObjectIdentifier::new_unwrap(\"1.3.101.112\")",
            "OID 1.3.132.134",
            "pursuant to DFARS 252.227-7013 (c)(1)",
        ] {
            assert_eq!(scan(text), [], "{text}");
        }
        for (text, kind) in [
            ("card 2251799813685228, 2251799813685247", "credit-card"),
            ("4539578763621486,5425233430109903", "credit-card"),
            ("login from 1.3.101.112", "ip-address"),
            ("call 252.227-7013", "phone"),
            ("Tel.: 030/123 45 67", "phone"),
        ] {
            assert!(scan(text).iter().any(|hit| hit.kind == kind), "{text}: {:?}", scan(text));
        }
    }

    fn random_text(pieces: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        proptest::collection::vec(0..PIECES.len(), pieces)
            .prop_map(|places| places.iter().map(|place| PIECES[*place]).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn hits_are_in_order_and_on_characters(text in random_text(0..80)) {
            let hits = scan(&text);
            prop_assert!(hits.is_sorted_by(|left, right| left.end <= right.start), "{hits:?}");
            for hit in hits {
                prop_assert!(hit.start < hit.end && text.get(hit.start..hit.end).is_some(), "{hit:?}");
            }
        }

        #[test]
        fn any_text_is_scanned(text in "\\PC{0,200}") {
            for hit in scan(&text) {
                prop_assert!(text.get(hit.start..hit.end).is_some());
            }
        }

        /// Text farther away than `CONTEXT_BYTES` changes nothing: streams rely on it.
        #[test]
        fn hits_depend_only_on_context_bytes(text in random_text(500..900), cut in 0_usize..1500, tail in 0_usize..1500) {
            let boundary = |mut at: usize| { while !text.is_char_boundary(at) { at -= 1; } at };
            let from = boundary(cut.min(text.len()));
            let to = boundary(text.len().saturating_sub(tail)).max(from);
            let inside = |start: usize, end: usize| start >= from + CONTEXT_BYTES && end + CONTEXT_BYTES <= to;
            let whole: Vec<Hit> = scan(&text).into_iter().filter(|hit| inside(hit.start, hit.end)).collect();
            let part: Vec<Hit> = scan(&text[from..to])
                .into_iter()
                .map(|hit| Hit { start: hit.start + from, end: hit.end + from, ..hit })
                .filter(|hit| inside(hit.start, hit.end))
                .collect();
            prop_assert_eq!(whole, part);
        }
    }
}
