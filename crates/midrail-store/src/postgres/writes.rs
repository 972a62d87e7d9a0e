//! The statements of one transaction, sent in one round trip.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::task::Poll;

use deadpool_postgres::Object;
use jiff::Timestamp;
use tokio_postgres::Error;

use crate::audit_stats::ActionCounts;
use crate::entry::AuditEntry;
use crate::postgres::cells::{Id, session_id};
use crate::postgres::dialect::DIALECT;
use crate::postgres::session::{numbered, parameters};
use crate::postgres::wait::{self, Task};
use crate::slice_keys::storage_session;
use crate::sql::job::Job;
use crate::sql::{Cell, Statement, approvals, log, notices};

const HEAD: &str = "UPDATE projects SET seq = ?1, hash = ?2, actions = ?3, stopped = ?4 WHERE id = $1";

const REMOVE: &str = "DELETE FROM slices WHERE project = $1 AND id = ANY(?1)";

const REMOVE_ALL: &str =
    "DELETE FROM slices WHERE project = $1 AND left(session, 64) = left(?1, 64) AND session = ?1
     AND NOT starts_with(key, 'shared/')";

/// A table whose rows are written with one statement.
struct Table {
    name: &'static str,
    /// Names and types, as in the definition of the table.
    columns: &'static str,
    on_conflict: &'static str,
}

const AUDIT: Table = Table {
    name: "audit",
    columns: "seq bigint, time bigint, session text, kind text, tool text, effect text, guardrails text, \
              prev text, hash text, body text, changes text, \
              actions bigint, stopped bigint, batch bigint",
    on_conflict: "",
};

const SESSIONS: Table = Table {
    name: "sessions",
    columns: "id bytea, session text, records bigint, last_seq bigint, last_active bigint",
    on_conflict: "ON CONFLICT (project, id) DO UPDATE SET records = sessions.records + excluded.records,
         last_seq = excluded.last_seq, last_active = excluded.last_active",
};

const SLICES: Table = Table {
    name: "slices",
    columns: "id bytea, session text, key text, value text, version bigint",
    on_conflict: "ON CONFLICT (project, id) DO UPDATE SET value = excluded.value, version = excluded.version",
};

