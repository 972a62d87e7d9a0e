//! The one parser of arguments: options, their values and operands, by the row of the program.

use std::ops::Deref;
use std::rc::Rc;

use super::invocation::{Arg, Invocation, ParsedArguments};
use super::programs::{self, Program, Run, Style};
use crate::words::shell::{COMMON_OPTIONS, SWITCH_VALUES};

/// How many unknown options of one call are tried with a value.
pub(super) const MAX_UNKNOWN: usize = 8;

/// The arguments of a program.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    /// How the program reads its arguments.
    pub(super) program: &'static Program,
    args: &'a [Arg],
    /// The arguments that are no options and no values of options.
    pub(super) operands: Vec<&'a Arg>,
    parsed: Rc<ParsedArguments>,
}

impl Deref for Arguments<'_> {
    type Target = ParsedArguments;

    fn deref(&self) -> &ParsedArguments {
        &self.parsed
    }
}

impl<'a> Arguments<'a> {
    /// Parses all arguments of an invocation, which is done once.
    pub(super) fn new(invocation: &'a Invocation) -> Self {
        let program = invocation.row();
        let args = invocation.args.as_slice();
        // The operands of `find` are not all of its words without a dash.
        if program.style == Style::Search {
            return Arguments::parse(program, args, &[]);
        }
        let parsed = invocation.known.arguments(|| Arguments::parse(program, args, &[]).parsed);
        let operands = parsed.places.iter().filter_map(|at| args.get(*at)).collect();
        Arguments { program, args, operands, parsed }
    }

    /// Parses arguments. The options in `more` take a value as well.
    pub(super) fn parse(program: &'static Program, args: &'a [Arg], more: &[&str]) -> Self {
        Parser::new(program, args, more).run()
    }

    /// Parses arguments up to the first operand, which is then the only one.
    pub(super) fn leading(program: &'static Program, args: &'a [Arg], more: &[&str]) -> Self {
        Parser { stops: true, ..Parser::new(program, args, more) }.run()
    }

    /// Parses arguments after the subcommand that runs a command, up to the first operand.
    pub(super) fn before_command(
        program: &'static Program,
        run: &'static Run,
        args: &'a [Arg],
        more: &[&str],
    ) -> Self {
        let has_globals = run.subcommands.is_empty();
        Parser { stops: true, has_globals, ..Parser::new(program, args, more) }.run()
    }

    /// Whether one of these options is present without a value.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|flag| self.is_one_of(names, flag))
    }

    /// The values of these options.
    pub(super) fn values_of<'n>(&'n self, names: &'n [&str]) -> impl Iterator<Item = &'n Arg> {
        self.values.iter().filter(|(name, _)| self.is_one_of(names, name)).map(|(_, value)| value)
    }

    /// Whether one of these options is present with a value.
    pub(super) fn has_value(&self, names: &[&str]) -> bool {
        self.values_of(names).next().is_some()
    }

    /// Whether an option has one of these names.
    pub(super) fn is_one_of(&self, names: &[&str], option: &str) -> bool {
        names.iter().any(|name| self.program.is_same(name, option))
    }

    /// Whether an option that makes a call harmless counts: it is present, no other option revokes it, and it cannot be
    /// the value of another one.
    pub(super) fn is_certain(&self, option: &str) -> bool {
        let is_no = |value: &str| matches!(value, "none" | "false" | "no" | "0");
        let name = option.trim_start_matches('-');
        // Options can be shortened: `--no-dry`.
        let revokes = |flag: &str| {
            let rest =
                flag.strip_prefix("--no-").filter(|rest| !rest.is_empty() && !self.program.is_flag(flag));
            // What a letter stands for is not known.
            rest.is_some_and(|rest| name.starts_with(rest) || name.len() == 1)
        };
        !self.doubtful.iter().any(|doubtful| doubtful == option)
            && !self.flags.iter().any(|flag| revokes(flag))
            && !self.values.iter().any(|(name, value)| name == option && is_no(&value.text))
            && !self.operands.iter().any(|operand| is_no(&operand.text))
    }

    /// The arguments from the first operand on.
    pub(super) fn rest(&self) -> &'a [Arg] {
        self.places.first().and_then(|at| self.args.get(*at..)).unwrap_or_default()
    }

    /// The options in front of the first operand that the row does not know, if each of them takes the next word as its
    /// value.
    pub(super) fn unknown_options(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        let mut unknown = self.unknown.clone();
        while let Some(option) =
            unknown.filter(|option| !options.contains(option) && options.len() < MAX_UNKNOWN)
        {
            options.push(option);
            let more: Vec<&str> = options.iter().map(String::as_str).collect();
            unknown = Arguments::parse(self.program, self.args, &more).unknown.clone();
        }
        options
    }

    /// The arguments after the words in place of a subcommand of which nothing is known: these may be options, or nothing at
    /// all (`git $OPTIONS push`).
    pub(super) fn after_unknown_word(&self) -> Option<&'a [Arg]> {
        let at = self.operands.iter().take_while(|operand| self.program.is_prefix(&operand.text)).count();
        self.operands.get(at).filter(|first| first.begins_unknown())?;
        let rest = self.args.get(*self.places.get(at)?..)?;
        rest.get(rest.iter().take_while(|word| word.begins_unknown()).count()..)
    }

    /// How many operands these words are, each with its alternatives (`cp|mv`), if the operands begin with them.
    pub(super) fn begins_with(&self, words: &str) -> Option<usize> {
        let mut operands = self.operands.iter();
        let mut words = words.split_whitespace();
        let is_next = |word: &str| {
            operands.next().is_some_and(|it| word.split('|').any(|word| self.program.is_word(word, &it.text)))
        };
        words.all(is_next).then(|| self.operands.len() - operands.len())
    }
}

