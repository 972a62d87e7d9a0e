//! Problems of a text, with place and advice, and how to print them.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use midrail_core::visible::visible_char;
pub use midrail_core::visible::{is_hidden, visible};
use serde::Serialize;

/// A byte range into a source text.
pub type Span = Range<usize>;

/// Lines longer than this are shown as a window around the problem.
const LONG_LINE: usize = 400;
/// How much of a long line is shown on each side of the problem, in bytes.
const WINDOW: usize = 100;
/// Problems past this number are counted in a rendered report, not shown.
const SHOWN: usize = 100;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiagnosticLevel {
    /// For information.
    Note,
    /// Probably a mistake.
    Warning,
    /// Certainly a mistake.
    #[default]
    Error,
}

impl DiagnosticLevel {
    fn level(self) -> Level<'static> {
        match self {
            DiagnosticLevel::Note => Level::NOTE,
            DiagnosticLevel::Warning => Level::WARNING,
            DiagnosticLevel::Error => Level::ERROR,
        }
    }
}

/// One problem at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: DiagnosticLevel,
    /// What is wrong: lowercase, no full stop, the user's text in backticks.
    pub message: String,
    /// Its place.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem without help.
    pub fn new(message: impl Into<String>, span: Span) -> Diagnostic {
        Diagnostic { severity: DiagnosticLevel::Error, message: message.into(), span, help: None }
    }

    /// The same problem with another severity.
    #[must_use]
    pub fn with_severity(mut self, severity: DiagnosticLevel) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// The same problem with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Line and column of the start, both from 1, the column in characters.
    pub fn position(&self, source: &str) -> (usize, usize) {
        Lines::new(source).position(source, self.span.start)
    }
}

/// All problems of one file, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticReport {
    /// The file as the user named it.
    pub path: String,
    /// The whole text of the file.
    pub source: String,
    /// The problems, in any order.
    pub problems: Vec<Diagnostic>,
}

/// A problem as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DiagnosticRecord {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl DiagnosticReport {
    /// A report about the file at `path` with the text `source`.
    pub fn new(
        path: impl Into<String>,
        source: impl Into<String>,
        problems: Vec<Diagnostic>,
    ) -> DiagnosticReport {
        DiagnosticReport { path: path.into(), source: source.into(), problems }
    }

    /// Renders every problem in the style of rustc, sorted by position. Control characters of the source, the path and the
    /// messages are replaced.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let lines = Lines::new(&self.source);
        let path = visible(&self.path);
        let mut out = String::new();
        for problem in self.sorted().into_iter().take(SHOWN) {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&render_one(problem, &renderer, &self.source, &lines, &path));
            out.push('\n');
        }
        if let Some(more) = self.problems.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            out.push_str(&format!("\n{more} more problems are not shown\n"));
        }
        out
    }

    /// The problems as records, sorted by position.
    pub fn plain(&self) -> Vec<DiagnosticRecord> {
        let lines = Lines::new(&self.source);
        let plain = |problem: &Diagnostic| {
            let (line, column) = lines.position(&self.source, problem.span.start);
            DiagnosticRecord {
                file: self.path.clone(),
                line,
                column,
                message: problem.message.clone(),
                help: problem.help.clone(),
            }
        };
        self.sorted().into_iter().map(plain).collect()
    }

    fn sorted(&self) -> Vec<&Diagnostic> {
        let mut problems: Vec<&Diagnostic> = self.problems.iter().collect();
        problems.sort_by_key(|problem| (problem.span.start, problem.span.end));
        problems
    }
}

impl fmt::Display for DiagnosticReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false).trim_end())
    }
}

impl std::error::Error for DiagnosticReport {}

/// The candidate nearest to a misspelt word, if one is near enough.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let normalize = |text: &str| text.chars().take(64).flat_map(char::to_lowercase).collect::<String>();
    let word = normalize(word);
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let distances = candidates.into_iter().filter_map(|candidate| {
        let normalized = normalize(candidate);
        let distance = strsim::osa_distance(&word, &normalized);
        // A candidate without a common letter is not a misspelling.
        (distance <= allowed && distance < normalized.chars().count()).then_some((distance, candidate))
    });
    distances.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Advice for an unknown word: the nearest candidate, or `otherwise` with all candidates.
pub(crate) fn did_you_mean<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
    otherwise: impl FnOnce(String) -> String,
) -> String {
    match nearest(word, candidates.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => otherwise(candidates.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// An excerpt of a text for a message: safe to print, and short.
pub fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted: String = text.chars().take(LONGEST).map(visible_char).collect();
    if text.chars().nth(LONGEST).is_some() {
        quoted.push('…');
    }
    quoted
}

fn render_one(problem: &Diagnostic, renderer: &Renderer, source: &str, lines: &Lines, path: &str) -> String {
    let start = source.floor_char_boundary(problem.span.start.min(source.len()));
    let (line, column) = lines.position(source, start);
    let Range { start: line_start, end: line_end } = lines.range(source, start);
    let end = source.floor_char_boundary(problem.span.end.min(line_end)).max(start.min(line_end));
    let start = start.min(end);

    let long = line_end - line_start > LONG_LINE;
    let (from, to) = if long {
        let from = source.floor_char_boundary(start.saturating_sub(WINDOW)).max(line_start);
        let to = source.floor_char_boundary(end.min(start + WINDOW) + WINDOW).min(line_end);
        (from, to)
    } else {
        (line_start, line_end)
    };
    let excerpt = same_length(source.get(from..to).unwrap_or_default());
    let shown = start - from..end.min(to) - from;

    let message = visible(&problem.message);
    let help = problem.help.as_deref().map(visible);
    let snippet =
        Snippet::source(excerpt.as_str()).line_start(line).annotation(AnnotationKind::Primary.span(shown));
    let title = problem.severity.level().primary_title(message.as_ref());
    let mut group = if long {
        title.element(Origin::path(path).line(line).char_column(column)).element(snippet)
    } else {
        title.element(snippet.path(path))
    };
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_ref()));
    }
    renderer.render(&[group])
}

