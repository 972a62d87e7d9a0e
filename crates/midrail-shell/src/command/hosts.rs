//! The hosts that a program contacts, by its row and its arguments.

use std::ops::Range;

use super::condition::{Call, applies};
use super::invocation::{Arg, Invocation};
use super::launch;
use super::options::{Arguments, find_run};
use super::programs::{Contact, Hosts, Named};
use crate::tables::PROGRAMS;

/// The hosts that a program contacts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contacted {
    /// Those that are known.
    pub(super) hosts: Vec<String>,
    /// It may contact others.
    pub(super) is_unknown: bool,
}

/// Whether a host is one that programs contact without naming it: a registry or a forge.
pub fn is_registry(host: &str) -> bool {
    PROGRAMS.values().flat_map(|row| row.contacts).any(|contact| contact.host == host)
}

/// What a word says about a host.
enum Address {
    Host(String),
    Unknown,
    /// It names none.
    None,
}

impl Address {
    fn or_else(self, other: impl FnOnce() -> Address) -> Address {
        if matches!(self, Address::None) { other() } else { self }
    }
}

impl Contacted {
    fn add(&mut self, address: Address) {
        match address {
            Address::Host(host) => self.hosts.push(host),
            Address::Unknown => self.is_unknown = true,
            Address::None => {}
        }
    }
}

/// The hosts that a program contacts. A host in a variable, in a file or in a configuration is unknown.
pub(super) fn contacted(invocation: &Invocation) -> Contacted {
    let mut found = Contacted::default();
    by_row(invocation, &mut found);
    // `python -m pip install x`
    if let Some(inner) = launch::inner(invocation, &[]) {
        by_row(&inner, &mut found);
    }
    found
}

fn by_row(invocation: &Invocation, found: &mut Contacted) {
    let row = invocation.row();
    let call = Call::new(invocation, row, &[]);
    by_arguments(&call, found);
    for contact in row.contacts.iter().filter(|it| applies(it.when, it.unless, &call)) {
        by_contact(contact, &call, found);
    }
}

fn by_arguments(call: &Call<'_>, found: &mut Contacted) {
    let Call { invocation, arguments } = call;
    let operands = arguments.operands.as_slice();
    match arguments.program.hosts {
        Hosts::None => return,
        Hosts::Url => {
            let options = arguments.values_of(&["--url"]);
            operands
                .iter()
                .copied()
                .chain(options)
                .for_each(|arg| found.add(in_url(arg).or_else(|| bare(arg))));
            // `curl api/health`, `http :8080/x`
            found.is_unknown |= found.hosts.is_empty() && !operands.is_empty();
        }
        Hosts::First => {
            operands.iter().take(1).for_each(|arg| found.add(in_url(arg).or_else(|| login(arg))));
        }
        Hosts::Copy => operands.iter().for_each(|arg| found.add(in_url(arg).or_else(|| copied(arg)))),
        Hosts::Any => {
            for arg in &invocation.args {
                found.add(in_url(arg));
                match invocation.program.as_str() {
                    "git" if arg.text.contains('@') => found.add(copied(arg)),
                    "openssl" => {
                        let address = arg.text.split_once(':').filter(|(host, _)| host.contains('.'));
                        found.hosts.extend(address.map(|(host, _)| host.to_owned()));
                    }
                    "socat" | "open" | "xdg-open" | "sensible-browser" | "x-www-browser" | "www-browser"
                        if arg.begins_unknown() =>
                    {
                        found.is_unknown = true;
                    }
                    "socat" => found.hosts.extend(socat_host(&arg.text)),
                    "go" => found.add(module(arg, operands)),
                    _ => {}
                }
            }
            // `openssl s_client -connect host:443`
            let connects = if invocation.program == "openssl" {
                arguments.values_of(&["-connect", "-proxy", "-host"]).collect()
            } else {
                Vec::new()
            };
            for address in connects {
                let end = address.text.rfind(':').unwrap_or(address.text.len());
                found.add(host_at(address, 0..end));
            }
            return;
        }
    }
    // `xargs curl`
    found.is_unknown |= invocation.has_more_args;
}

/// Adds the hosts of a registry, a forge or a configured server.
fn by_contact(contact: &Contact, call: &Call<'_>, found: &mut Contacted) {
    let given: Vec<&Arg> = call.arguments.values_of(contact.options).collect();
    if !given.is_empty() {
        given
            .into_iter()
            .for_each(|arg| found.add(in_url(arg).or_else(|| bare(arg)).or_else(|| Address::Unknown)));
        return;
    }
    let default = || match contact.host {
        "" => Address::Unknown,
        host => Address::Host(host.to_owned()),
    };
    found.is_unknown |= call.invocation.has_more_args && contact.names != Named::Nothing;
    match contact.names {
        Named::Nothing => found.add(default()),
        Named::Packages => {
            found.add(default());
            let others = call.arguments.operands.iter().skip(1);
            others.filter(|arg| is_package_elsewhere(arg)).for_each(|_| found.add(Address::Unknown));
        }
        Named::Images => {
            for image in images(call) {
                found.add(registry(image).or_else(default));
            }
        }
        Named::Repositories => {
            let operand = call.arguments.operands.get(1);
            if operand.is_none_or(|arg| is_remote_name(arg)) {
                found.add(default());
            }
        }
    }
}

