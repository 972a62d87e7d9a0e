//! The sandbox of macOS: a profile for `sandbox-exec`. It was written from the documentation of its language and never run on macOS.

use std::fmt::Write;
use std::path::{Path, PathBuf};
#[cfg(target_os = "macos")]
use std::time::{Duration, Instant};

#[cfg(target_os = "macos")]
use crate::error::SandboxError;
#[cfg(target_os = "macos")]
use crate::sandbox::{Command, Ending, Layers, Report};
use crate::sandbox::{Network, Sandbox};

/// Devices and folders of the system that every command needs.
const SYSTEM: &[&str] = &[
    "/System",
    "/Library",
    "/usr",
    "/bin",
    "/sbin",
    "/opt",
    "/private/etc",
    "/dev",
    "/private/var/db/timezone",
];

/// The profile of a sandbox. What it does not permit is refused, and of two rules for one file the later one counts.
pub(crate) fn profile(sandbox: &Sandbox) -> String {
    let mut profile = String::from("(version 1)\n(deny default)\n");
    for rule in [
        "(allow process-exec process-fork)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
        "(allow file-read-metadata)",
    ] {
        let _ = writeln!(profile, "{rule}");
    }
    let system = SYSTEM.iter().map(PathBuf::from);
    let read: Vec<PathBuf> = system.chain(sandbox.read.iter().cloned()).collect();
    rule(&mut profile, "allow file-read*", &read);
    rule(&mut profile, "allow file-read* file-write*", &sandbox.write);
    rule(&mut profile, "allow file-write*", &["/dev/null".into(), "/dev/tty".into()]);
    rule(&mut profile, "deny file-write*", &sandbox.protected);
    rule(&mut profile, "deny file-read* file-write*", &sandbox.hidden);
    if sandbox.network == Network::All {
        profile.push_str("(allow network*)\n(allow system-socket)\n");
    }
    profile
}

fn rule(profile: &mut String, what: &str, paths: &[PathBuf]) {
    if paths.is_empty() {
        return;
    }
    let _ = writeln!(profile, "({what}");
    for path in paths {
        let _ = writeln!(profile, "    (subpath {})", quoted(path));
    }
    profile.truncate(profile.trim_end().len());
    profile.push_str(")\n");
}

/// A path as a text of the language. One that is not UTF-8 matches nothing that can be named.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs a command under `sandbox-exec`.
#[cfg(target_os = "macos")]
pub(crate) fn run(sandbox: &Sandbox, command: &Command) -> Result<Report, SandboxError> {
    let mut child = std::process::Command::new(PROGRAM);
    child.arg("-p").arg(profile(sandbox)).arg(&command.program).args(&command.args);
    child.env_clear().envs(command.env.iter().map(|(name, value)| (name, value)));
    child.current_dir(&sandbox.dir);
    let mut child = child.spawn().map_err(|error| SandboxError::set_up("start sandbox-exec", error))?;
    let started = Instant::now();
    let is_over = || sandbox.limits.time.is_some_and(|time| started.elapsed() >= time);
    let ending = loop {
        let ended = child.try_wait().map_err(|error| SandboxError::set_up("wait for the command", error))?;
        match ended {
            Some(status) => break Ending::from_status(status),
            None if is_over() => {
                // It may have ended meanwhile.
                let _ = child.kill().and_then(|()| child.wait());
                break Ending::TimedOut;
            }
            None => std::thread::sleep(POLL),
        }
    };
    let missing = MISSING.map(str::to_owned).to_vec();
    Ok(Report {
        ending,
        layers: Layers::Profile,
        missing,
        restored: Vec::new(),
        network_refused: false,
        lost: Vec::new(),
        errors: String::new(),
    })
}

/// What this sandbox does not do.
#[cfg(target_os = "macos")]
const MISSING: [&str; 2] = [
    "the sandbox of macOS was never tried",
    "processes in the background can outlive the command, and nothing is limited but time",
];

#[cfg(target_os = "macos")]
const PROGRAM: &str = "/usr/bin/sandbox-exec";

#[cfg(target_os = "macos")]
const POLL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Background, Limits};

    fn sandbox(network: Network) -> Sandbox {
        Sandbox {
            scratch: Vec::new(),
            keeps_errors: false,
            dir: "/Users/ada/work".into(),
            home: "/Users/ada".into(),
            read: vec!["/Users/ada/.rustup".into()],
            write: vec!["/Users/ada/work".into(), "/private/tmp".into()],
            protected: vec!["/Users/ada/work/.git/hooks".into()],
            hidden: vec!["/Users/ada/work/a \"b\"/.env".into()],
            network,
            limits: Limits::default(),
            background: Background::End,
            mounts: false,
        }
    }

    #[test]
    fn later_rules_take_back_what_earlier_ones_permit() {
        let profile = profile(&sandbox(Network::None));
        assert_eq!(profile, include_str!("macos/profile.sb"));
        let at = |part: &str| profile.find(part).unwrap();
        assert!(at("(deny default)") < at("(allow file-read*"));
        assert!(at("/Users/ada/work\"") < at(".git/hooks"));
        assert!(at(".git/hooks") < at(".env"));
    }

    #[test]
    fn network_is_permitted_only_where_it_is_asked_for() {
        assert!(!profile(&sandbox(Network::None)).contains("network"));
        assert!(profile(&sandbox(Network::All)).contains("(allow network*)"));
    }
}
