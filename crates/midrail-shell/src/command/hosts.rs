//! The hosts that a program contacts, by its row and its arguments.

use super::invocation::{Arg, Invocation};
use super::options::Arguments;
use super::programs::Hosts;

/// The hosts that a program contacts.
pub(super) fn contacted(invocation: &Invocation) -> Vec<String> {
    let mut hosts = Vec::new();
    let sorted = Arguments::new(invocation);
    let mut operands = sorted.operands.iter().copied();
    match sorted.program.hosts {
        Hosts::None => {}
        Hosts::Url => {
            hosts.extend(operands.filter_map(|arg| in_url(arg).or_else(|| bare_host(arg))));
            hosts.extend(sorted.values_of(&["--url"]).filter_map(in_url));
        }
        Hosts::First => hosts.extend(operands.next().and_then(|arg| in_url(arg).or_else(|| login_host(arg)))),
        Hosts::Copy => hosts.extend(operands.filter_map(|arg| in_url(arg).or_else(|| copy_host(arg)))),
        Hosts::Any => {
            for arg in &invocation.args {
                hosts.extend(in_url(arg));
                match invocation.program.as_str() {
                    "git" => hosts.extend(copy_host(arg).filter(|_| arg.text.contains('@'))),
                    "openssl" => {
                        let address = arg.text.split_once(':').filter(|(host, _)| host.contains('.'));
                        hosts.extend(address.map(|(host, _)| host.to_owned()));
                    }
                    "socat" => hosts.extend(socat_host(&arg.text)),
                    _ => {}
                }
            }
        }
    }
    hosts
}

fn known(host: &str) -> Option<String> {
    let is_host = !host.is_empty()
        && host.len() < 254
        && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'));
    is_host.then(|| host.to_ascii_lowercase())
}

/// The host of a URL: `https://user:word@host:port/path`.
pub(crate) fn url_host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host =
        if host.starts_with('[') { host.split_inclusive(']').next()? } else { host.split(':').next()? };
    (!host.is_empty()).then_some(host)
}

fn in_url(arg: &Arg) -> Option<String> {
    known(url_host(&arg.text)?)
}

/// `example.com/path` without a scheme.
fn bare_host(arg: &Arg) -> Option<String> {
    let host = arg.text.split(['/', '?']).next()?.split(':').next()?;
    let looks = host == "localhost" || (host.contains('.') && !host.starts_with('.') && !host.ends_with('.'));
    looks.then(|| known(host))?
}

fn login_host(arg: &Arg) -> Option<String> {
    let host = arg.text.rsplit_once('@').map_or(arg.text.as_str(), |(_, host)| host);
    known(host.split(':').next()?)
}

/// `me@host:path`, but no path of this machine.
fn copy_host(arg: &Arg) -> Option<String> {
    let (head, _) = arg.text.split_once(':')?;
    if head.contains('/') || head.len() == 1 {
        return None;
    }
    known(head.rsplit_once('@').map_or(head, |(_, host)| host))
}

/// `TCP:host:port`
fn socat_host(text: &str) -> Option<String> {
    let mut fields = text.split(':');
    let kind = fields.next()?.to_ascii_uppercase();
    let host = fields.next()?;
    (matches!(kind.as_str(), "TCP" | "TCP4" | "TCP6" | "UDP" | "OPENSSL" | "TCP-CONNECT") && !host.is_empty())
        .then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found() {
        for (program, args, expected) in [
            ("curl", &["-sSL", "-o", "a.b", "https://me:x@Example.com:8080/a?b"][..], &["example.com"][..]),
            ("curl", &["example.org/x"], &["example.org"]),
            ("wget", &["-q", "http://[::1]/x"], &["[::1]"]),
            ("ssh", &["-i", "key", "me@box", "ls"], &["box"]),
            ("scp", &["a.txt", "me@box:/tmp"], &["box"]),
            ("rsync", &["-a", "src/", "C:x"], &[]),
            ("git", &["clone", "git@github.com:a/b.git"], &["github.com"]),
            ("git", &["log", "HEAD:x"], &[]),
            ("nc", &["-zv", "10.0.0.1", "22"], &["10.0.0.1"]),
        ] {
            let invocation = Invocation {
                program: program.to_owned(),
                args: args.iter().map(|arg| Arg::known(*arg)).collect(),
                ..Invocation::default()
            };
            assert_eq!(contacted(&invocation), expected, "{program} {args:?}");
        }
    }
}
