//! A full disk, simulated by SQLite's page limit of one connection, and the plans of statements.

use jiff::Timestamp;
use midrail_core::{Decision, Event, EventKind, Facts, Record};
use rusqlite::{Connection, StatementStatus, params};
use serde_json::json;

use crate::approval::{ApprovalFilter, ApprovalState};
use crate::audit_log::AuditLog;
use crate::audit_stats::Stats;
use crate::error::StoreError;
use crate::sql::SqlStore;
use crate::sqlite::SqliteStore;
use crate::sqlite::commit::{APPEND, SET};
use crate::sqlite::dialect::{DIALECT, sessions_query};
use crate::sqlite::queries::SLICE;
use crate::store::{Approvals, Commit, Slices, Store};
use crate::verification::TrustAnchor;

fn record(bytes: usize) -> Record {
    let mut event = Event::new(EventKind::BeforeModel);
    event.text = Some("x".repeat(bytes));
    Record {
        time: Timestamp::UNIX_EPOCH,
        session: "s".to_owned(),
        event,
        slices: [].into(),
        facts: Facts::default(),
        decision: Decision::default(),
        denied: None,
    }
}

fn limit_pages(store: &SqliteStore, pages: i64) {
    store.connection().pragma_update(None, "max_page_count", pages).unwrap();
}

#[test]
fn full_disk_writes_no_partial_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let small = record(10);
    for _ in 0..60 {
        store.commit(&Commit::new(&small)).unwrap();
    }
    let used: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();

    // Each limit interrupts the commit at another place: in the record, in a slice, in the checkpoint.
    let large = record(20_000);
    let mut commit = Commit::new(&large);
    commit.changes.set("a", "y".repeat(20_000));
    let mut failures = 0;
    for pages in used..used + 40 {
        limit_pages(&store, pages);
        let before = store.head().unwrap();
        match store.commit(&commit) {
            Ok(_) => break,
            Err(error) => {
                failures += 1;
                assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
                assert_eq!(error.to_string(), format!("no space left for `{}`", path.display()));
                assert_eq!(
                    error.help().unwrap(),
                    "free some space, then try again: no partial data was written"
                );
            }
        }
        assert_eq!(store.head().unwrap(), before);
        assert_eq!(store.load("s", &["a"]).unwrap()[0].value, None);
    }
    assert!(failures > 5, "the limit was hit {failures} times only");

    limit_pages(&store, i64::from(u32::MAX));
    for seq in 62..=64 {
        assert_eq!(store.commit(&commit).unwrap().seq, seq);
    }
    assert_eq!(store.load("s", &["a"]).unwrap()[0].value, Some(json!("y".repeat(20_000))));
    let found = store.verify(&TrustAnchor::default(), &mut |_, _| ()).unwrap();
    assert_eq!((found.misfit, found.records, found.checkpoints), (None, 64, 1));
}

/// Compiling a statement again for every bound value would cost a decision more than its queries.
#[test]
fn statements_of_a_decision_are_compiled_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    // Without readers, commits use the same connection.
    for (store, slice_runs) in
        [(SqliteStore::open(&path).unwrap(), 16), (SqliteStore::open_with_readers(&path, 1).unwrap(), 8)]
    {
        let create = "UPDATE approvals SET state = state";
        store.update(|connection| connection.execute(create, &[])).unwrap();
        for session in ["s", "t", "u", "v"] {
            let pending = ApprovalFilter {
                state: Some(ApprovalState::Pending),
                session: Some(session.to_owned()),
                ..ApprovalFilter::default()
            };
            store.approvals(&pending).unwrap();
            let version = store.load(session, &["a", "b"]).unwrap()[0].version;
            let record = Record { session: session.to_owned(), ..record(10) };
            let mut commit = Commit::new(&record);
            commit.read.push(("a".to_owned(), version));
            commit.changes.set("a", 1);
            store.commit(&commit).unwrap();
        }
        let pending = "SELECT id, body FROM approvals WHERE true AND state = 'pending' AND session = ?1 \
                       ORDER BY created DESC, id DESC";
        let compiled_again = |connection: &Connection| {
            [pending, SLICE].map(|select| {
                let statement = connection.prepare_cached(select).unwrap();
                (statement.get_status(StatementStatus::Run), statement.get_status(StatementStatus::RePrepare))
            })
        };
        assert_eq!(store.with_reader(compiled_again), [(4, 0), (slice_runs, 0)]);
        let plan = format!("EXPLAIN QUERY PLAN {pending}");
        let plan: String =
            store.with_reader(|connection| connection.query_row(&plan, ["s"], |row| row.get(3))).unwrap();
        assert!(plan.contains("approvals_pending"), "{plan}");
    }
}

