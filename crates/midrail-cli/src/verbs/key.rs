//! `midrail key`: the keys that programs show to the service.

use midrail::{ApiKey, KeyRight, KeyScope};
use serde_json::json;

use crate::desk::Desk;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key::{self, MaybeSigner};
use crate::output::{Output, Style, short};
use crate::table::{self, cell, styled};
use crate::when;

/// Keys of programs that ask the service: add, list, revoke.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    desk: Desk,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Make a key. It is printed once and kept nowhere. No key can answer for a person
    Add {
        /// What it is called
        name: String,
        /// A project that it is for, or a pattern such as acme/*. Can be given several times
        #[arg(long = "project", value_name = "NAME", default_value = "default")]
        projects: Vec<String>,
        /// An agent that it speaks for, or a pattern. Can be given several times [default: all]
        #[arg(long = "agent", value_name = "ID")]
        agents: Vec<String>,
        /// What it is good for: decide, ask or read. Can be given several times
        #[arg(long = "right", value_name = "RIGHT", value_parser = right, default_values = ["decide", "ask"])]
        rights: Vec<KeyRight>,
        /// Requests a minute that it may make [default: no limit]
        #[arg(long, value_name = "N")]
        per_minute: Option<u32>,
        #[command(flatten)]
        signer: MaybeSigner,
    },
    /// List all keys, and those that are revoked
    List,
    /// Take a key out of use
    Revoke {
        /// Its id, as `list` shows it
        id: String,
        #[command(flatten)]
        signer: MaybeSigner,
    },
}

fn right(word: &str) -> Result<KeyRight, String> {
    serde_json::from_value(word.into()).map_err(|_| "the rights are decide, ask and read".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Add { name, projects, agents, rights, per_minute, signer } => {
            let engine = args.desk.to_change()?;
            let by = signer.signer().map(|signer| key::ask(&signer, &engine)).transpose()?;
            let mut rights = rights.clone();
            rights.sort_unstable();
            rights.dedup();
            let agents = Some(agents.clone()).filter(|agents| !agents.is_empty());
            let (name, projects) = (name.clone(), projects.clone());
            let scope = KeyScope { name, projects, agents, rights, per_minute: *per_minute };
            let key = engine.add_api_key(&scope, by.as_ref()).map_err(who_may)?;
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
        Verb::List => list(&args.desk.to_list()?.api_keys()?, output)?,
        Verb::Revoke { id, signer } => {
            let engine = args.desk.to_look()?;
            let by = signer.signer().map(|signer| key::ask(&signer, &engine)).transpose()?;
            let key = engine.revoke_api_key(id, by.as_ref()).map_err(who_may)?;
            if output.is_json() {
                output.json(&json!(key))?;
            } else {
                output.line(format!(
                    "the key `{}` ({}) is good for nothing any more",
                    short(&key.scope.name, 60),
                    key.id
                ))?;
            }
        }
    }
    Ok(Exit::Good)
}

fn who_may(error: midrail::EngineError) -> Failure {
    let text = error.to_string();
    let failure = Failure::from(error);
    match text.contains("one of them has to say so") {
        true => failure.help("name one with `--as NAME`: an admin, a human operator, or whoever was first; their key is asked for"),
        false => failure,
    }
}

fn list(keys: &[ApiKey], output: &mut Output) -> Result<(), Failure> {
    let cells = |key: &ApiKey| {
        let style = |text: String| match key.revoked {
            Some(_) => styled(text, Style::Dim),
            None => cell(text),
        };
        let rights: Vec<String> =
            key.scope.rights.iter().map(|right| format!("{right:?}").to_lowercase()).collect();
        let agents = key.scope.agents.as_ref().map_or_else(|| "all".to_owned(), |agents| agents.join(", "));
        let state = match key.revoked {
            Some(time) => format!("revoked {}", when::full(time)),
            None => key.scope.per_minute.map_or_else(String::new, |limit| format!("{limit} a minute")),
        };
        vec![
            style(key.id.clone()),
            style(short(&key.scope.name, 30).into_owned()),
            style(short(&key.scope.projects.join(", "), 40).into_owned()),
            style(short(&agents, 30).into_owned()),
            style(rights.join(", ")),
            styled(when::full(key.created), Style::Dim),
            styled(state, Style::Dim),
        ]
    };
    let heads = ["id", "name", "projects", "agents", "rights", "since", ""];
    let none = "there is no key yet; `midrail key add NAME` makes one";
    table::print(keys, &heads, none, cells, table::as_it_is, output)
}
