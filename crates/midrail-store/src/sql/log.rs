//! The audit log: pages of records, checkpoints, and signing the head.

use std::time::Duration;

use jiff::Timestamp;
use midrail_core::{AuditRef, Effect};

use crate::audit_log::{AuditLog, poll_for_record, verify_log};
use crate::audit_stats::ActionCounts;
use crate::checkpoint::{Checkpoint, Erasure, KeyChange, PublicKey};
use crate::entry::{AuditEntry, Labels};
use crate::error::Result;
use crate::expected_state::Mismatch;
use crate::filter::AuditFilter;
use crate::key::StoreKey;
use crate::sql::{Cell, Connection, Dialect, Row, SqlStore, Statement, first_micro_from, state};
use crate::state_digests::StateDigests;
use crate::verification::{MisfitKind, TrustAnchor, Verification};

/// The columns of the audit log.
pub(crate) const COLUMNS: &str =
    "seq, time, session, kind, tool, effect, guardrails, prev, hash, body, changes";

const CHECKPOINT_COLUMNS: &str = "seq, hash, time, key, signature";

const KEY_CHANGE_COLUMNS: &str = "seq, old, new, signer, signature";

/// A page ends after the record that exceeds this size.
const PAGE_BYTES: usize = 16 << 20;

impl<S: SqlStore> AuditLog for S {
    fn verify(&self, anchor: &TrustAnchor, progress: &mut dyn FnMut(u64, u64)) -> Result<Verification> {
        self.check_database()?;
        // Read before the log, so that a decision that is made meanwhile is not reported as removed.
        let head = self.head()?;
        let select = format!("SELECT coalesce(max(version), 0) FROM slices WHERE {}true", S::DIALECT.own);
        let written =
            self.select(|connection| connection.row(&select, &[], |row| row.number(0)))?.unwrap_or(0);
        // A log that was written anew with another key must not verify.
        let own = self.known_key()?.map(|key| key.id);
        // A copy of the database without its key is verified with the keys that the caller names, and has no anchor.
        let has_anchor = own.is_some() || anchor.keys.is_none();
        let keys = anchor.keys.clone().unwrap_or_else(|| own.into_iter().collect());
        let pinned = TrustAnchor { keys: Some(keys), ..anchor.clone() };
        let mut expected = match state::archived_state(self, &pinned)? {
            Ok(expected) => expected,
            Err(detail) => {
                let mut found = Verification::default();
                let seq = self.archived()?.map_or(0, |cut| cut.seq);
                found.add_misfit(seq, MisfitKind::Signature, detail);
                return Ok(found);
            }
        };
        let mut found = verify_log(self, &pinned, progress, &mut |entry| {
            expected.add(entry.seq, &entry.labels.session, StateDigests::of(entry));
        })?;
        let end = found.head.as_ref().map_or(0, |head| head.seq);
        let stored = head.as_ref().map_or(0, |head| head.seq);
        let evidence =
            [(stored, "the stored head is record"), (written, "sessions were written with record")];
        if let Some((seq, evidence)) = evidence.into_iter().find(|(seq, _)| *seq > end) {
            let detail = format!("the log ends at record {end}, and {evidence} {seq}");
            found.add_misfit(end + 1, MisfitKind::Truncated, detail);
        }
        if found.is_intact() {
            self.check_head(head.as_ref(), &mut found)?;
        }
        if found.is_intact()
            && let Some(Mismatch { seq, what, .. }) = state::check(self, expected, end)?
        {
            found.add_misfit(seq, MisfitKind::State, what);
        }
        if found.is_intact()
            && has_anchor
            && let Some(damage) = self.find_damage()?
        {
            let seq = damage.expected.as_ref().map_or(end, |expected| expected.seq);
            found.add_misfit(seq, MisfitKind::Anchor, format!("the store was damaged or replaced: {damage}"));
        }
        Ok(found)
    }

    fn entry(&self, seq: u64) -> Result<Option<AuditEntry>> {
        let own = S::DIALECT.own;
        let select = format!("SELECT {COLUMNS} FROM audit WHERE {own}seq = ?1 ORDER BY time LIMIT 1");
        self.select(|connection| connection.row(&select, &[seq.into()], entry))
    }

