//! `midrail man`: manual pages.

use std::fs;
use std::path::PathBuf;

use clap::Command;
use serde_json::json;

use crate::error::{CliError, CliResult};
use crate::input::quoted;
use crate::output::Output;

/// Print the manual page, or write the pages of all subcommands to a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "For example: midrail man --out ~/.local/share/man/man1, or midrail man | man -l -")]
pub(crate) struct Args {
    /// Write the pages of all subcommands to this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, midrail: Command, output: &mut Output) -> CliResult {
    let Some(folder) = &args.out else {
        let page = clap_mangen::Man::new(midrail);
        let mut text = Vec::new();
        page.render(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        return output.done(&json!({"page": text}), text.trim_end());
    };
    let cannot = |error| CliError::new(format!("could not write to {}: {error}", quoted(folder)));
    fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(midrail, folder).map_err(cannot)?;
    let text = format!("the pages are in {}", quoted(folder));
    output.done(&json!({"folder": folder.display().to_string()}), text)
}
