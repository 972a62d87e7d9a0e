//! `midrail quarantine`: agents that are kept from further work, and runs that stand still.

use midrail::{Halted, Quarantined};
use serde_json::json;

use crate::desk::{self, Desk};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key::{self, Signer};
use crate::output::{Output, short};
use crate::table::{self, cell};

/// Agents that are kept from further work, and halted runs: list, add, lift.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    desk: Desk,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List them, and the runs that were halted, with the reason
    List,
    /// Keep an agent from further work
    Add {
        /// The agent, or session:ID where it has no name
        actor: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Who says so [default: the user of this process]
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Let an agent work again, or a halted run go on; it takes the key of a supervisor
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

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::List => {
            let engine = args.desk.to_list()?;
            list(&engine.quarantined()?, &engine.halted()?, output)?;
        }
        Verb::Add { actor, reason, by } => {
            let engine = args.desk.to_change()?;
            let by = desk::someone(by.as_deref());
            engine.quarantine(actor, &by, reason_of(reason)?)?;
            tell("quarantined", actor, &by, output)?;
        }
        Verb::Lift { actor, run, reason, signer } => {
            let engine = args.desk.to_look()?;
            let reason = reason_of(reason)?;
            let person = key::ask(signer, &engine)?;
            let who = match (run, actor) {
                (Some(session), _) => {
                    engine.lift_halt(session, &person, reason)?;
                    session
                }
                (None, actor) => {
                    let actor = actor.as_deref().unwrap_or_default();
                    engine.lift_quarantine(actor, &person, reason)?;
                    actor
                }
            };
            tell("lifted", who, person.name(), output)?;
        }
    }
    Ok(Exit::Good)
}

fn reason_of(reason: &str) -> Result<&str, Failure> {
    let reason = reason.trim();
    match reason {
        "" => Err(Failure::new("a reason is needed").help("say why with `--reason TEXT`")),
        reason => Ok(reason),
    }
}

fn tell(state: &str, actor: &str, by: &str, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(&json!({"actor": actor, "state": state, "by": by}));
    }
    let actor = short(actor, 80).into_owned();
    output.line(match state {
        "lifted" => format!("{actor} may work again"),
        _ => format!("{actor} is kept from further work"),
    })
}

fn list(held: &[Quarantined], halted: &[Halted], output: &mut Output) -> Result<(), Failure> {
    let cells = |Quarantined { actor, reason, since }: &Quarantined| {
        let since = desk::moment(since.as_deref().unwrap_or_default());
        vec![cell(short(actor, 48)), cell(since), cell(short(reason, 200))]
    };
    let heads = ["agent", "since", "reason"];
    if !held.is_empty() || halted.is_empty() {
        let nothing = "no agent is quarantined, and no run is halted";
        table::print(held, &heads, nothing, cells, table::as_it_is, output)?;
    }
    if halted.is_empty() {
        return Ok(());
    }
    if !held.is_empty() && !output.is_json() {
        output.line("")?;
    }
    let cells = |Halted { session, by, reason, denied }: &Halted| {
        let by = if *denied { format!("{by}, denied") } else { by.clone() };
        vec![cell(short(session, 48)), cell(short(&by, 40)), cell(short(reason, 200))]
    };
    table::print(halted, &["halted run", "by", "reason"], "", cells, table::as_it_is, output)?;
    if output.is_json() {
        return Ok(());
    }
    output.line("a supervisor lets one go on: midrail quarantine lift --run SESSION --as NAME --reason TEXT")
}
