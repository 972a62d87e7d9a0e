//! The state of an analysis in progress, how findings are added to it, and texts on their way: through pipes, into variables,
//! and into files that the line itself writes.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Action, Danger, OpaqueKind, Severity, path};

use super::super::invocation::{Arg, Input, Invocation};
use super::super::snippet::Start;
use super::listing::MAX_ROOTS;

/// How much work one command line may make.
pub(super) const FUEL: usize = 600_000;

/// How deep code may run code.
pub(super) const MAX_DEPTH: usize = 40;

/// How many values of a loop are tried.
pub(super) const MAX_LOOP: usize = 64;

/// How many values of the variables of one command are tried.
pub(super) const MAX_ROUNDS: usize = 8;

/// How many commands are tried in the arguments of a program that is not known.
pub(super) const MAX_COMMANDS: usize = 3;

/// How many copies of one line are remembered.
pub(super) const MAX_COPIES: usize = 64;

/// A walk through one command line.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) analysis: Action,
    /// What was put into the lists of the analysis.
    pub(super) seen: BTreeSet<(Listed, String)>,
    /// What has been reported, so that nothing is reported twice.
    pub(super) reported: BTreeSet<(String, String, usize)>,
    /// The programs that were started, if the caller wants them.
    pub(super) kept: Vec<Invocation>,
    pub(super) keeps: bool,
    pub(super) spent: usize,
    pub(super) depth: usize,
    /// The bytes of the command that is analysed.
    pub(super) span: (usize, usize),
    /// The code that is walked is not the text of the line: places in it mean nothing.
    pub(super) is_nested: bool,
    /// Files whose content was neither shown nor changed so far.
    pub(super) named: BTreeSet<String>,
    /// Files with settings that the line made its own, and what came of it.
    pub(super) sourced: Sourced,
    /// Files that the line wrote.
    pub(super) files: BTreeMap<String, Content>,
    /// Paths that a program lists, with the pattern of the files that they stand for: as it is spelt, and its place.
    pub(super) lists: BTreeMap<String, (String, String)>,
    /// Links that the line made, with what they lead to.
    pub(super) links: Vec<(String, String)>,
    /// Their own places.
    pub(super) made_links: Vec<String>,
    pub(super) processes: usize,
    /// Substitutions that produce credentials, as they are written.
    pub(super) secrets: BTreeMap<String, Secret>,
    /// Modules that its code imported.
    pub(super) imports: BTreeSet<String>,
    /// Files with code that it wrote, with their content, which were tried as what a program loads.
    pub(super) tried_files: BTreeSet<(String, String)>,
    /// Files that its programs load by default, if they exist.
    pub(super) loaded: BTreeSet<String>,
    /// Files that the line made from credentials, as their places.
    pub(super) secret_files: BTreeSet<String>,
    /// What the command reads whose words are expanded.
    pub(super) flowing: Stream,
    /// Where files come from.
    pub(super) origins: Origins,
    /// Functions that were called.
    pub(super) called: BTreeSet<String>,
    /// Something from the network was unpacked.
    pub(super) has_unpacked: bool,
    /// A word would have become more words than Midrail analyses.
    pub(crate) is_given_up: bool,
    /// Which value of variables with several is used in this round.
    pub(crate) choice: usize,
    /// How many values there are.
    pub(crate) choices: usize,
    /// A shell that reads its commands from a pipe was just walked.
    pub(super) is_piped_shell: bool,
    /// The files that descriptors are opened to for reading. Writing to the name of a descriptor changes its file.
    pub(super) opened: Vec<(u32, String)>,
    /// The files that descriptors are opened to for writing.
    pub(super) outputs: Vec<(u32, String)>,
    /// A descriptor was opened to the network: `exec 5<>/dev/tcp/…`.
    pub(super) has_socket: bool,
    /// What the programs of the line read since `exec < file`.
    pub(super) inherited: Option<Stream>,
    /// The redirections of the current command lead to the network.
    pub(super) is_on_socket: bool,
    /// How the code of another language is started that is analysed next.
    pub(super) start: Start,
    /// Code that runs when the shell ends.
    pub(super) traps: Vec<String>,
    /// That code runs now.
    pub(super) is_ending: bool,
    /// The command runs what its words say: a default for an unknown variable is one value of two.
    pub(crate) tries_unknown: bool,
    /// What is walked is a script, and not what an agent types.
    pub(super) is_script: bool,
    /// Accesses to files that may be protected, in order.
    pub(super) accesses: Vec<String>,
    /// The line may succeed although the current command fails or does not run.
    pub(super) is_unchecked: bool,
    /// The shell itself starts the next program, and not a wrapper (`env`, `command`), which knows no functions.
    pub(super) finds_functions: bool,
    /// A command ended the shell, left a loop or a function, or ran code that the line does not show: what follows may not run, or
    /// may be other programs.
    pub(super) has_left: bool,
}

/// Which list of the analysis something belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listed {
    Read,
    Write,
    Host,
    Program,
    Script,
    Overwrite,
    Sweep,
    Folder,
    Hook,
    Patch,
}

/// What a line did to files by way of others.
#[derive(Debug, Default)]
pub(super) struct Origins {
    /// What was put into which place. A place that ends with `/` is a folder, with all that was unpacked there.
    pub(super) copies: BTreeSet<(String, String)>,
    /// Archives that were unpacked.
    pub(super) archives: Vec<String>,
    /// Folders, with a `/`, that hold what was fetched and unpacked.
    pub(super) unpacked: Vec<String>,
    /// Something that was downloaded was unpacked under unknown names.
    pub(super) is_scattered: bool,
    /// Files that were only added to.
    pub(super) appended: BTreeSet<String>,
    /// Files from the network that were shown since.
    pub(super) shown: BTreeSet<String>,
}

