//! Which calls prove that a command ran: `cargo test --help` ends well, too, and runs no test. What is not known proves nothing.

use midrail_core::{CommandCall, glob};

use super::command_pattern::{CommandPattern, Fit};
use super::programs;
use crate::words::shell::{
    DESCRIBING_OPTIONS, FOLDER_OPTIONS, PROVING_OPTIONS, UNPROVEN_OPTIONS, WRAPPER_OPTIONS,
};

/// Folders of installed programs.
const INSTALLED: &[&str] = &[
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/snap/bin",
    "/home/linuxbrew/.linuxbrew/bin",
];

/// Toolchains of `cargo +NAME`.
const TOOLCHAINS: &[&str] = &["+stable", "+beta", "+nightly"];

impl CommandPattern {
    /// Whether the success of the line proves that a command ran that matches. This is stricter than [`CommandPattern::fit`]: all of
    /// it is known, and the program is the installed one or the file that the pattern names.
    pub fn is_proven_by(&self, call: &CommandCall) -> bool {
        let is_option = |at: &usize| call.args.get(*at).is_none_or(|arg| arg.starts_with(['$', '`', '-']));
        let is_installed =
            |path: &str| path.rsplit_once('/').is_some_and(|(folder, _)| INSTALLED.contains(&folder));
        call.decides
            && !call.has_more_args
            && !call.unknown.iter().any(is_option)
            && (self.has_path() || call.path.as_deref().is_none_or(is_installed))
            && !only_describes(call)
            && self.is_plain(call)
            && self.fit(call) == Fit::Yes
    }

    /// Whether it has an option with which a command only shows what it would do, or proves nothing.
    pub fn only_describes(&self) -> bool {
        only_describes(&self.call())
    }

    /// Whether a call has no arguments beyond the pattern's but options that change nothing about the proof, and files of the
    /// project.
    fn is_plain(&self, call: &CommandCall) -> bool {
        let is_own = |arg: &str| self.words().any(|word| glob::name_matches(word, arg));
        call.args.iter().map(String::as_str).all(|arg| is_own(arg) || is_plain(arg))
    }
}

fn is_plain(arg: &str) -> bool {
    if arg.starts_with('-') {
        let is_it = |known: &&str| glob::name_matches(known, option_name(arg)) || *known == arg;
        return PROVING_OPTIONS.iter().any(is_it) || FOLDER_OPTIONS.contains(option_name(arg));
    }
    let is_toolchain = !arg.starts_with('+') || TOOLCHAINS.contains(&arg);
    let is_below = !arg.starts_with(['/', '~']) && !arg.split('/').any(|part| part == "..");
    is_toolchain && is_below && !arg.contains('=')
}

/// Whether a program that runs another one may not run it with this option: `nice --version make`.
pub(super) fn may_run_nothing(program: &str, arg: &str) -> bool {
    let mut options = WRAPPER_OPTIONS.iter().filter_map(|entry| entry.split_once(' '));
    let is_it = |(of, option): (&str, &str)| of == program && glob::name_matches(option, option_name(arg));
    arg.starts_with('-') && arg != "--" && !options.any(is_it)
}

/// Whether a command only shows its help, its version or what it would do, or has an option with which it proves nothing. What
/// follows `--` counts, because programs pass it on: `cargo test -- --list`.
pub fn only_describes(call: &CommandCall) -> bool {
    let program = programs::row(&call.program);
    call.args.iter().map(String::as_str).any(|arg| {
        DESCRIBING_OPTIONS.contains(option_name(arg))
            || program.dry_runs.contains(&option_name(arg))
            || is_unproven_option(&call.program, arg)
    })
}

/// Whether the success of a program with this option does not prove that it did its work: `make -n`.
pub(super) fn is_unproven_option(program: &str, arg: &str) -> bool {
    let name = option_name(arg);
    let is_cluster = |letter: &str| {
        program != "go"
            && name.len() <= 4
            && !name.starts_with("--")
            && name.strip_prefix('-').is_some_and(|it| it.contains(letter))
    };
    let mut options = UNPROVEN_OPTIONS.iter().filter_map(|entry| entry.split_once(' '));
    options.any(|(of, option)| {
        of == program
            && (option == name || option.strip_prefix('-').is_some_and(|it| it.len() == 1 && is_cluster(it)))
    })
}

/// The folders and projects that options of a command name: `--manifest-path x/Cargo.toml`. `None`: one of them is not known.
pub fn named_folders(call: &CommandCall) -> Option<Vec<&str>> {
    let mut folders = Vec::new();
    for (at, arg) in call.args.iter().enumerate() {
        if arg == "--" {
            break;
        }
        let name = option_name(arg);
        let joined = arg.strip_prefix("-C").filter(|value| !value.is_empty());
        let (value, at) = if let Some(value) = joined {
            (value, at)
        } else if !FOLDER_OPTIONS.contains(name) {
            continue;
        } else if let Some((_, value)) = arg.split_once('=') {
            (value, at)
        } else {
            (call.args.get(at + 1)?.as_str(), at + 1)
        };
        if call.unknown.contains(&at) {
            return None;
        }
        folders.push(value);
    }
    Some(folders)
}

