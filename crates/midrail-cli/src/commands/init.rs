//! `midrail init`: installs hooks into coding agents, and runs their MCP servers through the proxy.

mod mcp;

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use midrail::pack::diagnostic::visible;
use midrail_adapters::host::HostSpec;
use midrail_adapters::hosts;
use midrail_adapters::mcp_client::McpClient;
use midrail_adapters::setup::{
    self, ApplyReport, CheckResult, CheckStatus, DiffLine, Environment, FileChange, HookProgram,
    HostDiagnosis, InstallRequest, InstallScope, Plan, SettingsError,
};
use serde_json::{Value, json};

use crate::clock;
use crate::error::{CliError, CliResult, count, with_fields};
use crate::exit::{self, Exit};
use crate::output::Output;
use crate::paint::Style;
use crate::recipe;

/// Install hooks into detected coding agents.
///
/// Registers hooks for every prompt, tool call, result and stop, and runs MCP servers through `midrail mcp wrap`, also
/// those of clients without hooks. Detects installed agents, shows the changes, and asks before it writes. Other hooks are
/// not changed.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::INIT)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// The program that agents run [default: this one]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Write a plugin with the hooks to this folder instead, for one agent
    #[arg(long, value_name = "DIR", conflicts_with_all = ["project", "managed", "trust"])]
    plugin: Option<PathBuf>,
    /// Add a recipe of the cookbook to the packs of this project, and change no agent. Can be given several times
    #[arg(long = "recipe", value_name = "NAME", conflicts_with_all = ["plugin", "trust", "managed"])]
    recipes: Vec<String>,
    /// Mark the hooks as trusted in agents that run only trusted hooks
    #[arg(long)]
    trust: bool,
    /// Leave MCP servers as they are
    #[arg(long)]
    hooks_only: bool,
    #[command(flatten)]
    consent: Consent,
}

/// The agents, and the scope.
#[derive(Debug, clap::Args)]
pub(crate) struct Which {
    /// An agent. Can be given several times [default: detected agents]
    #[arg(long = "agent", value_name = "NAME", value_parser = AgentParser)]
    pub(crate) agents: Vec<&'static McpClient>,
    /// For everyone who works on this project [default: for this user, in all projects]
    #[arg(long, conflicts_with = "managed")]
    project: bool,
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

/// Parses the name of a host or client, or the name of a host's program.
#[derive(Debug, Clone)]
pub(crate) struct AgentParser;

impl TypedValueParser for AgentParser {
    type Value = &'static McpClient;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let name = value.to_string_lossy();
        let host = hosts::ALL.iter().find(|host| host.has_name(&name));
        let known = host.map_or(&*name, |host| host.name);
        if let Some(client) = hosts::MCP_CLIENTS.iter().find(|client| client.name == known) {
            return Ok(client);
        }
        let names = PossibleValuesParser::new(hosts::MCP_CLIENTS.iter().map(|client| client.name));
        Err(names
            .parse_ref(command, arg, value)
            .err()
            .unwrap_or_else(|| command.clone().error(ErrorKind::InvalidValue, name)))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(hosts::MCP_CLIENTS.iter().map(|client| PossibleValue::new(client.name))))
    }
}

