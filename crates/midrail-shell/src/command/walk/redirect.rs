//! Redirections: what a command reads from, which files it empties, and what it writes into them.

use midrail_core::NetworkUse;

use super::super::ast::{Redirect, RedirectKind, Substitution, Word, WordPart};
use super::super::invocation::Arg;
use super::super::network::MAX_NETWORK_USES;
use super::super::scope::Scope;
use super::exfiltration::secret_in;
use super::state::{Content, Listed, Secret, Source, Stream, Walk, descriptor_number};

/// What the redirections of a command lead to.
#[derive(Default)]
pub(super) struct Redirected<'r, 'a> {
    pub(super) input: Option<Stream>,
    /// The commands that read its output, `> >(sh)`, and whether they read what it prints or another of its descriptors.
    sinks: Vec<(&'r Substitution<'a>, bool)>,
    /// The places that its output goes to.
    files: Vec<(String, bool)>,
    /// Its output does not reach the next command of the pipeline.
    is_taken: bool,
    /// Its output goes into a connection.
    is_sent: bool,
}

/// How many descriptors of one line are remembered.
const MAX_DESCRIPTORS: usize = 1_000;

/// Descriptors that the line does not number have greater ones.
pub(super) const FIRST_CHOSEN: usize = 64;

/// The name of a descriptor as a file.
pub(super) fn descriptor(fd: u32) -> String {
    format!("/dev/fd/{fd}")
}

