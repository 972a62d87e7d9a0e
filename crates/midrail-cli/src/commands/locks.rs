//! `midrail locks`: files that agents keep for themselves while they work on them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::admin_args::{self, AdminArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::table;
use crate::time;

/// Manage file locks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    admin: AdminArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List locked files and the agents that hold the locks
    List,
    /// Lock a file for an agent, or renew its lock
    Take {
        /// The file
        path: PathBuf,
        /// The agent
        #[arg(long = "for", value_name = "AGENT")]
        agent: String,
        /// The session of the agent
        #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
        session: String,
        /// For how long
        #[arg(long, value_name = "TIME", default_value = "30m", value_parser = time::parse_span)]
        lasts: Duration,
    },
    /// Release a file, whichever agent has locked it
    Release {
        /// The file
        path: PathBuf,
        /// Who makes the change [default: the current user]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::List => table::list(&args.admin.list_engine()?.admin().locks()?, output)?,
        Command::Take { path, agent, session, lasts } => {
            let engine = args.admin.write_engine()?;
            let lock = engine.admin().take_lock(path, agent, session, *lasts)?;
            if output.is_json() {
                output.json(&lock)?;
            } else {
                let until = lock.until.map(|until| format!(" until {}", time::date_time(until)));
                output.line(format!(
                    "{} is locked for {}{}",
                    short(&lock.path, 200),
                    short(&lock.actor, 80),
                    until.unwrap_or_default()
                ))?;
            }
        }
        Command::Release { path, by } => {
            let engine = args.admin.read_engine()?;
            let by = admin_args::user_name(by.as_deref());
            engine.admin().release_lock(path, &by)?;
            if output.is_json() {
                output.json(&json!({"path": path, "state": "released", "by": by}))?;
            } else {
                output.line(format!("{} is not locked any more", short(&path.to_string_lossy(), 200)))?;
            }
        }
    }
    Ok(Exit::Good)
}
