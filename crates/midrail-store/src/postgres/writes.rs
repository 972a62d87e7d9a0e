//! All that one transaction writes, collected column by column, and sent in one go.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use deadpool_postgres::Object;
use jiff::Timestamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Statement};

use crate::approval::Approval;
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::postgres::approvers::Change;
use crate::postgres::cells::{Id, int, text};
use crate::postgres::jobs::{Job, NewSlice, Posted};
use crate::postgres::wait::{self, Flying};

const HEAD: &str = "UPDATE projects SET seq = $2, hash = $3, notices = $4 WHERE id = $1";

const AUDIT: &str =
    "INSERT INTO audit (project, seq, time, session, kind, tool, effect, guardrails, prev, hash, body, batch)
     SELECT $1, seq, time, session, kind, tool, effect, guardrails, prev, hash, body, $2
     FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
                 $11::text[], $12::text[])
       AS new (seq, time, session, kind, tool, effect, guardrails, prev, hash, body)";

const SESSIONS: &str = "INSERT INTO sessions (project, id, session, records, last_seq, last_active)
     SELECT $1, id, session, records, last_seq, last_active
     FROM unnest($2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
       AS new (id, session, records, last_seq, last_active)
     ON CONFLICT (project, id) DO UPDATE SET records = sessions.records + excluded.records,
       last_seq = excluded.last_seq, last_active = excluded.last_active";

const SLICES: &str = "INSERT INTO slices (project, id, session, key, value, version)
     SELECT $1, id, session, key, value, version
     FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::bigint[]) AS new (id, session, key, value, version)
     ON CONFLICT (project, id) DO UPDATE SET value = excluded.value, version = excluded.version";

const REMOVED: &str = "DELETE FROM slices WHERE project = $1 AND id = ANY($2)";

const WIPED: &str =
    "DELETE FROM slices WHERE project = $1 AND left(session, 64) = left($2, 64) AND session = $2
     AND NOT starts_with(key, 'shared/')";

const APPROVALS: &str = "INSERT INTO approvals (project, id, state, session, created, body)
     SELECT $1, id, state, session, created, body
     FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[]) AS new (id, state, session, created, body)
     ON CONFLICT (project, id) DO UPDATE SET state = excluded.state, body = excluded.body";

const NOTICES: &str = "INSERT INTO notices (project, id, seq, time, recipient, kind, message, body)
     SELECT $1, id, seq, time, recipient, kind, message, body
     FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
       AS new (id, seq, time, recipient, kind, message, body)";

const KEY: &str = "INSERT INTO keys (project, id, public) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";

const CHECKPOINTS: &str = "INSERT INTO checkpoints (project, seq, hash, time, key, signature)
     SELECT $1, seq, hash, time, key, signature
     FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) AS new (seq, hash, time, key, signature)";

const ENROLLED: &str =
    "INSERT INTO approvers (project, name, roles, hash, created) VALUES ($1, $2, $3, $4, $5)";

const REVOKED: &str =
    "UPDATE approvers SET revoked = $3 WHERE project = $1 AND name = $2 AND revoked IS NULL";

/// A parameter of a statement.
type Cell = Box<dyn ToSql + Sync + Send>;

/// What is written in one transaction.
pub(super) struct Writes {
    project: i32,
    /// A random number by which it is found again.
    pub(super) batch: i64,
    /// Its first record.
    pub(super) first: u64,
    last: u64,
    hash: String,
    audit: Audit,
    sessions: BTreeMap<Id, (String, i64, i64, i64)>,
    slices: BTreeMap<Id, (NewSlice, i64)>,
    wiped: Option<String>,
    approvals: BTreeMap<String, (String, String, i64, String)>,
    last_notice: u64,
    notices: Vec<(i64, Option<i64>, i64, Posted)>,
    checkpoints: Vec<Checkpoint>,
    key: Option<PublicKey>,
    people: Vec<Change>,
}

#[derive(Default)]
struct Audit {
    seq: Vec<i64>,
    time: Vec<i64>,
    session: Vec<String>,
    kind: Vec<String>,
    tool: Vec<Option<String>>,
    effect: Vec<String>,
    guardrails: Vec<String>,
    prev: Vec<String>,
    hash: Vec<String>,
    body: Vec<String>,
}