impl Walk {
    pub(super) fn redirects<'r, 'a>(
        &mut self,
        redirects: &'r [Redirect<'a>],
        scope: &mut Scope,
    ) -> Redirected<'r, 'a> {
        let mut redirected = Redirected::default();
        for redirect in redirects {
            if self.is_exhausted() {
                break;
            }
            self.redirect(redirect, scope, &mut redirected);
        }
        redirected
    }

    fn redirect<'r, 'a>(
        &mut self,
        redirect: &'r Redirect<'a>,
        scope: &mut Scope,
        redirected: &mut Redirected<'r, 'a>,
    ) {
        let opened = match redirect.variable {
            Some(name) if !redirect.closes() => Some(self.new_descriptor(name, scope)),
            _ => redirect.fd,
        };
        let is_input = opened.is_none_or(|fd| fd == 0);
        let is_output = opened.is_none_or(|fd| fd == 1);
        match &redirect.kind {
            RedirectKind::Read(word) => {
                let target = self.target(word, scope);
                let place = scope.place(&target.text);
                let stream = self.read_file(&place, &target, scope.is_remote);
                if !scope.is_remote
                    && descriptor_number(&place).is_none()
                    && self.opened.len() < MAX_DESCRIPTORS
                {
                    self.opened.push((opened.unwrap_or(0), place));
                }
                self.opens(opened, stream, redirected);
            }
            RedirectKind::Both(word) => {
                let target = self.target(word, scope);
                if self.is_socket(&target) {
                    return;
                }
                if !scope.is_remote {
                    let place = scope.place(&target.text);
                    self.note(Listed::Read, &place);
                    self.note(Listed::Write, &place);
                    self.opens_output(opened, &place);
                }
            }
            RedirectKind::Write(word) | RedirectKind::Append(word) => {
                let is_append = matches!(redirect.kind, RedirectKind::Append(_));
                redirected.is_taken |= is_output;
                if let [WordPart::Process(substitution)] = word.parts.as_slice()
                    && substitution.is_sink
                {
                    redirected.sinks.push((substitution, is_output));
                    return;
                }
                let target = self.target(word, scope);
                if self.is_socket(&target) {
                    redirected.is_sent |= is_output;
                    return;
                }
                if is_device(&target.text) {
                    if descriptor_number(&target.text).is_some() {
                        self.note(Listed::Write, &target.text);
                    }
                    return;
                }
                self.judge_redirection(&target, is_append, scope);
                let place = scope.place(&target.text);
                if !scope.is_remote {
                    self.note(Listed::Write, &place);
                }
                if !scope.is_remote && !is_append {
                    self.note(Listed::Overwrite, &place);
                }
                self.opens_output(opened, &place);
                if is_output {
                    redirected.files.push((place, is_append));
                }
            }
            RedirectKind::Duplicate(word) => {
                let target = self.target(word, scope);
                let _ = self.is_socket(&target);
                let fd = target.text.parse::<u32>().ok();
                let written = self.outputs.iter().filter(|(open, _)| is_output && Some(*open) == fd);
                let written: Vec<String> = written.map(|(_, place)| place.clone()).collect();
                redirected.is_taken |= !written.is_empty();
                redirected.files.extend(written.into_iter().map(|place| (place, true)));
                if is_input && let Some(fd) = fd.filter(|fd| self.files.contains_key(&descriptor(*fd))) {
                    redirected.input = Some(self.read_file(&descriptor(fd), &target, scope.is_remote));
                }
                // `<&5`, where 5 leads to the network.
                let is_socket = matches!(target.text.as_str(), "$REPLY" | "${REPLY}")
                    || target.text.parse::<u32>().is_ok_and(|fd| fd > 2);
                if self.has_socket && is_socket {
                    self.is_on_socket = true;
                    redirected.is_sent |= is_output;
                    if is_input {
                        let program = "/dev/tcp".to_owned();
                        redirected.input =
                            Some(Stream { source: Source::Remote, program, ..Stream::default() });
                    }
                }
            }
            RedirectKind::HereString(word) => {
                let mut text = self.target(word, scope);
                self.hands_over(&text);
                text.text.push('\n');
                let secret = self.secret_in_words(std::slice::from_ref(&text));
                self.opens(opened, Stream { secret, ..Stream::from_text(text) }, redirected);
            }
            RedirectKind::HereDoc(body) => {
                let text = body.get().map(|parts| self.expand_one(parts, scope)).unwrap_or_default();
                self.hands_over(&text);
                self.opens(opened, Stream::from_text(text), redirected);
            }
        }
    }

    /// The number of a descriptor that the shell chooses, which goes into a variable.
    fn new_descriptor(&mut self, name: &str, scope: &mut Scope) -> u32 {
        self.processes += 1;
        let fd = FIRST_CHOSEN + self.processes;
        scope.set(name, vec![Arg::known(fd.to_string())]);
        u32::try_from(fd).unwrap_or(u32::MAX)
    }

    /// A descriptor through which a file is written later: `exec 3> file; echo x >&3`.
    fn opens_output(&mut self, fd: Option<u32>, place: &str) {
        if let Some(fd) = fd.filter(|fd| *fd > 2 && self.outputs.len() < MAX_DESCRIPTORS) {
            self.outputs.push((fd, place.to_owned()));
        }
    }

    /// A descriptor from which a text is read: the input of the command, or a file of that number.
    fn opens(&mut self, fd: Option<u32>, stream: Stream, redirected: &mut Redirected<'_, '_>) {
        match fd {
            None | Some(0) => redirected.input = Some(stream),
            Some(fd) if self.processes < MAX_DESCRIPTORS => {
                self.processes += 1;
                self.keep_secret_file(&descriptor(fd), false, secret_in(&stream) == Some(Secret::Content));
                self.files.insert(descriptor(fd), Content::from_stream(&stream));
            }
            Some(_) => self.analysis.is_partial = true,
        }
    }

    fn target(&mut self, word: &Word<'_>, scope: &mut Scope) -> Arg {
        let target = self.expand_one(&word.parts, scope);
        self.localise(target, scope)
    }

    /// `/dev/tcp/host/port`
    fn is_socket(&mut self, target: &Arg) -> bool {
        let Some(rest) =
            target.text.strip_prefix("/dev/tcp/").or_else(|| target.text.strip_prefix("/dev/udp/"))
        else {
            return false;
        };
        self.is_on_socket = true;
        let host = rest.split('/').next().filter(|_| target.is_known());
        match host {
            Some(host) => self.note(Listed::Host, host),
            None => self.analysis.has_unknown_hosts = true,
        }
        if self.analysis.network.len() < MAX_NETWORK_USES {
            self.analysis.network.push(NetworkUse {
                program: "/dev/tcp".to_owned(),
                addresses: host.map(str::to_owned).into_iter().collect(),
                has_unknown_addresses: host.is_none(),
                sends: true,
                receives: true,
                ..NetworkUse::default()
            });
        }
        true
    }

    /// The content of a file, if the line itself wrote it.
    pub(super) fn read_file(&mut self, place: &str, target: &Arg, is_remote: bool) -> Stream {
        if target.text.starts_with("/dev/tcp/") {
            let _ = self.is_socket(target);
            return Stream { source: Source::Remote, ..Stream::printed_by("/dev/tcp") };
        }
        if let Some(content) = self.files.get(place) {
            let secret = self.secret_files.contains(place).then_some(Secret::Content);
            return Stream { secret, ..content.stream(place) };
        }
        // The content of files of another machine is not known here.
        if is_remote {
            return Stream { source: Source::Local, ..Stream::default() };
        }
        if !is_device(place) {
            self.note(Listed::Read, place);
        }
        Stream { source: Source::File(place.to_owned()), ..Stream::default() }
    }

    /// The content of a file that a program obeys. If it is not known, the file is one more script.
    pub(super) fn obeyed_file(&mut self, file: &Arg, scope: &Scope) -> Stream {
        let place = scope.place(&file.text);
        let stream = self.read_file(&place, file, scope.is_remote);
        if let (None, Source::File(name), true) = (&stream.text, &stream.source, file.is_known()) {
            self.note(Listed::Script, name);
        }
        stream
    }

    /// Keeps what a command wrote. Returns what reaches the next command of the pipeline.
    pub(super) fn redirect_output(
        &mut self,
        redirected: &Redirected<'_, '_>,
        stream: Stream,
        scope: &Scope,
    ) -> Stream {
        for (sink, is_printed) in &redirected.sinks {
            // What later commands write is not known: `exec > >(sh)`.
            let is_known = *is_printed && stream != Stream::silent();
            let input = if is_known { stream.clone() } else { Stream::printed_by("exec") };
            let _ = self.substitution(&sink.list, scope, &input);
        }
        if redirected.is_sent {
            self.report_sent_output(&stream);
        }
        for (place, is_append) in &redirected.files {
            self.write_file(place, *is_append, &stream);
        }
        if redirected.is_taken { Stream::silent() } else { stream }
    }

    /// A file has this content from here on.
    pub(super) fn write_file(&mut self, place: &str, is_append: bool, stream: &Stream) {
        const MAX_FILES: usize = 200;
        let size = stream.text.as_ref().map_or(0, |text| text.text.len());
        self.spend(size / 16);
        if self.files.len() >= MAX_FILES && !self.files.contains_key(place) {
            self.analysis.is_partial = true;
            return;
        }
        self.rewritten(place, is_append, stream);
        self.keep_secret_file(place, is_append, secret_in(stream) == Some(Secret::Content));
        let content = match (is_append, self.files.get(place)) {
            (true, Some(old)) => Content::from_stream(&old.stream(place).and(stream.clone())),
            _ => Content::from_stream(stream),
        };
        // What a program prints is code that nothing shows, unless it copies files.
        let is_printed = stream.source == Source::Local && !is_append;
        let is_copied =
            matches!(stream.program.as_str(), "" | "cat" | "tee" | "head" | "tail" | "sed" | "awk");
        let content = match content {
            Content::Unknown if is_printed && !is_copied => Content::Unseen(stream.program.clone()),
            content => content,
        };
        if let Content::Known(text) = &content {
            self.spend(text.text.len() / 16);
        }
        self.files.insert(place.to_owned(), content);
    }
}

/// Devices that nothing is lost in.
fn is_device(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty" | "/dev/zero")
        || path.starts_with("/dev/fd/")
        || path.is_empty()
}
