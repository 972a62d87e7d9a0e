//! `midrail doctor`: checks that the coding agents on this machine are protected.

use std::path::PathBuf;

use midrail::pack::diagnostic::visible;
use midrail_adapters::setup::{self, Agent, CheckResult, CheckStatus};
use serde_json::{Value, json};

use super::init;
use crate::error::CliError;
use crate::exit::{self, Exit};
use crate::output::Output;
use crate::paint::Style;

/// Check that the coding agents on this machine are protected, and suggest fixes.
///
/// Checks that hooks are registered, enabled, trusted and responding. Runs each registered command with a call that
/// must be blocked and with one that must be allowed, in a temporary state directory.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::DOCTOR)]
pub(crate) struct Args {
    /// An agent to check. Can be given several times [default: detected agents]
    #[arg(long = "agent", value_name = "NAME", value_parser = init::agent)]
    agents: Vec<Agent>,
    /// The root of the system's files, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let places = init::places(args.root.clone())?;
    let checkup = setup::diagnose(&args.agents, &places);
    let exit = Exit::good_if(checkup.is_sound());
    if output.is_json() {
        let agents: Vec<Value> = checkup
            .agents
            .iter()
            .map(|it| json!({"agent": it.agent.name(), "version": it.version, "findings": it.findings}))
            .collect();
        output.json(&json!({"sound": checkup.is_sound(), "guarded": checkup.is_guarded(), "agents": agents, "midrail": checkup.general}))?;
        return Ok(exit);
    }
    for examined in &checkup.agents {
        let version = examined.version.as_deref().map(|version| format!(" {}", visible(version)));
        let head = format!("{}{}", examined.agent.title(), version.unwrap_or_default());
        block(&head, &examined.findings, output)?;
    }
    block("Midrail", &checkup.general, output)?;
    if checkup.agents.is_empty() {
        output.line("no coding agent was detected; set one up with `midrail init --agent NAME`")?;
    } else if checkup.is_guarded() {
        output.line(output.paint().style(Style::Good, "every detected agent is protected"))?;
    } else if checkup.is_sound() {
        let text = "what is set up works, but an agent may not be protected: see the lines with !";
        output.line(output.paint().style(Style::Caution, text))?;
    } else {
        output.line(output.paint().style(Style::Bad, "an agent is not protected: see the lines with ✗"))?;
    }
    Ok(exit)
}

fn block(head: &str, findings: &[CheckResult], output: &mut Output) -> Result<(), CliError> {
    let paint = output.paint();
    output.line(paint.style(Style::Strong, head))?;
    for finding in findings {
        let mark = match finding.level {
            CheckStatus::Good => paint.style(Style::Good, "✓"),
            CheckStatus::Caution => paint.style(Style::Caution, "!"),
            CheckStatus::Bad => paint.style(Style::Bad, "✗"),
        };
        output.line(format!("  {mark} {}", visible(&finding.what)))?;
        if let Some(mend) = &finding.mend {
            output.line(format!("    {}", paint.style(Style::Dim, visible(mend))))?;
        }
    }
    output.line("")
}
