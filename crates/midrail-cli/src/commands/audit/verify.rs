//! `midrail audit verify`: whether the log is as it was written.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use midrail::store::{TrustAnchor, Verification, verify_export};
use serde_json::{Value, json};

use crate::decision::field;
use crate::error::{CliError, CliResult, InvalidValue};
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, open, quoted};
use crate::output::Output;
use crate::paint::Style;

/// Verify that the audit log is intact, and report the first record that does not match.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::VERIFY)]
pub(crate) struct Args {
    /// An export to check in place of the store; `-`: standard input
    #[arg(value_name = "FILE.jsonl", conflicts_with = "store")]
    file: Option<PathBuf>,
    /// A record that must be there, as it was once noted down
    #[arg(long, value_name = "SEQ:HASH", value_parser = head)]
    expect_head: Option<(u64, String)>,
    /// The name of a key that may have signed. Can be given several times [default: every key that the log names]
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
}

fn head(text: &str) -> Result<(u64, String), InvalidValue> {
    let wrong = || InvalidValue(format!("`{text}` is not of the form SEQ:HASH"));
    let (seq, hash) = text.split_once(':').ok_or_else(wrong)?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match seq.parse() {
        Ok(seq) if is_hash => Ok((seq, hash.to_ascii_lowercase())),
        _ => Err(wrong()),
    }
}

pub(super) fn run(args: &Args, store: &StoreArgs, output: &mut Output) -> CliResult {
    let expect = TrustAnchor {
        head: args.expect_head.clone(),
        keys: (!args.key.is_empty()).then(|| args.key.clone()),
    };
    let (what, verification) = match &args.file {
        Some(file) if !is_store(file) => {
            let mut input = BufReader::new(open(Some(file))?);
            let verification = verify_export(&mut input, &expect)
                .map_err(|error| CliError::new(format!("could not read {}: {error}", quoted(file))))?;
            (file.clone(), verification)
        }
        file => {
            let named = file.clone().map(|file| StoreArgs { store: Some(file), project: None });
            let named = named.as_ref().unwrap_or(store);
            let (path, store) = (named.display_path()?, named.read_only()?);
            let mut progress = output.progress("verifying record");
            (path, store.verify(&expect, &mut |done, all| progress.show(done, all))?)
        }
    };
    output.show(&as_json(&verification)?, |output| lines(&what, &verification, output))?;
    Ok(Exit::good_if(verification.is_intact()))
}

/// Whether a file is a store, named where an export was expected.
fn is_store(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = [0; 16];
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *MAGIC
}

fn as_json(verification: &Verification) -> CliResult<Value> {
    let mut value = serde_json::to_value(verification).map_err(|error| CliError::from_error(&error))?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("sound".to_owned(), json!(verification.is_intact()));
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
            lines.push(format!("{} the audit log is intact: {}", paint.style(Style::Good, "✓"), quoted(what)))
        }
        Some(misfit) => lines.push(format!(
            "{} record {} does not match: {}",
            paint.style(Style::Bad, "✗"),
            misfit.seq,
            quoted(what)
        )),
    }
    let mut add = |name: &str, text: String| lines.extend(field(name, &text, paint, output.width()));
    if let Some(misfit) = &verification.misfit {
        add("what", misfit.detail.clone());
    }
    let fit = if verification.is_intact() { "" } else { " intact, from the first on" };
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
