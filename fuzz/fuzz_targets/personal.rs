//! Any text that may contain personal data: findings are within the text, in order, and do not overlap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_scan::personal;

fuzz_target!(|text: &str| {
    let mut done = 0;
    for hit in personal::scan(text) {
        assert!(text.get(hit.start..hit.end).is_some() && hit.start >= done && hit.start < hit.end, "{hit:?}");
        done = hit.end;
    }
});
