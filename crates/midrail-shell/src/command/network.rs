//! What a command sends to other machines and receives from them. What it destroys there is the subject of `danger`.

use std::ops::Range;

use midrail_core::NetworkUse;

use super::condition::does;
use super::files;
use super::hosts::{self, Contacted};
use super::invocation::{Arg, Invocation};
use super::options::Arguments;
use super::programs::{self, Tag};
use crate::words::shell::{HEADER_OPTIONS, MACHINE_PROGRAMS};

/// The most commands of a line whose use of the network is listed.
pub(super) const MAX_NETWORK_USES: usize = 32;

/// Programs that copy files into containers of this machine.
const LOCAL_COPIES: &[&str] = &["docker", "podman", "nerdctl"];

/// What a program sends and receives. `None`: neither.
pub(super) fn network_use(invocation: &Invocation, contacted: &Contacted) -> Option<NetworkUse> {
    let program = invocation.program.as_str();
    let is_local = LOCAL_COPIES.contains(&program);
    let sends = !is_dry_run(invocation)
        && (does(invocation, Tag::Sends)
            || (!is_local && files::sends_files(invocation))
            || addresses_carry_data(invocation));
    let receives = does(invocation, Tag::Fetches) || does(invocation, Tag::PrintsRemote);
    if !sends && !receives {
        return None;
    }
    let urls = invocation.args.iter().filter(|arg| arg.unknown.is_empty());
    let mut addresses: Vec<String> = urls
        .filter(|arg| hosts::url_host(&arg.text).is_some_and(|host| is_contacted(host, contacted)))
        .map(|arg| arg.text.clone())
        .collect();
    let mails = invocation.args.iter().filter(|arg| programs::is(program, Tag::Sends) && is_mail(&arg.text));
    addresses.extend(mails.map(|arg| arg.text.clone()));
    for host in &contacted.hosts {
        let is_named =
            addresses.iter().filter_map(|url| hosts::url_host(url)).any(|it| it.eq_ignore_ascii_case(host));
        if !is_named {
            addresses.push(host.clone());
        }
    }
    let (mut is_unknown, mut remote) = (contacted.is_unknown, None);
    match target(invocation) {
        Some(Target::Address(address)) => (addresses, is_unknown) = (vec![address], false),
        Some(Target::Remote(name)) => (addresses, remote) = (Vec::new(), Some(name)),
        None => {}
    }
    Some(NetworkUse {
        program: program.to_owned(),
        has_unknown_addresses: remote.is_none() && (is_unknown || addresses.is_empty()),
        addresses,
        remote,
        sends,
        receives,
    })
}

/// Whether a name that is looked up, or the address of a page, is made of what a command prints: `dig $(cat f).x.example`. What
/// describes the machine, such as `$(uname -m)`, is in addresses of downloads.
fn addresses_carry_data(invocation: &Invocation) -> bool {
    let takes_addresses = does(invocation, Tag::LooksUp) || does(invocation, Tag::Fetches);
    let is_data = |text: &str| {
        let printed = text.strip_prefix("$(").or_else(|| text.strip_prefix('`'));
        printed.is_some_and(|line| {
            let program = line.split_whitespace().next().unwrap_or_default();
            !MACHINE_PROGRAMS.contains(program.trim_end_matches([')', '`']))
        })
    };
    // The whole word may be an address that a command looks up, but not after the option of a header.
    let is_part = |arg: &Arg, range: &Range<usize>| range.len() < arg.text.len();
    let mut is_header = false;
    takes_addresses
        && invocation.args.iter().any(|arg| {
            let is_value = std::mem::replace(&mut is_header, HEADER_OPTIONS.contains(arg.text.as_str()));
            let mut parts = arg.unknown.iter().filter(|range| is_value || is_part(arg, range));
            !arg.text.starts_with('-') && parts.any(|range| arg.text.get(range.clone()).is_some_and(is_data))
        })
}

fn is_dry_run(invocation: &Invocation) -> bool {
    let dry_runs = invocation.row().dry_runs;
    if dry_runs.is_empty() {
        return false;
    }
    let arguments = Arguments::new(invocation);
    dry_runs.iter().any(|name| arguments.has(&[name]))
}

fn is_contacted(host: &str, contacted: &Contacted) -> bool {
    contacted.hosts.iter().any(|it| it.eq_ignore_ascii_case(host))
}

/// Whether a word is the address of a mailbox: `ann@example.org`.
fn is_mail(word: &str) -> bool {
    let parts = word.split_once('@');
    parts
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !word.contains([':', '/', ' ']))
}

/// Where a command of git or of a forge sends to.
enum Target {
    /// A remote of the repository. Empty: the default one.
    Remote(String),
    /// A URL or host.
    Address(String),
}

