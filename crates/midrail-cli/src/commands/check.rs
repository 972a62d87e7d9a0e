//! `midrail check`: decides one event, or a stream of them.

mod answer;
mod stream;

pub(crate) use answer::Args;
pub(crate) use stream::Lines;

use self::answer::print;

use midrail::{Decision, Event};
use midrail_adapters::wire::{self, WireError};

use crate::clock;
use crate::error::{CliError, CliResult};
use crate::event_engine::{self, OneShotEngine, PolicyInForce, refusal};
use crate::exit::Exit;
use crate::input;
use crate::output::Output;

pub(crate) fn run(args: Args, output: &mut Output) -> CliResult {
    if args.stream {
        return stream::run(&args, output);
    }
    let mut event = read(&args)?;
    let in_force = event_engine::load(&mut event, &args.packs, &args.store, args.root.is_some())?;
    let revision = in_force.loaded.policy.revision().clone();
    match decide(&args, in_force, &mut event) {
        Ok((engine, decision)) => {
            print(&event, &decision, engine.approvals().guidance(&decision), output)?;
            // The answer does not wait for notices that are still under way.
            output.flush()?;
            drop(engine);
            Ok(Exit::from_effect(decision.effect))
        }
        // INVARIANT: no record, no allow.
        Err(failure) => {
            let decision = Decision { policy: revision, ..refusal(&failure) };
            print(&event, &decision, None, output)?;
            output.remark(&failure);
            Ok(Exit::from_effect(decision.effect))
        }
    }
}

fn read(args: &Args) -> CliResult<Event> {
    let path = args.event.as_deref();
    let event = wire::read_event(&mut *input::open(path)?);
    event.map_err(|error| match (&error, path) {
        (WireError::Io(cause), Some(path)) => {
            CliError::new(format!("could not read {}: {cause}", input::quoted(path)))
        }
        (_, Some(path)) if path.as_os_str() != "-" => CliError::from(error).about(input::quoted(path)),
        _ => error.into(),
    })
}

/// The decision, and the engine that made it.
fn decide(args: &Args, in_force: PolicyInForce, event: &mut Event) -> CliResult<(OneShotEngine, Decision)> {
    if let Ok(store) = &in_force.store {
        args.limits.limits().apply(event, store, clock::now())?;
    }
    let engine = in_force.engine(args.root.as_deref())?;
    let decision = match args.wait {
        Some(at_most) => engine.approvals().try_decide_and_wait(event.clone(), at_most)?,
        None => engine.try_decide(event.clone())?,
    };
    Ok((engine, decision))
}
