//! `midrail man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;
use serde_json::json;

use crate::cli::Cli;
use crate::error::CliError;
use crate::exit::Exit;
use crate::input::quoted;
use crate::output::Output;

/// Print the manual page, or write the pages of all subcommands to a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "For example: midrail man --out ~/.local/share/man/man1, or midrail man | man -l -")]
pub(crate) struct Args {
    /// Write the pages of all verbs into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    let Some(folder) = &args.out else {
        let page = clap_mangen::Man::new(Cli::command());
        if output.is_json() {
            let mut text = Vec::new();
            page.render(&mut text)?;
            output.json(&json!({"page": String::from_utf8_lossy(&text)}))?;
        } else {
            page.render(output.writer())?;
        }
        return Ok(Exit::Good);
    };
    let cannot = |error| CliError::new(format!("could not write to {}: {error}", quoted(folder)));
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)?;
    if output.is_json() {
        output.json(&json!({"folder": folder.display().to_string()}))?;
    } else {
        output.line(format!("the pages are in {}", quoted(folder)))?;
    }
    Ok(Exit::Good)
}
