//! One program that a command line starts, with its words resolved as far as the line shows them: what the walk of a command
//! line hands to the tables of `super::danger`.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::programs::{self, Program, Tag};
use crate::words::places::TEMPORARY_VARIABLES;

/// One word of a command, after quotes, escapes and expansions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arg {
    /// The value. A part that is not known is kept as it was written: `$DIR/build`.
    pub text: String,
    /// The parts of `text` that are not known: expansions of variables or commands with an unknown value.
    pub unknown: Vec<Range<usize>>,
    /// It holds a wildcard (`*`, `?`, `[`) that the shell would expand.
    pub is_glob: bool,
    /// It may become several words, or none: an expansion of unknown value without quotes, or braces that make more words
    /// than Midrail expands.
    pub may_split: bool,
}

impl Arg {
    /// A word whose value is known.
    pub fn known(text: impl Into<String>) -> Self {
        Arg { text: text.into(), ..Arg::default() }
    }

    /// A word with an unknown value.
    pub(crate) fn unknown(text: &str) -> Self {
        Arg { unknown: std::iter::once(0..text.len()).collect(), ..Arg::known(text) }
    }

    /// Whether the whole value is known.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty()
    }

    /// Whether nothing is known about its beginning.
    pub(crate) fn begins_unknown(&self) -> bool {
        self.unknown.first().is_some_and(|range| range.start == 0)
    }

    /// The known and the unknown parts in turn, each with whether it is known. The first and the last are known, perhaps empty.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (&str, bool)> {
        let ends = std::iter::once(0).chain(self.unknown.iter().map(|range| range.end));
        let starts = self.unknown.iter().map(|range| range.start).chain([self.text.len()]);
        let known = ends.zip(starts).map(|(from, to)| (self.text.get(from..to).unwrap_or_default(), true));
        let mut unknown = self.unknown.iter();
        known.flat_map(move |piece| {
            let next = unknown.next().map(|range| (self.text.get(range.clone()).unwrap_or_default(), false));
            std::iter::once(piece).chain(next)
        })
    }

    /// The word from a byte on.
    pub(crate) fn tail(&self, from: usize) -> Self {
        let unknown = self.unknown.iter().filter(|range| range.end > from);
        Arg {
            text: self.text.get(from..).unwrap_or_default().to_owned(),
            unknown: unknown.map(|range| range.start.saturating_sub(from)..range.end - from).collect(),
            is_glob: self.is_glob,
            may_split: self.may_split,
        }
    }

    /// Adds a text.
    pub(crate) fn append(&mut self, other: &Arg) {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        self.unknown.extend(other.unknown.iter().map(|range| range.start + offset..range.end + offset));
        self.is_glob |= other.is_glob;
        self.may_split |= other.may_split;
    }

    /// The text that a shell would read as the same word.
    pub(crate) fn quoted(&self) -> String {
        if self.is_known() && (self.is_glob || self.text.is_empty()) {
            return if self.is_glob { self.text.clone() } else { quoted("") };
        }
        let pieces = self.pieces().filter(|(text, _)| !text.is_empty());
        pieces.map(|(text, is_known)| if is_known { quoted(text) } else { format!("\"{text}\"") }).collect()
    }
}

/// Arguments as text that a shell would read as the same arguments.
pub(crate) fn quoted_line(args: &[Arg]) -> String {
    args.iter().map(|arg| format!(" {}", arg.quoted())).collect()
}

/// Words with blanks between them.
pub(crate) fn joined(words: &[Arg]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    words.join(" ")
}

/// A word with the quotes that a POSIX shell needs.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte) || !byte.is_ascii();
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Where a command runs, as far as files are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Here: the folder that the command line starts in, followed by this relative or absolute path (`""`, `src`,
    /// `/etc`, `~`, `~/x`).
    Known(String),
    /// An unknown folder, as a path that begins with `$`.
    Unknown(String),
}

impl Folder {
    /// The folder after a loop that changes it, or after more changes than are followed.
    pub(crate) fn lost() -> Self {
        Folder::Unknown(LOST.to_owned())
    }

    /// The folder that an expansion of unknown value names, spelt as one variable.
    pub(crate) fn unknown(text: &str) -> Self {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = text.trim_start_matches(['$', '{']);
        let end = name.find(|letter| !is_letter(letter)).unwrap_or(name.len());
        Folder::Unknown(match name.get(..end) {
            Some(name) if !name.is_empty() && !text.starts_with("$(") => format!("${name}"),
            _ => "$(…)".to_owned(),
        })
    }

    /// Whether nothing at all is known about it, not even the variable that names it.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Folder::Unknown(spelling) if spelling.split('/').next() == Some(LOST))
    }
}

/// The spelling of a folder that was lost.
const LOST: &str = "$FOLDER";

