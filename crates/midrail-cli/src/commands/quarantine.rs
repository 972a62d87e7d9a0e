//! `midrail quarantine`: agents that may do nothing, and halted runs.

use midrail::admin::{HaltedRun, QuarantinedAgent};
use serde_json::json;

use crate::admin_args::{AdminArgs, ChangedBy, Group};
use crate::approver_key::{self, Signer};
use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::list::list;
use crate::output::{Output, short};

pub(crate) type Args = Group<Command, AdminArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List quarantined agents and halted runs
    List,
    /// Put an agent in quarantine
    Add {
        /// The agent, or session:ID if it has no id
        actor: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        #[command(flatten)]
        by: ChangedBy,
    },
    /// Lift the quarantine of an agent or the halt of a run; it takes the key of a supervisor
    Lift {
        /// The agent, as `list` shows it
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

pub(crate) fn run(Group { command, shared: admin }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List => {
            let engine = admin.list_engine()?;
            show(&engine.admin().list::<QuarantinedAgent>()?, &engine.admin().list::<HaltedRun>()?, output)
        }
        Command::Add { actor, reason, by } => {
            let by = by.name();
            admin.write_engine()?.admin().quarantine(actor, &by, check_reason(reason)?)?;
            let text = format!("{} is in quarantine", short(actor, 80));
            output.done(&json!({"actor": actor, "state": "quarantined", "by": by}), text)
        }
        Command::Lift { actor, run, reason, signer } => {
            let engine = admin.read_engine()?;
            let reason = check_reason(reason)?;
            let person = approver_key::read(signer, &engine)?;
            let actor = actor.as_deref().unwrap_or_default();
            match run {
                Some(session) => engine.admin().lift_halt(session, &person, reason)?,
                None => engine.admin().lift_quarantine(actor, &person, reason)?,
            }
            let subject = run.as_deref().unwrap_or(actor);
            let text = format!("{} is not in quarantine any more", short(subject, 80));
            output.done(&json!({"actor": subject, "state": "lifted", "by": person.name()}), text)
        }
    }
}

fn check_reason(reason: &str) -> CliResult<&str> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(CliError::new("the reason is empty").help("give one with `--reason TEXT`"));
    }
    Ok(reason)
}

fn show(agents: &[QuarantinedAgent], runs: &[HaltedRun], output: &mut Output) -> CliResult {
    let is_text = !output.is_json;
    if agents.is_empty() && runs.is_empty() && is_text {
        output.line("No agent is in quarantine, and no run is halted.")?;
        return Ok(Exit::Good);
    }
    if !agents.is_empty() {
        list(agents, output)?;
    }
    if !agents.is_empty() && !runs.is_empty() && is_text {
        output.line("")?;
    }
    if !runs.is_empty() {
        list(runs, output)?;
        if is_text {
            output.line(
                "A supervisor lifts a halt: midrail quarantine lift --run SESSION --as NAME --reason TEXT",
            )?;
        }
    }
    Ok(Exit::Good)
}
