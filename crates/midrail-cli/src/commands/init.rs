//! `midrail init`: installs hooks into coding agents.

use std::env;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use midrail::pack::diagnostic::visible;
use midrail_adapters::setup::{
    self, Agent, ApplyReport, DiffLine, Environment, FileChange, HookProgram, InstallRequest, InstallScope,
    Plan, SettingsError,
};
use serde_json::{Value, json};

use crate::clock;
use crate::error::{CliError, InvalidValue, count};
use crate::exit::{self, Exit};
use crate::output::Output;
use crate::paint::Style;

/// Install hooks into detected coding agents.
///
/// Registers hooks for every prompt, tool call, result and stop. Detects installed agents, shows the changes, and
/// asks before it writes. Other hooks are not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::INIT)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// The program that agents run [default: this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Mark the hooks as trusted in Codex, by the hashes that Codex reports
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    consent: Consent,
}

/// The agents, and the scope.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// An agent: claude-code, codex, gemini-cli, copilot-cli, cursor or opencode. Can be given several times [default: detected agents]
    #[arg(long = "agent", value_name = "NAME", value_parser = agent)]
    pub(crate) agents: Vec<Agent>,
    /// For this user, in all projects [default: for this project]
    #[arg(long, conflicts_with = "managed")]
    user: bool,
    /// For everyone on this machine, in files that only its administrator writes
    #[arg(long)]
    managed: bool,
    /// The root of the system's files, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

/// Whether files are written.
#[derive(Debug, clap::Args)]
pub(crate) struct Consent {
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    /// Show what would be written, and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

pub(crate) fn agent(name: &str) -> Result<Agent, InvalidValue> {
    Agent::named(name).ok_or_else(|| {
        let names: Vec<&str> = Agent::ALL.into_iter().map(Agent::name).collect();
        InvalidValue(format!("use one of {}", names.join(", ")))
    })
}

impl Which {
    pub(crate) fn scope(&self) -> InstallScope {
        match (self.user, self.managed) {
            (true, _) => InstallScope::User,
            (_, true) => InstallScope::Managed,
            _ => InstallScope::Project,
        }
    }