/// The starts of the lines of a text.
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(source: &str) -> Lines {
        let after_breaks =
            source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The index of the line with `offset`.
    fn index(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    fn start(&self, index: usize) -> Option<usize> {
        self.starts.get(index).copied()
    }

    pub(crate) fn position(&self, source: &str, offset: usize) -> (usize, usize) {
        let offset = source.floor_char_boundary(offset.min(source.len()));
        let index = self.index(offset);
        let start = self.start(index).unwrap_or(0);
        let before = source.get(start..offset).unwrap_or_default();
        (index + 1, before.chars().count() + 1)
    }

    /// The line around `offset` without its line break.
    fn range(&self, source: &str, offset: usize) -> Span {
        let index = self.index(offset);
        let start = self.start(index).unwrap_or(0);
        let end = self.start(index + 1).unwrap_or(source.len());
        let line = source.get(start..end).unwrap_or_default();
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }
}

/// Replaces terminal control characters by characters of the same byte length, so that spans stay valid.
fn same_length(line: &str) -> String {
    let replace = |c: char| match (is_hidden(c), c.len_utf8()) {
        // The renderer replaces tabs and other one-byte control characters.
        (false, _) | (true, 1) => c,
        (true, 2) => '·',
        (true, _) => '\u{fffd}',
    };
    line.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACK: &str = "version: 1\nguardrails:\n  - id: a\n    prioritty: 5\n";

    fn report(source: &str, problems: Vec<Diagnostic>) -> DiagnosticReport {
        DiagnosticReport::new("pack.yaml", source, problems)
    }

    #[test]
    fn report_looks_like_rustc() {
        let at = PACK.find("prioritty").unwrap();
        let problem =
            Diagnostic::new("unknown key `prioritty`", at..at + 9).with_help("did you mean `priority`?");
        let expected = "\
error: unknown key `prioritty`
 --> pack.yaml:4:5
  |
4 |     prioritty: 5
  |     ^^^^^^^^^
  |
  = help: did you mean `priority`?
";
        assert_eq!(report(PACK, vec![problem]).render(false), expected);
    }

    #[test]
    fn problems_are_sorted_by_position_and_all_shown() {
        let problems = vec![Diagnostic::new("second", 20..21), Diagnostic::new("first", 0..7)];
        let report = report(PACK, problems);
        let text = report.render(false);
        assert!(text.find("error: first").unwrap() < text.find("error: second").unwrap(), "{text}");
        let plain = report.plain();
        assert_eq!((plain[0].line, plain[0].column), (1, 1));
        assert_eq!(plain[1].message, "second");
    }

    #[test]
    fn columns_count_characters() {
        let source = "é: 'ü' x\n";
        let at = source.find('x').unwrap();
        assert_eq!(Diagnostic::new("m", at..at + 1).position(source), (1, 8));
    }

    #[test]
    fn control_characters_are_never_printed() {
        let source = "a: \u{1b}[31mred\u{9b}31m \u{202e}x\r\u{7}\n";
        let problem = Diagnostic::new("bad `\u{1b}[0m`\n", 3..source.len()).with_help("\u{1b}]0;x");
        let text = DiagnosticReport::new("p\u{1b}.yaml", source, vec![problem]).render(false);
        assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text:?}");
    }

    #[test]
    fn spans_outside_of_the_source_are_clamped() {
        for source in ["", "a", "é\n", "a\r\nb"] {
            for span in [0..0, 1..1, 5..9, 1..200] {
                let text = report(source, vec![Diagnostic::new("m", span)]).render(false);
                assert!(text.starts_with("error: m\n --> pack.yaml:"), "{text}");
            }
        }
    }

    #[test]
    fn long_lines_are_shown_around_the_problem() {
        let source = format!("{}HERE{}", "é".repeat(5000), "y".repeat(5000));
        let at = source.find("HERE").unwrap();
        let text = report(&source, vec![Diagnostic::new("m", at..at + 4)]).render(false);
        assert!(text.contains("--> pack.yaml:1:5001"), "{text}");
        assert!(text.contains("HERE") && text.contains("^^^^") && text.len() < 2000, "{text}");
    }

    #[test]
    fn many_problems_are_counted() {
        let problems = (0..150).map(|_| Diagnostic::new("m", 0..1)).collect();
        assert!(report(PACK, problems).render(false).contains("50 more problems are not shown"));
    }

    #[test]
    fn nearest_finds_misspellings_only() {
        let words = ["priority", "id", "name", "on_error", "agent.role"];
        let cases = [
            ("prioritty", Some("priority")),
            ("Priority", Some("priority")),
            ("nmae", Some("name")),
            ("agent.rol", Some("agent.role")),
            ("on-error", Some("on_error")),
            ("category", None),
            ("xy", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }

    #[test]
    fn excerpts_are_short_and_visible() {
        assert_eq!(excerpt("a\n\u{1b}b"), "a␊␛b");
        assert_eq!(excerpt(&"é".repeat(100)).chars().count(), 61);
    }

    #[test]
    fn plain_form_serialises() {
        let json = serde_json::to_value(report(PACK, vec![Diagnostic::new("m", 12..13)]).plain()).unwrap();
        assert_eq!(json, serde_json::json!([{"file": "pack.yaml", "line": 2, "column": 2, "message": "m"}]));
    }
}
