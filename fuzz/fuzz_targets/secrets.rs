//! Any text that may contain secrets: findings are within the text, and masking replaces them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_scan::secrets;

fuzz_target!(|text: &str| {
    let mut value = serde_json::json!({"text": text});
    let findings = secrets::scan_json(&value, b"key");
    let tags = secrets::mask(&mut value, &findings);
    let masked = value["text"].as_str().unwrap();
    for (finding, tag) in findings.iter().zip(&tags) {
        assert!(text.get(finding.start..finding.end).is_some());
        assert_eq!(masked.get(tag.start..tag.end), Some(secrets::tag(finding).as_str()));
    }
});
