//! `midrail completions`: completion scripts for shells.

use clap::Command;
use clap_complete::Shell;
use serde_json::json;

use crate::error::CliResult;
use crate::output::Output;

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For example: midrail completions bash > ~/.local/share/bash-completion/completions/midrail"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut midrail: Command, output: &mut Output) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut midrail, "midrail", &mut script);
    let script = String::from_utf8_lossy(&script);
    output.done(&json!({"shell": args.shell.to_string(), "script": script}), script.trim_end())
}