    fn entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>> {
        let (select, cells) = query(&S::DIALECT, filter);
        self.select(|connection| {
            let (mut bytes, mut page) = (0, Vec::new());
            connection.each(&select, &cells, &mut |row| {
                let entry = entry(row)?;
                bytes += entry.body.len();
                page.push(entry);
                Ok(bytes <= PAGE_BYTES)
            })?;
            Ok(page)
        })
    }

    fn head(&self) -> Result<Option<AuditRef>> {
        self.select(|connection| head(connection, &S::DIALECT))
    }

    fn wait_for_record(&self, seq: u64, at_most: Duration) -> Result<Option<AuditRef>> {
        self.wait_for_notification(seq, at_most).unwrap_or_else(|| poll_for_record(self, seq, at_most))
    }

    fn checkpoints(&self, after_seq: u64, limit: usize) -> Result<Vec<Checkpoint>> {
        let select = select_checkpoints(&S::DIALECT, "seq > ?1 ORDER BY seq LIMIT ?2");
        let cells = [after_seq.into(), limit.into()];
        self.select(|connection| connection.rows(&select, &cells, checkpoint))
    }

    fn last_checkpoint(&self) -> Result<Option<Checkpoint>> {
        let select = select_checkpoints(&S::DIALECT, "true ORDER BY seq DESC LIMIT 1");
        self.select(|connection| connection.row(&select, &[], checkpoint))
    }

    fn public_keys(&self) -> Result<Vec<PublicKey>> {
        let Dialect { own, key_order, .. } = S::DIALECT;
        let select = format!("SELECT id, public FROM keys WHERE {own}true ORDER BY {key_order}");
        self.select(|connection| {
            connection.rows(&select, &[], |row| Ok(PublicKey { id: row.string(0)?, public: row.string(1)? }))
        })
    }

    fn key_changes(&self) -> Result<Vec<KeyChange>> {
        let own = S::DIALECT.own;
        let select =
            format!("SELECT {KEY_CHANGE_COLUMNS} FROM key_changes WHERE {own}true ORDER BY seq, old, signer");
        self.select(|connection| {
            connection.rows(&select, &[], |row| {
                let (old, new, signer) = (row.string(1)?, row.string(2)?, row.string(3)?);
                Ok(KeyChange { seq: row.number(0)?, old, new, signer, signature: row.string(4)? })
            })
        })
    }

    fn archived(&self) -> Result<Option<Checkpoint>> {
        let own = S::DIALECT.own;
        let cut = format!("seq = (SELECT max(through) FROM archives WHERE {own}true)");
        let select = select_checkpoints(&S::DIALECT, &cut);
        self.select(|connection| connection.row(&select, &[], checkpoint))
    }

    fn erasures(&self) -> Result<Vec<Erasure>> {
        let select = format!("SELECT seq, key, signature FROM erasures WHERE {}true", S::DIALECT.own);
        self.select(|connection| {
            connection.rows(&select, &[], |row| {
                Ok(Erasure { seq: row.number(0)?, key: row.string(1)?, signature: row.string(2)? })
            })
        })
    }

    fn checkpoint_now(&self, time: Timestamp) -> Result<Option<Checkpoint>> {
        self.store_key()?;
        self.transact(|connection| {
            let Some(head) = head(connection, &S::DIALECT)? else { return Ok(None) };
            let key = self.signing_key(connection)?;
            sign_head(connection, &S::DIALECT, &key, &head, time).map(Some)
        })
    }
}

/// Returns the last record.
pub(crate) fn head(connection: &dyn Connection, dialect: &Dialect) -> Result<Option<AuditRef>> {
    connection.row(dialect.head, &[], |row| Ok(AuditRef { seq: row.number(0)?, hash: row.string(1)? }))
}

/// The checkpoint of a record.
pub(crate) fn checkpoint_of(
    connection: &dyn Connection,
    dialect: &Dialect,
    seq: u64,
) -> Result<Option<Checkpoint>> {
    connection.row(&select_checkpoints(dialect, "seq = ?1"), &[seq.into()], checkpoint)
}

