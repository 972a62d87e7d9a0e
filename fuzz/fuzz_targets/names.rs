//! Any text that may name destinations: names have one spelling, and their number is bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_scan::names;

fuzz_target!(|text: &str| {
    let found = names::names(text);
    assert!(found.len() <= names::MAX_NAMES + 2, "{}", found.len());
    for destination in names::destinations(text) {
        let _ = names::is_local(&destination);
        assert!(names::destination_digests(&destination, b"key").iter().all(|it| it.len() == names::DIGEST_DIGITS));
    }
});
