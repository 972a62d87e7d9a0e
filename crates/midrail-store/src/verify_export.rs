//! Checks an export from its bytes alone. [`export`](crate::AuditLog::export) tells what the lines are.

use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chain::body_hash;
use crate::checkpoint::{Checkpoint, PublicKey};
use crate::export::{FORMAT, VERSION};
use crate::verifier::{Link, Verifier};
use crate::verify::{TrustAnchor, Verification};

/// The longest line that is read.
const MAX_LINE: u64 = 256 << 20;

/// Checks an export. Whatever the bytes are, the answer tells what was found in them; an error means that they could
/// not be read from where they are.
///
/// The keys come from the export itself, so by itself it shows only that nothing was changed since one of them signed
/// it. Name the keys that you trust in [`TrustAnchor::keys`].
pub fn verify_export(reader: &mut dyn BufRead, expect: &TrustAnchor) -> io::Result<Verification> {
    let mut verifier = Verifier::new(expect, Vec::new());
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
            (1, _) => header(&buffer).map(|keys| verifier.trust(keys)),
            (_, None) => line(&mut verifier, &buffer).map(|found| end = found),
            (_, Some(_)) => Err("it comes after the end".to_owned()),
        };
        if let Err(why) = outcome {
            verifier.unreadable(format!("line {number} cannot be read: {why}"));
            return Ok(verifier.finish(0));
        }
    }
    let Some(end) = end else {
        verifier.unreadable(format!("the export breaks off after line {number}"));
        return Ok(verifier.finish(0));
    };
    if end.records == verifier.records() && end.head != verifier.hash() {
        verifier.unreadable("the end names another head".to_owned());
    }
    if end.records < verifier.records() {
        verifier.unreadable(format!("the end names {} records, and there are more", end.records));
    }
    Ok(verifier.finish(end.records))
}

/// The first line: the public keys.
fn header(text: &[u8]) -> Result<Vec<PublicKey>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Header {
        format: String,
        version: u64,
        keys: Vec<PublicKey>,
    }
    let header: Header = read(text)?;
    if header.format != FORMAT {
        return Err(format!("its format is `{}`, not `{FORMAT}`", header.format));
    }
    if header.version != VERSION {
        return Err(format!("its version is {}, and {VERSION} is known here", header.version));
    }
    Ok(header.keys)
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

/// Any further line. A record or checkpoint that does not fit is noted by the verifier.
fn line(verifier: &mut Verifier<'_>, text: &[u8]) -> Result<Option<End>, String> {
    let Line { seq, prev, hash, body, body_text, body_sha256, checkpoint, end } = read(text)?;
    match (seq, prev, hash, checkpoint, end) {
        (Some(seq), Some(prev), Some(hash), None, None) => {
            let body_hash = match (body, body_text, body_sha256) {
                (Some(body), None, None) => body_hash(body.get()),
                (None, Some(text), None) => body_hash(&text),
                (None, None, Some(digest)) => {
                    verifier.withheld();
                    digest
                }
                _ => return Err("it has not exactly one of `body`, `body_text`, `body_sha256`".to_owned()),
            };
            verifier.link(&Link { seq, prev: &prev, hash: &hash, body_hash, labels: Ok(()) });
            Ok(None)
        }
        (None, None, None, Some(checkpoint), None) => {
            verifier.checkpoint(&checkpoint);
            Ok(None)
        }
        (None, None, None, None, Some(end)) => Ok(Some(end)),
        _ => Err("it is neither a record, nor a checkpoint, nor the end".to_owned()),
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    if !text.ends_with(b"\n") {
        return Err("it is cut off, or too long".to_owned());
    }
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
