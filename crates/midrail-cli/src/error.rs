//! Errors of the program: what failed, the causes, help, and the locations in files.

use std::error::Error;
use std::fmt::Display;
use std::io;

use midrail::authoring::ScriptRunError;
use midrail::pack::diagnostic::visible;
use midrail::pack::{DiagnosticReport, describe_serde_error};
use midrail::{EngineError, LoadError, StoreError};
use midrail_adapters::wire::{WireError, position};
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::paint::{Paint, Style};

/// The result of a subcommand, or of a part of one.
pub(crate) type CliResult<T = Exit> = Result<T, CliError>;

/// Why a subcommand failed.
#[derive(Debug, Default)]
pub(crate) struct CliError {
    pub(crate) message: String,
    causes: Vec<String>,
    /// Advice.
    pub(crate) help: Option<String>,
    reports: Vec<DiagnosticReport>,
    /// Whether standard output was closed, so that no error is printed.
    pub(crate) is_quiet: bool,
    /// The exit code, if it is not that of every error.
    pub(crate) exit: Option<Exit>,
}

impl CliError {
    /// An error with a message.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        CliError { message: message.into(), ..CliError::default() }
    }

    /// An error of a library, with its causes.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut failure = CliError::new(error.to_string());
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Many errors include their cause in their message.
            if !failure.message.contains(&text) && !failure.causes.iter().any(|known| known.contains(&text)) {
                failure.causes.push(text);
            }
            source = cause.source();
        }
        failure
    }

    /// The same, with advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, with advice if there is any.
    pub(crate) fn maybe_help(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into);
        self
    }

    /// The same, about something.
    pub(crate) fn about(mut self, what: impl Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The same, with an exit code of its own.
    pub(crate) fn exit(mut self, exit: Option<Exit>) -> Self {
        self.exit = exit;
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
        let problems: Vec<_> = self.reports.iter().flat_map(DiagnosticReport::plain).collect();
        without_nulls(json!({
            "message": self.message, "causes": (!self.causes.is_empty()).then_some(&self.causes),
            "help": self.help, "problems": (!problems.is_empty()).then_some(problems),
        }))
    }
}

/// An invalid value of an option.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidValue(pub(crate) String);

/// `1 problem`, `2 problems`.
pub(crate) fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A record as a JSON object, with more fields.
pub(crate) fn with_fields(record: &impl Serialize, more: Value) -> Value {
    let mut value = json!(record);
    if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
        fields.extend(more);
    }
    value
}

/// A JSON object without its null fields.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        CliError::from_error(&error).maybe_help(error.help())
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
            let is_missing_kind = message.starts_with("missing field `kind`");
            let (message, help) = describe_serde_error(message);
            let help = help.filter(|_| !is_missing_kind).or_else(|| error.help());
            return CliError::new(format!("not a valid event: {message}{}", position(*line, *column)))
                .maybe_help(help);
        }
        CliError::from_error(&error).maybe_help(error.help())
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
            error => CliError::from_error(&error).maybe_help(error.help()),
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
