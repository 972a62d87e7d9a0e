//! An error as the program tells it: what, why, what to do about it, and the places in files that it is about.

use std::error::Error;
use std::fmt::Display;
use std::io;

use midrail::authoring::ScriptRunError;
use midrail::pack::describe_serde_error;
use midrail::pack::diagnostic::visible;
use midrail::{DiagnosticReport, EngineError, LoadError, StoreError};
use midrail_adapters::wire::WireError;
use serde_json::{Value, json};

use crate::paint::{Paint, Style};

/// Why a subcommand failed.
#[derive(Debug)]
pub(crate) struct CliError {
    message: String,
    causes: Vec<String>,
    help: Option<String>,
    reports: Vec<DiagnosticReport>,
    /// Whether standard output was closed, so that no error is printed.
    is_quiet: bool,
}

impl CliError {
    /// An error in words.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        CliError {
            message: message.into(),
            causes: Vec::new(),
            help: None,
            reports: Vec::new(),
            is_quiet: false,
        }
    }

    /// An error of a library, with its causes.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut failure = CliError::new(error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors tell their cause in their own words already.
            if !failure.message.contains(&text) && !failure.causes.iter().any(|known| known.contains(&text)) {
                failure.causes.push(text);
            }
            source = cause.source();
        }
        failure
    }

    /// The same, with what to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, said of something.
    pub(crate) fn about(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// Problems in files.
    pub(crate) fn problems(reports: Vec<DiagnosticReport>) -> Self {
        let problems: usize = reports.iter().map(|report| report.problems.len()).sum();
        let mut files: Vec<&str> = reports.iter().map(|report| report.path.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        let message = format!("{} in {}", count(problems, "problem"), count(files.len(), "file"));
        CliError { reports, ..CliError::new(message) }
    }

    /// What went wrong.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Whether no error is printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// For people.
    pub(crate) fn render(&self, paint: Paint) -> String {
        let mut out = String::new();
        for report in &self.reports {
            out.push_str(&report.render(paint.is_on()));
            out.push('\n');
        }
        let line = |style: Style, word: &str, text: &str| {
            let text: Vec<_> = text.lines().map(visible).collect();
            format!("{} {}\n", paint.style(style, word), text.join("\n  "))
        };
        out.push_str(&line(Style::Bad, "error:", &self.message));
        for cause in &self.causes {
            out.push_str(&line(Style::Dim, "cause:", cause));
        }
        if let Some(help) = &self.help {
            out.push_str(&line(Style::Note, "help:", help));
        }
        out
    }

    /// For programs: `{"error": …}`.
    pub(crate) fn to_json(&self) -> Value {
        json!({"error": self.as_json()})
    }

    /// The error itself, for programs.
    pub(crate) fn as_json(&self) -> Value {
        let mut error = json!({"message": self.message});
        let mut set = |key: &str, value: Value| {
            if let Value::Object(fields) = &mut error {
                fields.insert(key.to_owned(), value);
            }
        };
        if !self.causes.is_empty() {
            set("causes", json!(self.causes));
        }
        if let Some(help) = &self.help {
            set("help", json!(help));
        }
        let problems: Vec<_> = self.reports.iter().flat_map(DiagnosticReport::plain).collect();
        if !problems.is_empty() {
            set("problems", json!(problems));
        }
        error
    }
}

/// `1 problem`, `2 problems`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let help = error.help();
        let failure = CliError::from_error(&error);
        match help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            error => CliError::from_error(&error),
        }
    }
}

impl From<WireError> for CliError {
    fn from(error: WireError) -> Self {
        if let WireError::NotAnEvent { line, column, message } = &error {
            let (message, help) = describe_serde_error(message);
            let failure =
                CliError::new(format!("not a valid event: {message} (line {line}, column {column})"));
            return match help.or_else(|| error.help()) {
                Some(help) => failure.help(help),
                None => failure,
            };
        }
        let failure = CliError::from_error(&error);
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

impl From<ScriptRunError> for CliError {
    fn from(error: ScriptRunError) -> Self {
        match error {
            ScriptRunError::Load(error) => error.into(),
            ScriptRunError::Engine(error) => error.into(),
            other => CliError::from_error(&other).help("give it a `before_tool` or an `after_tool` event"),
        }
    }
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Problems(reports) => CliError::problems(reports),
            error => match error.help() {
                Some(help) => CliError::from_error(&error).help(help),
                None => CliError::from_error(&error),
            },
        }
    }
}

/// An error of writing to standard output. Other errors name their path.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let is_quiet = error.kind() == io::ErrorKind::BrokenPipe;
        CliError { is_quiet, ..CliError::new(format!("the output could not be written: {error}")) }
    }
}
