//! `midrail locks`: files that agents keep for themselves while they work on them.

use std::path::PathBuf;
use std::time::Duration;

use midrail::Lock;
use serde_json::json;

use crate::desk::{self, Desk};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, short};
use crate::table::{self, cell};
use crate::when;

/// Files that are locked: list, take, release.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    desk: Desk,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the files that are locked now, and by whom
    List,
    /// Lock a file for an agent, or renew its lock
    Take {
        /// The file
        path: PathBuf,
        /// The agent
        #[arg(long = "for", value_name = "AGENT")]
        agent: String,
        /// The session that it works in
        #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
        session: String,
        /// For how long
        #[arg(long, value_name = "TIME", default_value = "30m", value_parser = when::lasts)]
        lasts: Duration,
    },
    /// Release a file, whoever has locked it
    Release {
        /// The file
        path: PathBuf,
        /// Who says so [default: the user of this process]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => list(&args.desk.to_list()?.locks()?, output)?,
        Verb::Take { path, agent, session, lasts } => {
            let engine = args.desk.to_change()?;
            let lock = engine.take_lock(path, agent, session, *lasts)?;
            if output.is_json() {
                output.json(&lock)?;
            } else {
                let until = lock.until.map(|until| format!(" until {}", when::full(until)));
                output.line(format!(
                    "{} is locked for {}{}",
                    short(&lock.path, 200),
                    short(&lock.actor, 80),
                    until.unwrap_or_default()
                ))?;
            }
        }
        Verb::Release { path, by } => {
            let engine = args.desk.to_look()?;
            let by = desk::someone(by.as_deref());
            engine.release_lock(path, &by)?;
            if output.is_json() {
                output.json(&json!({"path": path, "state": "released", "by": by}))?;
            } else {
                output.line(format!("{} is free", short(&path.to_string_lossy(), 200)))?;
            }
        }
    }
    Ok(Exit::Good)
}

fn list(locks: &[Lock], output: &mut Output) -> Result<(), Failure> {
    let cells = |lock: &Lock| {
        vec![
            cell(short(&lock.path, 100)),
            cell(short(&lock.actor, 40)),
            cell(short(&lock.session, 20)),
            cell(short(lock.task.as_deref().unwrap_or_default(), 20)),
            cell(lock.until.map_or("it is released".to_owned(), when::full)),
        ]
    };
    let heads = ["file", "agent", "session", "task", "until"];
    table::print(locks, &heads, "no file is locked", cells, table::as_it_is, output)
}
