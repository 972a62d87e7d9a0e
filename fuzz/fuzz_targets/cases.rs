//! Any text as a file of cases.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    drop(midrail::cases::read(Path::new("cases.yaml"), text));
    drop(midrail::cases::read(Path::new("page.md"), text));
});
