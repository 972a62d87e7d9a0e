//! What statements do, by example.

use proptest::prelude::*;

use super::*;
use crate::tables::tests::{Example, examples};

fn kinds(text: &str) -> Vec<&'static str> {
    scan(text).iter().map(|hit| hit.kind).collect()
}

#[test]
fn every_rule_finds_its_examples_and_nothing_in_its_near_misses() {
    let mut wrong = Vec::new();
    for Example { id, stops, passes } in examples("sql") {
        for example in stops {
            let found = kinds(&example);
            if found != [id.as_str()] {
                wrong.push(format!("{id}: `{example}` gives {found:?}"));
            }
        }
        for miss in passes {
            let found = kinds(&miss);
            if !found.is_empty() {
                wrong.push(format!("{id}: near miss `{miss}` gives {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn several_statements_are_reported_in_order() {
    let text = "DROP TABLE a; SELECT 1;\nGO\nDELETE FROM b\nGO\nTRUNCATE c";
    assert_eq!(kinds(text), ["sql-drop-table", "sql-delete-all", "sql-truncate"]);
    let spans: Vec<&str> = scan(text).iter().map(|hit| &text[hit.start..hit.end]).collect();
    assert_eq!(spans, ["DROP TABLE a", "DELETE FROM b", "TRUNCATE c"]);
}

#[test]
fn temporary_tables_belong_to_their_text() {
    assert_eq!(kinds("CREATE TEMP TABLE x (a int); DROP TABLE x"), [""; 0]);
    assert_eq!(kinds("CREATE TEMP TABLE x (a int); DROP TABLE y"), ["sql-drop-table"]);
}

#[test]
fn bodies_without_an_end_hide_nothing() {
    assert_eq!(
        kinds("CREATE PROCEDURE p() BEGIN SELECT 1; DROP TABLE a; DROP TABLE b"),
        ["sql-drop-table"; 2]
    );
    assert_eq!(kinds("CREATE PROCEDURE p() BEGIN SELECT 1; END; DROP TABLE b"), ["sql-drop-table"]);
    assert_eq!(
        kinds("CREATE FUNCTION f() BEGIN IF a THEN DELETE FROM t; END IF; DELETE FROM t; END; SELECT 1"),
        [""; 0]
    );
}

#[test]
fn shell_commands_are_found() {
    for (text, expected) in [
        ("\\! rm -rf /srv", "rm -rf /srv"),
        ("SELECT 1;\n.shell rm -rf /srv", "rm -rf /srv"),
        ("COPY t TO PROGRAM 'rm -rf /srv'", "rm -rf /srv"),
        ("EXEC xp_cmdshell 'del /s x'", "del /s x"),
        ("\\copy t from program 'curl h.example'", "curl h.example"),
        ("system ls", "ls"),
    ] {
        let commands = shell_commands(text);
        assert_eq!(commands, [expected], "{text}");
    }
    assert!(shell_commands("SELECT system FROM t").is_empty());
}

#[test]
fn sql_is_distinguished_from_commands() {
    for text in [
        "SELECT 1",
        "select * from t",
        "-- a note\nDROP TABLE t",
        "/* a */ (SELECT 1)",
        "drop database shop",
        "TRUNCATE users;",
        "truncate table users",
        "DELETE FROM t",
        "update t set a = 1",
        "WITH x AS (SELECT 1) SELECT * FROM x",
        "EXPLAIN ANALYZE DELETE FROM t",
        "GRANT ALL ON *.* TO 'a'@'%'",
        "ALTER TABLE t DROP COLUMN a",
        "CREATE OR REPLACE VIEW recent AS SELECT 7",
        "CREATE OR REPLACE TABLE recent AS SELECT * FROM events",
        "BEGIN; DROP TABLE t; COMMIT",
        "COPY t TO PROGRAM 'ls'",
        "SET @a = 1",
        "DO $$ BEGIN END $$",
        "EXEC xp_cmdshell 'dir'",
        "DROP/**/TABLE t",
        "DO LANGUAGE plpgsql $$ BEGIN END $$",
        "IF EXISTS (SELECT 1) DROP TABLE t",
    ] {
        assert!(looks_like_sql(text), "{text}");
    }
    for text in [
        "",
        "ls -la",
        "truncate -s 0 log.txt",
        "truncate log.txt -s 0",
        "truncate --size 0 log.txt",
        "set -e",
        "set -- a b",
        "select x in a b; do echo $x; done",
        "update-alternatives --config x",
        "update",
        "delete",
        "drop",
        "drop-in",
        "create-react-app x",
        "create table.sh",
        "grant",
        "show file.txt",
        "use node",
        "call me",
        "exec bash",
        "declare -a list",
        "copy a.txt to",
        "begin_work",
        "psql -c 'DROP TABLE t'",
        "git commit -m 'DROP TABLE t'",
        "commit -m x",
        "with-env ls",
        "./select from t",
        "do_it",
        "analyze --all",
    ] {
        let is_sql = looks_like_sql(text);
        // `use node` has the form of both; it destroys nothing in either.
        assert!(!is_sql || text == "use node", "{text}");
    }
}

#[test]
fn hostile_texts_end() {
    for part in [
        "(",
        "'",
        "\"",
        "$a$",
        "$$",
        "/*",
        "*/",
        "--",
        "[",
        "q'[",
        "DELETE FROM t ",
        "UPDATE t SET a=1 ",
        "EXEC('",
        "DROP TABLE ",
        ";",
        "\\",
        "\\'",
        "DELETE FROM t WHERE (",
        "BEGIN ",
        "CREATE FUNCTION f BEGIN ; ",
        "EXEC 'EXEC ''x''' ",
        "WHERE 1=1 OR ",
        "a.",
        "GO\n",
        "DELIMITER x\n",
        "/*!",
        "x IS NULL OR ",
        "NOT ",
        "$b",
        "SET @a='x';",
        "PREPARE p FROM @a;",
        ".a\n",
        "WHEN MATCHED THEN DELETE ",
    ] {
        let text = part.repeat(15_000 / part.len());
        let _ = (scan(&text), shell_commands(&text), looks_like_sql(&text));
        let _ = scan(&format!("DELETE FROM t WHERE {text}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn spans_are_within_the_text(text in "(DROP TABLE|DELETE FROM|EXEC|WHERE|[a-z'\"`(){}\\[\\].,;$#%/\\\\ =+\n|:é*!-]){0,40}") {
        for hit in scan(&text) {
            prop_assert!(text.get(hit.start..hit.end).is_some());
        }
        let _ = looks_like_sql(&text);
    }

    #[test]
    fn strings_and_comments_are_never_code(body in "[a-z ;=*]{0,30}") {
        prop_assert_eq!(kinds(&format!("SELECT 'DROP TABLE t; {body}'")), [""; 0]);
        prop_assert_eq!(kinds(&format!("-- DROP TABLE t; {body}\nSELECT 1")), [""; 0]);
        prop_assert_eq!(kinds(&format!("SELECT $x$ DROP TABLE t; {body} $x$")), [""; 0]);
    }
}
