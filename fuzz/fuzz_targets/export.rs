//! Any bytes as an export of the audit log: a verification, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut input = bytes;
    drop(midrail_store::verify_export(&mut input, &Default::default()));
});