/// An option without its value.
pub(super) fn option_name(arg: &str) -> &str {
    arg.split_once('=').map_or(arg, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::analyse;

    #[test]
    fn help_and_dry_runs_only_describe() {
        let only = |line: &str| analyse(line).commands.iter().all(only_describes);
        assert!(only("cargo test --help") && only("cargo test --no-run") && only("pytest --collect-only"));
        assert!(only("cargo test -- --list") && only("go test -c ./...") && only("make -sn test"));
        assert!(only("npm test --if-present") && only("pytest --markers") && only("cargo test --config=a=b"));
        assert!(!only("cargo test") && !only("cargo test -- --nocapture") && !only("go test -count=1 ./..."));
    }

    #[test]
    fn proofs_are_stricter_than_gates() {
        let proves = |pattern: &str, line: &str| {
            let pattern = CommandPattern::parse(pattern).unwrap();
            analyse(line).commands.iter().any(|call| pattern.is_proven_by(call))
        };
        for line in [
            "cargo test",
            "cargo test -p x --locked",
            "/usr/bin/cargo test",
            "cd sub && cargo test",
            "timeout 600 cargo test",
            "RUST_BACKTRACE=1 cargo test",
            "export CI=1; cargo test",
            "env CI=1 nice -n 5 cargo test",
            "bash -lc 'cargo test'",
            "set -o pipefail; cargo test | tee log",
            "set -euo pipefail\ncargo test 2>&1 | tee log",
            "cargo test || exit 1",
            "cargo test || false",
            "sudo -u me cargo test",
            "NODE_OPTIONS=--max-old-space-size=4096 cargo test",
            "cargo test tests/*.rs",
        ] {
            assert!(proves("cargo test", line), "{line}");
        }
        for line in [
            "./cargo test",
            "/tmp/cargo test",
            "/usr/../tmp/cargo test",
            "PATH=. cargo test",
            "env PATH=. cargo test",
            "export PATH=/tmp:$PATH; cargo test",
            "declare -x PATH=/tmp; cargo test",
            "nice --version cargo test",
            "nice --vers cargo test",
            "env --help cargo test",
            "nohup --help cargo test",
            "sudo -l cargo test",
            "sudo -nl cargo test",
            "set -n; cargo test",
            "set -o noexec; cargo test",
            "set $X; cargo test",
            "coproc cargo test",
            "source fake.sh; cargo test",
            ". ./fake.sh && cargo test",
            "eval \"$X\"; cargo test",
            "$X; cargo test",
            "BASH_ENV=x bash -c 'cargo test'",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=true cargo test",
            "RUSTC_WRAPPER=true cargo test",
            "cargo test $X",
            "cargo test $(cat f)",
            "false && set -o pipefail; cargo test | tee log",
            "if false; then set -o pipefail; fi; cargo test | tee log",
            "set -o pipefail; set +o pipefail; cargo test | tee log",
            "set -o pipefail; bash -c 'cargo test | tee log'",
            "(set -o pipefail); cargo test | tee log",
            "exit() { :; }; cargo test || exit 1",
            "cargo test || exit 0",
            "cargo test || exit 256",
            "cargo test || exit $?",
            "cargo test || exit 1 &",
            "typeset X=`cargo test`",
            "bash -D -c 'cargo test'",
            "fish --no-execute -c 'cargo test'",
            "read PATH < f; cargo test",
            "/usr/bin/time -V cargo test",
            "ionice -p 1 cargo test",
            "xvfb-run -h cargo test",
            "direnv exec /tmp/x cargo test",
            "/opt/x/cargo test",
            "CARGO_HOME=/tmp/x cargo test",
            "RUSTUP_TOOLCHAIN=/tmp/x cargo test",
            "cargo +fake test",
            "cargo test --unit-graph",
            "cargo test --no-ru",
        ] {
            assert!(!proves("cargo test", line), "{line}");
        }
        for line in [
            "make --dry test",
            "make --ig test",
            "make test SHELL=/bin/true",
            "make test MAKEFLAGS=n",
            "make test -o test",
            "make -f /tmp/x test",
        ] {
            assert!(!proves("make test", line), "{line}");
        }
        for line in [
            "pytest /tmp/x",
            "pytest ../other",
            "pytest -c /tmp/x.ini",
            "pytest -o addopts=--co",
            "pytest -VV",
        ] {
            assert!(!proves("pytest", line), "{line}");
        }
        assert!(proves("make test", "make -j8 -k test") && proves("go test", "go test -count=1 -race ./..."));
        assert!(proves("make test", "make test lint") && proves("deploy *", "deploy --anything"));
        assert!(proves("./scripts/test.sh", "./scripts/test.sh -v"));
        assert!(proves("npm run test*", "npm run test:unit") && proves("npm test", "npm test"));
        assert!(proves("pytest", "pytest -q tests"));
    }

    #[test]
    fn folders_of_options_are_found() {
        let folders = |line: &str| {
            let call = analyse(line).commands.pop().unwrap();
            named_folders(&call).map(|found| found.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(folders("cargo test --manifest-path x/Cargo.toml"), Some(vec!["x/Cargo.toml".to_owned()]));
        assert_eq!(folders("npm --prefix=/tmp/x test"), Some(vec!["/tmp/x".to_owned()]));
        assert_eq!(folders("make -Csub test"), Some(vec!["sub".to_owned()]));
        assert_eq!(folders("cargo test"), Some(Vec::new()));
        assert_eq!(folders("make -C $X test"), None);
    }
}