    pub(crate) fn places(&self) -> Result<Environment, CliError> {
        places(self.root.clone())
    }
}

pub(crate) fn places(root: Option<PathBuf>) -> Result<Environment, CliError> {
    let folder = env::current_dir()
        .map_err(|error| CliError::new(format!("the current directory is unknown: {error}")))?;
    Environment::of(&folder, root).ok_or_else(|| {
        CliError::new("the settings of agents cannot be found: `HOME` is not set")
            .help("set `HOME` to a directory")
    })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let places = args.which.places()?;
    let scope = args.which.scope();
    if scope == InstallScope::Project && places.is_home() {
        return Err(CliError::new(format!(
            "{} is your home directory, not a project: hooks here apply to all your projects",
            shown(&places.project)
        ))
        .help("run `midrail init --user` if you want that, or change to a project directory"));
    }
    let mut agents = args.which.agents.clone();
    if agents.is_empty() {
        agents = Agent::ALL.into_iter().filter(|agent| agent.is_here(&places)).collect();
    }
    if agents.is_empty() {
        return Err(CliError::new("no coding agent was detected")
            .help("name one, such as `midrail init --agent claude-code`"));
    }
    let this = env::current_exe()
        .map_err(|error| CliError::new(format!("the path of this program is unknown: {error}")))?;
    let program = HookProgram::choose(scope, args.program.as_deref(), &this, &places).map_err(failure)?;
    let request = InstallRequest { agents, scope, program };
    let plan = setup::install(&request, &places);
    if !output.is_json() {
        let names: Vec<&str> = request.agents.iter().map(|agent| agent.title()).collect();
        output.line(format!("agents   {}", names.join(", ")))?;
        output.line(format!("for      {}", audience(scope, &places)))?;
        output.line(format!("program  {} ({})", visible(&request.program.name), request.program.why))?;
    }
    let mut outcome = settle(&plan, &places, &args.consent, output)?;
    let is_trusting = args.trust && request.agents.contains(&Agent::Codex) && scope != InstallScope::Managed;
    let is_new = plan.changes.iter().any(|change| change.agent == Some(Agent::Codex));
    if is_trusting && args.consent.dry_run && is_new {
        // Codex can only hash hooks that are written.
        output.note(
            "`--trust` then adds `trusted_hash` for each hook under `[hooks.state]` in Codex's config.toml; Codex reports \
             the hashes after the hooks are written",
        );
    } else if is_trusting && (outcome.is_agreed || args.consent.dry_run) {
        outcome.add(settle(&setup::trust(&places), &places, &args.consent, output)?);
    }
    let remarks: Vec<&(Agent, String)> = plan
        .remarks
        .iter()
        .filter(|(agent, text)| !(*agent == Agent::Codex && args.trust && text.contains("--trust`.")))
        .collect();
    if output.is_json() {
        let remarks: Vec<Value> =
            remarks.iter().map(|(agent, text)| json!({"agent": agent.name(), "text": text})).collect();
        let mut json = outcome.json();
        if let Some(fields) = json.as_object_mut() {
            fields.insert("agents".into(), request.agents.iter().map(|agent| agent.name()).collect());
            fields.insert("scope".into(), scope.word().into());
            fields.insert("program".into(), request.program.name.as_str().into());
            fields.insert("remarks".into(), remarks.into());
        }
        output.json(&json)?;
    } else {
        for (agent, text) in remarks {
            output.line(format!("\n{}: {text}", output.paint().style(Style::Note, agent.title())))?;
        }
        if outcome.is_agreed && outcome.troubles.is_empty() {
            output.line(format!(
                "\n{}",
                output.paint().style(Style::Dim, "Check that it works: midrail doctor")
            ))?;
        }
    }
    Ok(outcome.exit())
}

fn audience(scope: InstallScope, places: &Environment) -> String {
    match scope {
        InstallScope::Project => format!("the project {}", visible(&places.project.display().to_string())),
        InstallScope::User => format!("this user, {}", visible(&places.home.display().to_string())),
        InstallScope::Managed => "everyone on this machine".to_owned(),
    }
}

/// The result of a plan.
pub(crate) struct SetupResult {
    /// Whether the changes were confirmed.
    pub(crate) is_agreed: bool,
    is_refused: bool,
    changes: Vec<Value>,
    done: ApplyReport,
    pub(crate) troubles: Vec<SettingsError>,
}

impl SetupResult {
    fn add(&mut self, other: SetupResult) {
        self.changes.extend(other.changes);
        self.done.written.extend(other.done.written);
        self.done.removed.extend(other.done.removed);
        self.done.backups.extend(other.done.backups);
        self.troubles.extend(other.troubles);
    }

    pub(crate) fn exit(&self) -> Exit {
        Exit::good_if(self.troubles.is_empty() && !self.is_refused)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "changes": self.changes, "written": self.done.written, "removed": self.done.removed,
            "backups": self.done.backups, "troubles": self.troubles,
            "refused": self.is_refused.then_some(NO_TERMINAL),
        })
    }
}

/// Shows a plan, asks for confirmation, and applies it.
pub(crate) fn settle(
    plan: &Plan,
    places: &Environment,
    consent: &Consent,
    output: &mut Output,
) -> Result<SetupResult, CliError> {
    let mut outcome = SetupResult {
        is_agreed: !consent.dry_run,
        is_refused: false,
        changes: plan.changes.iter().map(as_json).collect(),
        done: ApplyReport::default(),
        troubles: plan.troubles.clone(),
    };
    if !output.is_json() {
        for (agent, path) in &plan.settled {
            let good = output.paint().style(Style::Good, "✓");
            output.line(format!("\n{good} {} is up to date ({})", shown(path), agent.title()))?;
        }
        for change in &plan.changes {
            show(change, output)?;
        }
        for trouble in &plan.troubles {
            output.remark(&failure(trouble.clone()));
        }
    }
    if plan.changes.is_empty() {
        if !output.is_json() && plan.troubles.is_empty() {
            output.line("\nnothing to do")?;
        }
        return Ok(outcome);
    }
    if consent.dry_run {
        if !output.is_json() {
            output.line("\nnothing was written (--dry-run)")?;
        }
        return Ok(outcome);
    }
    if !consent.yes && !is_confirmed(plan.changes.len(), output)? {
        outcome.is_agreed = false;
        outcome.is_refused = true;
        return Ok(outcome);
    }
    outcome.done = setup::apply(plan, places, clock::now());
    outcome.troubles.extend(outcome.done.troubles.clone());
    if !output.is_json() {
        output.line("")?;
        let good = output.paint().style(Style::Good, "✓");
        for path in &outcome.done.written {
            output.line(format!("{good} wrote    {}", shown(path)))?;
        }
        for path in &outcome.done.removed {
            output.line(format!("{good} removed  {}", shown(path)))?;
        }
        for path in &outcome.done.backups {
            output.line(output.paint().style(Style::Dim, format!("  copy     {}", shown(path))))?;
        }
        for trouble in &outcome.done.troubles {
            output.remark(&failure(trouble.clone()));
        }
    }
    Ok(outcome)
}

