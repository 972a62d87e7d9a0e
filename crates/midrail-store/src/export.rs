//! Writes the audit log as JSON lines that verify on their own, with no store at hand.
//!
//! One JSON object a line, in this order: a header; for each record, in order, the record or a stand-in, followed by
//! its checkpoint where it has one; an end. How the hashes are made is written in [`chain`](crate::chain).
//!
//! ```text
//! {"format":"midrail-audit-export","keys":[{"id":"…","public":"…"}],"version":1}
//! {"seq":1,"prev":"…","hash":"…","body":{…}}            the bytes of the value of `body` are what is hashed
//! {"seq":2,"prev":"…","hash":"…","body_sha256":"…"}     a record that the filter leaves out
//! {"checkpoint":{"seq":64,"hash":"…","time":"…","key":"…","signature":"…"}}
//! {"end":{"records":2,"head":"…"}}
//! ```
//!
//! A body that is no JSON any more, because someone changed it in the store, is exported as a text (`body_text`).

use std::io::Write;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::chain::{GENESIS, body_hash};
use crate::entry::{AuditEntry, Labels};
use crate::error::{Result, StoreError};
use crate::filter::AuditFilter;
use crate::store::AuditLog;

pub(crate) const FORMAT: &str = "midrail-audit-export";
pub(crate) const VERSION: u64 = 1;
const PAGE: usize = 256;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportSummary {
    /// Records with their content.
    pub shown: u64,
    /// Records that are there by their hashes only.
    pub withheld: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

pub(crate) fn write<L: AuditLog + ?Sized>(
    log: &L,
    filter: &AuditFilter,
    shown: &dyn Fn(&AuditEntry) -> bool,
    out: &mut dyn Write,
) -> Result<ExportSummary> {
    // INVARIANT: a checkpoint is written together with its record, so a head that is read later is not before it.
    let last_checkpoint = log.last_checkpoint()?;
    let end = log.head()?.map_or(0, |head| head.seq);
    line(out, &json!({"format": FORMAT, "version": VERSION, "keys": log.public_keys()?}).to_string())?;
    let mut done = ExportSummary { shown: 0, withheld: 0, checkpoints: 0 };
    let mut head = GENESIS.to_owned();
    let mut page = AuditFilter { limit: Some(PAGE), ..AuditFilter::default() };
    loop {
        let entries = log.entries(&page)?;
        let checkpoints = log.checkpoints(page.after_seq.unwrap_or(0), PAGE)?;
        for entry in entries.iter().take_while(|entry| entry.seq <= end) {
            let fits = Labels::from_body(&entry.body).map_or(true, |labels| filter.matches(&labels));
            let is_shown = fits && shown(entry);
            line(out, &record_line(entry, is_shown))?;
            *(if is_shown { &mut done.shown } else { &mut done.withheld }) += 1;
            for checkpoint in checkpoints.iter().filter(|checkpoint| checkpoint.seq == entry.seq) {
                line(out, &json!({"checkpoint": checkpoint}).to_string())?;
                done.checkpoints += 1;
            }
            head.clone_from(&entry.hash);
        }
        match entries.last() {
            Some(last) if last.seq < end => page.after_seq = Some(last.seq),
            _ => break,
        }
    }
    if let Some(checkpoint) = last_checkpoint.filter(|checkpoint| checkpoint.seq > end) {
        // The log was cut. The export must not look sound.
        line(out, &json!({"checkpoint": checkpoint}).to_string())?;
        done.checkpoints += 1;
    }
    let records = done.shown + done.withheld;
    line(out, &json!({"end": {"records": records, "head": head}}).to_string())?;
    out.flush().map_err(StoreError::Export)?;
    Ok(done)
}

fn record_line(entry: &AuditEntry, is_shown: bool) -> String {
    let AuditEntry { seq, prev, hash, body, .. } = entry;
    // Hashes are put through JSON as well: in a store that was tampered with they can be any text.
    let (prev, hash) = (json!(prev), json!(hash));
    let is_json =
        || !body.contains('\n') && serde_json::from_str::<&RawValue>(body).is_ok_and(|raw| raw.get() == body);
    let content = match is_shown {
        false => format!("\"body_sha256\":\"{}\"", body_hash(body)),
        true if is_json() => format!("\"body\":{body}"),
        true => format!("\"body_text\":{}", json!(body)),
    };
    format!("{{\"seq\":{seq},\"prev\":{prev},\"hash\":{hash},{content}}}")
}

fn line(out: &mut dyn Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).map_err(StoreError::Export)
}