/// The images that a call of a container program names: all operands, or the one in front of the command that it runs.
fn images<'a>(call: &Call<'a>) -> Vec<&'a Arg> {
    let row = call.arguments.program;
    if let Some((args, run)) = find_run(call.invocation, "run") {
        let sorted = Arguments::before_command(row, run, args, run.values);
        return sorted.operands.first().copied().into_iter().collect();
    }
    let words = call.arguments.operands.iter().take_while(|arg| row.is_prefix(&arg.text)).count();
    call.arguments.operands.iter().skip(words + 1).copied().collect()
}

/// The registry of an image: `registry.example:5000/image`.
fn registry(image: &Arg) -> Address {
    let end = image.text.find('/').unwrap_or(image.text.len());
    if is_unknown_before(image, end) {
        return Address::Unknown;
    }
    let first = image.text.get(..end).unwrap_or_default();
    let is_registry = end < image.text.len() && (first.contains(['.', ':']) || first == "localhost");
    let host = first.split(':').next().unwrap_or_default();
    if is_registry { valid(host) } else { Address::None }
}

/// Whether a package may come from somewhere else than the registry.
fn is_package_elsewhere(arg: &Arg) -> bool {
    arg.begins_unknown()
        || (arg.text.contains('/')
            && !arg.text.contains("://")
            && !arg.text.starts_with(['@', '.', '/', '~']))
}

/// Whether an operand of a version control system is the name of a remote, and neither an address nor a path.
fn is_remote_name(arg: &Arg) -> bool {
    let is_path = arg.text.starts_with(['.', '/', '~']) || arg.text.starts_with("file://");
    let is_address = arg.text.contains("://") || matches!(copied(arg), Address::Host(_));
    arg.begins_unknown() || !(is_path || is_address)
}

/// Whether a part that is not known begins before a byte.
fn is_unknown_before(arg: &Arg, end: usize) -> bool {
    arg.unknown.first().is_some_and(|range| range.start < end)
}

fn valid(host: &str) -> Address {
    let is_host = !host.is_empty()
        && host.len() < 254
        && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'));
    if is_host { Address::Host(host.to_ascii_lowercase()) } else { Address::None }
}

/// The host in a part of a word.
fn host_at(arg: &Arg, range: Range<usize>) -> Address {
    let host = arg.text.get(range.clone()).unwrap_or_default();
    if !is_unknown_before(arg, range.end) {
        return valid(host);
    }
    // `name=$value` is no host, whatever the value is.
    let known = arg.unknown.first().map_or(0, |part| part.start.clamp(range.start, range.end));
    let known = arg.text.get(range.start..known).unwrap_or_default();
    let may_be = known.is_empty() || matches!(valid(known), Address::Host(_));
    if may_be { Address::Unknown } else { Address::None }
}

/// Where the host of a URL is: `https://user:word@host:port/path`.
fn url_host_range(url: &str) -> Option<Range<usize>> {
    let start = url.find("://")? + "://".len();
    let rest = url.get(start..)?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let start = start + authority.rfind('@').map_or(0, |at| at + 1);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host =
        if host.starts_with('[') { host.split_inclusive(']').next()? } else { host.split(':').next()? };
    (!host.is_empty()).then_some(start..start + host.len())
}

/// The host of a URL: `https://user:word@host:port/path`.
pub(crate) fn url_host(url: &str) -> Option<&str> {
    url.get(url_host_range(url)?)
}

fn in_url(arg: &Arg) -> Address {
    url_host_range(&arg.text).map_or(Address::None, |range| host_at(arg, range))
}

/// `example.com/path` without a scheme.
fn bare(arg: &Arg) -> Address {
    if arg.text.contains("://") {
        return Address::None;
    }
    let end = arg.text.find(['/', '?', ':']).unwrap_or(arg.text.len());
    let host = arg.text.get(..end).unwrap_or_default();
    let looks = host == "localhost" || (host.contains('.') && !host.starts_with('.') && !host.ends_with('.'));
    if looks || is_unknown_before(arg, end) { host_at(arg, 0..end) } else { Address::None }
}

fn login(arg: &Arg) -> Address {
    let start = arg.text.rfind('@').map_or(0, |at| at + 1);
    let rest = arg.text.get(start..).unwrap_or_default();
    host_at(arg, start..start + rest.find(':').unwrap_or(rest.len()))
}

/// `me@host:path`, but no path of this machine.
fn copied(arg: &Arg) -> Address {
    let slash = arg.text.find('/').unwrap_or(arg.text.len());
    let Some(colon) = arg.text.find(':').filter(|colon| *colon < slash) else {
        return if is_unknown_before(arg, slash) { Address::Unknown } else { Address::None };
    };
    if colon == 1 {
        return Address::None;
    }
    let head = arg.text.get(..colon).unwrap_or_default();
    host_at(arg, head.rfind('@').map_or(0, |at| at + 1)..colon)
}

/// `go run example.com/tool@latest`: the host of a module.
fn module(arg: &Arg, operands: &[&Arg]) -> Address {
    let is_fetched = operands.first().is_some_and(|it| it.text == "run");
    let end = arg.text.find('/').unwrap_or(arg.text.len());
    let first = arg.text.get(..end).unwrap_or_default();
    let is_module = first.contains('.') && !first.starts_with('.') && end < arg.text.len();
    if is_fetched && !arg.text.starts_with('-') && (is_module || arg.begins_unknown()) {
        return host_at(arg, 0..end);
    }
    Address::None
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
            let found = contacted(&invocation);
            assert_eq!(found.hosts, expected, "{program} {args:?}");
            assert!(!found.is_unknown, "{program} {args:?}");
        }
    }
}
