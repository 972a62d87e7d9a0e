//! Any pattern on any path.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_core::glob;

fuzz_target!(|input: (&str, &str)| {
    let (pattern, text) = input;
    if pattern.len() < 1_000 && text.len() < 1_000 && glob::check(pattern).is_ok() {
        glob::path_matches(pattern, text);
        glob::name_matches(pattern, text);
    }
});
