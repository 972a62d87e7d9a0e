//! Any text as a patch.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for file in midrail_detect::patch::targets(text) {
        assert!(text.contains(file));
    }
});
