//! The log, on standard error: what the engine tells beside its decisions.

use std::io::{self, Write};

use log::{LevelFilter, Log, Metadata, Record};
use midrail::pack::diagnostic::visible;

struct Logger;

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("midrail") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            // A log that cannot be written is no reason to fail.
            let _ = writeln!(io::stderr(), "{:<5} {}", record.level(), visible(&text));
        }
    }

    fn flush(&self) {}
}

/// Starts the log. `MIDRAIL_LOG` says how much is told; else `-vv` tells every check.
pub(crate) fn start(verbose: u8) {
    let word = std::env::var("MIDRAIL_LOG").unwrap_or_default();
    let word = word.trim();
    let named = word.parse::<LevelFilter>().ok();
    if named.is_none() && !word.is_empty() {
        let text = visible(word);
        let _ = writeln!(
            io::stderr(),
            "warning: unknown value `{text}` of MIDRAIL_LOG\nhelp: use off, error, warn, info, debug or trace"
        );
    }
    let level = named.unwrap_or(match verbose {
        0 | 1 => LevelFilter::Off,
        _ => LevelFilter::Debug,
    });
    if level != LevelFilter::Off && log::set_logger(&Logger).is_ok() {
        log::set_max_level(level);
    }
}
