//! `midrail audit verify`: whether the log is as it was written.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use midrail::store::{Expect, Verification, verify_export};
use serde_json::{Value, json};

use crate::decision::field;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::{StoreFile, open, quoted};
use crate::output::{Output, Style};

/// Check that the log is as it was written, and name the first record that does not fit.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_VERIFY)]
pub(crate) struct Args {
    /// An export to check in place of the store; `-`: standard input
    #[arg(value_name = "FILE.jsonl", conflicts_with = "store")]
    file: Option<PathBuf>,
    #[command(flatten)]
    store: StoreFile,
    /// A record that must be there, as it was once noted down
    #[arg(long, value_name = "SEQ:HASH", value_parser = head)]
    expect_head: Option<(u64, String)>,
    /// The name of a key that may have signed. Can be given several times [default: every key that the log names]
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
}

fn head(text: &str) -> Result<(u64, String), String> {
    let wrong = || format!("`{text}` is no SEQ:HASH: write the record's number, a colon and its hash");
    let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match seq.parse() {
        Ok(seq) if is_hash => Ok((seq, hash.to_ascii_lowercase())),
        _ => Err(wrong()),
    }
}

pub(super) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    let expect =
        Expect { head: args.expect_head.clone(), keys: (!args.key.is_empty()).then(|| args.key.clone()) };
    let (what, verification) = match &args.file {
        Some(file) if !is_store(file) => {
            let mut input = BufReader::new(open(Some(file))?);
            let verification = verify_export(&mut input, &expect)
                .map_err(|error| Failure::new(format!("could not read {}: {error}", quoted(file))))?;
            (file.clone(), verification)
        }
        file => {
            let named = file.clone().map(|file| StoreFile { store: Some(file), project: None });
            let named = named.as_ref().unwrap_or(&args.store);
            let (path, store) = (named.told()?, named.read_only()?);
            let mut progress = output.progress("verifying record");
            (path, store.verify(&expect, &mut |done, all| progress.show(done, all))?)
        }
    };
    if output.is_json() {
        output.json(&as_json(&verification)?)?;
    } else {
        for line in lines(&what, &verification, output) {
            output.line(line)?;
        }
    }
    Ok(Exit::good_if(verification.is_sound()))
}

/// Whether a file is a store, named where an export was expected.
fn is_store(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = [0; 16];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *MAGIC
}

fn as_json(verification: &Verification) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(verification).map_err(|error| Failure::of(&error))?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("sound".to_owned(), json!(verification.is_sound()));
    }
    Ok(value)
}

/// What was found, for people.
pub(crate) fn lines(what: &Path, verification: &Verification, output: &Output) -> Vec<String> {
    let paint = output.paint();
    let mut lines = Vec::new();
    match &verification.misfit {
        None if verification.records == 0 => lines.push(format!("{} is an empty log", quoted(what))),
        None => {
            lines.push(format!("{} the log fits together: {}", paint.style(Style::Good, "✓"), quoted(what)))
        }
        Some(misfit) => lines.push(format!(
            "{} record {} does not fit: {}",
            paint.style(Style::Bad, "✗"),
            misfit.seq,
            quoted(what)
        )),
    }
    let mut add = |name: &str, text: String| lines.extend(field(name, &text, paint, output.width()));
    if let Some(misfit) = &verification.misfit {
        add("what", misfit.detail.clone());
    }
    let fit = if verification.is_sound() { "" } else { " fit, from the first on" };
    add("records", format!("{}{fit}", verification.records));
    if verification.withheld > 0 {
        add("", format!("{} of them by their hashes alone", verification.withheld));
    }
    if let Some(head) = &verification.head {
        add("head", format!("{}:{}", head.seq, head.hash));
    }
    let signed = match verification.last_checkpoint {
        Some(last) => format!("{}, the last one at record {last}", verification.checkpoints),
        None => verification.checkpoints.to_string(),
    };
    add("signatures", signed);
    if verification.unsigned > 0 {
        add(
            "unsigned",
            format!("{} at the end; note the head to see if they are cut off", verification.unsigned),
        );
    }
    if !verification.keys.is_empty() {
        add("keys", verification.keys.join(", "));
    }
    lines
}
