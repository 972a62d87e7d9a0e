//! Any text as SQL: findings lie in it, in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_detect::sql;

fuzz_target!(|text: &str| {
    sql::looks_like_sql(text);
    for hit in sql::scan(text) {
        assert!(text.get(hit.start..hit.end).is_some(), "{hit:?}");
    }
});
