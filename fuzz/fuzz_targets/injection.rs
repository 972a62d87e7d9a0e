//! Any text that a model reads: findings are within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_scan::injection;

fuzz_target!(|text: &str| {
    for hit in injection::scan(text) {
        assert!(text.get(hit.start..hit.end).is_some(), "{hit:?}");
        injection::intent_code(hit.kind);
    }
});
