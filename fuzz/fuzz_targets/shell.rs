//! Any text as a command line and as a script: findings are within the command line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_shell::command;

fuzz_target!(|text: &str| {
    let analysis = command::analyse(text);
    for danger in &analysis.dangers {
        assert!(text.get(danger.start..danger.end).is_some(), "{danger:?}");
        assert!(!danger.rule.is_empty() && !danger.reason.is_empty());
    }
    for name in ["x.sh", "x.py", "x.ps1", "x.js"] {
        command::analyse_script(name, text, &[]);
    }
});
