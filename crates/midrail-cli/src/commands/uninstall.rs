//! `midrail uninstall`: removes hooks from coding agents.

use midrail_adapters::hosts;
use midrail_adapters::setup::{self, InstallScope};

use super::init::{Consent, Which, hosts_of, settle, shown};
use crate::error::CliResult;
use crate::exit;
use crate::output::Output;

/// Remove from coding agents what `init` installed.
///
/// Settings that were not changed since are restored byte for byte. The project's pack is kept unless --purge is
/// given.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::INIT)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Remove the project's pack and the copies of replaced files, too
    #[arg(long)]
    purge: bool,
    #[command(flatten)]
    consent: Consent,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let places = args.which.places()?;
    let all: Vec<_> = hosts::MCP_CLIENTS.iter().collect();
    let clients = if args.which.agents.is_empty() { &all } else { &args.which.agents };
    let agents = &hosts_of(clients);
    let scope = args.which.scope();
    let plan = setup::uninstall(agents, clients, scope, args.purge, &places);
    let folder = places.project.join(midrail::paths::PROJECT_FOLDER);
    let copies = folder.join("backup");
    if args.purge && scope == InstallScope::Project && !plan.changes.is_empty() && !output.is_json {
        output.line(format!("{} (removed, with all copies in it)", shown(&copies)))?;
    }
    let outcome = settle(&plan, &places, &args.consent, output)?;
    if output.is_json {
        output.json(&outcome.json())?;
        return Ok(outcome.exit());
    }
    let elsewhere = setup::registered(agents, &places);
    for (host, found, path) in elsewhere.iter().filter(|(_, found, _)| *found != scope) {
        output.line(format!(
            "{} has hooks of Midrail in {}: `midrail uninstall{} --agent {}` removes them",
            host.title,
            shown(path),
            found.flag(),
            host.name
        ))?;
    }
    if !args.purge && scope == InstallScope::Project && folder.join("pack.yaml").exists() {
        output.line(format!("the pack in {} stays; `--purge` removes it", shown(&folder)))?;
    }
    Ok(outcome.exit())
}