/// A relative path as seen from an unknown folder. What is above that folder is as unknown.
pub(crate) fn below_unknown(folder: &str, path: &str) -> String {
    let mut kept: Vec<&str> = folder.split('/').collect();
    for piece in path.split('/') {
        match piece {
            "" | "." => {}
            ".." => kept.truncate(kept.len().saturating_sub(1).max(1)),
            _ => kept.push(piece),
        }
    }
    kept.join("/")
}

/// The path that stands for a temporary folder with an unknown name.
pub(crate) const TEMPORARY_FOLDER: &str = "/tmp/variable";

/// The folder that the name of a variable, or a command substitution, means.
pub(crate) fn variable_folder(text: &str) -> Option<&'static str> {
    let bare = text.trim_start_matches('$').trim_matches(['{', '}', '(', ')', '`', '"']).trim();
    let name = bare.split([':', '-']).next().unwrap_or(bare);
    if matches!(name, "HOME" | "USERPROFILE") {
        return Some("~");
    }
    if name == "PWD" || matches!(bare, "pwd" | "pwd -P" | "git rev-parse --show-toplevel") {
        return Some(".");
    }
    let is_temporary = TEMPORARY_VARIABLES.iter().any(|known| known.eq_ignore_ascii_case(name));
    (is_temporary || bare.starts_with("mktemp")).then_some(TEMPORARY_FOLDER)
}

impl Default for Folder {
    /// The folder that the command line starts in.
    fn default() -> Self {
        Folder::Known(String::new())
    }
}

/// What a program reads from its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Input {
    /// The standard input of the whole command line.
    #[default]
    Inherited,
    /// This text: a here-document, a here-string, or what `echo` or `printf` before it in the pipeline prints.
    Text(String),
    /// What another program prints, by that program's name: `curl`.
    Program(String),
    /// The content of a file: `< file`.
    File(String),
}

/// One program that is started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invocation {
    /// The program's name without its folder: `rm` for `/bin/rm`, `\rm` and `grm`. Empty where it is not known.
    pub program: String,
    /// Its arguments.
    pub args: Vec<Arg>,
    /// Where it runs.
    pub folder: Folder,
    /// It runs on another machine or in a container: no file of it lies in the sandbox.
    pub is_remote: bool,
    /// Its arguments are followed by others that are not known (`xargs rm`, `find -exec rm {}`).
    pub has_more_args: bool,
    /// What it reads.
    pub input: Input,
    /// First byte of it in the whole command line.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What was looked up about it.
    pub(super) known: Known,
}

impl Invocation {
    /// The row of its program, or an empty one if there is none.
    pub(super) fn row(&self) -> &'static Program {
        self.known.row.get_or_init(|| programs::row(&self.program))
    }

    /// Whether its program has a property, whatever its arguments are.
    pub(super) fn is(&self, tag: Tag) -> bool {
        self.row().tags.contains(&tag)
    }

    /// The first name in the row of its program, which stands for all of them: `docker` for `podman`.
    pub(super) fn family(&self) -> &str {
        self.row().names.first().copied().unwrap_or(&self.program)
    }
}

/// Arguments by what they are.
#[derive(Debug, Default)]
pub(super) struct ParsedArguments {
    /// The indices of operands.
    pub(super) places: Vec<usize>,
    /// Options with their values: `-o file`, `-ofile`, `--output=file`.
    pub(super) values: Vec<(String, Arg)>,
    /// Options without a value; clusters such as `-rf` are split.
    pub(super) flags: Vec<String>,
    /// How many operands come before `--`, if there is one.
    pub(super) end_of_options: Option<usize>,
    /// The first option in front of the subcommand that the row does not know, and that might take the next word as its
    /// value.
    pub(super) unknown: Option<String>,
    /// Options without a value that follow one that the row does not know: each might be its value.
    pub(super) doubtful: Vec<String>,
    /// How many operands come before the first value of an option that may be several words, or none: `-C $(…)`. The role of
    /// every later word is unknown.
    pub(super) splits: Option<usize>,
}

/// The row and the parsed arguments of an invocation, once they were asked for. A copy, which may be changed, knows nothing.
#[derive(Debug, Default)]
pub(super) struct Known {
    row: OnceCell<&'static Program>,
    arguments: OnceCell<Rc<ParsedArguments>>,
}

impl Known {
    pub(super) fn arguments(&self, parse: impl FnOnce() -> Rc<ParsedArguments>) -> Rc<ParsedArguments> {
        Rc::clone(self.arguments.get_or_init(parse))
    }
}

impl Clone for Known {
    fn clone(&self) -> Self {
        Known::default()
    }
}

impl PartialEq for Known {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Known {}

/// A file of which it is known what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As command lines spell it, seen from the folder that they start in.
    pub path: String,
    /// Its text. None: it came from the network and was not reviewed.
    pub text: Option<String>,
}
