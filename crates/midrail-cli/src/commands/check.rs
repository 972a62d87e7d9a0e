//! `midrail check`: decides one event, or a stream of them.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use midrail::replay::{ReplayError, next_line};
use midrail::{Decision, Event, EventKind, SqliteStore};
use midrail_adapters::wire::{self, WireError};
use serde_json::{Map, Value, json};

use crate::clock;
use crate::decision;
use crate::error::{CliError, CliResult, InvalidValue};
use crate::event_engine::{self, OneShotEngine, PolicyInForce, refusal, watched};
use crate::exit::{self, Exit};
use crate::input::{self, DamageArgs, PackArgs, StoreArgs};
use crate::limits::LimitArgs;
use crate::output::Output;
use crate::time;

pub(crate) fn run(args: Args, output: &mut Output) -> CliResult {
    if args.stream {
        return run_stream(&args, output);
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

/// Help for a text in place of the file of an event.
const NOT_A_FILE: &str =
    "to check a command, use `--bash COMMAND`; to check another call, use `--tool NAME --args JSON`";

fn read(args: &Args) -> CliResult<Event> {
    if let Some(command) = &args.bash {
        return Ok(Event::before_tool("Bash", json!({"command": command})));
    }
    if let Some(tool) = &args.tool {
        let call = json!({"kind": "before_tool", "tool": {"name": tool, "args": args.args.clone().unwrap_or_default()}});
        return Ok(wire::decode(call.to_string().as_bytes())?);
    }
    let path = args.event.as_deref();
    let event = wire::read_event(&mut *input::open_or(path, NOT_A_FILE)?);
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
    let engine = in_force.engine(args.root.as_deref(), args.damage)?;
    let decision = match args.wait {
        Some(at_most) => engine.approvals().try_decide_and_wait(event.clone(), at_most)?,
        None => engine.try_decide(event.clone())?,
    };
    Ok((engine, decision))
}

/// Decide one event, or a stream of them, and record the decisions.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::CHECK)]
pub(crate) struct Args {
    /// The event as a JSON object; `-` or absent: standard input
    #[arg(value_name = "EVENT.json")]
    event: Option<PathBuf>,
    /// Check a call of `Bash` with this command, in place of an event
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["event", "tool", "stream"])]
    bash: Option<String>,
    /// Check a call of this tool, in place of an event
    #[arg(long, value_name = "NAME", conflicts_with_all = ["event", "stream"])]
    tool: Option<String>,
    /// The arguments of that call as a JSON object [default: none]
    #[arg(long, value_name = "JSON", requires = "tool", value_parser = arguments)]
    args: Option<Map<String, Value>>,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    damage: DamageArgs,
    /// The directory that paths are resolved against [default: the event's cwd, else the current directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArgs,
    /// Decide a stream: one event per line, one answer per event. Uses the packs of the current directory and
    /// reloads them when they change
    #[arg(long)]
    stream: bool,
    /// Wait this long for the answer to an escalation: 500ms, 45s, 10m. Keep it below the timeout of the host
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    wait: Option<Duration>,
}

/// Parses the arguments of a call.
fn arguments(text: &str) -> Result<Map<String, Value>, InvalidValue> {
    let example = r#"expected a JSON object such as '{"path": "a.txt"}'"#;
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(InvalidValue(example.to_owned())),
        Err(error) => Err(InvalidValue(format!("{example}: {error}"))),
    }
}

fn print(event: &Event, decision: &Decision, ask: Option<String>, output: &mut Output) -> CliResult<()> {
    if output.is_json {
        // Hosts show the advice to the agent.
        let advice: Vec<String> = decision.advice.clone().into_iter().chain(ask).collect();
        let advice = (!advice.is_empty()).then(|| advice.join(" "));
        return output.json_text(&wire::encode(&Decision { advice, ..decision.clone() }));
    }
    output.lines(decision::block(event, decision, ask.as_deref(), output))
}

/// How long late answers are awaited after the last event.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

fn run_stream(args: &Args, output: &mut Output) -> CliResult {
    let mut lines = Lines(BufReader::new(input::open(args.event.as_deref())?));
    let store = Arc::new(SqliteStore::open(args.store.path()?)?);
    let here = env::current_dir().ok();
    let (engine, _reloader) = watched(&args.packs, here.clone(), args.root.as_deref(), &store, args.damage)?;

    let here = here.map(|here| here.to_string_lossy().into_owned());
    let limits = args.limits.limits();
    let mut exit = Exit::Good;
    while let Some(line) = lines.next()? {
        let decoded = line.and_then(|line| wire::decode(&line));
        let (event, decision) = match decoded {
            Ok(mut event) => {
                if event.cwd.is_none() && args.root.is_none() {
                    event.cwd.clone_from(&here);
                }
                let decision = match (limits.apply(&mut event, &*store, clock::now()), args.wait) {
                    (Err(error), _) => refusal(&error.into()),
                    (Ok(()), Some(at_most)) => engine.approvals().decide_and_wait(event.clone(), at_most),
                    (Ok(()), None) => engine.decide(event.clone()),
                };
                (event, decision)
            }
            // INVARIANT: every line has an answer, and an invalid line is blocked.
            Err(error) => {
                let failure = CliError::from(error);
                output.remark(&failure);
                (Event::new(EventKind::BeforeTool), refusal(&failure))
            }
        };
        if !decision.effect.allows() {
            exit = Exit::Stopped;
        }
        print(&event, &decision, engine.approvals().guidance(&decision), output)?;
        output.flush()?;
    }
    // Late answers are stored for the next event of the run, in any process.
    if !engine.background().wait_for_late_answers(LAST_ANSWERS) {
        writeln!(io::stderr(), "warning: an external service has not answered, and its answer is lost")?;
    }
    Ok(exit)
}

/// Lines up to the maximum size of an event.
pub(crate) struct Lines<R>(pub(crate) R);

impl<R: BufRead> Lines<R> {
    /// The next line that is not blank. `None`: there is none.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, WireError>>> {
        loop {
            return Ok(Some(match next_line(&mut self.0, 0) {
                Ok(None) => return Ok(None),
                Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
                Ok(Some(line)) => Ok(line),
                Err(ReplayError::Io { source, .. }) => return Err(source),
                Err(_) => Err(WireError::TooLarge),
            }));
        }
    }
}
