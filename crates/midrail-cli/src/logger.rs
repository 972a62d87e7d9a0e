//! The log, on standard error: what the engine tells beside its decisions.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use log::{LevelFilter, Log, Metadata, Record};
use midrail::pack::diagnostic::visible;
use serde_json::json;

struct Logger;

/// Whether each line is a JSON object.
static IS_JSON: AtomicBool = AtomicBool::new(false);

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("midrail") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            // A log that cannot be written is no reason to fail.
            let _ = if IS_JSON.load(Ordering::Relaxed) {
                let level = record.level().as_str().to_lowercase();
                let line = json!({
                    "time": Timestamp::now().to_string(), "level": level, "target": record.target(), "message": text,
                });
                writeln!(io::stderr(), "{line}")
            } else {
                writeln!(io::stderr(), "{:<5} {}", record.level(), visible(&text))
            };
        }
    }

    fn flush(&self) {}
}

/// Starts the log of a process that serves: what goes wrong is told unless `MIDRAIL_LOG` says otherwise.
pub(crate) fn start_for_service(is_json: bool) {
    IS_JSON.store(is_json, Ordering::Relaxed);
    if std::env::var_os("MIDRAIL_LOG").is_none() && log::max_level() == LevelFilter::Off {
        let _ = log::set_logger(&Logger);
        log::set_max_level(LevelFilter::Info);
    }
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