/// The note if no user could confirm the changes.
const NO_TERMINAL: &str =
    "nothing was written, because there is no terminal to ask; use `--yes` to write or `--dry-run` to show";

/// Asks the user to confirm, on a terminal.
fn is_confirmed(changes: usize, output: &mut Output) -> Result<bool, CliError> {
    if output.is_json() || !io::stdin().is_terminal() || !output.is_terminal() {
        output.note(NO_TERMINAL);
        return Ok(false);
    }
    output.text(&format!("\nWrite {}? [y/N] ", count(changes, "file")))?;
    output.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let is_yes = matches!(line.trim(), "y" | "Y" | "yes");
    if !is_yes {
        output.line("nothing was written")?;
    }
    Ok(is_yes)
}

/// The lines shown of a new or removed file.
const BEGINNING: usize = 12;

fn show(change: &FileChange, output: &mut Output) -> Result<(), CliError> {
    let paint = output.paint();
    let what = match (&change.before, &change.after) {
        (None, _) => "new",
        (Some(_), Some(_)) => "changed",
        (Some(_), None) => "removed",
    };
    output.line(format!("\n{} ({what})", paint.style(Style::Strong, shown(&change.path))))?;
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    let lines = setup::diff(before, after);
    // Of a new or removed file, the beginning is shown.
    let is_whole = change.before.is_none() || change.after.is_none();
    let most = if is_whole && !output.is_verbose() { BEGINNING } else { usize::MAX };
    for line in lines.iter().take(most) {
        let text = |line: &str| {
            let line = line.trim_end_matches(['\n', '\r']).replace('\t', "    ");
            visible(&line).into_owned()
        };
        output.line(match line {
            DiffLine::Same(line) => format!("  {}", text(line)),
            DiffLine::Old(line) => paint.style(Style::Bad, format!("- {}", text(line))),
            DiffLine::New(line) => paint.style(Style::Good, format!("+ {}", text(line))),
            DiffLine::Gap => paint.style(Style::Dim, "  …"),
        })?;
    }
    if let Some(more) = lines.len().checked_sub(most).filter(|more| *more > 0) {
        let text = format!("  … {} (--verbose shows all)", count(more, "more line"));
        output.line(paint.style(Style::Dim, text))?;
    }
    Ok(())
}

fn as_json(change: &FileChange) -> Value {
    let lines = setup::diff(
        change.before.as_deref().unwrap_or_default(),
        change.after.as_deref().unwrap_or_default(),
    );
    let added = lines.iter().filter(|line| matches!(line, DiffLine::New(_))).count();
    let taken = lines.iter().filter(|line| matches!(line, DiffLine::Old(_))).count();
    json!({
        "path": change.path, "agent": change.agent.map(Agent::name), "is_new": change.before.is_none(),
        "is_removed": change.after.is_none(), "lines_added": added, "lines_removed": taken,
        "content": change.after,
    })
}

pub(crate) fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// The error of a settings file.
pub(crate) fn failure(trouble: SettingsError) -> CliError {
    let failure = CliError::new(trouble.to_string());
    match trouble.help {
        Some(help) => failure.help(help),
        None => failure,
    }
}
