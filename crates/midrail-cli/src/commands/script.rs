//! `midrail script`: tools for authors of guardrails in JavaScript.

use std::path::PathBuf;

use midrail::authoring;
use midrail::core::{HookAnswer, HookOutcome};
use midrail_adapters::wire;
use serde_json::json;

use crate::error::CliResult;
use crate::exit::Exit;
use crate::input;
use crate::output::{Output, short};
use crate::paint::Style;

/// Run and type-check guardrail scripts in JavaScript.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run the hook of a script for an event, and show its result and output
    Run {
        /// The script
        file: PathBuf,
        /// The event as JSON: a tool call (before_tool) or its result (after_tool); - for standard input
        #[arg(long, value_name = "FILE")]
        event: PathBuf,
    },
    /// Print the TypeScript types of a script and of ctx
    Types,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    match &args.command {
        Command::Types => {
            let types = authoring::TYPES;
            output.done(&json!({"types": types}), types.trim_end())
        }
        Command::Run { file, event } => {
            let mut event = wire::read_event(&mut *input::open(Some(event))?)?;
            if event.cwd.is_none() {
                event.cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
            }
            rehearse(authoring::run_script(file, event)?, output)
        }
    }
}

fn rehearse(run: authoring::ScriptRun, output: &mut Output) -> CliResult {
    let exit = Exit::from_effect(run.decision.effect);
    if output.is_json {
        let (answer, error) = match &run.end {
            Ok(end) => (Some(end), None),
            Err(why) => (None, Some(why.to_string())),
        };
        output.json(&json!({
            "answer": answer, "error": error, "printed": run.printed, "decision": run.decision,
        }))?;
        return Ok(exit);
    }
    let paint = output.paint;
    for line in &run.printed {
        output.line(paint.style(Style::Dim, format!("console  {}", short(line, 2_000))))?;
    }
    match &run.end {
        Err(why) => output.line(format!("failed   {}", short(&why.to_string(), 2_000)))?,
        Ok(end) => match &end.answer {
            HookAnswer::Pass => output.line("allows")?,
            HookAnswer::Refuse { message, suggestion, request } => {
                output.line(format!("refuses  {}", short(message, 2_000)))?;
                if let Some(suggestion) = suggestion {
                    output.line(format!("suggests {}", short(suggestion, 2_000)))?;
                }
                if let Some(request) = request {
                    output.line(format!(
                        "requests {} ({})",
                        short(&request.reason, 2_000),
                        request.urgency
                    ))?;
                }
            }
            HookAnswer::Replace { result, is_error } => {
                let how = if *is_error { "returns an error as" } else { "replaces" };
                output.line(format!("{how} the result:"))?;
                for line in result.lines().take(40) {
                    output.line(format!("  {}", short(line, 2_000)))?;
                }
            }
        },
    }
    if let Ok(HookOutcome { failure: Some(why), .. }) = &run.end {
        output.line(format!("fails    {}", short(why, 2_000)))?;
    }
    output.line(format!("leads to {}", run.decision.effect))?;
    Ok(exit)
}
