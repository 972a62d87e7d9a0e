//! `midrail tasks`: how far tasks have come.

use midrail::{TaskState, TaskStatus};
use serde_json::json;

use crate::desk::{self, Desk};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Output, short};
use crate::table::{self, cell};

/// How far tasks have come: list, set.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    desk: Desk,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the tasks whose status somebody set
    List,
    /// Set how far a task has come
    Set {
        /// The task
        task: String,
        /// draft, active, suspended, handed_off or completed
        #[arg(value_parser = status)]
        status: TaskStatus,
        /// Who says so [default: the user of this process]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
}

fn status(word: &str) -> Result<TaskStatus, String> {
    let spelled = word.replace('-', "_");
    TaskStatus::ALL
        .into_iter()
        .find(|status| status.word() == spelled)
        .ok_or_else(|| "write draft, active, suspended, handed_off or completed".to_owned())
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => list(&args.desk.to_list()?.tasks()?, output)?,
        Verb::Set { task, status, by } => {
            let engine = args.desk.to_change()?;
            let by = desk::someone(by.as_deref());
            engine.set_task(task, *status, &by)?;
            if output.is_json() {
                output.json(&json!({"task": task, "status": status, "by": by}))?;
            } else {
                output.line(format!("{} is {} now", short(task, 80), status.word()))?;
            }
        }
    }
    Ok(Exit::Good)
}

fn list(tasks: &[TaskState], output: &mut Output) -> Result<(), Failure> {
    let cells = |TaskState { task, status, since, by }: &TaskState| {
        vec![
            cell(short(task, 60)),
            cell(status.word()),
            cell(desk::moment(since.as_deref().unwrap_or_default())),
            cell(short(by.as_deref().unwrap_or_default(), 40)),
        ]
    };
    let heads = ["task", "status", "since", "by"];
    table::print(tasks, &heads, "no task has a status", cells, table::as_it_is, output)
}
