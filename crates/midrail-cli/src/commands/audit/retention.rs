//! `midrail audit archive`, `erase` and `rotate-key`: keep the log small, erase personal data, and replace the key.

use std::path::PathBuf;

use jiff::Timestamp;
use midrail::admin::Person;
use midrail::{Engine, Load};
use serde_json::json;

use crate::admin_args::{engine, user_name};
use crate::approver_key::OptionalSigner;
use crate::error::{CliError, CliResult, count};
use crate::input::{StoreArgs, quoted};
use crate::output::{Output, short};
use crate::time;

/// Move old records to a compressed file, which `midrail audit verify FILE` verifies without the store.
///
/// The records are removed from the store after the file was written, verified and signed. The chain of the store still
/// verifies, and continues where the file ends.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveArgs {
    /// Move records before this time: 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 90d
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    before: Timestamp,
    /// The file to create, such as audit-2026-11.jsonl.gz
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    signer: OptionalSigner,
}

pub(crate) fn archive(args: &ArchiveArgs, file: &StoreArgs, output: &mut Output) -> CliResult {
    let engine = engine(file.open_existing()?, &Load::default())?;
    let by = authorised(&args.signer, &engine)?;
    match engine.admin().archive(args.before, &args.to, by.as_ref(), &user_name(None))? {
        None => output.done(&json!({"archive": null}), "no records are old enough".to_owned()),
        Some(archive) => {
            let text = format!(
                "{}: {}, {} to {}",
                quoted(&args.to),
                count(archive.records, "record"),
                archive.first,
                archive.through
            );
            output.done(&json!({"archive": archive, "file": args.to}), text)
        }
    }
}

/// Erase the content of all records of a session, and its state.
///
/// The chain still verifies: each record keeps its place, time, session, kind, tool, effect and the hash of its content,
/// with a signature that it was erased on purpose. Files that were archived or exported before are not changed.
#[derive(Debug, clap::Args)]
pub(crate) struct EraseArgs {
    /// The session
    #[arg(long, value_name = "ID")]
    session: String,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    signer: OptionalSigner,
}

pub(crate) fn erase(args: &EraseArgs, file: &StoreArgs, output: &mut Output) -> CliResult {
    let engine = engine(file.open_existing()?, &Load::default())?;
    let by = authorised(&args.signer, &engine)?;
    let erased = engine.admin().erase_session(&args.session, by.as_ref(), &user_name(None), &args.reason)?;
    let text = format!("{} of session {} erased", count(erased, "record"), short(&args.session, 60));
    output.done(&json!({"session": args.session, "erased": erased}), text)
}

/// Replace the key that signs the log.
///
/// The old key signs the change, so the log verifies with the old key and with the new one. Fingerprints of secrets and the
/// keys of approvers stay valid.
#[derive(Debug, clap::Args)]
pub(crate) struct RotateKeyArgs {
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    signer: OptionalSigner,
}

pub(crate) fn rotate_key(args: &RotateKeyArgs, file: &StoreArgs, output: &mut Output) -> CliResult {
    let engine = engine(file.open_existing()?, &Load::default())?;
    let by = authorised(&args.signer, &engine)?;
    let change = engine.admin().rotate_key(by.as_ref(), &user_name(None), &args.reason)?;
    let text = format!("key {} follows key {} after record {}", change.new, change.old, change.seq);
    output.done(&json!({"change": change}), text)
}

/// The approver who authorises the change. A store without approvers needs none.
pub(super) fn authorised(signer: &OptionalSigner, engine: &Engine) -> CliResult<Option<Person>> {
    let by = signer.read(engine)?;
    if by.is_none() && engine.admin().has_approvers()? {
        return Err(CliError::new("the store has approvers: one of them has to authorise this")
            .help("name one with `--as NAME`: a human operator or the first approver"));
    }
    Ok(by)
}
