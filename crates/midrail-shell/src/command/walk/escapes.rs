//! Texts that a program which is no shell hands to one: lines with a mark (`!rm x` in gnuplot), macros (`syscmd(rm x)`), pipes of
//! database clients (`\g |rm x`), and variables of build files (`make CC='rm x'`).

use super::super::invocation::{Arg, Invocation};
use super::super::scope::Scope;
use super::state::{Stream, Walk};
use crate::tables::{ESCAPES, Escapes};
use crate::words::shell::{CODE_VARIABLES, TOOL_VARIABLES};

/// The most lines of a call that are run.
const MAX_LINES: usize = 64;

impl Walk {
    /// Runs what a program hands to a shell.
    pub(super) fn escapes(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        let family = invocation.family();
        // What holds for a family holds for its programs.
        let names = [program, family];
        let names = names.get(..if program == family { 1 } else { 2 }).unwrap_or_default();
        let rows: Vec<&Escapes> = names.iter().filter_map(|name| ESCAPES.get(name)).collect();
        let is_make = family == "make";
        if rows.is_empty() && !is_make {
            return;
        }
        let marks = rows.iter().flat_map(|row| row.lines);
        let ends = rows.iter().flat_map(|row| row.texts).filter_map(|row| row.split_once(' '));
        let pipes = rows.iter().flat_map(|row| row.pipes);
        let texts = invocation.args.iter().chain(&input.text);
        let mut lines: Vec<String> = Vec::new();
        for text in texts {
            for line in text.text.lines().map(str::trim_start) {
                lines.extend(marks.clone().filter_map(|mark| line.strip_prefix(mark)).map(str::to_owned));
                for (_, rest) in pipes.clone().filter_map(|mark| line.split_once(mark)) {
                    lines.extend(rest.trim_start().strip_prefix('|').map(str::to_owned));
                }
            }
            for (start, end) in ends.clone() {
                let bodies = text.text.split(start).skip(1);
                lines.extend(bodies.map(|body| body.split(end).next().unwrap_or(body).to_owned()));
            }
            lines.extend(make_variable(text).filter(|_| is_make).map(str::to_owned));
        }
        lines.iter().take(MAX_LINES).for_each(|line| self.run(line.trim_matches(['`', '\'']), scope));
    }
}

/// The command in `CC='rm x'`.
fn make_variable(arg: &Arg) -> Option<&str> {
    let (name, value) = arg.text.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+']);
    (CODE_VARIABLES.contains(name) || TOOL_VARIABLES.contains(name)).then_some(value)
}
