//! The one parser of arguments: options, their values and operands, by the row of the program.

use super::find::{self, FindPart};
use super::invocation::{Arg, Invocation};
use super::programs::{self, Program, Run, Style};
use crate::words::shell::COMMON_OPTIONS;

/// The arguments of a program.
#[derive(Debug)]
pub(super) struct Arguments {
    /// How the program reads its arguments.
    pub(super) program: &'static Program,
    /// The indices of arguments that are no options and no values of options.
    pub(super) operands: Vec<usize>,
    /// Options with their values: `-o file`, `-ofile`, `--output=file`.
    pub(super) values: Vec<(String, Arg)>,
    /// Options without a value; clusters such as `-rf` are split.
    pub(super) flags: Vec<String>,
    /// How many operands come before `--`, if there is one.
    pub(super) end_of_options: Option<usize>,
    /// The first option in front of all operands that the row does not know, and that might take the next word as its
    /// value.
    pub(super) unknown: Option<String>,
}

impl Arguments {
    /// Parses all arguments of an invocation.
    pub(super) fn new(invocation: &Invocation) -> Self {
        Arguments::parse(programs::row(&invocation.program), &invocation.args, &[])
    }

    /// Parses arguments. The options in `more` take a value as well.
    pub(super) fn parse(program: &'static Program, args: &[Arg], more: &[&str]) -> Self {
        Parser { arguments: Arguments::empty(program), args, more, stops: false }.run()
    }

    /// Parses arguments up to the first operand, which is then the only one.
    pub(super) fn leading(program: &'static Program, args: &[Arg], more: &[&str]) -> Self {
        Parser { arguments: Arguments::empty(program), args, more, stops: true }.run()
    }

    fn empty(program: &'static Program) -> Self {
        let (operands, values, flags) = (Vec::new(), Vec::new(), Vec::new());
        Arguments { program, operands, values, flags, end_of_options: None, unknown: None }
    }

    /// Whether one of these options is present without a value.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|flag| self.is_one_of(names, flag))
    }

    /// The values of these options.
    pub(super) fn values_of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Arg> {
        self.values.iter().filter(|(name, _)| self.is_one_of(names, name)).map(|(_, value)| value)
    }

    /// Whether an option has one of these names.
    pub(super) fn is_one_of(&self, names: &[&str], option: &str) -> bool {
        names.iter().any(|name| self.program.is_same(name, option))
    }

    /// The operands among the parsed arguments.
    pub(super) fn operands_in<'a>(&self, args: &'a [Arg]) -> Vec<&'a Arg> {
        self.operands.iter().filter_map(|at| args.get(*at)).collect()
    }
}

struct Parser<'a> {
    arguments: Arguments,
    args: &'a [Arg],
    more: &'a [&'a str],
    stops: bool,
}

impl Parser<'_> {
    fn run(mut self) -> Arguments {
        if self.arguments.program.style == Style::Search {
            self.search();
            return self.arguments;
        }
        let mut at = 0;
        while let Some(arg) = self.args.get(at) {
            let text = arg.text.as_str();
            let is_operand = text.len() < 2
                || !text.starts_with('-')
                || arg.unknown.first().is_some_and(|range| range.start == 0);
            if text == "--" {
                self.arguments.end_of_options = Some(self.arguments.operands.len());
                let most = if self.stops { 1 } else { usize::MAX };
                self.arguments.operands.extend((at + 1..self.args.len()).take(most));
                break;
            }
            if is_operand {
                self.arguments.operands.push(at);
                if self.stops {
                    break;
                }
            } else {
                at += self.option(arg, self.args.get(at + 1));
            }
            at += 1;
        }
        self.arguments
    }

    /// One argument that begins with a dash. Returns how many further arguments were used.
    fn option(&mut self, arg: &Arg, next: Option<&Arg>) -> usize {
        let text = arg.text.as_str();
        let program = self.arguments.program;
        let is_long = text.starts_with("--") || program.style == Style::SingleDash;
        if is_long && let Some((name, _)) = text.split_once('=') {
            self.arguments.values.push((name.to_owned(), tail(arg, name.len() + 1)));
            return 0;
        }
        if self.takes_value(text) {
            self.arguments.values.push((text.to_owned(), next.cloned().unwrap_or_default()));
            return 1;
        }
        let is_signal = program.has_signals
            && text.len() > 3
            && text.bytes().skip(1).take(3).all(|byte| byte.is_ascii_uppercase());
        if is_long || program.is_flag(text) || is_signal {
            if !is_signal {
                self.note_unknown(text, text, next);
            }
            self.arguments.flags.push(text.to_owned());
            return 0;
        }
        self.cluster(arg, next)
    }

    /// `-rf`, `-ofile` and `-xo file`.
    fn cluster(&mut self, arg: &Arg, next: Option<&Arg>) -> usize {
        let text = arg.text.as_str();
        for (at, letter) in text.char_indices().skip(1) {
            let flag = format!("-{letter}");
            if self.takes_value(&flag) {
                let rest = text.get(at + letter.len_utf8()..).unwrap_or_default();
                let from = text.len() - rest.strip_prefix('=').unwrap_or(rest).len();
                let (value, used) = if rest.is_empty() {
                    (next.cloned().unwrap_or_default(), 1)
                } else {
                    (tail(arg, from), 0)
                };
                self.arguments.values.push((flag, value));
                return used;
            }
            self.note_unknown(&flag, text, next);
            // A repeated letter counts once, so that a flood of letters costs nothing.
            if self.arguments.flags.last() != Some(&flag) {
                self.arguments.flags.push(flag);
            }
        }
        0
    }

    fn takes_value(&self, option: &str) -> bool {
        let is_leading = self.arguments.operands.is_empty();
        self.more.contains(&option) || self.arguments.program.takes_value(option, is_leading)
    }

    /// Remembers an option that might take the next word as its value.
    fn note_unknown(&mut self, option: &str, text: &str, next: Option<&Arg>) {
        let arguments = &mut self.arguments;
        let is_followed = next.is_some_and(|next| !next.text.starts_with('-') && !next.text.is_empty());
        let is_known = arguments.program.is_flag(option) || COMMON_OPTIONS.contains(&option);
        if arguments.unknown.is_none() && arguments.operands.is_empty() && is_followed && !is_known {
            arguments.unknown = Some(text.to_owned());
        }
    }

    /// `find`: a negated test does not narrow the search, nor does one after `-delete`.
    fn search(&mut self) {
        let arguments = &mut self.arguments;
        let mut is_negated = false;
        for part in find::parts(self.args) {
            let (name, value) = match part {
                FindPart::Folder(at) => {
                    arguments.operands.push(at);
                    continue;
                }
                FindPart::Not => {
                    is_negated = true;
                    continue;
                }
                FindPart::Open | FindPart::Close => continue,
                FindPart::Or => ("-o", None),
                FindPart::Run(name, command) => (name, Some(command.first().cloned().unwrap_or_default())),
                FindPart::Test(name, value) => (name, value.cloned()),
            };
            match value {
                _ if is_negated => {}
                Some(value) => arguments.values.push((name.to_owned(), value)),
                None => arguments.flags.push(name.to_owned()),
            }
            if name == "-delete" {
                return;
            }
            is_negated = false;
        }
    }
}

