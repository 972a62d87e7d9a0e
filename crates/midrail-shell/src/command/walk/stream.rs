//! Texts on their way: through pipes, into variables, and into files that the line itself writes.

use super::super::invocation::{Arg, Input, Invocation};
use super::super::options::unknown;
use super::listing::MAX_ROOTS;

/// What flows through a pipe, or into a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    /// The text, where it is known.
    pub(crate) text: Option<Arg>,
    /// Where it comes from.
    pub(crate) source: Source,
    /// The program that prints it.
    pub(crate) program: String,
    /// The words of that program name something that destroys.
    pub(crate) hints: bool,
    /// It is a list of these paths.
    pub(crate) paths: Vec<Arg>,
    /// It holds a credential.
    pub(crate) secret: Option<Secret>,
    /// It is made from these files.
    pub(crate) files: Vec<String>,
    /// It is all of these files.
    pub(crate) shown: Vec<String>,
}

/// A program that is started, and what flows into it.
#[derive(Clone, Copy)]
pub(super) struct ProgramCall<'a> {
    pub(super) invocation: &'a Invocation,
    pub(super) input: &'a Stream,
}

/// A credential that flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secret {
    /// A file with keys or passwords, or the whole environment.
    Content,
    /// One token, which programs are often given to log in.
    Token,
}

/// Where a text comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// From wherever the whole line reads.
    #[default]
    Inherited,
    /// From a program of this machine.
    Local,
    /// From the network.
    Remote,
    /// From something that was decoded, and could not be here.
    Hidden,
    /// From a file.
    File(String),
}

impl Stream {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Stream::from_text(Arg::known(text))
    }

    pub(super) fn from_text(text: Arg) -> Self {
        Stream { text: Some(text), source: Source::Local, ..Stream::default() }
    }

    /// What a program prints that prints nothing.
    pub(super) fn silent() -> Self {
        Stream::known("")
    }

    pub(super) fn printed_by(program: &str) -> Self {
        Stream { source: Source::Local, program: program.to_owned(), ..Stream::default() }
    }

    pub(super) fn input(&self) -> Input {
        match (&self.text, &self.source) {
            (Some(text), _) => Input::Text(text.text.clone()),
            (None, Source::File(name)) => Input::File(name.clone()),
            (None, Source::Inherited) => Input::Inherited,
            (None, Source::Local | Source::Remote | Source::Hidden) => Input::Program(self.program.clone()),
        }
    }

    /// The things that it lists, where its text is not known: paths, or what was fetched from the network.
    pub(super) fn items(&self) -> Vec<Arg> {
        if self.source == Source::Remote && self.paths.is_empty() {
            return vec![unknown("$(curl)")];
        }
        self.paths.clone()
    }

    /// One text after the other.
    pub(super) fn and(mut self, next: Stream) -> Self {
        if matches!(&next.text, Some(text) if text.text.is_empty()) {
            return self;
        }
        if matches!(&self.text, Some(text) if text.text.is_empty()) {
            return next;
        }
        self.text = match (self.text, next.text) {
            (Some(first), Some(second)) => Some(concat(first, &second)),
            _ => None,
        };
        self.hints |= next.hints;
        self.secret = self.secret.or(next.secret);
        self.paths.extend(next.paths);
        self.paths.truncate(MAX_ROOTS);
        for (list, more) in [(&mut self.files, next.files), (&mut self.shown, next.shown)] {
            list.extend(more);
            list.truncate(MAX_ROOTS);
        }
        if !matches!(self.source, Source::Remote | Source::Hidden) {
            self.source = next.source;
            self.program = next.program;
        }
        self
    }
}

/// Two texts as one.
pub(super) fn concat(mut first: Arg, second: &Arg) -> Arg {
    let offset = first.text.len();
    first.text.push_str(&second.text);
    first.unknown.extend(second.unknown.iter().map(|range| range.start + offset..range.end + offset));
    first.is_glob |= second.is_glob;
    first
}

/// The content of a file that the line itself wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Known(Arg),
    Remote,
    Hidden,
    /// A list of these paths.
    Paths(Vec<Arg>),
    /// The content of another file, which the line did not write.
    Copy(String),
    Unknown,
}

impl Content {
    pub(super) fn from_stream(stream: &Stream) -> Self {
        match (&stream.text, &stream.source) {
            (Some(text), _) => Content::Known(text.clone()),
            (None, Source::Remote) => Content::Remote,
            (None, Source::Hidden) => Content::Hidden,
            (None, Source::File(name)) if !name.is_empty() => Content::Copy(name.clone()),
            (None, _) if !stream.paths.is_empty() => Content::Paths(stream.paths.clone()),
            (None, _) => Content::Unknown,
        }
    }

    pub(super) fn stream(&self, name: &str) -> Stream {
        match self {
            Content::Known(text) => Stream::from_text(text.clone()),
            Content::Remote => Stream { source: Source::Remote, ..Stream::printed_by("curl") },
            Content::Hidden => Stream { source: Source::Hidden, ..Stream::default() },
            Content::Paths(paths) => {
                Stream { paths: paths.clone(), source: Source::Local, ..Stream::default() }
            }
            Content::Copy(original) => Stream { source: Source::File(original.clone()), ..Stream::default() },
            Content::Unknown => Stream { source: Source::File(name.to_owned()), ..Stream::default() },
        }
    }
}