/// Signs the last record, unless it has a checkpoint.
pub(crate) fn sign_head(
    connection: &dyn Connection,
    dialect: &Dialect,
    key: &StoreKey,
    head: &AuditRef,
    time: Timestamp,
) -> Result<Checkpoint> {
    if let Some(signed) = checkpoint_of(connection, dialect, head.seq)? {
        return Ok(signed);
    }
    let signed = key.sign(head.seq, &head.hash, time);
    connection.execute_all(insert_checkpoint(dialect, &signed, key.public()))?;
    Ok(signed)
}

/// The hash of a record.
pub(crate) fn hash_of(connection: &dyn Connection, dialect: &Dialect, seq: u64) -> Result<Option<String>> {
    let select = format!("SELECT hash FROM audit WHERE {}seq = ?1", dialect.own);
    connection.row(&select, &[seq.into()], |row| row.string(0))
}

/// The statements with which a key states that the log was signed with other keys up to a record.
pub(crate) fn accept_keys(
    connection: &dyn Connection,
    dialect: &Dialect,
    key: &StoreKey,
    seq: u64,
) -> Result<Vec<Statement>> {
    let own = dialect.own;
    let id = key.public().id.clone();
    let select = format!(
        "SELECT id FROM keys WHERE {own}id <> ?1
         AND NOT EXISTS (SELECT 1 FROM key_changes WHERE {own}old = keys.id AND signer = ?1)"
    );
    let others: Vec<String> = connection.rows(&select, &[(&id).into()], |row| row.string(0))?;
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let accept = |old: String| insert_key_change(dialect, key.sign_change(seq, &old, &id));
    Ok(std::iter::once(insert_key(dialect, key.public())).chain(others.into_iter().map(accept)).collect())
}

pub(crate) fn insert_key_change(Dialect { column, value, .. }: &Dialect, change: KeyChange) -> Statement {
    let insert =
        format!("INSERT INTO key_changes ({column}{KEY_CHANGE_COLUMNS}) VALUES ({value}?1, ?2, ?3, ?4, ?5)");
    let KeyChange { seq, old, new, signer, signature } = change;
    (insert, vec![seq.into(), old.into(), new.into(), signer.into(), signature.into()])
}

pub(crate) fn insert_key(Dialect { column, value, own, .. }: &Dialect, key: &PublicKey) -> Statement {
    let insert = format!(
        "INSERT INTO keys ({column}id, public) SELECT {value}?1, ?2
         WHERE NOT EXISTS (SELECT 1 FROM keys WHERE {own}id = ?1) ON CONFLICT DO NOTHING"
    );
    (insert, vec![(&key.id).into(), (&key.public).into()])
}

/// The statements that store a checkpoint and its key.
pub(crate) fn insert_checkpoint(
    dialect: &Dialect,
    checkpoint: &Checkpoint,
    key: &PublicKey,
) -> [Statement; 2] {
    let Dialect { column, value, .. } = dialect;
    let insert =
        format!("INSERT INTO checkpoints ({column}{CHECKPOINT_COLUMNS}) VALUES ({value}?1, ?2, ?3, ?4, ?5)");
    let Checkpoint { seq, hash, time, key: id, signature } = checkpoint;
    let cells = vec![(*seq).into(), hash.into(), time.into(), id.into(), signature.into()];
    [insert_key(dialect, key), (insert, cells)]
}

/// The cells of a record in the order of [`COLUMNS`], and the counts up to it.
pub(crate) fn cells(entry: AuditEntry, counts: ActionCounts) -> [Cell; 13] {
    let AuditEntry { seq, labels, prev, hash, body, changes } = entry;
    let Labels { time, session, kind, tool, effect, guardrails } = labels;
    let guardrails =
        if guardrails.is_empty() { String::new() } else { serde_json::Value::from(guardrails).to_string() };
    let [prev, hash, body] = [prev, hash, body].map(Cell::from);
    let (session, kind, effect) = (session.into(), kind.into(), effect.into());
    let (tool, guardrails, changes) = (tool.into(), guardrails.into(), changes.into());
    let ActionCounts { decisions, blocked } = counts;
    let (seq, time, decisions, blocked) = (seq.into(), time.into(), decisions.into(), blocked.into());
    [seq, time, session, kind, tool, effect, guardrails, prev, hash, body, changes, decisions, blocked]
}

