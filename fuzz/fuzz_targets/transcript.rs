//! Any lines as the transcript of a coding agent: events or an error for each line.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use midrail_adapters::transcripts::{Host, Transcript};

fuzz_target!(|bytes: &[u8]| {
    for host in Host::ALL {
        let mut transcript = Transcript::new(host, Path::new("/work/session.jsonl"));
        for line in bytes.split(|byte| *byte == b'\n') {
            drop(transcript.line(line));
        }
        drop(transcript.end());
    }
});
