//! `midrail locks`: files that agents reserve while they work on them.

use std::path::PathBuf;
use std::time::Duration;

use midrail::admin::Lock;
use serde_json::json;

use crate::admin_args::{AdminArgs, ChangedBy, Group};
use crate::error::CliResult;
use crate::output::{Output, short};
use crate::time;

pub(crate) type Args = Group<Command, AdminArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
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
        #[command(flatten)]
        by: ChangedBy,
    },
}

pub(crate) fn run(Group { command, shared: admin }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List => admin.list::<Lock>(output),
        Command::Take { path, agent, session, lasts } => {
            let lock = admin.write_engine()?.admin().take_lock(path, agent, session, *lasts)?;
            let until =
                lock.until.map(|until| format!(" until {}", time::date_time(until))).unwrap_or_default();
            let text = format!("{} is locked for {}{until}", short(&lock.path, 200), short(&lock.actor, 80));
            output.done(&lock, text)
        }
        Command::Release { path, by } => {
            let by = by.name();
            admin.read_engine()?.admin().release_lock(path, &by)?;
            let text = format!("{} is not locked any more", short(&path.to_string_lossy(), 200));
            output.done(&json!({"path": path, "state": "released", "by": by}), text)
        }
    }
}
