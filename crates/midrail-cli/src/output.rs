//! Output of subcommands: colour only on a terminal, and text of agents made safe to print.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use midrail::core::visible::is_printable_ascii;
use midrail::pack::diagnostic::{is_hidden, visible};
use serde::Serialize;

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::global::{Global, When};
use crate::paint::{Paint, Style};

/// The maximum width of text, on any terminal.
const WIDEST: usize = 110;

/// Standard output and error of a subcommand.
pub(crate) struct Output {
    /// Whether the output is JSON.
    pub(crate) is_json: bool,
    verbose: u8,
    /// Colours of standard output.
    pub(crate) paint: Paint,
    error_paint: Paint,
    /// How many columns there are.
    pub(crate) width: usize,
    /// Whether standard output is a terminal.
    pub(crate) is_terminal: bool,
    out: BufWriter<Stdout>,
}

impl Output {
    /// Output as configured by the command line and the environment.
    pub(crate) fn new(global: &Global) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let columns = is_terminal.then(terminal_size::terminal_size).flatten();
        let width = match columns {
            Some((terminal_size::Width(columns), _)) => usize::from(columns).clamp(40, WIDEST),
            // Output for programs is not wrapped.
            None => usize::MAX,
        };
        Output {
            is_json: global.json,
            verbose: global.verbose,
            paint: Paint::new(is_coloured(global.color, is_terminal)),
            error_paint: Paint::new(is_coloured(global.color, io::stderr().is_terminal())),
            width,
            is_terminal,
            out: BufWriter::new(stdout),
        }
    }

    /// Whether more detail is requested.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// Prints a line. Its text has been made safe.
    pub(crate) fn line(&mut self, text: impl Display) -> CliResult<()> {
        Ok(writeln!(self.out, "{text}")?)
    }

    /// Prints lines.
    pub(crate) fn lines<T: Display>(&mut self, lines: impl IntoIterator<Item = T>) -> CliResult<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints a value as JSON for programs, or lines for people.
    pub(crate) fn show(
        &mut self,
        json: &impl Serialize,
        lines: impl FnOnce(&Output) -> Vec<String>,
    ) -> CliResult<()> {
        if self.is_json { self.json(json) } else { self.lines(lines(self)) }
    }

    /// Prints the result of a subcommand: JSON for programs, text for people.
    pub(crate) fn done(&mut self, json: &impl Serialize, text: impl Display) -> CliResult {
        self.show(json, |_| vec![text.to_string()])?;
        Ok(Exit::Good)
    }

    /// The title of a section.
    pub(crate) fn section(&mut self, title: &str) -> CliResult<()> {
        self.line(format!("\n{}", self.paint.style(Style::Strong, title)))
    }

    /// Named texts at an indent.
    pub(crate) fn fields(&mut self, fields: &[(&str, String)]) -> CliResult<()> {
        let (paint, width) = (self.paint, self.width);
        self.lines(fields.iter().flat_map(|(name, text)| field(name, text, paint, width)))
    }

    /// Prints text without a line break at its end.
    pub(crate) fn text(&mut self, text: &str) -> CliResult<()> {
        Ok(self.out.write_all(text.as_bytes())?)
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> CliResult<()> {
        let text = serde_json::to_string(value).map_err(|error| CliError::from_error(&error))?;
        self.json_text(&text)
    }

    /// Prints JSON text. Control characters are escaped.
    pub(crate) fn json_text(&mut self, text: &str) -> CliResult<()> {
        self.line(escaped(text))
    }

    /// Standard output itself.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Flushes standard output.
    pub(crate) fn flush(&mut self) -> CliResult<()> {
        Ok(self.out.flush()?)
    }

    /// Prints a note on standard error.
    pub(crate) fn note(&mut self, text: &str) {
        let _ = self.out.flush();
        let word = self.error_paint.style(Style::Note, "note:");
        let _ = writeln!(io::stderr(), "{word} {}", visible(text));
    }

    /// Prints the lines of a report on standard error.
    pub(crate) fn report(&mut self, lines: &[String]) {
        let _ = self.out.flush();
        for line in lines {
            let _ = writeln!(io::stderr(), "{}", visible(line));
        }
    }

    /// Prints an error on standard error, and also as JSON with `--json`.
    pub(crate) fn failure(&mut self, failure: &CliError) {
        // If both are closed, the error cannot be reported.
        if !failure.is_quiet {
            if self.is_json {
                let _ = writeln!(self.out, "{}", escaped(&failure.to_json().to_string()));
            }
            self.remark(failure);
        }
    }

    /// Prints an error on standard error and continues.
    pub(crate) fn remark(&mut self, failure: &CliError) {
        let _ = self.out.flush();
        let _ = io::stderr().write_all(failure.render(self.error_paint).as_bytes());
    }

    /// A progress line on standard error, if it is a terminal.
    pub(crate) fn progress(&self, what: &'static str) -> Progress {
        Progress { what, is_shown: io::stderr().is_terminal(), last: 0 }
    }
}

