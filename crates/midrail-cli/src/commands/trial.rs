//! `midrail try`: starts a coding agent with hooks for one run.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;

use midrail::core::Record;
use midrail::guardrails::label;
use midrail::replay::{ReplayReport, ReportBuilder};
use midrail::store::AuditFilter;
use midrail::{Decision, Effect, Store};
use midrail_adapters::host::HostSpec;
use midrail_adapters::hosts;
use midrail_adapters::setup::{self, Environment, Trial};
use midrail_service::StopSignals;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::{CliError, CliResult, InvalidValue, count};
use crate::exit::{self, Exit};
use crate::input::{StoreArgs, quoted};
use crate::output::{Output, short};
use crate::paint::{Style, effect_style};

/// Records that are read at a time.
const PAGE: usize = 256;

/// Try a coding agent under Midrail for one run: nothing is installed.
///
/// Starts the agent with Midrail's hooks, with the packs that apply here. At its end it shows what was stopped, what was made without a
/// question, and what ran in a sandbox.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::TRY)]
pub(crate) struct Args {
    /// The coding agent: `claude`, `copilot`, `gemini` or `opencode`
    #[arg(value_name = "AGENT", value_parser = agent)]
    agent: &'static HostSpec,
    /// Its arguments
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
    #[command(flatten)]
    store: StoreArgs,
}

/// An agent by the name of its program, or by its own name.
fn agent(name: &str) -> Result<&'static HostSpec, InvalidValue> {
    let by_program = hosts::ALL.iter().find(|host| host.programs.contains(&name));
    by_program.or_else(|| hosts::find(name)).ok_or_else(|| {
        let names: Vec<&str> = hosts::ALL.iter().filter_map(|host| host.programs.first().copied()).collect();
        InvalidValue(format!("there is no such agent; known are {}", names.join(", ")))
    })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let host = args.agent;
    let here = env::current_dir()?;
    let places = Environment::detect(&here, None).ok_or_else(|| CliError::new("this user has no home"))?;
    if let Some((_, _, path)) = setup::registered(&[host], &places).first() {
        let message = format!("{} already has Midrail's hooks, in {}", host.title, quoted(path));
        return Err(CliError::new(message)
            .help(format!("start `{}` as usual", host.programs.first().unwrap_or(&host.name))));
    }
    let folder = TrialFolder::new(&places.state)?;
    let program = env::current_exe()?.display().to_string();
    let trial = setup::trial(host, &folder.0, &program, &places).map_err(|error| CliError::from(&error))?;
    for (path, text) in &trial.files {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    let store = args.store.open_or_create()?;
    let first = store.head()?.map_or(0, |head| head.seq);
    output.note(&format!("{} runs with Midrail's hooks; they are installed nowhere", host.title));
    let mut child = start(&trial, args)?;
    let exit = Exit::from_status(child.wait()?);
    let report = gather(&*store, host, first)?;
    show(&report, host, output)?;
    // Protection that is absent is an error.
    Ok(if report.events == 0 { Exit::Failed } else { exit })
}

/// A folder of one run among Midrail's own files, which agents cannot change. It is removed at the end.
struct TrialFolder(PathBuf);

impl TrialFolder {
    fn new(state: &Path) -> CliResult<Self> {
        let folder = state.join("trials").join(std::process::id().to_string());
        fs::create_dir_all(&folder)?;
        Ok(TrialFolder(folder))
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            log::warn!(error:%; "the folder of the trial could not be removed");
        }
    }
}

/// Starts the agent. A signal that ends this program ends the agent first, so that the report follows.
fn start(trial: &Trial, args: &Args) -> CliResult<Child> {
    let signals = StopSignals::listen()?;
    let child = Command::new(&trial.program)
        .args(&trial.args)
        .args(&args.args)
        .envs(trial.env.iter().map(|(name, value)| (name, value)))
        .spawn()
        .map_err(|error| {
            CliError::new(format!("{} could not be started: {error}", quoted(&trial.program)))
        })?;
    let id = Pid::from_child(&child);
    let pass_on = move || {
        let number = signals.wait();
        // A terminal has sent it to the agent as well.
        if number != Signal::INT.as_raw() {
            let _ = kill_process(id, Signal::TERM);
        }
    };
    thread::Builder::new().name("midrail-signals".to_owned()).spawn(pass_on)?;
    Ok(child)
}

/// What was decided for this agent since a record.
fn gather(store: &dyn Store, host: &HostSpec, first: u64) -> CliResult<ReplayReport> {
    let mut report = ReportBuilder::default();
    let mut last = first;
    loop {
        let filter = AuditFilter { after_seq: Some(last), limit: Some(PAGE), ..AuditFilter::default() };
        let page = store.entries(&filter)?;
        let Some(newest) = page.last() else { return Ok(report.finish()) };
        last = newest.seq;
        for Record { event, decision, .. } in page.iter().filter_map(|entry| entry.record().ok()) {
            if event.host.as_ref().is_some_and(|it| it.name == host.name) {
                // What shadow mode suppressed did not happen.
                report.add(&event, &Decision { would: None, ..decision });
            }
        }
    }
}

fn show(report: &ReplayReport, host: &HostSpec, output: &mut Output) -> CliResult<()> {
    if output.is_json {
        return output.json(report);
    }
    let paint = output.paint;
    if report.events == 0 {
        let text = format!("{} called no hook of Midrail, so this run was not protected", host.title);
        return output.line(format!("\n{}", paint.style(Style::Bad, text)));
    }
    output.line(format!(
        "\n{}",
        paint.style(Style::Strong, format!("Midrail decided {}", count_of(report.calls, "call")))
    ))?;
    let contained = report.effects.get(&Effect::Contain).copied().unwrap_or_default();
    let room = output.width.saturating_sub(9).clamp(30, 200);
    output.line(format!("{:>5}  stopped", report.stopped))?;
    for of in &report.guardrails {
        for example in of.examples.iter().filter(|example| !example.effect.allows()) {
            let what = paint.style(effect_style(example.effect), short(&example.what, room));
            output.line(format!("         {} {what}", example.effect))?;
            let why = format!("{}: {}", label(&of.guardrail), example.reason);
            output.line(paint.style(Style::Dim, format!("           {}", short(&why, room))))?;
        }
    }
    output.line(format!("{:>5}  ran in a sandbox", contained))?;
    output.line(format!("{:>5}  made without a question", report.vouched))?;
    for (grounds, number) in &report.grounds {
        output.line(paint.style(Style::Dim, format!("         {number} × {}", short(grounds, room))))?;
    }
    output.line(
        paint.style(Style::Dim, "`midrail log` shows every decision, `midrail init` installs the hooks"),
    )?;
    Ok(())
}

fn count_of(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}