/// The target of `git push` and of commands such as `gh issue create -R owner/name`. `None`: its arguments and its row tell it.
fn target(invocation: &Invocation) -> Option<Target> {
    let arguments = Arguments::new(invocation);
    let subcommand = arguments.operands.first().map(|arg| arg.text.as_str()).unwrap_or_default();
    let host = match (invocation.program.as_str(), subcommand) {
        ("git", "push") => {
            return match arguments.operands.get(1) {
                None => Some(Target::Remote(String::new())),
                Some(arg) if arg.unknown.is_empty() && !arg.text.contains([':', '/']) => {
                    Some(Target::Remote(arg.text.clone()))
                }
                Some(_) => None,
            };
        }
        ("gh", "gist") => return Some(Target::Address("gist.github.com".to_owned())),
        ("gh" | "glab", "api" | "repo" | "auth") => return None,
        ("gh", _) => "github.com",
        ("glab", _) => "gitlab.com",
        _ => return None,
    };
    let Some(named) = arguments.values_of(&["-R", "--repo"]).last() else {
        return Some(Target::Remote(String::new()));
    };
    if !named.unknown.is_empty() {
        return None;
    }
    let is_short = named.text.matches('/').count() == 1;
    let url =
        if is_short { format!("https://{host}/{}", named.text) } else { format!("https://{}", named.text) };
    Some(Target::Address(url))
}

#[cfg(test)]
mod tests {
    use crate::command::analyse;
    use midrail_core::NetworkUse;

    fn uses(line: &str) -> Vec<NetworkUse> {
        analyse(line).network
    }

    #[test]
    fn requests_with_a_body_uploads_and_pushes_send() {
        for line in [
            "curl -d a=b https://x.example/y",
            "curl --data-binary @a https://x.example",
            "curl -F f=@a https://x.example",
            "curl -T a https://x.example",
            "curl --json '{}' https://x.example",
            "curl -X POST https://x.example",
            "wget --post-data=a https://x.example",
            "wget --post-file a https://x.example",
            "git push",
            "git push origin main",
            "gh issue create -t a -b b",
            "gh pr comment 7 -b b",
            "gh gist create a",
            "npm publish",
            "cargo publish",
            "twine upload dist/*",
            "scp a box:/tmp",
            "rsync -a src/ me@box:src",
            "aws s3 cp a s3://b",
            "docker push x.example/y",
            "mail -s hi ann@example.org",
            "python3 -c 'import requests; requests.post(\"https://x.example\", data=\"a\")'",
        ] {
            assert!(uses(line).iter().any(|it| it.sends), "{line}: {:?}", uses(line));
        }
        for line in [
            "curl https://x.example",
            "wget https://x.example",
            "git push --dry-run",
            "git pull",
            "gh issue list",
            "gh pr view 7",
            "npm publish --dry-run",
            "npm install",
            "scp box:/tmp/a .",
            "docker cp a box:/srv",
            "echo a",
        ] {
            assert!(uses(line).iter().all(|it| !it.sends), "{line}: {:?}", uses(line));
        }
    }

    #[test]
    fn pages_and_issues_are_received() {
        for line in [
            "curl https://x.example",
            "wget -qO- https://x.example",
            "gh issue view 7",
            "gh pr view 7 --comments",
        ] {
            assert!(uses(line).iter().any(|it| it.receives), "{line}: {:?}", uses(line));
        }
        for line in ["git status", "npm install", "ls"] {
            assert!(uses(line).iter().all(|it| !it.receives), "{line}");
        }
    }

    #[test]
    fn addresses_are_those_of_the_command() {
        let found = uses("curl https://a.example/x | curl -d @- https://b.example/y");
        let sent: Vec<_> = found.iter().filter(|it| it.sends).flat_map(|it| &it.addresses).collect();
        assert_eq!(sent, ["https://b.example/y"]);
        for (line, remote) in [("git push", ""), ("git push -u upstream main", "upstream")] {
            assert_eq!(uses(line).first().and_then(|it| it.remote.as_deref()), Some(remote), "{line}");
        }
        let found = uses("git push https://x.example/a.git main");
        assert_eq!(
            found.first().map(|it| it.addresses.clone()),
            Some(vec!["https://x.example/a.git".to_owned()])
        );
        assert!(uses("curl -d a $URL").iter().any(|it| it.has_unknown_addresses));
        let found = uses("gh issue create -R a/b -t x -b y");
        assert!(
            found.iter().any(|it| it.addresses.contains(&"https://github.com/a/b".to_owned())),
            "{found:?}"
        );
    }
}