impl Writes {
    /// Nothing, after a record and a notice.
    pub(super) fn new(project: i32, batch: i64, seq: u64, notices: u64) -> Self {
        Writes {
            project,
            batch,
            first: seq + 1,
            last: seq,
            hash: String::new(),
            audit: Audit::default(),
            sessions: BTreeMap::new(),
            slices: BTreeMap::new(),
            wiped: None,
            approvals: BTreeMap::new(),
            last_notice: notices,
            notices: Vec::new(),
            checkpoints: Vec::new(),
            key: None,
            people: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.audit.seq.is_empty()
    }

    /// A record, and that its session was active.
    pub(super) fn record(&mut self, job: &Job, seq: u64, prev: String, hash: &str) {
        let labels = &job.draft.labels;
        let time = labels.time.as_microsecond();
        self.last = seq;
        hash.clone_into(&mut self.hash);
        self.audit.seq.push(int(seq));
        self.audit.time.push(time);
        self.audit.session.push(job.session.clone());
        self.audit.kind.push(labels.kind.clone());
        self.audit.tool.push(job.tool.clone());
        self.audit.effect.push(labels.effect.clone());
        self.audit.guardrails.push(job.guardrails.clone());
        self.audit.prev.push(prev);
        self.audit.hash.push(hash.to_owned());
        self.audit.body.push(job.draft.body.clone());
        let session = self.sessions.entry(job.session_id).or_insert_with(|| (job.session.clone(), 0, 0, 0));
        session.1 += 1;
        session.2 = int(seq);
        session.3 = time;
        if job.wipes {
            self.wiped = Some(job.session.clone());
        }
    }

    pub(super) fn slice(&mut self, slice: &NewSlice, seq: u64) {
        self.slices.insert(slice.id, (slice.clone(), int(seq)));
    }

    pub(super) fn approval(&mut self, now: &Approval, body: &str) {
        let cell = |value: &str| text(value).into_owned();
        let row =
            (now.state.word().to_owned(), cell(&now.session), now.created.as_microsecond(), body.to_owned());
        self.approvals.insert(cell(&now.id), row);
    }

    pub(super) fn post(&mut self, notices: &[Posted], seq: Option<u64>, time: Timestamp) {
        for Posted { to, kind, message, body } in notices {
            self.last_notice += 1;
            let notice =
                Posted { to: to.clone(), kind: kind.clone(), message: message.clone(), body: body.clone() };
            self.notices.push((int(self.last_notice), seq.map(int), time.as_microsecond(), notice));
        }
    }

    pub(super) fn checkpoint(&mut self, checkpoint: Checkpoint, key: &PublicKey) {
        self.checkpoints.push(checkpoint);
        self.key = Some(key.clone());
    }

    pub(super) fn enroll(&mut self, changes: Vec<Change>) {
        self.people.extend(changes);
    }

    /// Sends everything and commits, in one trip. `Ok`: it is committed and durable.
    pub(super) async fn send(self, client: &Object, signal: &str) -> Result<(), Error> {
        let mut statements: Vec<(Arc<Statement>, Vec<Cell>)> = Vec::new();
        for (sql, cells) in self.statements() {
            statements.push((Arc::new(client.prepare_cached(sql).await?), cells));
        }
        let mut flights: Vec<Flying<'_, Result<(), Error>>> = Vec::new();
        for (statement, cells) in &statements {
            flights.push(Box::pin(async move {
                let cells: Vec<&(dyn ToSql + Sync)> =
                    cells.iter().map(|cell| -> &(dyn ToSql + Sync) { &**cell }).collect();
                client.execute(&**statement, &cells).await.map(|_| ())
            }));
        }
        flights.push(Box::pin(client.batch_execute("COMMIT")));
        // After the commit, and not in it: who commits with a notification keeps all others who do from committing until
        // the disk has it. It is not durable, and need not be: whoever waits looks by himself once a second.
        let notify = format!(
            "BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_notify('midrail', '{signal}'); COMMIT"
        );
        let mut notified = Box::pin(async move { client.batch_execute(&notify).await });
        flights.push(Box::pin(poll_fn(move |context| {
            // It is sent with the rest, and its answer is of no interest.
            let _ = notified.as_mut().poll(context);
            Poll::Ready(Ok(()))
        })));
        // A statement that fails makes the commit a roll-back, which is no error by itself: so all must be well.
        wait::all(flights).await
    }

    fn statements(self) -> Vec<(&'static str, Vec<Cell>)> {
        fn cell<T: ToSql + Sync + Send + 'static>(value: T) -> Cell {
            Box::new(value)
        }
        let project = || cell(self.project);
        let mut all: Vec<(&'static str, Vec<Cell>)> = Vec::new();
        all.push((HEAD, vec![project(), cell(int(self.last)), cell(self.hash), cell(int(self.last_notice))]));
        let Audit { seq, time, session, kind, tool, effect, guardrails, prev, hash, body } = self.audit;
        all.push((
            AUDIT,
            vec![
                project(),
                cell(self.batch),
                cell(seq),
                cell(time),
                cell(session),
                cell(kind),
                cell(tool),
                cell(effect),
                cell(guardrails),
                cell(prev),
                cell(hash),
                cell(body),
            ],
        ));
        let (mut ids, mut names, mut records, mut seqs, mut times) = (vec![], vec![], vec![], vec![], vec![]);
        for (id, (name, count, seq, time)) in self.sessions {
            ids.push(id.to_vec());
            names.push(name);
            records.push(count);
            seqs.push(seq);
            times.push(time);
        }
        all.push((SESSIONS, vec![project(), cell(ids), cell(names), cell(records), cell(seqs), cell(times)]));
        if let Some(session) = self.wiped {
            all.push((WIPED, vec![project(), cell(session)]));
        }
        let (mut ids, mut names, mut keys, mut values, mut versions, mut removed) =
            (vec![], vec![], vec![], vec![], vec![], vec![]);
        for (id, (slice, version)) in self.slices {
            match slice.value {
                None => removed.push(id.to_vec()),
                Some(value) => {
                    ids.push(id.to_vec());
                    names.push(slice.session);
                    keys.push(slice.key);
                    values.push(value);
                    versions.push(version);
                }
            }
        }
        if !removed.is_empty() {
            all.push((REMOVED, vec![project(), cell(removed)]));
        }
        if !ids.is_empty() {
            all.push((
                SLICES,
                vec![project(), cell(ids), cell(names), cell(keys), cell(values), cell(versions)],
            ));
        }
        if !self.approvals.is_empty() {
            let (mut ids, mut states, mut sessions, mut created, mut bodies) =
                (vec![], vec![], vec![], vec![], vec![]);
            for (id, (state, session, time, body)) in self.approvals {
                ids.push(id);
                states.push(state);
                sessions.push(session);
                created.push(time);
                bodies.push(body);
            }
            let cells = vec![project(), cell(ids), cell(states), cell(sessions), cell(created), cell(bodies)];
            all.push((APPROVALS, cells));
        }
        if !self.notices.is_empty() {
            let (mut ids, mut seqs, mut times) = (vec![], vec![], vec![]);
            let (mut recipients, mut kinds, mut messages, mut bodies) = (vec![], vec![], vec![], vec![]);
            for (id, seq, time, Posted { to, kind, message, body }) in self.notices {
                ids.push(id);
                seqs.push(seq);
                times.push(time);
                recipients.push(to);
                kinds.push(kind);
                messages.push(message);
                bodies.push(body);
            }
            let texts = [recipients, kinds, messages, bodies].map(cell);
            let cells = [project(), cell(ids), cell(seqs), cell(times)].into_iter().chain(texts).collect();
            all.push((NOTICES, cells));
        }
        if let Some(PublicKey { id, public }) = self.key {
            all.push((KEY, vec![project(), cell(id), cell(public)]));
            let (mut seqs, mut hashes, mut times, mut keys, mut signatures) =
                (vec![], vec![], vec![], vec![], vec![]);
            for Checkpoint { seq, hash, time, key, signature } in self.checkpoints {
                seqs.push(int(seq));
                hashes.push(hash);
                times.push(time);
                keys.push(key);
                signatures.push(signature);
            }
            let cells = vec![project(), cell(seqs), cell(hashes), cell(times), cell(keys), cell(signatures)];
            all.push((CHECKPOINTS, cells));
        }
        for change in self.people {
            all.push(match change {
                Change::Add { name, roles, hash, created } => {
                    (ENROLLED, vec![project(), cell(name), cell(roles), cell(hash), cell(created)])
                }
                Change::Revoke { name, revoked } => (REVOKED, vec![project(), cell(name), cell(revoked)]),
            });
        }
        all
    }
}