#[test]
fn sessions_are_listed_without_scanning_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    for is_named in [false, true] {
        let select = format!("EXPLAIN QUERY PLAN {}", sessions_query(is_named));
        let plan: Vec<String> = store.with_reader(|connection| {
            let mut statement = connection.prepare(&select).unwrap();
            let rows = statement.query_map(params!["s", None::<String>, 9, 9], |row| row.get(3)).unwrap();
            rows.map(Result::unwrap).collect()
        });
        let looks: Vec<&String> =
            plan.iter().filter(|step| step.contains("audit") || step.contains("slices")).collect();
        assert!(looks.len() >= 4, "{plan:?}");
        assert!(looks.iter().all(|step| step.starts_with("SEARCH")), "{plan:?}");
    }
}

/// The steps of SQLite's machine are counted, because a clock would depend on the computer.
#[test]
fn window_of_an_alert_costs_the_same_after_many_records() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let record = record(10);
    let commit = Commit::new(&record);
    let steps = |records: usize| {
        store.commit_all(&vec![&commit; records]).into_iter().for_each(|outcome| drop(outcome.unwrap()));
        store.action_counts(Timestamp::MIN).unwrap();
        let statements = [
            "SELECT actions, stopped, kind, effect FROM audit INDEXED BY audit_time WHERE time >= ?1 \
             ORDER BY time, seq LIMIT 1",
            "SELECT actions, stopped FROM audit WHERE true ORDER BY seq DESC LIMIT 1",
        ];
        statements.map(|select| {
            let connection = store.connection();
            let statement = connection.prepare_cached(select).unwrap();
            assert!(statement.get_status(StatementStatus::Run) > 0, "{select}");
            statement.reset_status(StatementStatus::VmStep)
        })
    };
    // The first checkpoint creates its table, after which SQLite compiles statements once more.
    let few = steps(70);
    assert_eq!(steps(5_000), few);
    assert_eq!(store.action_counts(Timestamp::MIN).unwrap().decisions, 5_070);
}

/// The steps of the statements of one commit, which do not depend on the number of records and sessions. What remains is
/// the depth of SQLite's trees.
#[test]
fn commit_costs_the_same_after_many_records_and_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let record = record(10);
    let commit = || {
        let version = store.load("s", &["a", "b"]).unwrap()[0].version;
        let mut commit = Commit::new(&record);
        commit.read = vec![("a".to_owned(), version), ("b".to_owned(), 0)];
        commit.changes.set("a", version);
        store.commit(&commit).unwrap();
    };
    let steps = || {
        let statements = [SLICE, DIALECT.head, APPEND, SET];
        let all = |kind| {
            let connection = store.connection();
            statements.map(|sql| connection.prepare_cached(sql).unwrap().reset_status(kind))
        };
        // The first one after a change of the schema compiles them again.
        commit();
        all(StatementStatus::VmStep);
        all(StatementStatus::FullscanStep);
        commit();
        assert_eq!(all(StatementStatus::FullscanStep), [0; 4]);
        all(StatementStatus::VmStep)
    };
    let few = steps();
    assert!(few.iter().all(|steps| *steps > 0), "{few:?}");
    // Records 3 to 100,000 in 10,000 sessions.
    let fill = "WITH RECURSIVE n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO audit SELECT i, i, 's' || i % 10000, kind, tool, effect, guardrails, prev, hash, body, changes, actions,
          stopped FROM n CROSS JOIN (SELECT * FROM audit WHERE seq = 2);
        INSERT INTO slices SELECT DISTINCT session, 'a', '1', 3 FROM audit WHERE session <> 's'";
    store.connection().execute_batch(&format!("BEGIN; {fill}; COMMIT")).unwrap();
    assert_eq!(steps(), few);
    assert_eq!(store.head().unwrap().unwrap().seq, 100_002);
}

#[test]
fn queries_contain_the_shared_prefix() {
    assert_eq!((midrail_core::SHARED_PREFIX, midrail_core::SHARED_PREFIX.len()), ("shared/", 7));
}
