//! Texts that a program which is no shell hands to one: lines with a mark (`!rm x` in gnuplot), macros (`syscmd(rm x)`), pipes of
//! database clients (`\g |rm x`), and variables of build files (`make CC='rm x'`).

use super::super::invocation::{Arg, Invocation};
use super::super::programs;
use super::super::scope::Scope;
use super::state::{Stream, Walk};
use crate::words::shell::{CODE_VARIABLES, LINE_ESCAPES, PIPE_ESCAPES, TEXT_ESCAPES, TOOL_VARIABLES};

/// The most lines of a call that are run.
const MAX_LINES: usize = 64;

impl Walk {
    /// Runs what a program hands to a shell.
    pub(super) fn escapes(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        let family = programs::family(program);
        let marks: Vec<&str> = marks_of(LINE_ESCAPES, program, family).collect();
        let ends: Vec<(&str, &str)> =
            marks_of(TEXT_ESCAPES, program, family).filter_map(|row| row.split_once(' ')).collect();
        let pipes: Vec<&str> = marks_of(PIPE_ESCAPES, program, family).collect();
        let is_make = family == "make";
        if marks.is_empty() && ends.is_empty() && pipes.is_empty() && !is_make {
            return;
        }
        let texts = invocation.args.iter().chain(&input.text);
        let mut lines: Vec<String> = Vec::new();
        for text in texts {
            for line in text.text.lines().map(str::trim_start) {
                lines.extend(marks.iter().filter_map(|mark| line.strip_prefix(mark)).map(str::to_owned));
                for (_, rest) in pipes.iter().filter_map(|mark| line.split_once(mark)) {
                    lines.extend(rest.trim_start().strip_prefix('|').map(str::to_owned));
                }
            }
            for (start, end) in &ends {
                let bodies = text.text.split(start).skip(1);
                lines.extend(bodies.map(|body| body.split(end).next().unwrap_or(body).to_owned()));
            }
            lines.extend(make_variable(text).filter(|_| is_make).map(str::to_owned));
        }
        lines.iter().take(MAX_LINES).for_each(|line| self.run(line.trim_matches(['`', '\'']), scope));
    }
}

/// The marks of a program in a list of rows `program mark`. A row of a family is also that of its programs.
fn marks_of(
    rows: &'static [&'static str],
    program: &str,
    family: &str,
) -> impl Iterator<Item = &'static str> {
    let mark_of = |row: &'static str, name: &str| row.strip_prefix(name)?.strip_prefix(' ');
    rows.iter().filter_map(move |row| mark_of(row, program).or_else(|| mark_of(row, family)))
}

/// The command in `CC='rm x'`.
fn make_variable(arg: &Arg) -> Option<&str> {
    let (name, value) = arg.text.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+']);
    (CODE_VARIABLES.contains(&name) || TOOL_VARIABLES.contains(&name)).then_some(value)
}
