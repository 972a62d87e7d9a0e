//! The log on standard error.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use log::kv::{self, Key, Value, VisitSource};
use log::{LevelFilter, Log, Metadata, Record};
use midrail::pack::diagnostic::visible;
use serde_json::{Map, json};

use crate::clock;

struct Logger;

/// Whether each line is a JSON object.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Fields that a line of text leaves out: a person reads what happened, and programs read JSON.
const JSON_ALONE: [&str; 2] = ["session", "record"];

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("midrail") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let is_json = IS_JSON.load(Ordering::Relaxed);
            let line = if is_json { as_json(record, clock::now()) } else { as_text(record) };
            // A log that cannot be written is no reason to fail.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    fn flush(&self) {}
}

/// A line as one JSON object: the fields of this one, and what every line has.
fn as_json(record: &Record<'_>, now: Timestamp) -> String {
    let mut line: Map<String, serde_json::Value> = fields(record).into_iter().collect();
    let level = record.level().as_str().to_lowercase();
    line.insert("ts".to_owned(), json!(now.to_string()));
    line.insert("level".to_owned(), json!(level));
    line.insert("target".to_owned(), json!(record.target()));
    line.insert("message".to_owned(), json!(record.args().to_string()));
    serde_json::Value::Object(line).to_string()
}

/// A line for a person: the message, and its fields after it.
fn as_text(record: &Record<'_>) -> String {
    let mut line = format!("{:<5} {}", record.level(), visible(&record.args().to_string()));
    for (name, value) in fields(record).iter().filter(|(name, _)| !JSON_ALONE.contains(&name.as_str())) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = if is_word(&text) { text } else { format!("{text:?}") };
        line.push_str(&format!(" {name}={}", visible(&value)));
    }
    line
}

/// Whether a value needs no quotes.
fn is_word(text: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '"' | '=');
    text.chars().all(is_plain) && text.ends_with(|c: char| c.is_alphanumeric() || "-*/)".contains(c))
}

/// The fields of a line, in the order in which they were given.
fn fields(record: &Record<'_>) -> Vec<(String, serde_json::Value)> {
    let mut fields = Fields::default();
    // Fields that cannot be read are left out.
    let _ = record.key_values().visit(&mut fields);
    fields.0
}

#[derive(Default)]
struct Fields(Vec<(String, serde_json::Value)>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), kv::Error> {
        // Whole numbers and booleans as they are, everything else as text.
        let number =
            value.to_u64().map(|number| json!(number)).or(value.to_i64().map(|number| json!(number)));
        let plain = number.or(value.to_bool().map(|flag| json!(flag)));
        self.0.push((key.as_str().to_owned(), plain.unwrap_or_else(|| json!(value.to_string()))));
        Ok(())
    }
}

/// Starts the log of a service, at level `info` unless `MIDRAIL_LOG` is set.
pub(crate) fn start_for_service(is_json: bool) {
    IS_JSON.store(is_json, Ordering::Relaxed);
    if std::env::var_os("MIDRAIL_LOG").is_none() && log::max_level() == LevelFilter::Off {
        let _ = log::set_logger(&Logger);
        log::set_max_level(LevelFilter::Info);
    }
}

/// Starts the log at the level of `MIDRAIL_LOG`, or `debug` with `-vv`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(fields: &'a dyn kv::Source, args: std::fmt::Arguments<'a>) -> Record<'a> {
        Record::builder().args(args).level(log::Level::Warn).target("midrail").key_values(fields).build()
    }

    #[test]
    fn log_fields_are_structured() {
        let fields = [
            ("tool", Value::from("x")),
            ("reason", Value::from("No \"way\"\n.")),
            ("record", Value::from(7_u64)),
        ];
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let line = as_json(&record(&fields, format_args!("policy denied")), now);
        assert!(!line.contains('\n'), "{line}");
        let expected = json!({
            "ts": "2026-11-15T10:00:00Z", "level": "warn", "target": "midrail", "message": "policy denied",
            "reason": "No \"way\"\n.", "record": 7, "tool": "x",
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), expected);
        let text = as_text(&record(&fields, format_args!("policy denied")));
        assert_eq!(text, r#"WARN  policy denied tool=x reason="No \"way\"\n.""#);
    }

    #[test]
    fn fields_cannot_replace_standard_fields() {
        let fields = [("message", Value::from("forged")), ("level", Value::from("info"))];
        let line = as_json(&record(&fields, format_args!("real")), Timestamp::UNIX_EPOCH);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["message"], &line["level"]), (&json!("real"), &json!("warn")));
    }
}