fn select_checkpoints(Dialect { own, .. }: &Dialect, rest: &str) -> String {
    format!("SELECT {CHECKPOINT_COLUMNS} FROM checkpoints WHERE {own}{rest}")
}

/// The query for a page of records.
fn query(dialect: &Dialect, filter: &AuditFilter) -> (String, Vec<Cell>) {
    let Dialect { own, position, .. } = dialect;
    let mut terms = String::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut add = |term: &dyn Fn(&str) -> String, cell: Cell| {
        cells.push(cell);
        terms.push_str(&format!("{} AND ", term(&format!("?{}", cells.len()))));
    };
    // The index of the rarest term also returns the records ordered by `seq`.
    let mut index = "";
    if let Some(session) = &filter.session {
        add(&|cell| dialect.equals("session", cell), session.into());
        index = "audit_session";
    }
    if let Some(effect) = filter.effect {
        let is_indexed = effect != Effect::Allow;
        let partial = if is_indexed { " AND effect <> 'allow'" } else { "" };
        add(&|cell| format!("effect = {cell}{partial}"), effect.as_str().into());
        index = if is_indexed { "audit_effect" } else { index };
    }
    if let Some(guardrail) = &filter.guardrail {
        let quoted = serde_json::Value::from(guardrail.as_str()).to_string();
        add(&|cell| format!("guardrails <> '' AND {position}(guardrails, {cell}) > 0"), quoted.into());
        index = "audit_guardrails";
    }
    if let Some(kind) = filter.kind {
        add(&|cell| format!("kind = {cell}"), kind.as_str().into());
    }
    if let Some(tool) = &filter.tool {
        add(&|cell| format!("tool = {cell}"), tool.into());
    }
    if let Some(after) = filter.after_seq {
        let comparison = if filter.newest_first { "<" } else { ">" };
        add(&|cell| format!("seq {comparison} {cell}"), after.into());
    }
    if filter.since.is_some() || filter.until.is_some() {
        let since = filter.since.map_or(i64::MIN, first_micro_from);
        let until = filter.until.map_or(i64::MAX, first_micro_from);
        let (first, last) = (cells.len() + 1, cells.len() + 2);
        terms.push_str(&format!("{} AND ", (dialect.period)(&format!("?{first}"), &format!("?{last}"))));
        cells.extend([since, until].map(Cell::from));
    }
    let hint = if index.is_empty() { String::new() } else { dialect.indexed_by(index) };
    let order = if filter.newest_first { "DESC" } else { "ASC" };
    cells.push(filter.page().into());
    let limit = cells.len();
    let select = format!(
        "SELECT {COLUMNS} FROM audit{hint} WHERE {own}{terms}true ORDER BY seq {order} LIMIT ?{limit}"
    );
    (select, cells)
}

fn entry(row: &dyn Row) -> Result<AuditEntry> {
    let guardrails = row.string(6)?;
    let labels = Labels {
        time: row.time(1)?,
        session: row.string(2)?,
        kind: row.string(3)?,
        tool: row.text(4)?,
        effect: row.string(5)?,
        // A column that is not a list was tampered with. It is returned unchanged, and `verify` reports it.
        guardrails: match guardrails.as_str() {
            "" => Vec::new(),
            list => serde_json::from_str(list).unwrap_or_else(|_| vec![guardrails.clone()]),
        },
    };
    let (prev, hash, body, changes) = (row.string(7)?, row.string(8)?, row.string(9)?, row.text(10)?);
    Ok(AuditEntry { seq: row.number(0)?, labels, prev, hash, body, changes })
}

fn checkpoint(row: &dyn Row) -> Result<Checkpoint> {
    let (hash, time, key, signature) = (row.string(1)?, row.string(2)?, row.string(3)?, row.string(4)?);
    Ok(Checkpoint { seq: row.number(0)?, hash, time, key, signature })
}
