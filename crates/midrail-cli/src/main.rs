//! The program `midrail`: parses the command line and runs a subcommand. The logic is in the libraries.

mod admin_args;
mod approver_key;
mod cli;
mod clock;
mod commands;
mod decision;
mod engines;
mod error;
mod event_engine;
mod exit;
mod global;
mod input;
mod limits;
mod list;
mod logger;
mod markdown;
mod output;
mod paint;
mod recipe;
mod supervise;
mod table;
mod time;
mod yaml;

use std::env;
use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;

/// A decision allocates a few hundred short texts; this allocator does it with a third of the instructions.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A part of a sandbox: no thread may run yet.
    if let Some(code) = midrail_sandbox::stage() {
        return code.into();
    }
    exit::report_panics();
    // INVARIANT: an internal error ends with the code of a block, so that it is never taken for an allow.
    let exit = panic::catch_unwind(run).unwrap_or(Exit::Stopped);
    // Commands that scripts started end with the process.
    midrail::background::stop_script_commands();
    exit.into()
}

fn run() -> Exit {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return usage_error(&error),
    };
    logger::start(cli.global.verbose);
    let mut output = Output::new(&cli.global);
    match cli.command.run(&mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.failure(&failure);
            failure.exit.unwrap_or(Exit::Failed)
        }
    }
}

/// Prints help or a usage error.
fn usage_error(error: &clap::Error) -> Exit {
    // If the terminal is gone, the error cannot be reported.
    let _ = error.print();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Exit::Good;
    }
    if env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let failure = CliError::new(what).help("see `midrail --help` and `midrail COMMAND --help`");
        let _ = writeln!(io::stdout(), "{}", failure.to_json());
    }
    // An invalid hook command blocks the action: every host takes 2 as a block, but not every host takes 1.
    let is_hook = env::args_os().nth(1).is_some_and(|command| command == "hook");
    if is_hook { Exit::Stopped } else { Exit::Failed }
}
