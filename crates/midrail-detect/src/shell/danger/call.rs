//! The arguments of one invocation, split into options and operands by the grammar of its program.

use std::borrow::Cow;

use super::grammar::{self, Grammar, Style};
use crate::shell::invocation::{Arg, Invocation};

/// One option that is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// Its name without dashes.
    pub(super) name: &'a str,
    /// It is one letter after one dash.
    pub(super) is_short: bool,
    /// The word that its value stands in, and where in it the value starts.
    pub(super) value: Option<(&'a Arg, usize)>,
}

impl<'a> Given<'a> {
    /// The text of its value.
    pub(super) fn value_text(&self) -> Option<&'a str> {
        self.value.and_then(|(arg, from)| arg.text.get(from..))
    }

    /// Its value as a word of its own.
    pub(super) fn value_arg(&self) -> Option<Arg> {
        self.value.map(|(arg, from)| tail(arg, from))
    }
}

/// An invocation, seen through the grammar of its program.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// What was split.
    pub(super) invocation: &'a Invocation,
    /// How its program reads arguments.
    pub(super) grammar: &'static Grammar,
    /// The options, in order.
    pub(super) options: Vec<Given<'a>>,
    /// The words that are neither options nor their values, in order.
    pub(super) operands: Vec<&'a Arg>,
    /// How many operands stood before `--`, where there is one.
    pub(super) end_of_options: Option<usize>,
}

impl<'a> Call<'a> {
    /// Splits the arguments of an invocation.
    pub(super) fn new(invocation: &'a Invocation, program: &str) -> Call<'a> {
        let grammar = grammar::of(program);
        let mut call = Call {
            invocation,
            grammar,
            options: Vec::new(),
            operands: Vec::with_capacity(invocation.args.len()),
            end_of_options: None,
        };
        let mut args = invocation.args.iter();
        if grammar.style == Style::Search {
            call.search(&mut args);
            return call;
        }
        while let Some(arg) = args.next() {
            let text = arg.text.as_str();
            let unknown_start = arg.unknown.first().is_some_and(|range| range.start == 0);
            if call.end_of_options.is_some() || unknown_start || text.len() < 2 || !text.starts_with('-') {
                call.operands.push(arg);
            } else if text == "--" {
                call.end_of_options = Some(call.operands.len());
            } else if let Some(long) = text.strip_prefix("--") {
                call.long(arg, long, 2, &mut args);
            } else if grammar.style == Style::SingleDash {
                call.long(arg, text.strip_prefix('-').unwrap_or(text), 1, &mut args);
            } else {
                call.short(arg, &mut args);
            }
        }
        call
    }

    /// `find`: folders, then tests and actions. A test that is turned round narrows nothing down, nor does one that
    /// comes after `-delete`.
    fn search(&mut self, args: &mut std::slice::Iter<'a, Arg>) {
        let mut is_expression = false;
        let mut is_negated = false;
        while let Some(arg) = args.next() {
            let text = arg.text.as_str();
            let test = text.strip_prefix('-').filter(|name| !name.is_empty());
            match (text, test) {
                ("(" | ")" | "\\(" | "\\)" | ",", _) => is_expression = true,
                ("!" | "\\!" | "-not", _) => (is_expression, is_negated) = (true, true),
                ("-H" | "-L" | "-P", _) => {}
                (_, Some(name)) => {
                    is_expression = true;
                    let is_command = grammar::COMMAND_OPTIONS.contains(&name);
                    let has_value = is_command || self.takes_value(name, false);
                    let value = if has_value { args.next().map(|arg| (arg, 0)) } else { None };
                    if is_command {
                        args.by_ref().find(|arg| matches!(arg.text.as_str(), ";" | "+" | "\\;"));
                    }
                    if !is_negated {
                        self.options.push(Given { name, is_short: false, value });
                    }
                    if name == "delete" {
                        return;
                    }
                    is_negated = false;
                }
                (_, None) if !is_expression => self.operands.push(arg),
                (_, None) => {}
            }
        }
    }

    fn long(&mut self, arg: &'a Arg, name: &'a str, dashes: usize, args: &mut std::slice::Iter<'a, Arg>) {
        if let Some((name, _)) = name.split_once('=') {
            let value = Some((arg, dashes + name.len() + 1));
            self.options.push(Given { name, is_short: false, value });
            return;
        }
        let value = if self.takes_value(name, false) { args.next().map(|arg| (arg, 0)) } else { None };
        self.options.push(Given { name, is_short: false, value });
    }

    fn short(&mut self, arg: &'a Arg, args: &mut std::slice::Iter<'a, Arg>) {
        let name = arg.text.get(1..).unwrap_or_default();
        let is_signal = name.len() > 1 && name.starts_with(|letter: char| letter.is_ascii_uppercase());
        if self.grammar.has_signals && is_signal {
            self.options.push(Given { name, is_short: false, value: None });
            return;
        }
        for (index, letter) in arg.text.char_indices().skip(1) {
            let next = index + letter.len_utf8();
            let name = arg.text.get(index..next).unwrap_or_default();
            if !self.takes_value(name, true) {
                // A letter counts once, so that a flood of letters costs nothing.
                let is_repeated = self.options.last().is_some_and(|last| last.is_short && last.name == name);
                if !is_repeated {
                    self.options.push(Given { name, is_short: true, value: None });
                }
                continue;
            }
            let value = if next < arg.text.len() {
                let after = usize::from(arg.text.get(next..).is_some_and(|rest| rest.starts_with('=')));
                Some((arg, next + after))
            } else {
                args.next().map(|arg| (arg, 0))
            };
            self.options.push(Given { name, is_short: true, value });
            return;
        }
    }

    fn takes_value(&self, name: &str, is_short: bool) -> bool {
        // The table writes options as the program does; its own spelling of single dashes leaves them out.
        let dashes = match (self.grammar.style, is_short) {
            (Style::Usual, true) => 1,
            (Style::Usual, false) => 2,
            (Style::SingleDash | Style::Search, _) => 0,
        };
        let is_it = |option: &str| {
            option.len() == name.len() + dashes
                && option.ends_with(name)
                && (dashes != 1 || !option.starts_with("--"))
        };
        self.grammar.values.split_ascii_whitespace().any(is_it)
            || (self.operands.is_empty() && self.grammar.leading.split_ascii_whitespace().any(is_it))
    }

    /// The text of an operand, as conditions see it.
    pub(super) fn word(&self, index: usize) -> Option<Cow<'a, str>> {
        let text = self.operands.get(index)?.text.as_str();
        Some(if self.grammar.ignores_case {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        })
    }
}

/// The rest of a word from a byte on, as a word of its own.
pub(super) fn tail(arg: &Arg, from: usize) -> Arg {
    let unknown = arg.unknown.iter().filter(|range| range.end > from);
    Arg {
        text: arg.text.get(from..).unwrap_or_default().to_owned(),
        unknown: unknown.map(|range| range.start.saturating_sub(from)..range.end - from).collect(),
        is_glob: arg.is_glob,
    }
}
