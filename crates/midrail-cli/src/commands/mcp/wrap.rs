//! `midrail mcp wrap`: a proxy between an MCP client and the MCP server that it starts, or one at an address.

use std::env::{self, VarError};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use midrail_adapters::mcp::http::upstream::Upstream;
use midrail_adapters::mcp::{Proxy, ProxyOptions, SealedQuestions, address_server, program_server};

use crate::engines::Engines;
use crate::error::{CliError, CliResult, InvalidValue};
use crate::exit;
use crate::input::{DamageArgs, PackArgs, StoreArgs};
use crate::supervise::{self, Program, Setup};
use crate::time;

/// Start an MCP server behind a proxy that judges its definitions, calls and results.
///
/// Put `midrail mcp wrap --` before the server's command in the client's settings, or use `midrail mcp wrap --server NAME --url
/// URL` as the command of a server at an address.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::PROXY)]
pub(crate) struct Args {
    /// The server and its arguments, as in `midrail mcp wrap -- npx -y server-name`
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "url",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
    /// The name of the server in the client's settings [default: the name of its program]
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// The address of a server with Streamable HTTP, in place of a command
    #[arg(long, value_name = "URL", requires = "server", conflicts_with = "command")]
    url: Option<String>,
    /// A header of every request to the address, with its value from an environment variable, as in
    /// `Authorization=GITHUB_AUTHORIZATION`. Can be given several times
    #[arg(long, value_name = "HEADER=VARIABLE", requires = "url", value_parser = header_env)]
    header_env: Vec<(String, String)>,
    /// The environment variable with a bearer token, which is sent as `Authorization: Bearer TOKEN`
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_env: Option<String>,
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

fn header_env(text: &str) -> Result<(String, String), InvalidValue> {
    let pair = text.split_once('=').filter(|(header, variable)| !header.is_empty() && !variable.is_empty());
    let invalid = || InvalidValue("use the form HEADER=VARIABLE, with the name of a variable".to_owned());
    pair.map(|(header, variable)| (header.to_owned(), variable.to_owned())).ok_or_else(invalid)
}

pub(super) fn run(args: &Args) -> CliResult {
    let upstream = args.url.as_deref().map(|url| upstream(url, args)).transpose()?;
    let engines = Arc::new(Engines::new(args.packs.clone(), &args.store, args.damage)?);
    let cwd = env::current_dir().ok().map(|here| here.to_string_lossy().into_owned());
    // An invalid pack is reported now, not with the first call.
    engines.of(cwd.as_deref())?;
    let command: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let server = match &args.url {
        Some(url) => address_server(args.server.as_deref().unwrap_or_default(), url),
        None => program_server(args.server.as_deref(), &command),
    };
    let (pins, folder, key) = (engines.clone(), cwd.clone(), server.key.clone());
    let waiting = move || pins.of(folder.as_deref()).ok()?.admin().mcp_waiting(&key).ok();
    let options = ProxyOptions { server, cwd, nonce: supervise::nonce(), ..ProxyOptions::default() };
    let asking = engines.clone();
    let questions =
        SealedQuestions::new(move |event| asking.of(event.cwd.as_deref()).map_err(|failure| failure.message));
    let proxy = |decide| Proxy::new(options, decide).announcing(Box::new(waiting)).asking(questions);
    let setup = Setup { proxy, engines, wait: args.wait };
    if let Some(upstream) = upstream {
        return supervise::run_link(upstream, setup);
    }
    let program = Program {
        command: &args.command,
        what: "MCP server",
        help: "give the server's command behind `--`, as in `midrail mcp wrap -- npx -y server-name`",
    };
    supervise::run(&program, setup)
}

/// The server at an address.
fn upstream(url: &str, args: &Args) -> CliResult<Upstream> {
    let read = |header: &str, variable: &str| match env::var(variable) {
        Ok(value) if value.is_empty() => Err(missing(header, variable, "is empty")),
        Ok(value) => Ok(value),
        Err(VarError::NotPresent) => Err(missing(header, variable, "is not set")),
        Err(VarError::NotUnicode(_)) => Err(missing(header, variable, "is not valid UTF-8")),
    };
    let mut headers = Vec::new();
    for (header, variable) in &args.header_env {
        headers.push((header.clone(), read(header, variable)?));
    }
    if let Some(variable) = &args.bearer_env {
        let header = "Authorization".to_owned();
        let value = format!("Bearer {}", read(&header, variable)?);
        headers.push((header, value));
    }
    Upstream::new(url, &headers).map_err(|error| CliError::new(error.to_string()))
}

fn missing(header: &str, variable: &str, what: &str) -> CliError {
    CliError::new(format!("the variable `{variable}` for the header `{header}` {what}"))
        .help("set it in the `env` of the server in the client's settings")
}
