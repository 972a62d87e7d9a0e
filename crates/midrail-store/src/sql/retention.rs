//! Retention: moves old records to a file that verifies alone, and erases the bodies of records.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use jiff::Timestamp;
use midrail_core::{Decision, Event, Record, ToolCall, VerdictRecord, hex};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::anchor::{private, with_suffix};
use crate::audit_log::{AuditLog, pages};
use crate::chain::erased_body;
use crate::checkpoint::ArchiveSeal;
use crate::error::{Result, StoreError};
use crate::export::{export_header, record_line, verify_export};
use crate::filter::AuditFilter;
use crate::gzip::{gzip_reader, gzip_writer};
use crate::retention::{Archive, Retention};
use crate::sql::{Connection, Dialect, SqlStore, log, state};
use crate::state_digests::StateDigests;
use crate::verification::TrustAnchor;

impl<S: SqlStore> Retention for S {
    fn archive(&self, through: u64, time: Timestamp, path: &Path) -> Result<Archive> {
        self.store_key()?;
        let key = self.select(|connection| self.signing_key(connection))?;
        let refuse = |what: String| Err(StoreError::Refused { what });
        let before = self.archived()?;
        // What an interrupted call has left.
        prune(self, before.as_ref().map_or(0, |cut| cut.seq))?;
        let first = before.as_ref().map_or(0, |cut| cut.seq).saturating_add(1);
        let head = self.head()?.map_or(0, |head| head.seq);
        if through < first || through >= head {
            return refuse(format!("records {first} to {} can be archived", head.saturating_sub(1)));
        }
        if fs::exists(path).map_err(|source| StoreError::io(path, source))? {
            return refuse(format!("`{}` exists already", path.display()));
        }
        let Some(last) = self.entry(through)? else { return refuse(format!("there is no record {through}")) };
        // The cut is signed before anything is removed.
        let cut = key.sign(through, &last.hash, time);
        self.transact(|connection| {
            if log::checkpoint_of(connection, &S::DIALECT, through)?.is_none() {
                connection.execute_all(log::insert_checkpoint(&S::DIALECT, &cut, key.public()))?;
            }
            Ok(())
        })?;
        let pinned = TrustAnchor { head: None, keys: Some(vec![key.public().id.clone()]) };
        let mut expected = match state::archived_state(self, &pinned)? {
            Ok(expected) => expected,
            Err(what) => return refuse(what),
        };
        let draft = with_suffix(path, ".new");
        let fail = |source| StoreError::io(&draft, source);
        let mut write = |out: &mut dyn Write| -> Result<u64> {
            let mut line = |text: String| writeln!(out, "{text}").map_err(StoreError::export);
            line(export_header(self.public_keys()?, self.key_changes()?, before.as_ref()))?;
            let mut records = 0;
            let filter = AuditFilter { after_seq: Some(first - 1), ..AuditFilter::default() };
            let most = usize::try_from(through - first + 1).unwrap_or(usize::MAX);
            let mut checkpoints = self.checkpoints(first - 1, usize::MAX)?.into_iter().peekable();
            for page in pages(self, filter, most) {
                for entry in page?.iter().filter(|entry| entry.seq <= through) {
                    line(record_line(entry, true))?;
                    records += 1;
                    expected.add(entry.seq, &entry.labels.session, StateDigests::of(entry));
                    while let Some(checkpoint) = checkpoints.next_if(|checkpoint| checkpoint.seq <= entry.seq)
                    {
                        line(json!({"checkpoint": checkpoint}).to_string())?;
                    }
                }
            }
            line(json!({"end": {"records": records, "head": last.hash}}).to_string())?;
            Ok(records)
        };
        let mut options = OpenOptions::new();
        let file = private(options.write(true).create(true).truncate(true)).open(&draft).map_err(fail)?;
        let mut out = gzip_writer(BufWriter::new(file));
        let records = write(&mut out)?;
        let file = out.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
        file.and_then(|file| file.sync_all()).map_err(fail)?;
        // Only what can be read and verified may be removed from the store.
        let file = gzip_reader(File::open(&draft).map_err(fail)?);
        let found = verify_export(&mut BufReader::new(file), &pinned).map_err(fail)?;
        if let Some(misfit) = found.misfit {
            let _ = fs::remove_file(&draft);
            return refuse(format!("the records cannot be archived: {}", misfit.detail));
        }
        let sha256 = file_digest(&draft).map_err(fail)?;
        fs::rename(&draft, path).map_err(fail)?;
        let state = crate::draft::encode(&expected, || "the state".to_owned())?;
        let seal = key.seal_archive(through, sha256.clone(), state);
        self.transact(|connection| insert_archive(connection, &S::DIALECT, &seal))?;
        prune(self, through)?;
        Ok(Archive { first, through, records, sha256 })
    }

