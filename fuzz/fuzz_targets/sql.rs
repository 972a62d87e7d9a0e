//! Any text as SQL: findings are within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_shell::sql;

fuzz_target!(|text: &str| {
    sql::looks_like_sql(text);
    sql::shell_commands(text);
    for hit in sql::scan(text) {
        assert!(text.get(hit.start..hit.end).is_some(), "{hit:?}");
        sql::danger(text, &hit);
    }
});
