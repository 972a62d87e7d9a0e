//! The table of what statements destroy, with examples that a test runs.

use midrail_core::Severity::{self, Critical, High, Medium};

/// One kind of destructive statement.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) severity: Severity,
    pub(super) explanation: &'static str,
    /// Texts that it must find.
    #[cfg_attr(not(test), expect(dead_code, reason = "the examples are there for readers and for tests"))]
    pub(super) examples: &'static [&'static str],
    /// Texts of a similar look, in which it must find nothing.
    #[cfg_attr(not(test), expect(dead_code, reason = "the examples are there for readers and for tests"))]
    pub(super) near_misses: &'static [&'static str],
}

macro_rules! rule {
    ($kind:literal, $severity:expr, $explanation:literal, [$($example:expr),* $(,)?], [$($miss:expr),* $(,)?]) => {
        Rule {
            kind: $kind,
            severity: $severity,
            explanation: $explanation,
            examples: &[$($example),*],
            near_misses: &[$($miss),*],
        }
    };
}

/// All rules. Statements are told apart by code; this says what they mean.
pub(super) const RULES: &[Rule] = &[
    rule!(
        "sql-drop-database",
        Critical,
        "drops a whole database; take a backup and let a person do it",
        [
            "DROP DATABASE shop",
            "drop database if exists shop;",
            "/*!50000 DROP DATABASE shop */",
            "DROP KEYSPACE ks",
            "DROP PLUGGABLE DATABASE pdb INCLUDING DATAFILES",
            "SELECT 1; DROP/**/DATABASE shop"
        ],
        [
            "SELECT 'DROP DATABASE shop'",
            "-- DROP DATABASE shop",
            "CREATE DATABASE shop",
            "/* DROP DATABASE shop; */ SELECT 1",
            "EXPLAIN DROP DATABASE shop"
        ]
    ),
    rule!(
        "sql-drop-schema",
        High,
        "drops a schema and may take its tables with it; rename it first, or back it up",
        [
            "DROP SCHEMA public CASCADE",
            "DROP SCHEMA IF EXISTS app",
            "DROP TABLESPACE ts INCLUDING CONTENTS",
            "DROP OWNED BY bob"
        ],
        ["CREATE SCHEMA app", "COMMENT ON SCHEMA app IS 'drop schema app'"]
    ),
    rule!(
        "sql-drop-table",
        High,
        "drops a table with all its rows; rename it first, or back it up",
        [
            "DROP TABLE users",
            "drop table if exists a, b cascade",
            "DROP TABLE [dbo].[users]",
            "DROP TABLE `users`",
            "BEGIN; DROP TABLE users; COMMIT",
            "SELECT 1 DROP TABLE users --",
            "DO $$ BEGIN DROP TABLE users; END $$",
            "EXECUTE 'DROP TABLE users'",
            "EXEC('DROP ' + 'TABLE users')",
            "EXECUTE format('DROP TABLE %I', t)",
            "IF OBJECT_ID('t') IS NOT NULL DROP TABLE users",
            "SELECT 'it''s'; DROP TABLE users",
            "SELECT E'\\''; DROP TABLE users",
            "SET @s = 'DROP TABLE users'; PREPARE p FROM @s; EXECUTE p",
            "# a note\nDROP TABLE users",
            "PREPARE p FROM 'DROP TABLE users'",
            "SELECT 'DROP TABLE ' || t FROM x \\gexec",
            "DELIMITER //\nDROP TABLE users//",
            "CREATE FUNCTION f() RETURNS void AS $$ DROP TABLE users $$ LANGUAGE sql; SELECT f()",
            "DELIMITER //\nCREATE PROCEDURE p() BEGIN DROP TABLE users; END//\nDELIMITER ;\nCALL p()",
            "CREATE TEMP TABLE users (a int); DROP TABLE users; DROP TABLE users",
            "CREATE TEMP TABLE users (a int); DROP TABLE public.users",
            "CREATE TEMP TABLE a (a int); DROP TABLE a, users",
            "BEGIN; CREATE TEMP TABLE users (a int); ROLLBACK; DROP TABLE users",
            "CREATE TEMP TABLE users (a int) ON COMMIT DROP; DROP TABLE users",
            "SELECT '\\'; DROP TABLE users; -- '",
            "/* /* */ DROP TABLE users; -- */",
            "SET @q = CONCAT('DR', 'OP TA', 'BLE users'); PREPARE p FROM @q; EXECUTE p",
            "Run this:\nDROP TABLE users",
            "DROP TABLE users, orders CASCADE CONSTRAINTS",
            "DROP TABLE my-project.sales.users"
        ],
        [
            "drop table users button broken",
            "The drop table in the furniture store",
            "how do I drop table users",
            "drop table vs truncate table difference",
            "Please update the users table to set a default value and delete from it nothing",
            "SELECT 'DROP TABLE users'",
            "INSERT INTO notes VALUES ('it''s; DROP TABLE users; --')",
            "SELECT \"DROP TABLE users\"",
            "CREATE FUNCTION f() RETURNS void AS $$ DROP TABLE users $$ LANGUAGE sql",
            "CREATE PROCEDURE p() BEGIN DROP TABLE users; SELECT 1; END",
            "DELIMITER //\nCREATE PROCEDURE p() BEGIN DROP TABLE users; END//\nDELIMITER ;\nSELECT 1",
            "SELECT $tag$ DROP TABLE users; $tag$",
            "SELECT q'[it's; DROP TABLE users]' FROM dual",
            "SELECT 1 -- ; DROP TABLE users",
            "SELECT 1 # ; DROP TABLE users",
            "SET @s = 'DROP TABLE users'",
            "INSERT INTO notes VALUES ('can\\'t; drop table users', 'x')"
        ]
    ),
    rule!(
        "sql-drop-temporary-table",
        Medium,
        "drops a table that is temporary by its name; its rows are gone",
        [
            "DROP TABLE IF EXISTS tmp_import",
            "DROP TABLE temp_users",
            "CREATE TEMP TABLE tmp_a (a int); DROP TABLE tmp_a, tmp_b"
        ],
        [
            "CREATE TEMPORARY TABLE t (a int)",
            "DROP TEMPORARY TABLE t",
            "DROP TABLE #work",
            "DROP TABLE IF EXISTS #tmp",
            "CREATE TEMP TABLE x AS SELECT 1; DROP TABLE x",
            "CREATE TEMPORARY TABLE tmp(x int); TRUNCATE tmp",
            "CREATE TEMP TABLE a (b int); DELETE FROM a; DROP TABLE IF EXISTS a"
        ]
    ),
    rule!(
        "sql-drop-object",
        Medium,
        "drops a part of the schema that others may rely on; keep its definition at hand",
        [
            "DROP INDEX idx",
            "DROP INDEX CONCURRENTLY IF EXISTS idx",
            "DROP EVENT TRIGGER t",
            "DROP VIEW v",
            "drop materialized view v",
            "DROP FUNCTION f(int)",
            "DROP TRIGGER t ON x",
            "DROP EXTENSION postgis",
            "DROP SEQUENCE s",
            "DROP TYPE IF EXISTS mood CASCADE",
            "DROP POLICY p ON t",
            "DROP WAREHOUSE w"
        ],
        ["CREATE INDEX idx ON t (a)", "SELECT drop_count FROM t", "ALTER INDEX idx RENAME TO b"]
    ),
    rule!(
        "sql-drop-user",
        Medium,
        "drops an account; whoever uses it is locked out",
        ["DROP USER bob", "DROP ROLE IF EXISTS app", "DROP LOGIN bob"],
        ["CREATE USER bob", "ALTER ROLE app RENAME TO b"]
    ),
    rule!(
        "sql-truncate",
        High,
        "empties a table and cannot be undone in most databases; delete the rows that are meant",
        [
            "TRUNCATE users",
            "truncate table a, b restart identity",
            "TRUNCATE TABLE ONLY t CASCADE",
            "TRUNCATE TABLE a, ONLY b",
            "ALTER TABLE t TRUNCATE PARTITION p1"
        ],
        [
            "truncate table in word document",
            "Truncate long titles in the list",
            "SELECT TRUNCATE(price, 2) FROM t",
            "GRANT TRUNCATE ON t TO bob",
            "SELECT date_trunc('day', a) FROM t",
            "CREATE TRIGGER a BEFORE TRUNCATE ON t EXECUTE FUNCTION f()"
        ]
    ),
    rule!(
        "sql-delete-all",
        High,
        "deletes every row of a table; say with WHERE which rows are meant",
        [
            "DELETE FROM users",
            "DELETE FROM users WHERE 1=1",
            "delete from users where true",
            "DELETE FROM users WHERE 'a'='a'",
            "DELETE FROM users WHERE 1",
            "DELETE FROM users WHERE NOT FALSE",
            "DELETE FROM users WHERE id = id",
            "DELETE FROM users WHERE 1 < 2",
            "DELETE FROM users WHERE id = 5 OR 1=1",
            "DELETE FROM users WHERE x IS NOT NULL OR x IS NULL",
            "DELETE FROM users WHERE (1=1)",
            "DELETE FROM users WHERE ((1))",
            "DELETE FROM users WHERE name LIKE '%'",
            "DELETE FROM users WHERE 2 BETWEEN 1 AND 3",
            "DELETE FROM users WHERE 1 IN (1, 2)",
            "DELETE FROM users WHERE EXISTS (SELECT 1)",
            "DELETE FROM users WHERE 1+1=2",
            "DELETE FROM users WHERE true::boolean",
            "DELETE FROM users WHERE 0x1",
            "DELETE FROM users WHERE TRUE AND 1=1",
            "WITH gone AS (DELETE FROM users RETURNING *) SELECT count(*) FROM gone",
            "DELETE FROM users RETURNING id",
            "DELETE FROM users; -- WHERE id = 1",
            "DELETE FROM users --WHERE id = 1",
            "DELETE users",
            "DELETE FROM users ORDER BY id",
            "EXPLAIN ANALYZE DELETE FROM users",
            "BEGIN DELETE FROM users; END",
            "DELETE FROM users WHERE a = 1 OR NOT a = 1 OR true",
            "DELETE FROM users WHERE (SELECT 1)=1",
            "DELETE FROM users /* WHERE id = 1 */",
            "ALTER TABLE t DELETE WHERE 1",
            "DELETE FROM members WHERE id = 42 OR id <> 42",
            "DELETE FROM users WHERE COALESCE(1, 0) = 1",
            "DELETE FROM users WHERE id IN (SELECT id FROM users)",
            "Here it is:\nDELETE FROM users"
        ],
        [
            "delete from list in python",
            "delete from array by index javascript",
            "how to delete from a table",
            "Delete old files",
            "DELETE FROM members WHERE id = 42 OR id = 2",
            "DELETE FROM users WHERE id IN (SELECT id FROM users WHERE gone)",
            "DELETE FROM users WHERE COALESCE(gone, 0) = 1",
            "DELETE FROM members WHERE id = 42",
            "DELETE FROM members WHERE left_on < now()",
            "DELETE FROM users WHERE 1=0",
            "EXPLAIN DELETE FROM users",
            "CREATE TABLE a (b int REFERENCES c ON DELETE CASCADE)",
            "GRANT DELETE ON users TO bob",
            "DELETE FROM a USING b WHERE a.id = b.id",
            "DELETE FROM users WHERE id IN (SELECT id FROM gone)",
            "WITH old AS (SELECT id FROM a) DELETE FROM a WHERE id IN (SELECT id FROM old)",
            "CREATE TRIGGER t AFTER DELETE ON a FOR EACH ROW BEGIN DELETE FROM b; END",
            "DELETE FROM users WHERE name LIKE '%x%'",
            "DELETE FROM members WHERE id = 42 AND 1=1",
            "DELETE FROM users WHERE a = b",
            "DELETE FROM t WHERE CURRENT OF c",
            "SELECT 1 FROM t FOR UPDATE",
            "DELETE FROM users WHERE id = ?",
            "DELETE FROM users WHERE id = $1",
            "CREATE RULE r AS ON DELETE TO a DO INSTEAD DELETE FROM b"
        ]
    ),
    rule!(
        "sql-delete-nearly-all",
        Medium,
        "deletes rows by a condition that holds for nearly all; say which rows are meant",
        [
            "DELETE FROM users WHERE id IS NOT NULL",
            "DELETE FROM users WHERE id > 0",
            "DELETE FROM users u WHERE (u.id >= 0)",
            "DELETE FROM users WHERE uuid <> ''",
            "DELETE FROM users WHERE id > -1"
        ],
        [
            "DELETE FROM users WHERE deleted_at IS NOT NULL",
            "DELETE FROM users WHERE id > 0 AND gone",
            "DELETE FROM users WHERE id > 500",
            "DELETE FROM users WHERE attempts > 0"
        ]
    ),
    rule!(
        "sql-graph-delete",
        Medium,
        "deletes every node that a pattern finds; say with WHERE which are meant",
        ["MATCH (n) DETACH DELETE n", "match (n:User) delete n"],
        ["MATCH (n) RETURN n", "MATCH (n {id: 4}) DETACH DELETE n", "MATCH (n) WHERE n.id = 4 DELETE n"]
    ),
    rule!(
        "sql-protection-off",
        Medium,
        "switches off what protects the rows of a table; switch it on again, or leave it on",
        [
            "ALTER TABLE users DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE users NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE users DISABLE TRIGGER ALL"
        ],
        ["ALTER TABLE users ENABLE ROW LEVEL SECURITY", "ALTER TABLE users DISABLE TRIGGER audit_one"]
    ),
    rule!(
        "sql-purge",
        Medium,
        "empties what dropped tables could be restored from",
        ["PURGE RECYCLEBIN", "purge dba_recyclebin", "PURGE TABLE users"],
        ["SELECT purge FROM recyclebin", "purge table of contents from the page"]
    ),
    rule!(
        "sql-rename",
        Medium,
        "renames a table; whatever uses its old name fails",
        ["RENAME TABLE a TO b"],
        ["ALTER TABLE a RENAME COLUMN b TO c", "rename table columns in excel"]
    ),
    rule!(
        "sql-delete-many",
        Medium,
        "deletes rows without saying which; say it with WHERE",
        [
            "DELETE FROM users LIMIT 10",
            "DELETE TOP (10) FROM users",
            "DELETE a FROM a JOIN b ON a.id = b.id",
            "SELECT lo_unlink(oid) FROM pg_largeobject_metadata"
        ],
        [
            "DELETE FROM users WHERE id > 5 LIMIT 10",
            "DELETE a FROM a JOIN b ON a.id = b.id WHERE b.x = 1",
            "SELECT lo_unlink(17)"
        ]
    ),
    rule!(
        "sql-update-all",
        Medium,
        "changes every row of a table; say with WHERE which rows are meant",
        [
            "UPDATE users SET active = false",
            "update users set a=1 where 1=1",
            "UPDATE users SET a = 1 LIMIT 9",
            "UPDATE users SET a = (SELECT 1 WHERE true)",
            "UPDATE ONLY users AS u SET a = 1",
            "WITH x AS (UPDATE users SET a = 1 RETURNING *) SELECT * FROM x"
        ],
        [
            "UPDATE users SET a = 1 WHERE id = 2",
            "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = 1",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
            "SELECT * FROM t FOR UPDATE",
            "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN UPDATE SET x = 1",
            "UPDATE STATISTICS t",
            "UPDATE t SET n = n--1 WHERE id = 3",
            "UPDATE a JOIN b ON a.id = b.id SET a.x = b.x",
            "CREATE TABLE a (b int REFERENCES c ON UPDATE SET NULL)"
        ]
    ),
    rule!(
        "sql-merge-delete",
        Medium,
        "deletes rows while merging; check which rows match first",
        [
            "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE",
            "MERGE INTO a USING b ON a.id = b.id WHEN NOT MATCHED BY SOURCE THEN DELETE"
        ],
        ["MERGE INTO a USING b ON a.id = b.id WHEN MATCHED AND b.gone THEN DELETE"]
    ),
    rule!(
        "sql-alter-drop",
        Medium,
        "drops a part of a table; a column or partition goes with its values",
        [
            "ALTER TABLE members DROP COLUMN phone",
            "alter table users drop email",
            "ALTER TABLE t DROP PARTITION p1",
            "ALTER TABLE t ADD a int, DROP CONSTRAINT c",
            "ALTER PUBLICATION p DROP TABLE t"
        ],
        [
            "ALTER TABLE t ALTER a DROP NOT NULL",
            "ALTER TABLE t ALTER COLUMN a DROP DEFAULT",
            "ALTER TABLE users ADD COLUMN dropped int",
            "ALTER TABLE users ADD \"drop\" int",
            "ALTER TABLE a RENAME TO b"
        ]
    ),
    rule!(
        "sql-grant-all",
        Medium,
        "grants every right on something; grant the rights that are needed",
        ["GRANT ALL ON t TO bob", "grant all privileges on database shop to app"],
        [
            "grant all access to the team",
            "GRANT SELECT ON *.* TO 'r'@'%'",
            "GRANT SELECT, INSERT ON t TO bob"
        ]
    ),
    rule!(
        "sql-grant-everything",
        High,
        "grants every right on everything, to everyone, or with the right to hand it on",
        [
            "GRANT ALL ON *.* TO 'a'@'%'",
            "GRANT ALL PRIVILEGES ON t TO PUBLIC",
            "GRANT ALL ON shop.* TO bob WITH GRANT OPTION"
        ],
        ["SELECT 'GRANT ALL ON *.* TO bob'"]
    ),
    rule!(
        "sql-grant-wide",
        Medium,
        "gives far-reaching rights to an account or to everyone",
        [
            "GRANT SELECT ON t TO PUBLIC",
            "GRANT dba TO bob",
            "ALTER ROLE bob SUPERUSER",
            "ALTER USER bob WITH SUPERUSER",
            "CREATE ROLE bob SUPERUSER LOGIN"
        ],
        ["GRANT reader TO bob", "ALTER ROLE bob NOSUPERUSER", "ALTER USER bob WITH PASSWORD 'superuser'"]
    ),
    rule!(
        "sql-revoke-all",
        Medium,
        "takes every right away; whoever relies on it is locked out",
        ["REVOKE ALL ON t FROM bob", "REVOKE ALL PRIVILEGES ON DATABASE d FROM app"],
        ["REVOKE INSERT ON t FROM bob"]
    ),
    rule!(
        "sql-shell",
        Medium,
        "hands a command to the shell of the client",
        [
            "\\! ls",
            ".shell ls",
            ".system ls",
            "SELECT 1;\n\\! ls",
            "\\copy t to program 'cat'",
            ".output |cat"
        ],
        ["\\dt", "\\d+ users", ".tables", ".schema users", "\\copy t to 'f.csv'"]
    ),
    rule!(
        "sql-server-command",
        High,
        "runs a command on the database server",
        ["EXEC xp_cmdshell 'dir'", "EXEC master..xp_cmdshell 'dir'", "SELECT sys_exec('id')"],
        ["SELECT 'xp_cmdshell'"]
    ),
    rule!(
        "sql-copy-program",
        Medium,
        "pipes a table through a command on the database server; copy to or from STDIN or a file instead",
        ["COPY t TO PROGRAM 'cat'", "COPY t FROM PROGRAM 'cat x'"],
        ["COPY t TO 'f.csv'", "COPY t FROM STDIN"]
    ),
    rule!(
        "sql-server-file",
        Medium,
        "reads or writes a file on the database server",
        [
            "SELECT 1 INTO OUTFILE '/srv/x'",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT LOAD_FILE('/etc/passwd')",
            "SELECT lo_export(1, '/srv/x')",
            "SELECT writefile('x', 'y')",
            "VACUUM INTO '/etc/passwd'"
        ],
        ["SELECT file FROM outfile", "SELECT pg_size_pretty(1)", "VACUUM INTO 'backup.db'", "VACUUM"]
    ),
    rule!(
        "sql-stop-server",
        High,
        "stops the database server, or removes the logs that it is restored from",
        ["SHUTDOWN", "SHUTDOWN WITH NOWAIT", "RESET MASTER", "PURGE BINARY LOGS TO 'x'"],
        ["SELECT shutdown FROM t", "SHOW BINARY LOGS"]
    ),
    rule!(
        "sql-kill-session",
        Medium,
        "ends sessions of others",
        ["SELECT pg_terminate_backend(pid) FROM pg_stat_activity", "KILL 42", "KILL QUERY 42"],
        ["SELECT kill FROM t", "SELECT pg_backend_pid()"]
    ),
    rule!(
        "sql-overwrite",
        Medium,
        "replaces the rows of a table, or a whole database",
        [
            "INSERT OVERWRITE TABLE t SELECT * FROM s",
            "RESTORE DATABASE shop FROM DISK = 'x' WITH REPLACE",
            ".restore old.db"
        ],
        ["INSERT INTO t SELECT * FROM s", "INSERT INTO t VALUES ('insert overwrite table t')"]
    ),
    rule!(
        "sql-client-drop",
        High,
        "drops something by a command of the client",
        [".drop table users"],
        [".dump users"]
    ),
    rule!("sql-unreadable", Medium, "a statement too long to be looked at", [], ["SELECT 1"]),
];
