//! Any text as an expression: parentheses around a parsed expression do not change it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_pack::expr::Expected;
use midrail_pack::{EVENT_NAMES, Expression};

fuzz_target!(|text: &str| {
    if let Ok(expression) = Expression::parse(text, &EVENT_NAMES, Expected::Bool) {
        // The parentheses can exceed the limits of length and depth.
        if let Ok(again) = Expression::parse(&format!("({text})"), &EVENT_NAMES, Expected::Bool) {
            assert_eq!(again, expression, "{text}");
        }
    }
});
