//! `midrail key`: the API keys of programs.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use midrail::admin::{ApiKey, KeyRight, KeyScope};
use serde_json::json;

use crate::admin_args::{AdminArgs, Group};
use crate::approver_key::OptionalSigner;
use crate::error::{CliError, CliResult};
use crate::output::{Output, short};

pub(crate) type Args = Group<Command, AdminArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
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
        #[arg(long = "right", value_name = "RIGHT", value_parser = right(), default_values = ["decide", "ask"])]
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

/// Parses a right.
fn right() -> impl TypedValueParser<Value = KeyRight> {
    const RIGHTS: [KeyRight; 3] = [KeyRight::Decide, KeyRight::Ask, KeyRight::Read];
    PossibleValuesParser::new(RIGHTS.map(KeyRight::word))
        .map(|word| RIGHTS.into_iter().find(|right| right.word() == word).unwrap_or(KeyRight::Decide))
}

pub(crate) fn run(Group { command, shared: admin }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::Add { name, projects, agents, rights, per_minute, signer } => {
            let engine = admin.write_engine()?;
            let by = signer.read(&engine)?;
            let mut rights = rights.clone();
            rights.sort_unstable();
            rights.dedup();
            let agents = Some(agents.clone()).filter(|agents| !agents.is_empty());
            let (name, projects) = (name.clone(), projects.clone());
            let scope = KeyScope { name, projects, agents, rights, per_minute: *per_minute };
            let key = engine.admin().add_api_key(&scope, by.as_ref()).map_err(with_advice)?;
            let (name, projects) = (short(&scope.name, 60), scope.projects.join(", "));
            let text = format!(
                "{key}\nThis is the key `{name}` for {}, shown this once. Programs send it as \
                 `Authorization: Bearer KEY`.",
                short(&projects, 120)
            );
            output.done(&json!({"key": key, "scope": scope}), text)
        }
        Command::List => admin.list::<ApiKey>(output),
        Command::Revoke { id, signer } => {
            let engine = admin.read_engine()?;
            let by = signer.read(&engine)?;
            let key = engine.admin().revoke_api_key(id, by.as_ref()).map_err(with_advice)?;
            let text = format!("the key `{}` ({}) is revoked", short(&key.scope.name, 60), key.id);
            output.done(&key, text)
        }
    }
}

fn with_advice(error: midrail::EngineError) -> CliError {
    let needs_signer = error.to_string().contains("one of them has to authorise this");
    let advice = "name one with `--as NAME`: an admin, a human operator or the first approver";
    CliError::from(error).maybe_help(needs_signer.then_some(advice))
}