struct Parser<'a, 'm> {
    program: &'static Program,
    args: &'a [Arg],
    operands: Vec<&'a Arg>,
    parsed: ParsedArguments,
    more: &'m [&'m str],
    /// It stops at the first operand.
    stops: bool,
    /// The subcommand is among the arguments: options that come before it may take a value.
    has_globals: bool,
}

impl<'a, 'm> Parser<'a, 'm> {
    fn new(program: &'static Program, args: &'a [Arg], more: &'m [&'m str]) -> Self {
        let (operands, parsed) = (Vec::new(), ParsedArguments::default());
        Parser { program, args, operands, parsed, more, stops: false, has_globals: true }
    }

    fn run(mut self) -> Arguments<'a> {
        if self.program.style == Style::Search {
            self.search();
        } else {
            self.sort();
        }
        let Parser { program, args, operands, parsed, .. } = self;
        Arguments { program, args, operands, parsed: Rc::new(parsed) }
    }

    fn sort(&mut self) {
        let mut at = 0;
        let mut is_after_unknown = false;
        let args = self.args;
        while let Some(arg) = args.get(at) {
            let text = arg.text.as_str();
            let is_operand = !text.starts_with('-')
                || (text.len() < 2 && !self.program.is_flag(text))
                || arg.begins_unknown();
            // `cargo +nightly`
            if text.starts_with('+') && self.is_leading() && self.program.is_flag("+") {
                at += 1;
                continue;
            }
            if text == "--" {
                self.parsed.end_of_options = Some(self.operands.len());
                let most = if self.stops { 1 } else { usize::MAX };
                self.parsed.places.extend((at + 1..args.len()).take(most));
                self.operands.extend(args.iter().skip(at + 1).take(most));
                break;
            }
            if is_operand {
                self.parsed.places.push(at);
                self.operands.push(arg);
                if self.stops {
                    break;
                }
                is_after_unknown = false;
            } else {
                let before = self.parsed.flags.len();
                let used = self.option(arg, args.get(at + 1));
                let added = self.parsed.flags.get(before..).unwrap_or_default();
                if is_after_unknown {
                    self.parsed.doubtful.extend_from_slice(added);
                }
                let last = self.parsed.flags.last().filter(|_| used == 0 && !text.contains('='));
                is_after_unknown = last.is_some_and(|last| !self.is_known(last));
                at += used;
            }
            at += 1;
        }
    }

    /// One argument that begins with a dash. Returns how many further arguments were used.
    fn option(&mut self, arg: &Arg, next: Option<&Arg>) -> usize {
        let text = arg.text.as_str();
        let program = self.program;
        let is_long = text.starts_with("--") || program.style == Style::SingleDash;
        if is_long && let Some((name, _)) = text.split_once('=') {
            let full_name = program.spelled_out(name).to_owned();
            self.parsed.values.push((full_name, arg.tail(name.len() + 1)));
            return 0;
        }
        let name = program.spelled_out(text);
        if self.takes_value(name) {
            self.note_split(next);
            self.parsed.values.push((name.to_owned(), next.cloned().unwrap_or_default()));
            return 1 + usize::from(program.pairs.contains(&name));
        }
        let is_signal = program.has_signals
            && text.len() > 3
            && text.bytes().skip(1).take(3).all(|byte| byte.is_ascii_uppercase());
        if is_long || program.is_flag(text) || is_signal {
            if !is_signal {
                self.note_unknown(text, text, next);
            }
            self.parsed.flags.push(text.to_owned());
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
                    self.note_split(next);
                    (next.cloned().unwrap_or_default(), 1)
                } else {
                    (arg.tail(from), 0)
                };
                self.parsed.values.push((flag, value));
                return used;
            }
            self.note_unknown(&flag, text, next);
            // A repeated letter counts once, so that a flood of letters costs nothing.
            if self.parsed.flags.last() != Some(&flag) {
                self.parsed.flags.push(flag);
            }
        }
        0
    }

    fn takes_value(&self, option: &str) -> bool {
        let program = self.program;
        self.more.contains(&option)
            || program.takes_value(option, self.has_globals && self.is_leading())
            || self.subcommand().is_some_and(|subcommand| program.takes_own_value(option, subcommand))
    }

    fn subcommand(&self) -> Option<&str> {
        let groups = self.program.groups;
        let mut words = self.operands.iter().map(|operand| operand.text.as_str());
        words.find(|word| !groups.contains(word))
    }

    /// Whether the subcommand is still to come.
    fn is_leading(&self) -> bool {
        let groups = self.program.groups;
        self.operands.iter().all(|operand| groups.contains(&operand.text.as_str()))
    }

    fn is_known(&self, option: &str) -> bool {
        self.program.is_flag(option) || COMMON_OPTIONS.contains(option)
    }

    /// Remembers where the value of an option may be several words, or none.
    fn note_split(&mut self, value: Option<&Arg>) {
        if value.is_some_and(|value| value.may_split) {
            self.parsed.splits.get_or_insert(self.operands.len());
        }
    }

    /// Remembers an option that might take the next word as its value.
    fn note_unknown(&mut self, option: &str, text: &str, next: Option<&Arg>) {
        let is_followed = next.is_some_and(|next| !next.text.starts_with('-'));
        // `npm --yes true exec`
        let is_switch = next.is_some_and(|next| SWITCH_VALUES.contains(next.text.as_str()));
        let is_known = self.is_known(option) && !is_switch;
        let is_leading = self.operands.iter().all(|operand| self.program.is_prefix(&operand.text));
        if self.parsed.unknown.is_none() && is_leading && is_followed && !is_known {
            self.parsed.unknown = Some(text.to_owned());
        }
    }

    /// `find`: a negated test does not narrow the search, nor does one after `-delete`.
    fn search(&mut self) {
        let mut is_negated = false;
        for part in find_parts(self.args) {
            let (name, value) = match part {
                FindPart::Folder(folder) => {
                    self.operands.push(folder);
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
                Some(value) => self.parsed.values.push((name.to_owned(), value)),
                None => self.parsed.flags.push(name.to_owned()),
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
    if let Some(word) = first_word(program, args)
        && !subcommands.iter().any(|words| may_begin(program, words, word))
    {
        return None;
    }
    let parsed = Arguments::parse(program, args, more);
    let count = subcommands.iter().find_map(|words| parsed.begins_with(words))?;
    parsed.places.get(count.checked_sub(1)?).map(|last| last + 1)
}

/// Whether the first of some words may be this one.
fn may_begin(program: &Program, words: &str, first: &str) -> bool {
    let word = words.split_whitespace().next();
    word.is_none_or(|word| word.split('|').any(|word| program.is_word(word, first)))
}

/// The first argument, if it is the first operand whatever options the program has: `test` in `cargo test`.
fn first_word<'a>(program: &Program, args: &'a [Arg]) -> Option<&'a str> {
    let first = args.first().filter(|first| !first.begins_unknown() && program.style != Style::Search)?;
    Some(first.text.as_str()).filter(|text| !text.starts_with(['-', '+']))
}

/// Whether the first argument is the subcommand: no option comes before it, and no word that is not known.
pub(super) fn begins_with_subcommand(program: &Program, args: &[Arg]) -> bool {
    first_word(program, args).is_some_and(|word| !program.is_prefix(word))
}

/// The arguments after a subcommand that runs a command, such as `docker run`, and its row.
pub(super) fn find_run<'a>(invocation: &'a Invocation, name: &str) -> Option<(&'a [Arg], &'static Run)> {
    let program = invocation.row();
    let run = program.runs.iter().find(|run| run.subcommands.contains(&name))?;
    let end = after_subcommand(program, &invocation.args, run.subcommands, &[])?;
    Some((invocation.args.get(end..)?, run))
}