/// The hosts among agents.
pub(crate) fn hosts_of(agents: &[&'static McpClient]) -> Vec<&'static HostSpec> {
    agents.iter().filter_map(|agent| hosts::find(agent.name)).collect()
}

impl Which {
    pub(crate) fn scope(&self) -> InstallScope {
        match (self.project, self.managed) {
            (true, _) => InstallScope::Project,
            (_, true) => InstallScope::Managed,
            _ => InstallScope::User,
        }
    }

    pub(crate) fn places(&self) -> CliResult<Environment> {
        places(self.root.clone())
    }
}

pub(crate) fn places(root: Option<PathBuf>) -> CliResult<Environment> {
    let folder = env::current_dir()
        .map_err(|error| CliError::new(format!("the current directory is unknown: {error}")))?;
    Environment::detect(&folder, root).ok_or_else(|| {
        CliError::new("the settings of agents are not known: `HOME` is not set")
            .help("set `HOME` to a folder")
    })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if !args.recipes.is_empty() {
        return recipe::add(&args.recipes, args.consent.dry_run, output);
    }
    let places = args.which.places()?;
    if let Some(folder) = &args.plugin {
        return plugin(args, folder, &places, output);
    }
    let scope = args.which.scope();
    if scope == InstallScope::Project && places.is_home() {
        return Err(CliError::new(format!(
            "{} is your home directory, not a project: hooks here apply to all your projects",
            shown(&places.project)
        ))
        .help("run `midrail init` without `--project`, or change to a project first"));
    }
    let mut agents = args.which.agents.clone();
    if agents.is_empty() {
        let is_present = |client: &&McpClient| match hosts::find(client.name) {
            Some(host) => host.is_present(&places),
            None => client.is_present(&places) && !args.hooks_only,
        };
        agents = hosts::MCP_CLIENTS.iter().filter(is_present).collect();
    }
    if agents.is_empty() {
        return Err(CliError::new(
            "no coding agent was detected: none is installed, and no project or user has one set up",
        )
        .help("name one with `midrail init --agent NAME`"));
    }
    let this = env::current_exe()
        .map_err(|error| CliError::new(format!("the path of this program is unknown: {error}")))?;
    let program = HookProgram::choose(scope, args.program.as_deref(), &this, &places)
        .map_err(|error| CliError::from(&error))?;
    let clients = if args.hooks_only { Vec::new() } else { agents.clone() };
    let request = InstallRequest { hosts: hosts_of(&agents), clients, scope, program, trust: args.trust };
    let plan = setup::install(&request, &places);
    if !output.is_json {
        let names: Vec<&str> = agents.iter().map(|agent| agent.title).collect();
        output.line(format!("agents   {}", names.join(", ")))?;
        output.line(format!("for      {}", audience(scope, &places)))?;
        output.line(format!("program  {} ({})", visible(&request.program.name), request.program.reason))?;
    }
    let mut outcome = settle(&plan, &places, &args.consent, output)?;
    let is_trusting = args.trust && scope != InstallScope::Managed;
    let trusting = request.hosts.iter().copied().filter(|host| is_trusting && host.trust_preview().is_some());
    let trusting: Vec<&'static HostSpec> = trusting.collect();
    let is_new = |host: &&'static HostSpec| plan.changes.iter().any(|change| change.host == Some(host.name));
    if let Some(host) = trusting.iter().copied().find(is_new).filter(|_| args.consent.dry_run) {
        // The host cannot hash hooks before they are registered.
        output.note(host.trust_preview().unwrap_or_default());
    } else if !trusting.is_empty() && (outcome.is_agreed || args.consent.dry_run) {
        outcome.add(settle(&setup::trust(&trusting, &places), &places, &args.consent, output)?);
    }
    // The test of what was registered: a host that runs other hooks, or none, is not protected.
    let is_tested = outcome.is_agreed && outcome.errors.is_empty();
    let servers = if is_tested && !args.consent.dry_run {
        mcp::accept_servers(&request.clients, scope, &places).unwrap_or_else(|error| {
            // What they offer waits for a person then.
            output.remark(&error);
            Vec::new()
        })
    } else {
        Vec::new()
    };
    let diagnosis = is_tested.then(|| setup::diagnose(&agents, false, &places));
    let verdicts: Vec<CheckResult> =
        diagnosis.iter().flat_map(|it| &it.hosts).map(HostDiagnosis::verdict).collect();
    outcome.is_unprotected = verdicts.iter().any(|it| it.level == CheckStatus::Bad);
    if output.is_json {
        let remarks: Vec<Value> =
            plan.remarks.iter().map(|(host, text)| json!({"agent": host.name, "text": text})).collect();
        let agents: Vec<&str> = agents.iter().map(|agent| agent.name).collect();
        let servers: Vec<Value> = servers.iter().map(mcp::ProxiedServer::json).collect();
        let program = &request.program.name;
        output.json(&with_fields(
            &outcome.json(),
            json!({"agents": agents, "scope": scope.name(), "program": program, "remarks": remarks, "servers": servers,
                "verdicts": verdicts}),
        ))?;
    } else {
        for (host, text) in &plan.remarks {
            output.line(format!("\n{}: {text}", output.paint.style(Style::Note, host.title)))?;
        }
        mcp::show_servers(&servers, output)?;
        if !verdicts.is_empty() {
            output.line("")?;
        }
        verdicts.iter().try_for_each(|verdict| show_result(verdict, "", output))?;
    }
    Ok(outcome.exit())
}

/// Writes a plugin. It names the program without its path, so that it can be shared.
fn plugin(args: &Args, folder: &Path, places: &Environment, output: &mut Output) -> CliResult {
    let hosts = hosts_of(&args.which.agents);
    let [host] = hosts.as_slice() else {
        return Err(CliError::new("a plugin is for one agent").help("name it with `--agent NAME`"));
    };
    let program = match &args.program {
        Some(path) => path.display().to_string(),
        None => "midrail".to_owned(),
    };
    let folder = std::path::absolute(folder)?;
    let plan = setup::plugin(host, &folder, &program);
    let outcome = settle(&plan, places, &args.consent, output)?;
    if output.is_json {
        output.json(&with_fields(&outcome.json(), json!({"agents": [host.name], "plugin": folder})))?;
        return Ok(outcome.exit());
    }
    for (host, text) in &plan.remarks {
        output.line(format!("\n{}: {text}", output.paint.style(Style::Note, host.title)))?;
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
    is_unprotected: bool,
    changes: Vec<Value>,
    done: ApplyReport,
    pub(crate) errors: Vec<SettingsError>,
}

impl SetupResult {
    fn add(&mut self, other: SetupResult) {
        self.changes.extend(other.changes);
        self.done.written.extend(other.done.written);
        self.done.removed.extend(other.done.removed);
        self.done.backups.extend(other.done.backups);
        self.errors.extend(other.errors);
    }

    pub(crate) fn exit(&self) -> Exit {
        Exit::good_if(self.errors.is_empty() && !self.is_refused && !self.is_unprotected)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "changes": self.changes, "written": self.done.written, "removed": self.done.removed,
            "backups": self.done.backups, "errors": self.errors,
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
) -> CliResult<SetupResult> {
    let mut outcome = SetupResult {
        is_agreed: !consent.dry_run,
        is_refused: false,
        is_unprotected: false,
        changes: plan.changes.iter().map(as_json).collect(),
        done: ApplyReport::default(),
        errors: plan.errors.clone(),
    };
    if !output.is_json {
        for (host, path) in &plan.current {
            let good = output.paint.style(Style::Good, "✓");
            output.line(format!("\n{good} {} is up to date ({})", shown(path), host.title))?;
        }
        for change in &plan.changes {
            show(change, output)?;
        }
        plan.errors.iter().for_each(|error| output.remark(&error.into()));
    }
    if plan.changes.is_empty() {
        if !output.is_json && plan.errors.is_empty() {
            output.line("\nnothing to do")?;
        }
        if !consent.dry_run {
            outcome.errors.extend(setup::apply(plan, places, clock::now()).errors);
        }
        return Ok(outcome);
    }
    if consent.dry_run {
        if !output.is_json {
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
    outcome.errors.extend(outcome.done.errors.clone());
    if !output.is_json {
        output.line("")?;
        let good = output.paint.style(Style::Good, "✓");
        for path in &outcome.done.written {
            output.line(format!("{good} wrote    {}", shown(path)))?;
        }
        for path in &outcome.done.removed {
            output.line(format!("{good} removed  {}", shown(path)))?;
        }
        for path in &outcome.done.backups {
            output.line(output.paint.style(Style::Dim, format!("  backup   {}", shown(path))))?;
        }
        outcome.done.errors.iter().for_each(|error| output.remark(&error.into()));
    }
    Ok(outcome)
}

/// The note if no user could confirm the changes.
const NO_TERMINAL: &str =
    "nothing was written, because there is no terminal to ask; use `--yes` to write or `--dry-run` to show";

/// Asks the user to confirm, on a terminal.
fn is_confirmed(changes: usize, output: &mut Output) -> CliResult<bool> {
    if output.is_json || !io::stdin().is_terminal() || !output.is_terminal {
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

fn show(change: &FileChange, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
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
        "path": change.path, "agent": change.host, "is_new": change.before.is_none(),
        "is_removed": change.after.is_none(), "lines_added": added, "lines_removed": taken,
        "content": change.after,
    })
}

/// Shows a result and how to fix it.
pub(crate) fn show_result(finding: &CheckResult, indent: &str, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    let mark = match finding.level {
        CheckStatus::Good => paint.style(Style::Good, "✓"),
        CheckStatus::Caution => paint.style(Style::Caution, "!"),
        CheckStatus::Bad => paint.style(Style::Bad, "✗"),
    };
    output.line(format!("{indent}{mark} {}", visible(&finding.message)))?;
    if let Some(fix) = &finding.fix {
        output.line(format!("{indent}  {}", paint.style(Style::Dim, visible(fix))))?;
    }
    Ok(())
}

pub(crate) fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

impl From<&SettingsError> for CliError {
    fn from(error: &SettingsError) -> Self {
        CliError::new(error.to_string()).maybe_help(error.help.clone())
    }
}