fn is_coloured(when: When, is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_on = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if is_set("NO_COLOR") => false,
        When::Auto if is_on("CLICOLOR_FORCE") => true,
        When::Auto => is_terminal && !is_dumb,
    }
}

/// The progress of long work.
pub(crate) struct Progress {
    what: &'static str,
    is_shown: bool,
    last: u64,
}

impl Progress {
    /// Shows how much is done, in whole percents.
    pub(crate) fn show(&mut self, done: u64, all: u64) {
        let percent = done.saturating_mul(100).checked_div(all).unwrap_or(100);
        if self.is_shown && percent != self.last {
            self.last = percent;
            let full = usize::try_from(percent / 5).unwrap_or(20).min(20);
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(20 - full));
            let _ = write!(io::stderr(), "\r\x1b[K{} {bar} {percent}% ({done} of {all})", self.what);
        }
    }

    /// Shows how much is done, if the total is unknown.
    pub(crate) fn count(&mut self, done: usize) {
        if self.is_shown && done.is_multiple_of(500) {
            self.last = 1;
            let _ = write!(io::stderr(), "\r\x1b[K{} {done}", self.what);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown && self.last > 0 {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// JSON in which control characters are escaped. They only occur in strings.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if is_printable_ascii(json) || !json.chars().any(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        // A line break outside of strings separates values.
        if is_hidden(c) && c != '\n' {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Untrusted text on one line, safe to print and cut to a number of characters.
pub(crate) fn short(text: &str, longest: usize) -> Cow<'_, str> {
    let safe = visible(text);
    if safe.chars().count() <= longest {
        return safe;
    }
    let mut cut: String = safe.chars().take(longest.saturating_sub(1)).collect();
    cut.push('…');
    Cow::Owned(cut)
}

/// Untrusted text, safe to print, wrapped at a width.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let safe = visible(paragraph);
        let mut line = String::new();
        let mut used = 0;
        let mut is_new = true;
        for word in safe.split(' ') {
            let length = word.chars().count();
            if !is_new && used + 1 + length > width {
                lines.push(std::mem::take(&mut line));
                used = 0;
            } else if !is_new {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
            is_new = false;
        }
        lines.push(line);
    }
    lines
}

/// A named text at an indent.
pub(crate) fn field(name: &str, text: &str, paint: Paint, width: usize) -> Vec<String> {
    const NAME: usize = 10;
    let room = width.saturating_sub(NAME + 4).max(20);
    let mut names = std::iter::once(name).chain(std::iter::repeat(""));
    let line = |text: String| {
        let name = names.next().unwrap_or_default();
        format!("  {}  {text}", paint.style(Style::Dim, format!("{name:<NAME$}")))
    };
    wrap(text, room).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_words_and_made_safe() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("  indented\nnext", 80), ["  indented", "next"]);
        assert_eq!(wrap("\u{1b}[31mred\u{7}", 80), ["␛[31mred␇"]);
        assert_eq!(short("a\nb", 10), "a␊b");
        assert_eq!(short("abcdef", 4), "abc…");
    }

    #[test]
    fn json_control_characters_are_escaped() {
        let text = serde_json::to_string(&"a\u{9b}31m\u{202e}b\u{7f}").unwrap();
        assert_eq!(escaped(&text), r#""a\u009b31m\u202eb\u007f""#);
        assert_eq!(serde_json::from_str::<String>(&escaped(&text)).unwrap(), "a\u{9b}31m\u{202e}b\u{7f}");
        assert_eq!(escaped("{\"é\": 1}\n"), "{\"é\": 1}\n");
    }
}
