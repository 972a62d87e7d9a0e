//! Credentials on their way out: from a file, the environment or a keeper of secrets, through pipes and substitutions,
//! into a program that sends them away.

use midrail_core::Severity;

use super::super::condition::does;
use super::super::invocation::{Arg, Folder, Invocation};
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::{danger, files, hosts};
use super::flow::command_line;
use super::state::{ProgramCall, Secret, Source, Stream, Walk};
use crate::words::shell::{LOGINS, SECRET_VARIABLES};

impl Walk {
    /// The credential that a program prints by itself or passes on.
    pub(super) fn printed_secret(&self, call: ProgramCall<'_>, scope: &Scope) -> Option<Secret> {
        let ProgramCall { invocation, input } = call;
        if scope.is_remote {
            return None;
        }
        let program = invocation.program.as_str();
        let args = invocation.args.as_slice();
        let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        let prints = |subcommand: &&str| {
            let mut given = words.iter();
            subcommand.split_whitespace().all(|word| given.next() == Some(&word))
        };
        if programs::row(program).secrets.iter().any(prints) {
            return Some(Secret::Token);
        }
        match programs::family(program) {
            "env" | "printenv" if words.iter().all(|word| word.starts_with('-')) => Some(Secret::Content),
            "echo" | "printf" => args.last().filter(|arg| is_secret_variable(arg)).map(|_| Secret::Token),
            "tar" | "zip" => {
                let is_secret = args.iter().any(|arg| danger::is_credential(arg, &scope.folder));
                is_secret.then_some(Secret::Content)
            }
            _ if programs::is(program, Tag::PrintsFiles) => {
                let is_secret = files::touched(invocation).iter().any(|file| {
                    file.is_read && danger::is_credential(&Arg::known(&*file.path), &scope.folder)
                });
                if is_secret { Some(Secret::Content) } else { secret_in(input) }
            }
            _ => None,
        }
    }

    /// Reports a program that sends credentials to another machine.
    pub(super) fn report_exfiltration(&mut self, invocation: &Invocation, input: &Stream) {
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
            let is_login = LOGINS.contains(&before)
                || arg.text.split_once('=').is_some_and(|(name, _)| LOGINS.contains(&name))
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
}

/// The credential that flows in a stream.
fn secret_in(stream: &Stream) -> Option<Secret> {
    let start = Folder::Known(String::new());
    match &stream.source {
        _ if stream.secret.is_some() => stream.secret,
        Source::File(name) if danger::is_credential(&Arg::known(&**name), &start) => Some(Secret::Content),
        _ => None,
    }
}

/// Whether an argument of `curl` or `wget` sends what it reads: `-d @-`, `-T -`, `-F x=@-`, `--post-file=/dev/stdin`.
fn sends_input(text: &str) -> bool {
    matches!(text, "-" | "." | "-T-" | "/dev/stdin")
        || text.ends_with("@-")
        || text.ends_with("<-")
        || text.ends_with("/dev/stdin")
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
