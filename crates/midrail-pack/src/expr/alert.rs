//! Conditions of alerts, with windows and groups such as `over 10 minute window` and `per agent per hour`.

use std::time::Duration;

use midrail_core::duration::unit_seconds;

use crate::diagnostic::{Diagnostic, Span, did_you_mean, excerpt};
use crate::expr::ast::{Ast, AstKind, Comparison};
use crate::expr::check::{Checker, Expected};
use crate::expr::lex::{Kind, Unit};
use crate::expr::parse::Parser;

/// A comparison of a metric with a number over a period, for each member of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertCondition {
    /// The metric: `block_rate`, `bypass_requests` or `avg_duration_ms`.
    pub metric: String,
    /// The comparison.
    pub op: Comparison,
    /// The number.
    pub threshold: f64,
    /// The period in seconds, if the condition has one.
    pub window_seconds: Option<u64>,
    /// The group, if the condition has one: `agent`, `guardrail`, `session` or `task`.
    pub group_by: Option<String>,
}

impl AlertCondition {
    /// Whether a value raises the alert.
    pub fn holds(&self, value: f64) -> bool {
        self.op.holds(value, self.threshold).unwrap_or(false)
    }
}

/// The window and group after an expression.
#[derive(Debug, Default)]
pub(super) struct Window {
    seconds: Option<(u64, Span)>,
    group: Option<(String, Span)>,
}

/// Reads `over N unit [window]` and `per NAME [per UNIT]`.
pub(super) fn window(parser: &mut Parser<'_>) -> Result<Window, Diagnostic> {
    let mut window = Window::default();
    loop {
        let start = parser.span().start;
        if parser.eat_word(&["over"]) {
            let seconds = duration(parser)?;
            parser.eat_word(&["window", "windows"]);
            window.set_seconds(seconds, start..parser.last_end())?;
        } else if parser.eat_word(&["per"]) {
            let Some(Kind::Word(word)) = parser.peek() else {
                return Err(parser.unexpected("a group or a unit of time after `per`"));
            };
            let word = *word;
            parser.advance();
            let span = start..parser.last_end();
            match unit_seconds(word) {
                Some(seconds) => window.set_seconds(seconds.into(), span)?,
                None if window.group.is_some() => return Err(Diagnostic::new("a second group", span)),
                None => window.group = Some((word.to_owned(), span)),
            }
        } else {
            return Ok(window);
        }
    }
}

impl Window {
    fn set_seconds(&mut self, seconds: u64, span: Span) -> Result<(), Diagnostic> {
        if self.seconds.is_some() {
            return Err(Diagnostic::new("a second window", span));
        }
        self.seconds = Some((seconds, span));
        Ok(())
    }
}

/// Converts an expression to the condition of an alert. Without an alert, a window is a problem.
pub(super) fn check(
    ast: &Ast,
    window: &Window,
    expected: Expected,
    checker: &mut Checker<'_>,
) -> Option<AlertCondition> {
    let Expected::Alert { groups } = expected else {
        let spans =
            [window.seconds.as_ref().map(|(_, span)| span), window.group.as_ref().map(|(_, span)| span)];
        for span in spans.into_iter().flatten() {
            let problem = Diagnostic::new("only an alert can have a window or a group", span.clone());
            checker.problem(problem.with_help("leave it out, or write an alert below `alerts:`"));
        }
        return None;
    };
    if let Some((group, span)) = &window.group
        && !groups.contains(&group.as_str())
    {
        let problem = Diagnostic::new(format!("unknown group `{}`", excerpt(group)), span.clone());
        let help = did_you_mean(group, groups.iter().copied(), |known| format!("known groups are {known}"));
        checker.problem(problem.with_help(help));
    }
    let parts = match &ast.kind {
        AstKind::Compare(op, left, right) => match (checker.metric(left), checker.constant(right)) {
            (Some(metric), Some(threshold)) => Some((metric.term().to_owned(), *op, threshold)),
            _ => None,
        },
        _ => None,
    };
    let Some((metric, op, threshold)) = parts else {
        if !checker.has_problems() {
            let problem = Diagnostic::new("an alert compares one metric with a number", ast.span.clone());
            checker.problem(problem.with_help("for example `block_rate > 30% over 10 minute window`"));
        }
        return None;
    };
    let window_seconds = window.seconds.as_ref().map(|(seconds, _)| *seconds);
    let group_by = window.group.as_ref().map(|(group, _)| group.clone());
    Some(AlertCondition { metric, op, threshold, window_seconds, group_by })
}

const EXAMPLE: &str = "for example `10 minutes` or `10m`";

/// Reads a duration such as `10 minutes` or `10m`.
fn duration(parser: &mut Parser<'_>) -> Result<u64, Diagnostic> {
    let span = parser.span();
    let Some(Kind::Number(value, unit)) = parser.peek() else { return Err(parser.unexpected("a duration")) };
    let (value, unit) = (*value, *unit);
    parser.advance();
    let seconds = match (unit, parser.peek()) {
        (Unit::Duration, _) => value,
        (Unit::None, Some(Kind::Word(word))) => match unit_seconds(word) {
            Some(seconds) => {
                parser.advance();
                value * f64::from(seconds)
            }
            None => return Err(parser.unexpected("a unit of time").with_help(EXAMPLE)),
        },
        _ => return Err(parser.unexpected("a unit of time").with_help(EXAMPLE)),
    };
    match Duration::try_from_secs_f64(seconds).map(|duration| duration.as_secs()) {
        Ok(seconds) if seconds > 0 => Ok(seconds),
        _ => Err(Diagnostic::new("a window lasts one second or longer", span)),
    }
}
