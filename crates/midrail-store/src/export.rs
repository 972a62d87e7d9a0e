//! The export format of the audit log: JSON lines that can be verified without a store.
//!
//! One JSON object per line, in this order: a header; each record or its stand-in, followed by its checkpoint if it has
//! one; an end. [`chain`](crate::chain) defines the hashes.
//!
//! ```text
//! {"format":"midrail-audit-export","keys":[{"id":"…","public":"…"}],"version":2}
//! {"seq":1,"prev":"…","hash":"…","body":{…},"changes":"…"}         the bytes of the value of `body` are hashed
//! {"seq":2,"prev":"…","hash":"…","body_sha256":"…","changes_sha256":"…"}    a record that the filter excludes
//! {"checkpoint":{"seq":64,"hash":"…","time":"…","key":"…","signature":"…"}}
//! {"end":{"records":2,"head":"…"}}
//! ```
//!
//! A body that is no longer JSON, because the store was tampered with, is exported as a text (`body_text`). Changes are a
//! text (`changes`) or its hash (`changes_sha256`); records of older versions have neither. If earlier records are in an
//! archive, the header has the checkpoint of the last of them (`archived`), and statements about changes of the key are in
//! `key_changes`.

use std::error::Error;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::chain::{body_hash, erased_body};
use crate::checkpoint::{Checkpoint, KeyChange, PublicKey};
use crate::entry::AuditEntry;
use crate::verification::{Link, TrustAnchor, Verification, Verifier};

const FORMAT: &str = "midrail-audit-export";
const VERSION: u64 = 2;

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
    let AuditEntry { seq, prev, hash, body, changes, .. } = entry;
    // Hashes are encoded as JSON, too: in a store that was tampered with they can be any text.
    let (prev, hash) = (json!(prev), json!(hash));
    let is_json =
        || !body.contains('\n') && serde_json::from_str::<&RawValue>(body).is_ok_and(|raw| raw.get() == body);
    let content = if let Some(hash) = erased_body(body) {
        format!("\"body_sha256\":\"{hash}\"")
    } else if !is_shown {
        format!("\"body_sha256\":\"{}\"", body_hash(body))
    } else if is_json() {
        format!("\"body\":{body}")
    } else {
        format!("\"body_text\":{}", json!(body))
    };
    // The names of slices can contain paths, so they are withheld with the record.
    let changes = match changes {
        None => String::new(),
        Some(changes) if is_shown => format!(",\"changes\":{}", json!(changes)),
        Some(changes) => format!(",\"changes_sha256\":\"{}\"", body_hash(changes)),
    };
    format!("{{\"seq\":{seq},\"prev\":{prev},\"hash\":{hash},{content}{changes}}}")
}

/// The maximum length of a line.
const MAX_LINE: u64 = 256 << 20;

/// Why a line of an export cannot be read.
type LineError = Box<dyn Error>;

/// Verifies an export. The result describes any content; an error means that the bytes could not be read.
///
/// The keys come from the export itself, so on its own it shows only that nothing was changed since one of them signed
/// it. Pass the keys that you trust in [`TrustAnchor::keys`].
pub fn verify_export(reader: &mut dyn BufRead, anchor: &TrustAnchor) -> io::Result<Verification> {
    let mut verifier = Verifier::new(anchor, Vec::new(), &[]);
    let mut buffer = Vec::new();
    let mut end = None;
    let mut number = 0;
    loop {
        buffer.clear();
        (&mut *reader).take(MAX_LINE).read_until(b'\n', &mut buffer)?;
        if buffer.is_empty() {
            break;
        }
        number += 1;
        let outcome = match (number, &end) {
            (1, _) => header(&buffer, anchor).map(|started| verifier = started),
            (_, None) => line(&mut verifier, &buffer).map(|found| end = found),
            (_, Some(_)) => Err("it comes after the end".into()),
        };
        if let Err(why) = outcome {
            verifier.unreadable(format!("line {number} cannot be read: {why}"));
            return Ok(verifier.finish(0));
        }
    }
    let Some(end) = end else {
        verifier.unreadable(format!("the export is incomplete: it ends after line {number}"));
        return Ok(verifier.finish(0));
    };
    if end.records == verifier.found.records && end.head != verifier.hash {
        verifier.unreadable("the end has another head than the records".to_owned());
    }
    if end.records < verifier.found.records {
        let (listed, found) = (end.records, verifier.found.records);
        verifier.unreadable(format!("the end lists {listed} records, and there are {found}"));
    }
    let known = verifier.found.archived.saturating_add(end.records);
    Ok(verifier.finish(known))
}

/// The first line. Version 1 had no changes in its records.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    keys: Vec<PublicKey>,
    version: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    key_changes: Vec<KeyChange>,
    /// The checkpoint of the record before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived: Option<Checkpoint>,
}

/// The text of the first line.
pub(crate) fn export_header(
    keys: Vec<PublicKey>,
    key_changes: Vec<KeyChange>,
    archived: Option<&Checkpoint>,
) -> String {
    let header = Header {
        format: FORMAT.to_owned(),
        keys,
        version: VERSION,
        key_changes,
        archived: archived.cloned(),
    };
    json!(header).to_string()
}

/// Reads the first line.
fn header<'a>(text: &[u8], anchor: &'a TrustAnchor) -> Result<Verifier<'a>, LineError> {
    let Header { format, version, keys, key_changes, archived } = parse(text)?;
    if format != FORMAT {
        return Err(format!("its format is `{format}`, not `{FORMAT}`").into());
    }
    if !(1..=VERSION).contains(&version) {
        let problem = format!("its version is {version}, and this program supports versions up to {VERSION}");
        return Err(problem.into());
    }
    let mut verifier = Verifier::new(anchor, keys, &key_changes);
    if let Some(cut) = archived {
        verifier.start_after(&cut);
    }
    Ok(verifier)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    seq: Option<u64>,
    prev: Option<String>,
    hash: Option<String>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    body_text: Option<String>,
    body_sha256: Option<String>,
    changes: Option<String>,
    changes_sha256: Option<String>,
    checkpoint: Option<Checkpoint>,
    end: Option<End>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    records: u64,
    head: String,
}

/// Passes a further line to the verifier, and returns the end if the line is the end.
fn line(verifier: &mut Verifier<'_>, text: &[u8]) -> Result<Option<End>, LineError> {
    let Line { seq, prev, hash, body, body_text, body_sha256, changes, changes_sha256, checkpoint, end } =
        parse(text)?;
    match (seq, prev, hash, checkpoint, end) {
        (Some(seq), Some(prev), Some(hash), None, None) => {
            let body_hash = match (body, body_text, body_sha256) {
                (Some(body), None, None) => body_hash(body.get()),
                (None, Some(text), None) => body_hash(&text),
                (None, None, Some(digest)) => {
                    verifier.withheld();
                    digest
                }
                _ => return Err("it must have exactly one of `body`, `body_text`, `body_sha256`".into()),
            };
            let changes_hash = changes.as_deref().map(self::body_hash).or(changes_sha256);
            verifier.link(&Link { seq, prev: &prev, hash: &hash, body_hash, changes_hash, labels: Ok(()) });
            Ok(None)
        }
        (None, None, None, Some(checkpoint), None) => {
            verifier.checkpoint(&checkpoint);
            Ok(None)
        }
        (None, None, None, None, Some(end)) => Ok(Some(end)),
        _ => Err("it is not a record, a checkpoint or the end".into()),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, LineError> {
    if !text.ends_with(b"\n") {
        return Err("it is cut off, or too long".into());
    }
    Ok(serde_json::from_slice(text)?)
}
