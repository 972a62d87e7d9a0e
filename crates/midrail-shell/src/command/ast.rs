//! The shape of a command line after parsing: lists, pipelines, commands and words. Words keep their parts, so that
//! quotes still say what is data; every command and word knows its bytes in the text.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

/// A whole text, and what the parser could not make sense of.
#[derive(Debug, Default)]
pub(super) struct Script<'a> {
    pub(super) list: List<'a>,
    pub(super) trouble: Trouble,
}

/// What went wrong while parsing. The rest of the text was still parsed, except where it is too deep or too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Trouble {
    /// A quote or a bracket is missing, or is where none belongs.
    pub(super) is_broken: bool,
    /// Nested deeper than Midrail analyses.
    pub(super) is_too_deep: bool,
    /// More text than Midrail analyses.
    pub(super) is_too_long: bool,
}

/// Pipelines one after the other.
pub(super) type List<'a> = Vec<Item<'a>>;

#[derive(Debug, Default)]
pub(super) struct Item<'a> {
    pub(super) commands: Vec<Command<'a>>,
    /// It follows `&&` or `||`: what comes before it decides whether it runs.
    pub(super) is_conditional: bool,
    /// It follows `||`.
    pub(super) is_alternative: bool,
    pub(super) is_background: bool,
    /// It begins with `!`.
    pub(super) is_negated: bool,
}

#[derive(Debug)]
pub(super) struct Command<'a> {
    pub(super) kind: CommandKind<'a>,
    pub(super) redirects: Vec<Redirect<'a>>,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug)]
pub(super) enum CommandKind<'a> {
    Simple {
        assignments: Vec<Assignment<'a>>,
        words: Vec<Word<'a>>,
    },
    Group(List<'a>),
    Subshell(List<'a>),
    /// Tests with what follows each, and what runs otherwise.
    If {
        arms: Vec<(List<'a>, List<'a>)>,
        otherwise: List<'a>,
    },
    /// `while` and `until`.
    While {
        test: List<'a>,
        body: List<'a>,
    },
    /// `for`, `foreach` and `select`. Without words it runs over the arguments.
    For {
        name: &'a str,
        words: Option<Vec<Word<'a>>>,
        body: List<'a>,
    },
    /// `for ((…))`, `repeat` and other loops without a list of values.
    Repeat {
        head: Word<'a>,
        body: List<'a>,
    },
    Case {
        subject: Word<'a>,
        arms: Vec<List<'a>>,
    },
    /// A function keeps its body as text: it is parsed again where it is called.
    Function {
        name: Cow<'a, str>,
        body: &'a str,
        /// Names a pipe or a background job of itself inside.
        command: Box<Command<'a>>,
    },
    /// `[[ … ]]` and `(( … ))`: nothing runs but what its words expand.
    Test(Vec<Word<'a>>),
}

#[derive(Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: &'a str,
    pub(super) is_append: bool,
    /// The subscript of `name[subscript]=value`.
    pub(super) index: Option<&'a str>,
    pub(super) value: Value<'a>,
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    Word(Word<'a>),
    Array(Vec<Word<'a>>),
}

#[derive(Debug)]
pub(super) struct Redirect<'a> {
    /// The file descriptor before the sign, if one was written.
    pub(super) fd: Option<u32>,
    /// The variable that gets the number of a new descriptor: `{fd}< file`.
    pub(super) variable: Option<&'a str>,
    pub(super) kind: RedirectKind<'a>,
}

impl Redirect<'_> {
    /// `{fd}>&-`
    pub(super) fn closes(&self) -> bool {
        matches!(&self.kind, RedirectKind::Duplicate(word) if word.bare() == Some("-"))
    }
}

#[derive(Debug)]
pub(super) enum RedirectKind<'a> {
    /// `< file`
    Read(Word<'a>),
    /// `> file`, `>| file`, `&> file`
    Write(Word<'a>),
    /// `>> file`, `&>> file`
    Append(Word<'a>),
    /// `<> file`
    Both(Word<'a>),
    /// `>&2`, `<&3`, `>&-`
    Duplicate(Word<'a>),
    /// `<<< word`
    HereString(Word<'a>),
    /// `<<EOF`; its body follows the line.
    HereDoc(HereDoc<'a>),
}

/// The body of a here-document, once it is read.
pub(super) type HereDoc<'a> = Rc<OnceCell<Vec<WordPart<'a>>>>;

#[derive(Debug, Default)]
pub(super) struct Word<'a> {
    pub(super) parts: Vec<WordPart<'a>>,
    /// It contains an unquoted `{`.
    pub(super) has_brace: bool,
}

#[derive(Debug, Clone)]
pub(super) enum WordPart<'a> {
    /// Text without quotes: wildcards, braces and a tilde in it mean something.
    Bare(&'a str),
    /// Plain text.
    Quoted(Cow<'a, str>),
    /// `"…"`
    Double(Rc<Vec<WordPart<'a>>>),
    /// `$x` and `${x…}`
    Param(Rc<Param<'a>>),
    /// `$(…)`
    Command(Rc<Substitution<'a>>),
    /// `` `…` ``, with one layer of escapes removed.
    Backtick { code: Rc<str>, source: &'a str },
    /// `$((…))` and `$[…]`
    Arithmetic { parts: Rc<Vec<WordPart<'a>>>, source: &'a str },
    /// `<(…)`, `>(…)` and `=(…)`
    Process(Rc<Substitution<'a>>),
    /// `(…)` of an array that is assigned in an argument: `declare -a x=(…)`.
    Array(Rc<Vec<Word<'a>>>),
}

#[derive(Debug)]
pub(super) struct Substitution<'a> {
    pub(super) list: List<'a>,
    pub(super) source: &'a str,
    /// `>(…)`: it reads what is written to it.
    pub(super) is_sink: bool,
}

#[derive(Debug, Default)]
pub(super) struct Param<'a> {
    pub(super) name: &'a str,
    /// `[…]` after the name.
    pub(super) index: Option<&'a str>,
    /// `${!x}`
    pub(super) is_indirect: bool,
    /// `${#x}`
    pub(super) is_length: bool,
    /// The sign after the name: `:-`, `%%`, `//`, `^^`, `:` … Empty if there is none.
    pub(super) operator: &'a str,
    /// What follows the sign.
    pub(super) operand: Vec<WordPart<'a>>,
    /// The replacement of `${x/a/b}`, the length of `${x:a:b}`.
    pub(super) second: Option<Vec<WordPart<'a>>>,
    pub(super) source: &'a str,
}

impl<'a> Word<'a> {
    /// The text of a word that is written without any quote or expansion.
    pub(super) fn bare(&self) -> Option<&'a str> {
        match self.parts.as_slice() {
            [WordPart::Bare(text)] => Some(text),
            _ => None,
        }
    }
}

/// Whether a byte ends a word where it is not quoted.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn is_name(text: &str) -> bool {
    text.bytes().next().is_some_and(is_name_start) && text.bytes().all(is_name_byte)
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
