//! `midrail key`: the keys that programs show to the service.

use midrail::admin::{KeyRight, KeyScope};
use serde_json::json;

use crate::admin_args::AdminArgs;
use crate::approver_key::{self, OptionalSigner};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::table;

/// Manage the API keys of the service.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    admin: AdminArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a key and print it. It is not stored, and cannot answer for a person
    Add {
        /// The name
        name: String,
        /// A project the key is valid for, or a pattern such as acme/*. Can be given several times
        #[arg(long = "project", value_name = "NAME", default_value = "default")]
        projects: Vec<String>,
        /// An agent the key may act for, or a pattern. Can be given several times [default: all]
        #[arg(long = "agent", value_name = "ID")]
        agents: Vec<String>,
        /// A right: decide, ask or read. Can be given several times
        #[arg(long = "right", value_name = "RIGHT", value_parser = right, default_values = ["decide", "ask"])]
        rights: Vec<KeyRight>,
        /// Requests per minute [default: no limit]
        #[arg(long, value_name = "N")]
        per_minute: Option<u32>,
        #[command(flatten)]
        signer: OptionalSigner,
    },
    /// List all keys, also revoked ones
    List,
    /// Revoke a key
    Revoke {
        /// The id, as `list` shows it
        id: String,
        #[command(flatten)]
        signer: OptionalSigner,
    },
}

fn right(word: &str) -> Result<KeyRight, String> {
    serde_json::from_value(word.into()).map_err(|_| "the rights are decide, ask and read".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::Add { name, projects, agents, rights, per_minute, signer } => {
            let engine = args.admin.write_engine()?;
            let by = signer.signer().map(|signer| approver_key::read(&signer, &engine)).transpose()?;
            let mut rights = rights.clone();
            rights.sort_unstable();
            rights.dedup();
            let agents = Some(agents.clone()).filter(|agents| !agents.is_empty());
            let (name, projects) = (name.clone(), projects.clone());
            let scope = KeyScope { name, projects, agents, rights, per_minute: *per_minute };
            let key = engine.admin().add_api_key(&scope, by.as_ref()).map_err(who_may)?;
            if output.is_json() {
                output.json(&json!({"key": key, "scope": scope}))?;
            } else {
                output.line(&key)?;
                output.line(format!(
                    "This is the key `{}` for {}, shown this once. Programs send it as `Authorization: Bearer KEY`.",
                    short(&scope.name, 60),
                    short(&scope.projects.join(", "), 120)
                ))?;
            }
        }
        Command::List => table::list(&args.admin.list_engine()?.admin().api_keys()?, output)?,
        Command::Revoke { id, signer } => {
            let engine = args.admin.read_engine()?;
            let by = signer.signer().map(|signer| approver_key::read(&signer, &engine)).transpose()?;
            let key = engine.admin().revoke_api_key(id, by.as_ref()).map_err(who_may)?;
            if output.is_json() {
                output.json(&json!(key))?;
            } else {
                output.line(format!("the key `{}` ({}) is revoked", short(&key.scope.name, 60), key.id))?;
            }
        }
    }
    Ok(Exit::Good)
}

fn who_may(error: midrail::EngineError) -> CliError {
    let text = error.to_string();
    let failure = CliError::from(error);
    match text.contains("one of them has to authorise this") {
        true => failure.help("name one with `--as NAME`: an admin, a human operator or the first approver"),
        false => failure,
    }
}
