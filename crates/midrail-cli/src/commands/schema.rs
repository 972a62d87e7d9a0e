//! `midrail schema`: JSON Schemas of packs, events and decisions, and the OpenAPI document of the service.

use std::fs;
use std::path::PathBuf;

use clap::ValueEnum;
use midrail::pack::schema;
use serde_json::json;

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input::quoted;
use crate::output::Output;

/// Print the JSON Schema of packs, events or decisions, or the OpenAPI document of `midrail serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which one
    #[arg(value_name = "WHAT", required_unless_present = "write")]
    what: Option<What>,
    /// Write all of them into this folder, as pack.schema.json, event.schema.json, decision.schema.json and openapi.json, and the types of scripts as guardrails.d.ts
    #[arg(long, value_name = "DIR", conflicts_with = "what")]
    write: Option<PathBuf>,
}

/// The file of the types of scripts.
const TYPES: &str = "guardrails.d.ts";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    Pack,
    Event,
    Decision,
    Openapi,
}

impl What {
    /// The name of the file, and its text.
    fn file(self) -> CliResult<(&'static str, String)> {
        let (name, schema) = match self {
            What::Pack => ("pack.schema.json", schema::pack()),
            What::Event => ("event.schema.json", schema::event()),
            What::Decision => ("decision.schema.json", schema::decision()),
            What::Openapi => {
                let document = midrail_service::openapi();
                ("openapi.json", document.map_err(|error| CliError::from_error(&error))?)
            }
        };
        let text = serde_json::to_string_pretty(&schema).map_err(|error| CliError::from_error(&error))?;
        Ok((name, text + "\n"))
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if let Some(what) = args.what {
        output.text(&what.file()?.1)?;
    }
    if let Some(folder) = &args.write {
        fs::create_dir_all(folder)
            .map_err(|error| CliError::new(format!("could not make {}: {error}", quoted(folder))))?;
        let mut written = Vec::new();
        let schemas = What::value_variants().iter().map(|what| what.file());
        let types = (TYPES, midrail::authoring::TYPES.to_owned());
        for file in schemas.chain([Ok(types)]) {
            let (name, text) = file?;
            let path = folder.join(name);
            fs::write(&path, text)
                .map_err(|error| CliError::new(format!("could not write {}: {error}", quoted(&path))))?;
            written.push(path.display().to_string());
        }
        return output.done(&json!({"written": written}), written.join("\n"));
    }
    Ok(Exit::Good)
}
