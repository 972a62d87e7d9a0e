//! Verifies an export from its bytes alone. [`export`](crate::AuditLog::export) describes the lines.

use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chain::body_hash;
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::export::{FORMAT, VERSION};
use crate::verification::{TrustAnchor, Verification};
use crate::verifier::{Link, Verifier};

/// The maximum length of a line.
const MAX_LINE: u64 = 256 << 20;

/// Why a line of an export cannot be read.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("it is cut off, or too long")]
    Incomplete,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("its format is `{0}`, not `{FORMAT}`")]
    Format(String),
    #[error("its version is {0}, and this program supports version {VERSION}")]
    Version(u64),
    #[error("it must have exactly one of `body`, `body_text`, `body_sha256`")]
    Body,
    #[error("it is not a record, a checkpoint or the end")]
    Kind,
    #[error("it comes after the end")]
    AfterEnd,
}

/// Verifies an export. The result describes any content; an error means that the bytes could not be read.
///
/// The keys come from the export itself, so on its own it shows only that nothing was changed since one of them signed
/// it. Pass the keys that you trust in [`TrustAnchor::keys`].
pub fn verify_export(reader: &mut dyn BufRead, anchor: &TrustAnchor) -> io::Result<Verification> {
    let mut verifier = Verifier::new(anchor, Vec::new());
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
            (1, _) => header(&buffer).map(|keys| verifier.set_keys(keys)),
            (_, None) => line(&mut verifier, &buffer).map(|found| end = found),
            (_, Some(_)) => Err(LineError::AfterEnd),
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
    if end.records == verifier.records() && end.head != verifier.hash() {
        verifier.unreadable("the end has another head than the records".to_owned());
    }
    if end.records < verifier.records() {
        let (listed, found) = (end.records, verifier.records());
        verifier.unreadable(format!("the end lists {listed} records, and there are {found}"));
    }
    Ok(verifier.finish(end.records))
}

/// Reads the public keys from the first line.
fn header(text: &[u8]) -> Result<Vec<PublicKey>, LineError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Header {
        format: String,
        version: u64,
        keys: Vec<PublicKey>,
    }
    let Header { format, version, keys } = parse(text)?;
    if format != FORMAT {
        return Err(LineError::Format(format));
    }
    if version != VERSION {
        return Err(LineError::Version(version));
    }
    Ok(keys)
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
    let Line { seq, prev, hash, body, body_text, body_sha256, checkpoint, end } = parse(text)?;
    match (seq, prev, hash, checkpoint, end) {
        (Some(seq), Some(prev), Some(hash), None, None) => {
            let body_hash = match (body, body_text, body_sha256) {
                (Some(body), None, None) => body_hash(body.get()),
                (None, Some(text), None) => body_hash(&text),
                (None, None, Some(digest)) => {
                    verifier.withheld();
                    digest
                }
                _ => return Err(LineError::Body),
            };
            verifier.link(&Link { seq, prev: &prev, hash: &hash, body_hash, labels: Ok(()) });
            Ok(None)
        }
        (None, None, None, Some(checkpoint), None) => {
            verifier.checkpoint(&checkpoint);
            Ok(None)
        }
        (None, None, None, None, Some(end)) => Ok(Some(end)),
        _ => Err(LineError::Kind),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, LineError> {
    if !text.ends_with(b"\n") {
        return Err(LineError::Incomplete);
    }
    Ok(serde_json::from_slice(text)?)
}
