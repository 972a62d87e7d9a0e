//! Any text as a command line: every finding lies in it, and a wrapper hides none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_detect::shell;

fuzz_target!(|text: &str| {
    let analysis = shell::analyse(text);
    for danger in &analysis.dangers {
        assert!(text.get(danger.start..danger.end).is_some(), "{danger:?}");
        assert!(!danger.rule.is_empty() && !danger.reason.is_empty());
    }
    shell::analyse_script("x.py", text, &[]);
    shell::analyse_script("x.ps1", text, &[]);
    shell::analyse_script("x.js", text, &[]);
});
