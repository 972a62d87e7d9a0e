//! `midrail acp`: a proxy between an editor and an agent that use the Agent Client Protocol.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use midrail_adapters::acp::{Proxy, ProxyOptions};

use crate::engines::Engines;
use crate::error::CliResult;
use crate::exit;
use crate::input::{DamageArgs, PackArgs, StoreArgs};
use crate::output::Output;
use crate::supervise::{self, LONG, Program, Setup};
use crate::time;

/// Start an ACP agent behind a proxy that checks its tool calls.
///
/// Put `midrail acp --` before the agent's command in the editor's settings.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::PROXY)]
pub(crate) struct Args {
    /// The agent and its arguments, as in `midrail acp -- gemini --acp`
    #[arg(value_name = "AGENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    agent: Vec<std::ffi::OsString>,
    /// How long to wait for an approver [default: until the request times out]
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    wait: Option<Duration>,
    /// Hide options that allow something permanently, so that the agent keeps asking
    #[arg(long)]
    keep_asking: bool,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    damage: DamageArgs,
}

pub(crate) fn run(args: &Args, _: &mut Output) -> CliResult {
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store, args.damage)?);
    let here = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // An invalid pack is reported now, not with the first prompt.
    engines.of(here.as_deref())?;
    let options = ProxyOptions { cwd: here, keep_asking: args.keep_asking, nonce: supervise::nonce() };
    let program = Program {
        command: &args.agent,
        what: "agent",
        help: "give the agent's command behind `--`, as in `midrail acp -- gemini --acp`",
    };
    let wait = args.wait.unwrap_or(LONG);
    supervise::run(&program, Setup { proxy: |decide| Proxy::new(options, decide), engines, wait })
}