/// The place after the words of a subcommand, if the operands begin with one of these. None of them: the start.
pub(super) fn after_subcommand(
    program: &'static Program,
    args: &[Arg],
    subcommands: &[&str],
    more: &[&str],
) -> Option<usize> {
    if subcommands.is_empty() {
        return Some(0);
    }
    let operands = Arguments::parse(program, args, more).operands;
    subcommands.iter().find_map(|words| {
        let mut places = operands.iter().copied();
        let mut end = 0;
        for word in words.split_whitespace() {
            let at = places.next().filter(|at| args.get(*at).is_some_and(|arg| arg.text == word))?;
            end = at + 1;
        }
        Some(end)
    })
}

/// The arguments after a subcommand that runs a command, such as `docker run`, and its row.
pub(super) fn find_run<'a>(invocation: &'a Invocation, name: &str) -> Option<(&'a [Arg], &'static Run)> {
    let program = programs::row(&invocation.program);
    let run = program.runs.iter().find(|run| run.subcommands.contains(&name))?;
    let end = after_subcommand(program, &invocation.args, run.subcommands, &[])?;
    Some((invocation.args.get(end..)?, run))
}

/// A word with an unknown value.
pub(super) fn unknown(text: &str) -> Arg {
    Arg { text: text.to_owned(), unknown: std::iter::once(0..text.len()).collect(), is_glob: false }
}

/// A word from a byte on.
pub(super) fn tail(arg: &Arg, from: usize) -> Arg {
    Arg {
        text: arg.text.get(from..).unwrap_or_default().to_owned(),
        unknown: arg
            .unknown
            .iter()
            .filter(|range| range.end > from)
            .map(|range| range.start.saturating_sub(from)..range.end - from)
            .collect(),
        is_glob: arg.is_glob,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(program: &str, line: &str) -> Arguments {
        let args: Vec<Arg> = line.split(' ').map(Arg::known).collect();
        Arguments::parse(programs::row(program), &args, &[])
    }

    #[test]
    fn options_values_and_operands_are_separated() {
        let parsed = parse("sort", "-rf -ofile x -uo y --key=1 -- -z");
        assert_eq!(parsed.operands, [2, 7]);
        let values: Vec<(&str, &str)> =
            parsed.values.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
        assert_eq!(values, [("-o", "file"), ("-o", "y"), ("--key", "1")]);
        assert!(parsed.has(&["-r"]) && parsed.has(&["-u"]) && !parsed.has(&["-z"]));
        assert_eq!(parsed.end_of_options, Some(1));
    }

    #[test]
    fn global_options_take_values_before_the_subcommand_only() {
        assert_eq!(parse("docker", "-f x rm -f c").operands, [2, 4]);
    }

    #[test]
    fn unknown_options_before_operands_are_reported() {
        assert_eq!(parse("uv", "--no-such x run").unknown.as_deref(), Some("--no-such"));
        assert_eq!(parse("uv", "--cache-dir x run").unknown, None);
        assert_eq!(parse("uv", "run --no-such x").unknown, None);
    }
}
