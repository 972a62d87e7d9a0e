//! `midrail export --policy`: the rules of a pack in the format of a coding agent.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use midrail::LoadError;
use midrail::pack::{Layer, PackDocument};
use serde_json::{Map, Value, json};

use crate::commands::import::policy::{find, names, section};
use crate::error::{CliError, CliResult, count, with_fields};
use crate::exit::Exit;
use crate::input::{PackArgs, quoted};
use crate::output::Output;

/// Write the rules of packs as permission rules of a coding agent, as far as it can express them.
///
/// Without `--pack`, the packs of this directory are exported, without the default pack. The report on standard error
/// lists what the coding agent cannot express.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The coding agent
    #[arg(long, value_name = "HOST", value_parser = PossibleValuesParser::new(names()))]
    policy: String,
    #[command(flatten)]
    packs: PackArgs,
    /// Write to this file, which must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE", visible_alias = "write")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let host = find(&args.policy)?;
    let documents = match args.packs.here().documents() {
        Ok(loaded) => loaded.documents,
        Err(LoadError::Problems(reports)) => return Err(CliError::problems(reports)),
        Err(error) => return Err(error.into()),
    };
    let exported = host.policy.export(&joined(&documents)?);
    if let Some(path) = &args.out {
        create(path, &exported.text)?;
    }
    if output.is_json {
        output.json(&with_fields(&exported, json!({"host": host.policy.name})))?;
        return Ok(Exit::Good);
    }
    if args.out.is_none() {
        output.text(&exported.text)?;
    }
    let mut lines = vec![format!("written: {} for {}", count(exported.rules, "rule"), exported.file)];
    for (title, findings) in [("stricter", &exported.stricter), ("cannot be expressed", &exported.left_out)] {
        let findings = findings.iter().map(|finding| (&finding.source, finding.reason.as_str()));
        lines.extend(section(title, &findings.collect::<Vec<_>>()));
    }
    output.report(&lines);
    Ok(Exit::Good)
}

/// The packs as one, without the default pack.
fn joined(documents: &[(Layer, PackDocument)]) -> CliResult<Value> {
    let mut whole: Map<String, Value> = Map::new();
    for (_, document) in documents.iter().filter(|(layer, _)| *layer != Layer::Default) {
        let pack = serde_json::to_value(&document.pack).map_err(|error| CliError::from_error(&error))?;
        merge(&mut whole, pack);
    }
    // The packs that they extend are among the documents.
    whole.remove("extends");
    Ok(Value::Object(whole))
}

/// Adds the lists of a map to those of another. Other values stay.
fn merge(whole: &mut Map<String, Value>, part: Value) {
    let Value::Object(part) = part else { return };
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (None, value) => {
                whole.insert(key, value);
            }
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Object(map)), more @ Value::Object(_)) => merge(map, more),
            _ => {}
        }
    }
}

/// Settings of a host contain more than rules, so a file that exists is never replaced.
fn create(path: &Path, text: &str) -> CliResult<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let failed = CliError::new(format!("could not write {}: {error}", quoted(path)));
        let exists = error.kind() == std::io::ErrorKind::AlreadyExists;
        failed.maybe_help(exists.then_some("name a new file, and add its rules to this one"))
    })
}
