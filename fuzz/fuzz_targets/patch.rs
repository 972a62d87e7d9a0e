//! Any text as a patch: each file is listed once, by its name.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let files = midrail_shell::patch::targets(text);
    assert!(files.iter().all(|file| !file.is_empty()));
    assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), files.len());
});
