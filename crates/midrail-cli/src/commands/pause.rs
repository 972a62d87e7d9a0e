//! `midrail pause`: a person puts guardrails in shadow mode for a limited time.

use std::path::PathBuf;
use std::time::Duration;

use midrail::core::Pause;
use midrail::core::duration::span;
use midrail::{Engine, paths};
use serde_json::json;

use crate::admin_args::{self, AdminArgs};
use crate::approver_key::{self, OptionalSigner};
use crate::error::{CliError, CliResult};
use crate::output::{Output, short};
use crate::paint::Style;
use crate::time;

/// Run guardrails in shadow mode for a limited time, or show current pauses.
///
/// It takes the key of an approver. Calls are still evaluated and recorded, but calls that would be blocked are
/// allowed. Self-protection and the other always-on guardrails stay enforced. A pause ends automatically.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// For how long: 10m, 1h at most
    #[arg(value_name = "TIME", value_parser = time::parse_span, requires_all = ["reason", "signer"])]
    lasts: Option<Duration>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    who: OptionalSigner,
    /// The directory of the project [default: the directory with `.midrail`, else the current directory]
    #[arg(long, value_name = "DIR", conflicts_with = "everywhere")]
    project: Option<PathBuf>,
    /// The directory is on the machine of a service's agents, not on this one
    #[arg(long, requires = "project")]
    remote: bool,
    /// Every project of the store
    #[arg(long)]
    everywhere: bool,
    /// End the pause now. No key is needed
    #[arg(long, conflicts_with = "lasts")]
    end: bool,
    #[command(flatten)]
    admin: AdminArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if args.end {
        let engine = args.admin.read_engine()?;
        let by = args.who.signer().map(|signer| signer.name);
        let ended =
            engine.admin().end_pause(args.folder()?.as_deref(), &admin_args::user_name(by.as_deref()))?;
        return output.done(&json!({"ended": ended}), format!("{} is enforced again", project(&ended)));
    }
    let (Some(lasts), Some(signer)) = (args.lasts, args.who.signer()) else {
        return show(&args.admin.list_engine()?, output);
    };
    let engine = args.admin.write_engine()?;
    if !engine.admin().has_approvers()? {
        return Err(CliError::new("guardrails cannot be paused: there is no approver")
            .help("a person adds themselves first: `midrail approver add NAME --role human_operator`"));
    }
    let person = approver_key::read(&signer, &engine)?;
    let reason = args.reason.as_deref().unwrap_or_default();
    let pause = engine.admin().pause(args.folder()?.as_deref(), lasts, &person, reason)?;
    let everywhere = if args.everywhere { " --everywhere" } else { "" };
    let more = format!(
        "  blocked calls are allowed and recorded; self-protection and the built-ins stay enforced\n  \
         `midrail pause --end{everywhere}` ends it, `midrail shadow report` shows what was allowed"
    );
    let more = output.paint.style(Style::Dim, more);
    output.done(&pause, format!("{}\n{more}", line(&pause, engine.now(), output)))
}

impl Args {
    /// The project that is meant. `None`: all of them.
    fn folder(&self) -> CliResult<Option<PathBuf>> {
        if self.everywhere {
            return Ok(None);
        }
        if let Some(folder) = &self.project {
            let whole = folder.canonicalize().ok().filter(|folder| folder.is_dir());
            // The agents of a service may work on other machines.
            let elsewhere = || Some(folder.clone()).filter(|folder| self.remote && folder.is_absolute());
            return elsewhere().or(whole).map(Some).ok_or_else(|| {
                CliError::new(format!("{} is not a directory", crate::input::quoted(folder))).help(
                    "`--project` is the folder that the agents work in; for a folder on their own machine, give its \
                     absolute path and `--remote`",
                )
            });
        }
        let here = std::env::current_dir()
            .map_err(|error| CliError::from_error(&error).help("name a project with `--project DIR`"))?;
        Ok(Some(paths::project(&here).unwrap_or(here)))
    }
}

fn show(engine: &Engine, output: &mut Output) -> CliResult {
    let pauses = engine.admin().list::<Pause>()?;
    let mut lines: Vec<String> = pauses.iter().map(|pause| line(pause, engine.now(), output)).collect();
    if lines.is_empty() {
        lines.push("no guardrails are paused".to_owned());
    }
    output.done(&json!({"pauses": pauses}), lines.join("\n"))
}

/// A pause in a line.
pub(crate) fn line(pause: &Pause, now: jiff::Timestamp, output: &Output) -> String {
    let head = output.paint.style(Style::Caution, format!("‖ {} is paused", project(pause)));
    format!(
        "{head} until {} ({} left), by {}: {}",
        time::date_time(pause.until),
        span(pause.until.duration_since(now)),
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
