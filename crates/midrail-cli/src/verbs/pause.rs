//! `midrail pause`: a person lets guardrails speak without consequence for a while.

use std::path::PathBuf;
use std::time::Duration;

use midrail::{Engine, Pause, places};
use serde_json::json;

use crate::desk::{self, Desk};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key::{self, MaybeSigner};
use crate::output::{Output, Style, short};
use crate::when;

/// Let guardrails speak without consequence for a while; alone: show whether they do.
///
/// For people: it takes the key of an approver. Everything is decided and recorded as before, and what would have been
/// stopped goes on. Self-protection and the other always-on built-ins stay enforced. It ends by itself.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how long: 10m, 1h at most
    #[arg(value_name = "TIME", value_parser = when::lasts, requires_all = ["reason", "signer"])]
    lasts: Option<Duration>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    who: MaybeSigner,
    /// The folder of the project [default: that of this folder's `.midrail`, else this folder]
    #[arg(long, value_name = "DIR", conflicts_with = "everywhere")]
    project: Option<PathBuf>,
    /// Every project of the store
    #[arg(long)]
    everywhere: bool,
    /// End the pause now. It takes no key
    #[arg(long, conflicts_with = "lasts")]
    end: bool,
    #[command(flatten)]
    desk: Desk,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    if args.end {
        let engine = args.desk.to_look()?;
        let by = args.who.signer().map(|signer| signer.name);
        let ended = engine.end_pause(args.folder()?.as_deref(), &desk::someone(by.as_deref()))?;
        if output.is_json() {
            output.json(&json!({"ended": ended}))?;
        } else {
            output.line(format!("{} is enforced again", project(&ended)))?;
        }
        return Ok(Exit::Good);
    }
    let (Some(lasts), Some(signer)) = (args.lasts, args.who.signer()) else {
        return show(&args.desk.to_list()?, output);
    };
    let engine = args.desk.to_change()?;
    if !engine.has_approvers()? {
        return Err(Failure::new("nobody may pause guardrails: there is no approver")
            .help("a person adds themselves first: `midrail approver add NAME --role human_operator`"));
    }
    let person = key::ask(&signer, &engine)?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let pause = engine.pause(args.folder()?.as_deref(), lasts, &person, reason)?;
    if output.is_json() {
        output.json(&pause)?;
        return Ok(Exit::Good);
    }
    output.line(line(&pause, engine.now(), output))?;
    let everywhere = if args.everywhere { " --everywhere" } else { "" };
    output.line(output.paint().style(
        Style::Dim,
        format!(
            "  what would be stopped goes on and is recorded; self-protection and the built-ins stay on\n  \
             `midrail pause --end{everywhere}` ends it, `midrail shadow report` shows what was let pass"
        ),
    ))?;
    Ok(Exit::Good)
}

impl Args {
    /// The project that is meant. `None`: all of them.
    fn folder(&self) -> Result<Option<PathBuf>, Failure> {
        if self.everywhere {
            return Ok(None);
        }
        if let Some(folder) = &self.project {
            let whole = folder.canonicalize().ok().filter(|folder| folder.is_dir());
            return whole.map(Some).ok_or_else(|| {
                Failure::new(format!("{} is no folder", crate::input::quoted(folder)))
                    .help("`--project` is the folder that the agents work in")
            });
        }
        let here = std::env::current_dir()
            .map_err(|error| Failure::of(&error).help("name a project with `--project DIR`"))?;
        Ok(Some(places::project(&here).unwrap_or(here)))
    }
}

fn show(engine: &Engine, output: &mut Output) -> Result<Exit, Failure> {
    let pauses = engine.pauses()?;
    if output.is_json() {
        output.json(&json!({"pauses": pauses}))?;
        return Ok(Exit::Good);
    }
    if pauses.is_empty() {
        output.line("nothing is paused")?;
    }
    for pause in &pauses {
        let text = line(pause, engine.now(), output);
        output.line(text)?;
    }
    Ok(Exit::Good)
}

/// A pause in a line.
pub(crate) fn line(pause: &Pause, now: jiff::Timestamp, output: &Output) -> String {
    let head = output.paint().style(Style::Caution, format!("‖ {} is paused", project(pause)));
    format!(
        "{head} until {} ({} left), by {}: {}",
        when::full(pause.until),
        when::between(now, pause.until),
        short(&pause.by, 60),
        short(&pause.reason, 200)
    )
}

fn project(pause: &Pause) -> String {
    pause
        .project
        .as_deref()
        .map_or_else(|| "every project".to_owned(), |folder| short(folder, 200).into_owned())
}
