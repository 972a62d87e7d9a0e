//! `midrail mcp wrap`: a proxy between an MCP client and the MCP server that it starts.

use std::env;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use midrail_adapters::mcp::{Proxy, ProxyOptions, program_server};

use crate::engines::Engines;
use crate::error::CliResult;
use crate::exit;
use crate::input::{DamageArgs, PackArgs, StoreArgs};
use crate::supervise::{self, Program};
use crate::time;

/// Start an MCP server behind a proxy that judges its definitions, calls and results.
///
/// Put `midrail mcp wrap --` before the server's command in the client's settings.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::ACP)]
pub(crate) struct Args {
    /// The server and its arguments, as in `midrail mcp wrap -- npx -y server-name`
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
    /// The name of the server in the client's settings [default: the name of its program]
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// How long a call waits for an approval before the client receives an answer
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration, default_value = "50s")]
    wait: Duration,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    damage: DamageArgs,
}

pub(super) fn run(args: &Args) -> CliResult {
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store, args.damage)?);
    let cwd = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // An invalid pack is reported now, not with the first call.
    engines.of(cwd.as_deref())?;
    let command: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let server = program_server(args.server.as_deref(), &command);
    let (pins, folder, key) = (engines.clone(), cwd.clone(), server.key.clone());
    let waiting = move || pins.of(folder.as_deref()).ok()?.admin().mcp_waiting(&key).ok();
    let options = ProxyOptions { server, cwd, nonce: supervise::nonce() };
    let program = Program {
        command: &args.command,
        what: "MCP server",
        help: "give the server's command behind `--`, as in `midrail mcp wrap -- npx -y server-name`",
        wait: args.wait,
    };
    supervise::run(&program, engines, |decide| Proxy::new(options, decide).announcing(Box::new(waiting)))
}
