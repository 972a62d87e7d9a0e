//! `midrail check`: decides one event, or a stream of them.

mod stream;

pub(crate) use stream::{Lines, tell};

use std::path::PathBuf;
use std::time::Duration;

use midrail::{Decision, Effect, Event};
use midrail_doors::wire::{self, WireError};

use crate::clock;
use crate::decision;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::{self, Packs, StoreFile};
use crate::limits::LimitArgs;
use crate::one_event::{self, InForce, LastEngine};
use crate::output::Output;
use crate::when;

/// Decide one event, or a stream of them, and record the decisions.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_CHECK)]
pub(crate) struct Args {
    /// The event as a JSON object; `-` or nothing: standard input
    #[arg(value_name = "EVENT.json")]
    event: Option<PathBuf>,
    #[command(flatten)]
    packs: Packs,
    #[command(flatten)]
    store: StoreFile,
    /// The folder that paths are resolved against [default: the event's cwd, else this folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Decide a stream: one event a line, one answer each as it comes. The packs are those of this folder, and are read
    /// again when they change
    #[arg(long)]
    stream: bool,
    /// Where a person is asked, wait so long for the answer and decide with it: 500ms, 45s, 10m. Keep it below the
    /// time-out of the host
    #[arg(long, value_name = "DURATION", value_parser = when::duration)]
    wait: Option<Duration>,
}

pub(crate) fn run(args: Args, output: &mut Output) -> Result<Exit, Failure> {
    if args.stream {
        return stream::run(&args, output);
    }
    let mut event = read(&args)?;
    let in_force = one_event::load(&mut event, &args.packs, &args.store, args.root.is_some())?;
    let revision = in_force.loaded.policy.revision().clone();
    match decide(&args, in_force, &mut event) {
        Ok((engine, decision)) => {
            print(&event, &decision, engine.how_to_ask(&decision), output)?;
            // The answer does not wait for notices that are still under way.
            output.flush()?;
            drop(engine);
            Ok(Exit::of(decision.effect))
        }
        // INVARIANT: no record, no allow.
        Err(failure) => {
            let decision = Decision { policy: revision, ..refusal(&failure) };
            print(&event, &decision, None, output)?;
            output.remark(&failure);
            Ok(Exit::of(decision.effect))
        }
    }
}

fn read(args: &Args) -> Result<Event, Failure> {
    let path = args.event.as_deref();
    let event = wire::read_event(&mut *input::open(path)?);
    event.map_err(|error| match (&error, path) {
        (WireError::Io(cause), Some(path)) => {
            Failure::new(format!("could not read {}: {cause}", input::quoted(path)))
        }
        (_, Some(path)) if path.as_os_str() != "-" => Failure::from(error).about(input::quoted(path)),
        _ => error.into(),
    })
}

/// The decision, and the engine that made it.
fn decide(args: &Args, in_force: InForce, event: &mut Event) -> Result<(LastEngine, Decision), Failure> {
    if let Ok(store) = &in_force.store {
        args.limits.limits().apply(event, store, clock::now())?;
    }
    let engine = in_force.engine(args.root.as_deref())?;
    let decision = match args.wait {
        Some(at_most) => engine.try_decide_and_wait(event.clone(), at_most)?,
        None => engine.try_decide(event.clone())?,
    };
    Ok((engine, decision))
}

fn refusal(failure: &Failure) -> Decision {
    Decision {
        effect: Effect::Block,
        by: Some("midrail".into()),
        reason: format!(
            "the decision could not be made and recorded, so this does not happen: {}",
            failure.message()
        ),
        advice: failure.advice().map(str::to_owned),
        ..Decision::default()
    }
}

fn print(
    event: &Event,
    decision: &Decision,
    ask: Option<String>,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.is_json() {
        // Hosts hand the advice to the agent.
        let advice: Vec<String> = decision.advice.clone().into_iter().chain(ask).collect();
        let advice = (!advice.is_empty()).then(|| advice.join(" "));
        return output.json_text(&wire::encode(&Decision { advice, ..decision.clone() }));
    }
    for line in decision::block(event, decision, ask.as_deref(), output) {
        output.line(line)?;
    }
    Ok(())
}
