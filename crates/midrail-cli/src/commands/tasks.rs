//! `midrail tasks`: how far tasks have come.

use midrail::admin::TaskStatus;
use serde_json::json;

use crate::admin_args::{self, AdminArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::table;

/// Manage the status of tasks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    admin: AdminArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the tasks that have a status
    List,
    /// Set the status of a task
    Set {
        /// The task
        task: String,
        /// draft, active, suspended, handed_off or completed
        #[arg(value_parser = status)]
        status: TaskStatus,
        /// Who makes the change [default: the current user]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

fn status(word: &str) -> Result<TaskStatus, String> {
    let spelled = word.replace('-', "_");
    TaskStatus::ALL
        .into_iter()
        .find(|status| status.word() == spelled)
        .ok_or_else(|| "use draft, active, suspended, handed_off or completed".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::List => table::list(&args.admin.list_engine()?.admin().tasks()?, output)?,
        Command::Set { task, status, by } => {
            let engine = args.admin.write_engine()?;
            let by = admin_args::user_name(by.as_deref());
            engine.admin().set_task(task, *status, &by)?;
            if output.is_json() {
                output.json(&json!({"task": task, "status": status, "by": by}))?;
            } else {
                output.line(format!("{} is {} now", short(task, 80), status.word()))?;
            }
        }
    }
    Ok(Exit::Good)
}
