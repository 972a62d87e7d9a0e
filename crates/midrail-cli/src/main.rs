//! The program `midrail`: reads the command line and hands it to a verb. What verbs do lives in the libraries.

mod admin_args;
mod approver_key;
mod cli;
mod clock;
mod commands;
mod decision;
mod error;
mod event_engine;
mod exit;
mod global;
mod input;
mod limits;
mod logger;
mod markdown;
mod output;
mod paint;
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

fn main() -> ExitCode {
    exit::report_panics();
    // INVARIANT: an internal error ends with the code of a block, so that it is never taken for an allow.
    let exit = panic::catch_unwind(run).unwrap_or(Exit::Stopped);
    // No command of a script outlives the call that it was run for.
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
            Exit::Failed
        }
    }
}

/// A command line that asks for help, or cannot be read.
fn usage_error(error: &clap::Error) -> Exit {
    // Nothing is left to tell anyone if the terminal is gone.
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
    // A hook that cannot be read stops what it was to judge: every host takes 2 for that, and not all of them 1.
    match env::args_os().nth(1).is_some_and(|verb| verb == "hook") {
        true => Exit::Stopped,
        false => Exit::Failed,
    }
}
