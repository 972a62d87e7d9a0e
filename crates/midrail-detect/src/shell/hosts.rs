//! The hosts that a program talks to, by its arguments.

use super::invocation::{Arg, Invocation};
use super::options;

/// How a program names hosts.
enum Naming {
    /// Every operand is a URL or begins with a host: `curl example.com/x`.
    Url,
    /// The first operand is a host, perhaps with a user: `ssh me@host command`.
    First,
    /// Operands such as `me@host:path`.
    Copy,
}

struct Talker {
    programs: &'static [&'static str],
    naming: Naming,
    values: &'static [&'static str],
}

const TALKERS: &[Talker] = &[
    Talker {
        programs: &[
            "curl", "wget", "http", "https", "xh", "aria2c", "lynx", "links", "w3m", "fetch", "axel",
            "curlie", "httpie",
        ],
        naming: Naming::Url,
        values: &[
            "-o",
            "-O",
            "-X",
            "-H",
            "-d",
            "-u",
            "-A",
            "-e",
            "-F",
            "-b",
            "-c",
            "-T",
            "-w",
            "-m",
            "-x",
            "-K",
            "-P",
            "-t",
            "-U",
            "-a",
            "-i",
            "-E",
            "-r",
            "-Y",
            "-y",
            "-z",
            "-C",
            "--data",
            "--header",
            "--request",
            "--output",
            "--user",
            "--user-agent",
            "--form",
            "--cookie",
            "--cookie-jar",
            "--upload-file",
            "--write-out",
            "--max-time",
            "--proxy",
            "--config",
            "--data-raw",
            "--data-binary",
            "--data-urlencode",
            "--retry",
            "--connect-timeout",
            "--cacert",
            "--cert",
            "--key",
            "--json",
            "--output-document",
            "--directory-prefix",
            "--retry-delay",
            "--resolve",
        ],
    },
    Talker {
        programs: &[
            "ssh",
            "mosh",
            "telnet",
            "ping",
            "ping6",
            "traceroute",
            "tracepath",
            "mtr",
            "dig",
            "host",
            "nslookup",
            "whois",
            "nmap",
            "nc",
            "ncat",
            "netcat",
            "ftp",
            "sftp",
            "ssh-copy-id",
            "ssh-keyscan",
            "lftp",
            "tftp",
            "autossh",
        ],
        naming: Naming::First,
        values: &[
            "-i", "-p", "-l", "-o", "-F", "-L", "-R", "-D", "-J", "-b", "-c", "-e", "-m", "-O", "-Q", "-S",
            "-w", "-W", "-E", "-I", "-B", "-P", "-t", "-q", "-s",
        ],
    },
    Talker {
        programs: &["scp", "rsync"],
        naming: Naming::Copy,
        values: &["-i", "-P", "-o", "-F", "-e", "--rsh", "-c", "-l", "-S", "-J"],
    },
];

/// Programs that take a URL somewhere among their arguments.
const URL_TAKERS: &[&str] = &[
    "git",
    "pip",
    "pip3",
    "npm",
    "yarn",
    "pnpm",
    "cargo",
    "go",
    "docker",
    "gh",
    "svn",
    "hg",
    "youtube-dl",
    "yt-dlp",
    "openssl",
    "gem",
    "helm",
    "kubectl",
    "apt-key",
    "add-apt-repository",
    "rpm",
    "dnf",
    "yum",
    "brew",
    "socat",
    "websocat",
    "ab",
    "wrk",
    "hey",
    "iwr",
    "irm",
    "uv",
    "Invoke-WebRequest",
    "Invoke-RestMethod",
    "composer",
    "deno",
    "bun",
    "npx",
    "psql",
    "mongosh",
    "redis-cli",
    "wscat",
    "grpcurl",
];

/// The hosts that a program talks to.
pub(super) fn of(invocation: &Invocation) -> Vec<String> {
    let program = invocation.program.as_str();
    let mut hosts = Vec::new();
    if let Some(talker) = TALKERS.iter().find(|talker| talker.programs.contains(&program)) {
        let sorted = options::sort(&invocation.args, talker.values, false);
        let operands = sorted.operands.iter().filter_map(|at| invocation.args.get(*at));
        match talker.naming {
            Naming::Url => {
                hosts.extend(operands.filter_map(|arg| in_url(arg).or_else(|| bare_host(arg))));
                hosts.extend(sorted.values_of(&["--url"]).filter_map(in_url));
            }
            Naming::First => {
                hosts.extend(operands.take(1).filter_map(|arg| in_url(arg).or_else(|| login_host(arg))))
            }
            Naming::Copy => hosts.extend(operands.filter_map(|arg| in_url(arg).or_else(|| copy_host(arg)))),
        }
    } else if URL_TAKERS.contains(&program) {
        for arg in &invocation.args {
            hosts.extend(in_url(arg));
            if program == "git" {
                hosts.extend(copy_host(arg).filter(|_| arg.text.contains('@')));
            }
            if program == "openssl"
                && let Some((host, _)) = arg.text.split_once(':').filter(|(host, _)| host.contains('.'))
            {
                hosts.push(host.to_owned());
            }
            if program == "socat" {
                hosts.extend(socat_host(&arg.text));
            }
        }
    }
    hosts
}

fn known(arg: &Arg, host: &str) -> Option<String> {
    let is_host = !host.is_empty()
        && host.len() < 254
        && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']'));
    (is_host && arg.text.is_char_boundary(0)).then(|| host.to_ascii_lowercase())
}

/// The host of a URL: `https://user:word@host:port/path`.
fn in_url(arg: &Arg) -> Option<String> {
    let (_, rest) = arg.text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host =
        if host.starts_with('[') { host.split_inclusive(']').next()? } else { host.split(':').next()? };
    known(arg, host)
}

/// `example.com/path` without a scheme.
fn bare_host(arg: &Arg) -> Option<String> {
    let host = arg.text.split(['/', '?']).next()?.split(':').next()?;
    let looks = host == "localhost" || (host.contains('.') && !host.starts_with('.') && !host.ends_with('.'));
    looks.then(|| known(arg, host))?
}

fn login_host(arg: &Arg) -> Option<String> {
    let host = arg.text.rsplit_once('@').map_or(arg.text.as_str(), |(_, host)| host);
    known(arg, host.split(':').next()?)
}

/// `me@host:path`, but no path of this machine.
fn copy_host(arg: &Arg) -> Option<String> {
    let (head, _) = arg.text.split_once(':')?;
    if head.contains('/') || head.len() == 1 {
        return None;
    }
    known(arg, head.rsplit_once('@').map_or(head, |(_, host)| host))
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
    use super::super::invocation::{Folder, Input};
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
                folder: Folder::Known(String::new()),
                is_remote: false,
                is_privileged: false,
                has_more_args: false,
                input: Input::Inherited,
                start: 0,
                end: 0,
            };
            assert_eq!(of(&invocation), expected, "{program} {args:?}");
        }
    }
}
