//! `midrail doctor`: checks that the coding agents on this machine are protected.

use std::path::{Path, PathBuf};
use std::{env, fmt, fs, io};

use midrail::pack::diagnostic::visible;
use midrail::preflight::{PreflightCheck, TaskPlan, preflight};
use midrail_adapters::mcp_client::McpClient;
use midrail_adapters::setup::{self, CheckResult, CheckStatus, HostDiagnosis};
use midrail_sandbox::Layers;
use serde_json::{Value, json};

use super::{init, run};
use crate::error::{CliError, CliResult};
use crate::exit::{self, Exit};
use crate::input::{self, PackArgs};
use crate::output::Output;
use crate::paint::Style;

/// Check that the coding agents on this machine are protected, and suggest fixes.
///
/// Checks that hooks are registered, enabled, trusted and responding. Runs each registered command with a call that
/// must be blocked and with one that must be allowed, in a temporary state directory. Lists the MCP servers that do not
/// run through `midrail mcp wrap`, with the reason, and what enforces the sandbox of contained commands; these do not
/// change the exit code.
///
/// With `--task`, it checks a task instead, before it starts: whether its files are in its scope, its budgets are large
/// enough, and its tools are allowed.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::DOCTOR)]
pub(crate) struct Args {
    /// An agent to check. Can be given several times [default: detected agents]
    #[arg(long = "agent", value_name = "NAME", value_parser = init::AgentParser)]
    agents: Vec<&'static McpClient>,
    /// Run the agents themselves, too, in a temporary folder against a scripted local model
    #[arg(long)]
    live: bool,
    /// Check a task before it starts: a file with `task`, `agent`, `tools`, `writes` and `expected`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agents", "live"])]
    task: Option<PathBuf>,
    #[command(flatten)]
    packs: PackArgs,
    /// Where the system's files begin, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

/// Checks a task before it starts. Warnings do not change the exit code.
fn check_task(file: &Path, packs: &PackArgs, output: &mut Output) -> CliResult {
    let unreadable =
        |error: io::Error| CliError::new(format!("could not read {}: {error}", input::quoted(file)));
    let text = fs::read_to_string(file).map_err(unreadable)?;
    let plan = TaskPlan::read(file, &text).map_err(|report| CliError::problems(vec![report]))?;
    let loaded = packs.here().load()?;
    let root = env::current_dir().map_err(unreadable)?;
    let warnings = preflight(loaded.policy, &loaded.source, &root, &plan)?;
    if output.is_json {
        output.json(&json!({"sound": warnings.is_empty(), "warnings": warnings}))?;
        return Ok(Exit::Good);
    }
    for check in PreflightCheck::ALL {
        let found: Vec<_> = warnings.iter().filter(|warning| warning.check == check).collect();
        for warning in &found {
            let result = CheckResult {
                level: CheckStatus::Caution,
                message: warning.message.clone(),
                fix: Some(warning.fix.clone()),
                is_open: false,
            };
            init::show_result(&result, "", output)?;
        }
        if found.is_empty() {
            let message = check.summary().to_owned();
            let result = CheckResult { level: CheckStatus::Good, message, fix: None, is_open: false };
            init::show_result(&result, "", output)?;
        }
    }
    Ok(Exit::Good)
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if let Some(file) = &args.task {
        return check_task(file, &args.packs, output);
    }
    let places = init::places(args.root.clone())?;
    let diagnosis = setup::diagnose(&args.agents, args.live, &places);
    let sandbox = check_sandbox();
    let exit = Exit::good_if(diagnosis.is_sound());
    if output.is_json {
        let agents: Vec<Value> = diagnosis
            .hosts
            .iter()
            .map(|it| {
                let (name, verdict) = (it.host.name, it.verdict());
                json!({"agent": name, "version": it.version, "verdict": verdict, "findings": it.results})
            })
            .collect();
        let clients: Vec<Value> = diagnosis
            .clients
            .iter()
            .map(|it| json!({"client": it.client.name, "findings": it.results}))
            .collect();
        output.json(&json!({"sound": diagnosis.is_sound(), "protected": diagnosis.is_protected(), "agents": agents, "clients": clients, "sandbox": sandbox, "midrail": diagnosis.general}))?;
        return Ok(exit);
    }
    let verdicts = diagnosis.hosts.iter().map(HostDiagnosis::verdict);
    let stopped = diagnosis.general.iter().filter(|it| it.level == CheckStatus::Bad).cloned();
    for verdict in stopped.chain(verdicts) {
        init::show_result(&verdict, "", output)?;
    }
    if diagnosis.hosts.is_empty() && diagnosis.clients.is_empty() {
        output.line("no coding agent was detected; `midrail init --agent NAME` sets one up")?;
    }
    output.line("")?;
    for host in &diagnosis.hosts {
        let version = host.version.as_deref().map(|version| format!(" {}", visible(version)));
        let head = format!("{}{}", host.host.title, version.unwrap_or_default());
        block(&head, &host.results, output)?;
    }
    for client in &diagnosis.clients {
        block(client.client.title, &client.results, output)?;
    }
    block("Sandbox", &sandbox, output)?;
    block("Midrail", &diagnosis.general, output)?;
    Ok(exit)
}

/// What enforces a sandbox on this machine, found out by running a command in one.
fn check_sandbox() -> Vec<CheckResult> {
    let check = |level, message: String, fix: Option<&str>| CheckResult {
        level,
        message,
        fix: fix.map(str::to_owned),
        is_open: false,
    };
    let no_sandbox = |error: &dyn fmt::Display| {
        let message = format!("commands are not contained on this machine: {error}");
        let fix =
            "use Linux 6.2 or later, or permit user namespaces; `unknown: require_box` requires a sandbox";
        check(CheckStatus::Caution, message, Some(fix))
    };
    let (layers, missing) = match run::mechanisms() {
        Ok(found) => found,
        Err(error) => return vec![no_sandbox(&error.message)],
    };
    let found = match layers {
        Layers::Full => check(
            CheckStatus::Good,
            "contained commands run behind mounts and namespaces, with Landlock and seccomp".to_owned(),
            None,
        ),
        Layers::Profile => check(
            CheckStatus::Caution,
            "`midrail run` uses a profile of macOS that was never tried; calls of agents are not contained"
                .to_owned(),
            None,
        ),
        Layers::Partial => check(
            CheckStatus::Caution,
            "contained commands run with Landlock and seccomp alone; protected files are restored afterwards"
                .to_owned(),
            Some("permit user namespaces, so that files can also be hidden"),
        ),
    };
    let missing = missing.into_iter().map(|what| check(CheckStatus::Caution, what, None));
    std::iter::once(found).chain(missing).collect()
}

fn block(head: &str, findings: &[CheckResult], output: &mut Output) -> CliResult<()> {
    output.line(output.paint.style(Style::Strong, head))?;
    for finding in findings {
        init::show_result(finding, "  ", output)?;
    }
    output.line("")
}
