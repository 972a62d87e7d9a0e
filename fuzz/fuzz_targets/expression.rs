//! Any text as an expression: a parsed expression prints as text that parses to the same expression.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_pack::expr::Expected;
use midrail_pack::{EVENT_NAMES, Expression, GLOBS};

fuzz_target!(|text: &str| {
    if let Ok(expression) = Expression::parse(text, &EVENT_NAMES, Expected::Bool, GLOBS) {
        let printed = expression.to_string();
        let again = Expression::parse(&printed, &EVENT_NAMES, Expected::Bool, GLOBS);
        assert_eq!(again.ok(), Some(expression), "{printed}");
    }
});