impl Table {
    /// The statement that inserts rows, column by column.
    fn insert(&self, rows: Vec<Vec<Cell>>) -> Option<Statement> {
        if rows.is_empty() {
            return None;
        }
        let Table { name, columns, on_conflict } = self;
        let (names, types): (Vec<&str>, Vec<&str>) =
            columns.split(", ").filter_map(|column| column.split_once(' ')).unzip();
        let mut cells: Vec<Vec<Cell>> = vec![Vec::with_capacity(rows.len()); names.len()];
        for row in rows {
            cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
        let arrays: Vec<String> = (1..).zip(types).map(|(at, kind)| format!("?{at}::{kind}[]")).collect();
        let (names, arrays) = (names.join(", "), arrays.join(", "));
        let insert = format!(
            "INSERT INTO {name} (project, {names}) SELECT $1, {names} FROM unnest({arrays}) AS new ({names})
             {on_conflict}"
        );
        Some((insert, cells.into_iter().map(Cell::List).collect()))
    }
}

/// The writes of one transaction.
#[derive(Default)]
pub(super) struct Writes {
    /// A random number by which it can be identified.
    pub(super) batch: i64,
    /// Its first record.
    pub(super) first: u64,
    head: (u64, String),
    counts: ActionCounts,
    audit: Vec<Vec<Cell>>,
    /// Name, number of records, last record and its time. By id, because a statement can change a row only once.
    sessions: BTreeMap<Id, (String, u64, u64, Timestamp)>,
    /// Session, key, value and version.
    slices: BTreeMap<Id, (String, String, Option<String>, u64)>,
    before_slices: Vec<Statement>,
    others: Vec<Statement>,
}

impl Writes {
    /// No writes, after a record.
    pub(super) fn new(batch: i64, seq: u64) -> Self {
        Writes { batch, first: seq + 1, head: (seq, String::new()), ..Writes::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.audit.is_empty()
    }

    /// Adds a job at its place in the log. `ids` are those of its slices.
    pub(super) fn add(&mut self, job: &Job, ids: &[Id], entry: AuditEntry, counts: ActionCounts) {
        let (seq, time, session) = (entry.seq, entry.labels.time, job.session());
        self.head = (seq, entry.hash.clone());
        self.counts = counts;
        let row = self.sessions.entry(session_id(session));
        let (_, records, last_seq, last_active) = row.or_insert_with(|| (session.to_owned(), 0, seq, time));
        *records += 1;
        (*last_seq, *last_active) = (seq, time);
        self.audit.push(log::cells(entry, counts).into_iter().chain([self.batch.into()]).collect());
        if job.replaces_all {
            self.before_slices.push((REMOVE_ALL.to_owned(), vec![session.into()]));
        }
        for ((key, value), id) in job.slices.iter().zip(ids) {
            let session = storage_session(session, key);
            self.slices.insert(*id, (session.to_owned(), key.clone(), value.clone(), seq));
        }
        let approvals = job.approvals.iter();
        self.others.extend(approvals.map(|(change, body)| approvals::write(&DIALECT, change, body)));
        self.others.extend(notices::insertions(&DIALECT, &job.notices, Some(seq), job.time));
    }

    pub(super) fn extend(&mut self, statements: impl IntoIterator<Item = Statement>) {
        self.others.extend(statements);
    }

    /// All statements, in order.
    pub(super) fn statements(self) -> Vec<Statement> {
        let (seq, hash) = self.head;
        let ActionCounts { decisions, blocked } = self.counts;
        let head = vec![seq.into(), hash.into(), decisions.into(), blocked.into()];
        let mut statements = vec![(HEAD.to_owned(), head)];
        statements.extend(AUDIT.insert(self.audit));
        let sessions = self.sessions.into_iter().map(|(id, (name, records, last_seq, last_active))| {
            vec![Cell::Bytes(id.to_vec()), name.into(), records.into(), last_seq.into(), last_active.into()]
        });
        statements.extend(SESSIONS.insert(sessions.collect()));
        statements.extend(self.before_slices);
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for (id, (session, key, value, version)) in self.slices {
            let id = Cell::Bytes(id.to_vec());
            match value {
                Some(value) => {
                    set.push(vec![id, session.into(), key.into(), value.into(), version.into()]);
                }
                None => removed.push(id),
            }
        }
        if !removed.is_empty() {
            statements.push((REMOVE.to_owned(), vec![Cell::List(removed)]));
        }
        statements.extend(SLICES.insert(set));
        statements.extend(self.others);
        statements
    }
}

/// Sends statements and commits, in one round trip. On success they are durable.
pub(super) async fn send(
    client: &Object,
    project: i32,
    statements: &[Statement],
    signal: &str,
) -> Result<(), Error> {
    let mut prepared = Vec::new();
    for (sql, cells) in statements {
        prepared.push((client.prepare_cached(&numbered(sql)).await?, cells));
    }
    let mut tasks: Vec<Task<'_, Result<(), Error>>> = Vec::new();
    for (statement, cells) in &prepared {
        tasks.push(Box::pin(async move {
            client.execute(statement, &parameters(&project, cells)).await.map(drop)
        }));
    }
    tasks.push(Box::pin(client.batch_execute("COMMIT")));
    // After the commit, and not in it: a commit with a notification blocks all others with notifications until it is on
    // disk. It need not be durable: waiting threads also poll.
    let notify =
        format!("BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_notify('midrail', '{signal}'); COMMIT");
    let mut notified = Box::pin(async move { client.batch_execute(&notify).await });
    tasks.push(Box::pin(poll_fn(move |context| {
        // It is sent with the rest, and its answer is ignored.
        let _ = notified.as_mut().poll(context);
        Poll::Ready(Ok(()))
    })));
    // A statement that fails turns the commit into a rollback, which is not an error: so all must succeed.
    wait::all(tasks).await
}
