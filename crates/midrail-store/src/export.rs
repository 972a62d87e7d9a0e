//! The export format of the audit log: JSON lines that can be verified without a store.
//!
//! One JSON object per line, in this order: a header; each record or its stand-in, followed by its checkpoint if it has
//! one; an end. [`chain`](crate::chain) defines the hashes.
//!
//! ```text
//! {"format":"midrail-audit-export","keys":[{"id":"…","public":"…"}],"version":1}
//! {"seq":1,"prev":"…","hash":"…","body":{…}}            the bytes of the value of `body` are hashed
//! {"seq":2,"prev":"…","hash":"…","body_sha256":"…"}     a record that the filter excludes
//! {"checkpoint":{"seq":64,"hash":"…","time":"…","key":"…","signature":"…"}}
//! {"end":{"records":2,"head":"…"}}
//! ```
//!
//! A body that is no longer JSON, because the store was tampered with, is exported as a text (`body_text`).

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::chain::body_hash;
use crate::entry::AuditEntry;

pub(crate) const FORMAT: &str = "midrail-audit-export";
pub(crate) const VERSION: u64 = 1;

/// What an export contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportSummary {
    /// Records with their content.
    pub shown: u64,
    /// Records that are represented by their hashes only.
    pub withheld: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

/// The line of a record.
pub(crate) fn record_line(entry: &AuditEntry, is_shown: bool) -> String {
    let AuditEntry { seq, prev, hash, body, .. } = entry;
    // Hashes are encoded as JSON, too: in a store that was tampered with they can be any text.
    let (prev, hash) = (json!(prev), json!(hash));
    let is_json =
        || !body.contains('\n') && serde_json::from_str::<&RawValue>(body).is_ok_and(|raw| raw.get() == body);
    let content = if !is_shown {
        format!("\"body_sha256\":\"{}\"", body_hash(body))
    } else if is_json() {
        format!("\"body\":{body}")
    } else {
        format!("\"body_text\":{}", json!(body))
    };
    format!("{{\"seq\":{seq},\"prev\":{prev},\"hash\":{hash},{content}}}")
}
