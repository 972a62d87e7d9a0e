//! Any lines as the transcript of a coding agent: events or an error for each line.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use midrail_adapters::hosts;
use midrail_adapters::transcripts::Transcript;

fuzz_target!(|bytes: &[u8]| {
    for host in hosts::ALL.iter().filter_map(|host| host.transcripts) {
        let mut transcript = Transcript::new(&host, Path::new("/project/session.jsonl"));
        for line in bytes.split(|byte| *byte == b'\n') {
            drop(transcript.line(line));
        }
        drop(transcript.end());
    }
});