/// One part of the arguments of `find`.
#[derive(Debug, Clone, Copy)]
pub(super) enum FindPart<'a> {
    /// A folder that is searched.
    Folder(&'a Arg),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `-o` or `,`
    Or,
    /// `!`
    Not,
    /// An action that runs a command on what was found: its name, and the command.
    Run(&'a str, &'a [Arg]),
    /// Another test or action, and its value.
    Test(&'a str, Option<&'a Arg>),
}

/// The parts of the arguments of `find`.
pub(super) fn find_parts(args: &[Arg]) -> Vec<FindPart<'_>> {
    let row = programs::row("find");
    let mut parts = Vec::new();
    let mut is_expression = false;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        at += 1;
        let part = match arg.text.as_str() {
            "-D" | "-f" if !is_expression => {
                at += 1;
                continue;
            }
            "-H" | "-L" | "-P" | "-E" | "-X" | "-x" | "-d" | "-s" => continue,
            level if level.starts_with("-O") => continue,
            "(" | "\\(" => FindPart::Open,
            ")" | "\\)" => FindPart::Close,
            "-o" | "-or" | "," => FindPart::Or,
            "!" | "\\!" | "-not" => FindPart::Not,
            name @ ("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let rest = args.get(at..).unwrap_or_default();
                let length = (0..rest.len()).find(|end| ends_command(rest, *end)).unwrap_or(rest.len());
                at += length + 1;
                FindPart::Run(name, rest.get(..length).unwrap_or_default())
            }
            name if name.len() > 1 && name.starts_with('-') => {
                let value = args.get(at).filter(|_| row.takes_value(name, true));
                at += usize::from(value.is_some());
                FindPart::Test(name, value)
            }
            _ if is_expression => continue,
            _ => {
                parts.push(FindPart::Folder(arg));
                continue;
            }
        };
        is_expression = true;
        parts.push(part);
    }
    parts
}