impl Origins {
    /// A folder gets what was fetched. Of too many, none is known.
    pub(super) fn unpack(&mut self, folder: String) {
        if self.unpacked.len() >= MAX_COPIES {
            self.is_scattered = true;
        } else if !self.unpacked.contains(&folder) {
            self.unpacked.push(folder);
        }
    }
}

/// The files that were taken over, and what came after.
#[derive(Debug, Default)]
pub(super) struct Sourced {
    pub(super) places: Vec<String>,
    /// A program was started.
    pub(super) is_used: bool,
    /// Something prints or sends what the shell knows by now.
    pub(super) is_disclosed: bool,
}

/// The number of a descriptor, from its name as a file.
pub(super) fn descriptor_number(path: &str) -> Option<u32> {
    match path {
        "/dev/stdin" => Some(0),
        _ => path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse().ok(),
    }
}

impl Walk {
    /// Counts work. Once it is used up nothing more is walked.
    pub(crate) fn spend(&mut self, work: usize) {
        self.spent = self.spent.saturating_add(work);
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.spent > FUEL
    }

    pub(super) fn note(&mut self, listed: Listed, text: &str) {
        if let Some(fd) = descriptor_number(text) {
            if matches!(listed, Listed::Write | Listed::Overwrite) {
                let opened: Vec<String> =
                    self.opened.iter().filter(|it| it.0 == fd).map(|it| it.1.clone()).collect();
                opened.iter().for_each(|place| self.note(listed, place));
            }
            return;
        }
        if text.is_empty() || text.starts_with("/dev/fd/") {
            return;
        }
        self.remember_access(listed, text);
        if listed == Listed::Script {
            self.hide(OpaqueKind::Script, text);
        }
        // In an unknown folder it may be the script of this name here.
        if let (Listed::Script, Some(rest)) = (listed, path::below_unknown(text)) {
            self.note(Listed::Script, rest);
        }
        let list = match listed {
            Listed::Read => &mut self.analysis.reads,
            Listed::Write => &mut self.analysis.writes,
            Listed::Host => &mut self.analysis.hosts,
            Listed::Program => &mut self.analysis.programs,
            Listed::Script => &mut self.analysis.scripts,
            Listed::Overwrite => &mut self.analysis.overwrites,
            Listed::Sweep => &mut self.analysis.sweeps,
            Listed::Folder => &mut self.analysis.folders,
            Listed::Hook => &mut self.analysis.hooks,
            Listed::Patch => &mut self.analysis.patches,
        };
        if self.seen.insert((listed, text.to_owned())) {
            list.push(text.to_owned());
        }
        if matches!(listed, Listed::Read | Listed::Write) {
            self.named.remove(text);
        }
    }

    /// Lists a file whose content decides what the line does, and that is no code by itself.
    pub(super) fn list_script(&mut self, place: &str) {
        if self.seen.insert((Listed::Script, place.to_owned())) {
            self.analysis.scripts.push(place.to_owned());
        }
    }

    /// Whether a list of the analysis contains a text.
    pub(super) fn is_listed(&self, listed: Listed, text: &str) -> bool {
        self.seen.contains(&(listed, text.to_owned()))
    }

    pub(super) fn add_danger(&mut self, danger: Danger) {
        // Code that is not seen may contact any host and start any program.
        let is_unseen = matches!(danger.rule.as_str(), "opaque" | "remote-code");
        self.analysis.has_unknown_hosts |= is_unseen;
        if is_unseen {
            self.may_start(&danger.command);
        }
        if self.reported.insert((danger.rule.clone(), danger.command.clone(), danger.start)) {
            self.analysis.dangers.push(danger);
            return;
        }
        // A later round of a loop may run it in a worse place.
        let is_it = |known: &&mut Danger| {
            known.start == danger.start && known.rule == danger.rule && known.command == danger.command
        };
        let badness = |danger: &Danger| (!danger.is_inside, danger.severity);
        if let Some(known) = self.analysis.dangers.iter_mut().find(is_it)
            && badness(&danger) > badness(known)
        {
            *known = danger;
        }
    }

    pub(super) fn report(
        &mut self,
        rule: &str,
        severity: Severity,
        reason: String,
        safer: &str,
        command: &str,
    ) {
        let danger = self.danger(rule, severity, reason, safer, command);
        self.add_danger(danger);
    }

    /// A danger of the current command, without targets.
    pub(super) fn danger(
        &self,
        rule: &str,
        severity: Severity,
        reason: String,
        safer: &str,
        command: &str,
    ) -> Danger {
        Danger {
            rule: rule.to_owned(),
            severity,
            reason,
            safer: safer.to_owned(),
            command: shorten(command),
            start: self.span.0,
            end: self.span.1,
            ..Danger::default()
        }
    }
}

/// A command for a report: not longer than a person reads.
pub(super) fn shorten(command: &str) -> String {
    const MOST: usize = 300;
    match command.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", command.get(..at).unwrap_or("")),
        None => command.to_owned(),
    }
}

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
    pub(super) fn from_text(text: Arg) -> Self {
        Stream { text: Some(text), source: Source::Local, ..Stream::default() }
    }

    /// What a program prints that prints nothing.
    pub(super) fn silent() -> Self {
        Stream::from_text(Arg::default())
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
            return vec![Arg::unknown("$(curl)")];
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
        self.text = self.text.zip(next.text).map(|(mut first, second)| {
            first.append(&second);
            first
        });
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
    /// What a program printed, by its name.
    Unseen(String),
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
            Content::Unseen(program) => Stream::printed_by(program),
            Content::Unknown => Stream { source: Source::File(name.to_owned()), ..Stream::default() },
        }
    }
}
