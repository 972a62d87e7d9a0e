//! A pack of any text: problems or a policy, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_pack::{Layer, PackDocument};

fuzz_target!(|text: &str| {
    match PackDocument::read("pack.yaml", text, Some("prod")) {
        Ok(documents) => {
            let layered: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
            if let Err(reports) = midrail_pack::compile_policy(&layered) {
                reports.iter().for_each(|report| drop(report.render(true)));
            }
            drop(midrail_pack::lint(&layered));
        }
        Err(report) => drop(report.render(false)),
    }
});
