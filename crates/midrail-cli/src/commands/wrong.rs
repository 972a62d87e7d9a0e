//! `midrail wrong`: turns a false stop into a test case, and proposes an exception.

use midrail::pack::diagnostic::visible;
use midrail::wrong_stop::WrongStop;

use crate::commands::audit::records::no_record;
use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::paint::Style;

/// Turn a call that was stopped wrongly into a test case, and propose the narrowest exception.
///
/// Prints a pack with both. Nothing changes until you put them into a pack of your own.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The record of the stopped call: its number in the audit log, which `midrail log --stopped` shows
    #[arg(value_name = "RECORD")]
    record: u64,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let store = args.store.read_only()?;
    let seq = args.record;
    let entry = store.entry(seq)?.ok_or_else(|| no_record(&args.store, &*store, seq))?;
    let wrong = WrongStop::from_record(seq, &entry.record()?).map_err(|why| {
        CliError::new(format!("record {seq} is no stop: {why}"))
            .help("`midrail log --stopped` lists the stops")
    })?;
    if output.is_json {
        output.json(&wrong)?;
        return Ok(Exit::Good);
    }
    let remark = |text: &str| format!("# {}", visible(text).replace('\n', " "));
    let stopped =
        format!("record {seq}: {} ({}): {}", wrong.guardrail, wrong.effect, short(&wrong.reason, 300));
    let advice = match (&wrong.exception, wrong.is_verified) {
        (None, _) => {
            "No setting of this guardrail allows only this call. The test below fails until you change the guardrail \
             (`midrail explain` shows its settings)."
        }
        (Some(_), true) => {
            "The narrowest exception, and a test, which passes with it. Put both into a pack of your own if the stop was wrong."
        }
        (Some(_), false) => {
            "The narrowest exception, and a test, which does not pass with it: check what else objects before you use it."
        }
    };
    output.line(output.paint.style(Style::Dim, remark(&stopped)))?;
    output.line(output.paint.style(Style::Dim, remark(advice)))?;
    output.lines(wrong.pack().lines().map(|line| visible(line).into_owned()))?;
    Ok(Exit::Good)
}
