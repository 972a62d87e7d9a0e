//! `midrail quarantine`: agents that are kept from further work, and runs that stand still.

use midrail::admin::{HaltedRun, QuarantinedAgent};
use serde_json::json;

use crate::admin_args::{self, AdminArgs};
use crate::approver_key::{self, Signer};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Output, short};
use crate::table;

/// Manage quarantined agents and halted runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    admin: AdminArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List quarantined agents and halted runs
    List,
    /// Put an agent in quarantine
    Add {
        /// The agent, or session:ID where it has no name
        actor: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Who makes the change [default: the current user]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Lift the quarantine of an agent or the halt of a run; it takes the key of a supervisor
    Lift {
        /// The agent, as `list` names it
        #[arg(required_unless_present = "run", conflicts_with = "run")]
        actor: Option<String>,
        /// The session whose run was halted, in place of an agent
        #[arg(long, value_name = "SESSION")]
        run: Option<String>,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        signer: Signer,
    },
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::List => {
            let engine = args.admin.list_engine()?;
            list(&engine.admin().quarantined()?, &engine.admin().halted_runs()?, output)?;
        }
        Command::Add { actor, reason, by } => {
            let engine = args.admin.write_engine()?;
            let by = admin_args::user_name(by.as_deref());
            engine.admin().quarantine(actor, &by, reason_of(reason)?)?;
            tell("quarantined", actor, &by, output)?;
        }
        Command::Lift { actor, run, reason, signer } => {
            let engine = args.admin.read_engine()?;
            let reason = reason_of(reason)?;
            let person = approver_key::read(signer, &engine)?;
            let who = match (run, actor) {
                (Some(session), _) => {
                    engine.admin().lift_halt(session, &person, reason)?;
                    session
                }
                (None, actor) => {
                    let actor = actor.as_deref().unwrap_or_default();
                    engine.admin().lift_quarantine(actor, &person, reason)?;
                    actor
                }
            };
            tell("lifted", who, person.name(), output)?;
        }
    }
    Ok(Exit::Good)
}

fn reason_of(reason: &str) -> Result<&str, CliError> {
    let reason = reason.trim();
    match reason {
        "" => Err(CliError::new("the reason is empty").help("give one with `--reason TEXT`")),
        reason => Ok(reason),
    }
}

fn tell(state: &str, actor: &str, by: &str, output: &mut Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(&json!({"actor": actor, "state": state, "by": by}));
    }
    let actor = short(actor, 80).into_owned();
    output.line(match state {
        "lifted" => format!("{actor} is not in quarantine any more"),
        _ => format!("{actor} is in quarantine"),
    })
}

fn list(agents: &[QuarantinedAgent], runs: &[HaltedRun], output: &mut Output) -> Result<(), CliError> {
    if agents.is_empty() && runs.is_empty() && !output.is_json() {
        return output.line("No agent is in quarantine, and no run is halted.");
    }
    if !agents.is_empty() {
        table::list(agents, output)?;
    }
    if runs.is_empty() {
        return Ok(());
    }
    if !agents.is_empty() && !output.is_json() {
        output.line("")?;
    }
    table::list(runs, output)?;
    if output.is_json() {
        return Ok(());
    }
    output.line("A supervisor lifts a halt: midrail quarantine lift --run SESSION --as NAME --reason TEXT")
}
