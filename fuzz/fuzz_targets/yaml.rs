//! Any text as YAML: the spans of nodes and problems are within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_pack::yaml::{parse, to_json};

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(nodes) => nodes.iter().for_each(|node| {
            assert!(text.get(node.span.clone()).is_some());
            drop(to_json(node));
        }),
        Err(problems) => problems.iter().for_each(|problem| assert!(text.get(problem.span.clone()).is_some())),
    }
});
