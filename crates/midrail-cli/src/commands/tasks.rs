//! `midrail tasks`: the status of tasks.

use midrail::admin::{TaskState, TaskStatus};
use serde_json::json;

use crate::admin_args::{AdminArgs, ChangedBy, Group};
use crate::error::{CliResult, InvalidValue};
use crate::output::{Output, short};

pub(crate) type Args = Group<Command, AdminArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the tasks that have a status
    List,
    /// Set the status of a task
    Set {
        /// The task
        task: String,
        /// draft, active, suspended, handed_off or completed
        #[arg(value_parser = status)]
        status: TaskStatus,
        #[command(flatten)]
        by: ChangedBy,
    },
}

fn status(word: &str) -> Result<TaskStatus, InvalidValue> {
    let word = word.replace('-', "_");
    let found = TaskStatus::ALL.into_iter().find(|status| status.word() == word);
    found.ok_or_else(|| InvalidValue("use draft, active, suspended, handed_off or completed".to_owned()))
}

pub(crate) fn run(Group { command, shared: admin }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List => admin.list::<TaskState>(output),
        Command::Set { task, status, by } => {
            let by = by.name();
            admin.write_engine()?.admin().set_task(task, *status, &by)?;
            let text = format!("{} is {} now", short(task, 80), status.word());
            output.done(&json!({"task": task, "status": status, "by": by}), text)
        }
    }
}
