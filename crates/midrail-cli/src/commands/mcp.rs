//! `midrail mcp`: a proxy for MCP servers, and the pins of their definitions.

mod pins;
pub(crate) mod wrap;

use crate::admin_args::AdminArgs;
use crate::approver_key::Signer;
use crate::error::CliResult;
use crate::output::Output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

impl Args {
    /// `midrail mcp wrap` with its arguments.
    pub(crate) fn wrap(args: wrap::Args) -> Self {
        Args { command: Command::Wrap(args) }
    }
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Wrap(wrap::Args),
    /// List MCP servers, with their accepted and waiting definitions
    List {
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Show the definitions of a server
    Show {
        /// The server, or the start of its key
        server: String,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Show what waits for a person, and how it differs from what was accepted
    Diff {
        /// The server, or the start of its key
        server: String,
        /// One definition
        tool: Option<String>,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Accept the definitions of a server that wait; it takes the key of an approver
    Trust {
        /// The server, or the start of its key
        server: String,
        /// Some definitions [default: all that wait]
        tools: Vec<String>,
        /// The digest that `midrail mcp diff` has printed: nothing is accepted if the definitions changed since
        #[arg(long, value_name = "DIGEST")]
        read: Option<String>,
        #[command(flatten)]
        signer: Signer,
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Remove the pins of a server; it takes the key of an approver
    Forget {
        /// The server, or the start of its key
        server: String,
        #[command(flatten)]
        signer: Signer,
        #[command(flatten)]
        admin: AdminArgs,
    },
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    match &args.command {
        Command::Wrap(args) => wrap::run(args),
        Command::List { admin } => admin.list::<midrail::admin::PinnedServer>(output),
        Command::Show { server, admin } => pins::show(server, admin, output),
        Command::Diff { server, tool, admin } => pins::diff(server, tool.as_deref(), admin, output),
        Command::Trust { server, tools, read, signer, admin } => {
            pins::trust(server, (tools, read.as_deref()), signer, admin, output)
        }
        Command::Forget { server, signer, admin } => pins::forget(server, signer, admin, output),
    }
}
