//! Any text as an expression: a parsed expression prints as text that parses to the same expression.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_pack::expr::Expected;
use midrail_pack::{EVENT_NAMES, Expression};

fuzz_target!(|text: &str| {
    if let Ok(expression) = Expression::parse(text, &EVENT_NAMES, Expected::Bool) {
        let printed = expression.to_string();
        let again = Expression::parse(&printed, &EVENT_NAMES, Expected::Bool);
        assert_eq!(again.ok(), Some(expression), "{printed}");
    }
});