/// Whether a command of `-exec` ends here: at `;`, or at a `+` after `{}`.
fn ends_command(args: &[Arg], at: usize) -> bool {
    let is = |at: usize, text: &str| args.get(at).is_some_and(|arg| arg.text == text);
    is(at, ";") || is(at, "\\;") || (is(at, "+") && at.checked_sub(1).is_some_and(|before| is(before, "{}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(program: &str, line: &str) -> Arguments<'static> {
        let args: Vec<Arg> = line.split(' ').map(Arg::known).collect();
        Arguments::parse(programs::row(program), args.leak(), &[])
    }

    #[test]
    fn options_values_and_operands_are_separated() {
        let parsed = parse("sort", "-rf -ofile x -uo y --key=1 -- -z");
        assert_eq!(parsed.places, [2, 7]);
        let values: Vec<(&str, &str)> =
            parsed.values.iter().map(|(name, value)| (name.as_str(), value.text.as_str())).collect();
        assert_eq!(values, [("-o", "file"), ("-o", "y"), ("--key", "1")]);
        assert!(parsed.has(&["-r"]) && parsed.has(&["-u"]) && !parsed.has(&["-z"]));
        assert_eq!(parsed.end_of_options, Some(1));
    }

    #[test]
    fn global_options_take_values_before_the_subcommand_only() {
        assert_eq!(parse("docker", "-f x rm -f c").places, [2, 4]);
    }

    #[test]
    fn global_options_may_follow_a_group() {
        let parsed = parse("docker", "compose -f x exec -f c");
        assert_eq!(parsed.places, [0, 3, 5]);
        assert_eq!(parse("docker", "compose --no-such x exec").unknown.as_deref(), Some("--no-such"));
    }

    #[test]
    fn unknown_options_before_operands_are_reported() {
        assert_eq!(parse("uv", "--no-such  run").unknown.as_deref(), Some("--no-such"));
        assert_eq!(parse("uv", "--no-such x run").unknown.as_deref(), Some("--no-such"));
        assert_eq!(parse("uv", "--cache-dir x run").unknown, None);
        assert_eq!(parse("uv", "run --no-such x").unknown, None);
        assert_eq!(parse("npm", "--yes true exec").unknown.as_deref(), Some("--yes"));
        assert_eq!(parse("npm", "--yes exec").unknown, None);
    }

    #[test]
    fn options_may_take_two_values() {
        assert_eq!(parse("bwrap", "--bind a b rm").places, [3]);
    }

    #[test]
    fn toolchain_is_no_operand() {
        assert_eq!(parse("cargo", "+nightly publish").places, [1]);
    }
}
