//! `midrail doctor`: checks that the coding agents on this machine are protected.

use std::path::PathBuf;

use midrail::pack::diagnostic::visible;
use midrail_adapters::host::HostSpec;
use midrail_adapters::setup::{self, CheckResult, CheckStatus};
use serde_json::{Value, json};

use super::init;
use crate::error::CliResult;
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
    #[arg(long = "agent", value_name = "NAME", value_parser = init::HostParser)]
    agents: Vec<&'static HostSpec>,
    /// Where the system's files begin, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    root: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let places = init::places(args.root.clone())?;
    let diagnosis = setup::diagnose(&args.agents, &places);
    let exit = Exit::good_if(diagnosis.is_sound());
    if output.is_json {
        let agents: Vec<Value> = diagnosis
            .hosts
            .iter()
            .map(|it| json!({"agent": it.host.name, "version": it.version, "findings": it.results}))
            .collect();
        output.json(&json!({"sound": diagnosis.is_sound(), "protected": diagnosis.is_protected(), "agents": agents, "midrail": diagnosis.general}))?;
        return Ok(exit);
    }
    for host in &diagnosis.hosts {
        let version = host.version.as_deref().map(|version| format!(" {}", visible(version)));
        let head = format!("{}{}", host.host.title, version.unwrap_or_default());
        block(&head, &host.results, output)?;
    }
    block("Midrail", &diagnosis.general, output)?;
    if diagnosis.hosts.is_empty() {
        output.line("no coding agent was detected; `midrail init --agent NAME` sets one up")?;
    } else if diagnosis.is_protected() {
        output.line(output.paint.style(Style::Good, "every agent is protected"))?;
    } else if diagnosis.is_sound() {
        let text = "the installed hooks work, but an agent might not be protected: see the lines with !";
        output.line(output.paint.style(Style::Caution, text))?;
    } else {
        output.line(output.paint.style(Style::Bad, "an agent is not protected: see the lines with ✗"))?;
    }
    Ok(exit)
}

fn block(head: &str, findings: &[CheckResult], output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    output.line(paint.style(Style::Strong, head))?;
    for finding in findings {
        let mark = match finding.level {
            CheckStatus::Good => paint.style(Style::Good, "✓"),
            CheckStatus::Caution => paint.style(Style::Caution, "!"),
            CheckStatus::Bad => paint.style(Style::Bad, "✗"),
        };
        output.line(format!("  {mark} {}", visible(&finding.message)))?;
        if let Some(fix) = &finding.fix {
            output.line(format!("    {}", paint.style(Style::Dim, visible(fix))))?;
        }
    }
    output.line("")
}