    fn erase_session(&self, session: &str, through: u64) -> Result<u64> {
        self.store_key()?;
        let key = self.select(|connection| self.signing_key(connection))?;
        let filter = AuditFilter { session: Some(session.to_owned()), ..AuditFilter::default() };
        let Dialect { column, value, own, .. } = S::DIALECT;
        let insert = format!("INSERT INTO erasures ({column}seq, key, signature) VALUES ({value}?1, ?2, ?3)");
        let update = format!("UPDATE audit SET body = ?2 WHERE {own}seq = ?1");
        let mut erased = 0;
        for page in pages(self, filter, usize::MAX) {
            let page = page?;
            let rows = page.iter().filter(|entry| entry.seq <= through && erased_body(&entry.body).is_none());
            let rows: Vec<_> = rows
                .map(|entry| {
                    Ok((key.sign_erasure(entry.seq, &entry.hash), outline(&entry.record()?, &entry.body)))
                })
                .collect::<Result<_>>()?;
            self.transact(|connection| {
                connection.execute_all([log::insert_key(&S::DIALECT, key.public())])?;
                rows.iter().try_for_each(|(erasure, body)| {
                    let cells = [erasure.seq.into(), (&erasure.key).into(), (&erasure.signature).into()];
                    connection.execute(&insert, &cells)?;
                    connection.execute(&update, &[erasure.seq.into(), body.into()]).map(drop)
                })
            })?;
            erased += u64::try_from(rows.len()).unwrap_or(0);
        }
        Ok(erased)
    }
}

/// The records that are removed at once, so that decisions do not wait for long.
const BATCH: u64 = 2_000;

/// Removes the records up to one, which are archived.
fn prune<S: SqlStore>(store: &S, through: u64) -> Result<()> {
    let own = S::DIALECT.own;
    let first = format!("SELECT seq FROM audit WHERE {own}true ORDER BY seq LIMIT 1");
    let remove = format!("DELETE FROM audit WHERE {own}seq <= ?1");
    loop {
        let first = store.select(|connection| connection.row(&first, &[], |row| row.number(0)))?;
        let Some(first) = first.filter(|first| *first <= through) else { return Ok(()) };
        let last = through.min(first.saturating_add(BATCH - 1));
        store.transact(|connection| connection.execute(&remove, &[last.into()]).map(drop))?;
    }
}

/// Notes an archive. From then on its records may be removed.
fn insert_archive(connection: &dyn Connection, dialect: &Dialect, seal: &ArchiveSeal) -> Result<()> {
    let Dialect { column, value, .. } = dialect;
    let ArchiveSeal { through, sha256, state, key, signature } = seal;
    let insert = format!(
        "INSERT INTO archives ({column}through, sha256, state, key, signature) VALUES ({value}?1, ?2, ?3, ?4, ?5)"
    );
    let cells = [(*through).into(), sha256.into(), state.into(), key.into(), signature.into()];
    connection.execute(&insert, &cells).map(drop)
}

/// The body of an erased record: what the columns of the log also have, and the hash of the body.
fn outline(record: &Record, body: &str) -> String {
    let mut event = Event::new(record.event.kind).in_session(&*record.session);
    event.tool = record.event.tool_name().map(|name| ToolCall::new(name, json!({})));
    let Decision { effect, by, policy, verdicts, .. } = &record.decision;
    let verdicts: Vec<_> = verdicts
        .iter()
        .map(|verdict| {
            let VerdictRecord { guardrail, effect, skipped, shadow, .. } = verdict;
            json!({"guardrail": guardrail, "effect": effect, "skipped": skipped, "shadow": shadow})
        })
        .collect();
    let decision = json!({"effect": effect, "by": by, "policy": policy, "verdicts": verdicts});
    let rest = json!({"time": record.time, "session": record.session, "event": event, "decision": decision});
    // The marker is first, so that it is found without parsing every body.
    let rest = rest.to_string();
    format!("{}\"{}\",{}", crate::chain::ERASED, crate::chain::body_hash(body), rest.trim_start_matches('{'))
}

fn file_digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hex::encode(&hash.finalize()));
        }
        hash.update(buffer.get(..count).unwrap_or_default());
    }
}
