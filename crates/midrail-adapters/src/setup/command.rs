//! The command that a host runs for an event, and the program in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::environment::{Environment, InstallScope, is_program};
use super::files::{SettingsError, SettingsResult};
use super::process;
use crate::host::event::{OnFailure, Registration};

/// The program that hooks run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    /// As it is written into settings.
    pub name: String,
    /// Why it is written so.
    pub reason: String,
}

impl HookProgram {
    /// The program for a scope: `named` if given, else this one.
    pub fn choose(
        scope: InstallScope,
        named: Option<&Path>,
        this: &Path,
        env: &Environment,
    ) -> SettingsResult<HookProgram> {
        if let Some(named) = named {
            let path = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
            if !is_program(&path) {
                return Err(SettingsError::new("is not an executable program")
                    .help("give the path of `midrail` with `--program PATH`")
                    .in_file(&path));
            }
            return HookProgram::at(&path, "given by `--program`");
        }
        let real = this.canonicalize().unwrap_or_else(|_| this.to_owned());
        let found = env.on_path("midrail");
        let on_path = found.filter(|path| path.canonicalize().is_ok_and(|path| path == real));
        match (scope, on_path) {
            // A file in a repository must not contain a path of this machine.
            (InstallScope::Project, Some(_)) => Ok(HookProgram {
                name: "midrail".to_owned(),
                reason: "found on the search path, so that the file can be shared".to_owned(),
            }),
            (InstallScope::Project, None) => {
                HookProgram::at(&real, "by its path, because `midrail` on the search path is another program")
            }
            // A link such as ~/.local/bin/midrail stays valid when the version behind it changes.
            (_, on_path) => HookProgram::at(&on_path.unwrap_or(real), "by its path"),
        }
    }

    fn at(path: &Path, reason: &str) -> SettingsResult<Self> {
        match path.to_str() {
            Some(text) if !text.contains(char::is_control) => {
                Ok(HookProgram { name: text.to_owned(), reason: reason.to_owned() })
            }
            _ => Err(SettingsError::new("cannot be written in a command line")
                .help("install the program at another path")
                .in_file(path)),
        }
    }
}

/// The shell that a host starts hooks with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookShell {
    /// `sh`.
    Sh,
    /// The user's shell, which may be none of the family of `sh`.
    User,
    /// The user's shell as a login shell.
    Login,
}

/// A word for `sh`, quoted if necessary.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What a program prints last to prove that it is Midrail and has decided: no other program knows it, and none prints it
/// by repeating its arguments. `nonce` is the process id of the shell around the program.
pub fn proof(nonce: u64) -> String {
    format!("midrail:{}", nonce.wrapping_mul(31).wrapping_add(17))
}

/// What is before the program in a command.
const START: &str = "trap : PIPE; o=$(";

/// What is between the arguments of the program and the answer for one that does not decide. The proof is removed from
/// the output. An answer that the host does not read blocks.
const PASS_ON: &str = " --proof $$); r=$?; p=midrail:$((31*$$+17)); \
                       case $o in *$p) printf %s \"${o%$p}\" || r=2; exit $r;; esac; ";

/// The command for an event. It answers for a program that fails or does not prove that it decided, because most hosts
/// take a hook that fails or prints nothing for one that allows. It starts no process but the program.
pub(crate) fn line(
    program: &str,
    host: &str,
    event: &str,
    registration: Registration,
    shell: HookShell,
) -> String {
    let call = format!("{} hook {host} {event} --timeout {}", quote(program), registration.seconds);
    let otherwise = match registration.on_failure {
        OnFailure::Block => {
            "echo \"Midrail did not answer, so this is blocked. Run: midrail doctor\" >&2; exit 2"
        }
        OnFailure::Withhold => {
            "echo \"Midrail did not answer about this result. Run: midrail doctor\" >&2; exit 2"
        }
        OnFailure::BlockByJson => {
            "echo '{\"decision\":\"block\",\"reason\":\"Midrail did not answer, so this is blocked. Run: midrail doctor\"}'"
        }
        OnFailure::Allow => "echo \"Midrail did not answer. Run: midrail doctor\" >&2",
    };
    let script = format!("{START}{call}{PASS_ON}{otherwise}");
    if shell == HookShell::Sh { script } else { format!("sh -c {}", quote(&script)) }
}

/// A command of Midrail's: one that `midrail init` has written, or a plain call of the program.
struct HookCommand<'c> {
    program: String,
    /// The event and its options.
    arguments: &'c str,
}

/// The script of a command, without the shell around it.
fn script(command: &str) -> String {
    let inner = command.strip_prefix("sh -c '").and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| command.to_owned(), |inner| inner.replace("'\\''", "'"))
}

fn parse<'c>(script: &'c str, host: Option<&str>) -> Option<HookCommand<'c>> {
    let call = match script.strip_prefix(START) {
        Some(rest) => rest.split_once(PASS_ON)?.0,
        None => script,
    };
    let separator = host.map_or_else(|| " hook ".to_owned(), |host| format!(" hook {host} "));
    let (word, arguments) = call.split_once(&separator)?;
    let program = match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => quoted.replace("'\\''", "'"),
        None => word.to_owned(),
    };
    (quote(&program) == word).then_some(HookCommand { program, arguments })
}

/// Whether a command is one of Midrail's for a host. One that only mentions Midrail is not.
pub(crate) fn is_ours(command: &str, host: &str) -> bool {
    let script = script(command);
    let Some(HookCommand { arguments, .. }) = parse(&script, Some(host)) else { return false };
    let mut words = arguments.split(' ');
    let is_event = words.next().is_some_and(|event| {
        !event.is_empty() && event.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    });
    let is_timeout = match (words.next(), words.next(), words.next()) {
        (None, ..) => true,
        (Some("--timeout"), Some(seconds), None) => seconds.parse::<u32>().is_ok(),
        _ => false,
    };
    script.contains("midrail") && is_event && is_timeout
}

/// Whether a command blocks if the program does not prove that it decided.
pub(crate) fn requires_proof(command: &str) -> bool {
    script(command).starts_with(START)
}

/// The program of a command of Midrail's.
pub(crate) fn program_of(command: &str) -> Option<String> {
    parse(&script(command), None).map(|command| command.program)
}

/// Whether the user's login shell finds a program; `None`: the user has no shell.
pub(crate) fn is_found_at_login(program: &str, env: &Environment) -> Option<bool> {
    let mut shell = Command::new(env.shell.as_ref()?);
    shell.args(["-lc", &format!("command -v {}", quote(program))]).env("HOME", &env.home);
    if let Some(path) = &env.path {
        shell.env("PATH", path);
    }
    let found = process::run(&mut shell, "", Duration::from_secs(10));
    Some(found.is_ok_and(|output| output.code == Some(0)))
}

/// The path of a program that is written into settings.
pub(crate) fn find(program: &str, env: &Environment) -> Option<PathBuf> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        return is_program(&path).then_some(path);
    }
    env.on_path(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts;

    fn run(shell: &[&str], program: &str, host: &str, event: &str) -> (i32, String, String) {
        let host = hosts::find(host).unwrap();
        let registration = host.hook_event(event).unwrap().registration.unwrap();
        let line = line(program, host.name, event, registration, host.shell);
        assert!(is_ours(&line, host.name), "{line}");
        assert_eq!(program_of(&line).as_deref(), Some(program), "{line}");
        let output = Command::new(shell[0]).args(&shell[1..]).arg(&line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    fn script(folder: &Path, name: &str, body: &str) -> String {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    #[test]
    fn failing_program_blocks_actions_but_not_stops() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("it's $HOME `here`");
        std::fs::create_dir(&inside).unwrap();
        let killed = script(&inside, "killed", "kill -9 $$");
        let failing = script(&inside, "failing", "exit 1");
        let silent = script(&inside, "silent", "");
        let garbage = script(&inside, "garbage", "echo '{\"a\":'");
        let repeating = script(&inside, "repeating", "echo \"$@\"");
        let late = script(&inside, "late", "for a; do n=$a; done; echo midrail:$((31*n+17)); echo more");
        let missing = inside.join("missing").display().to_string();
        for program in [&killed, &failing, &silent, &garbage, &repeating, &late, &missing] {
            for shell in [["sh", "-c"], ["bash", "-c"]] {
                for (host, event) in [
                    ("claude-code", "PreToolUse"),
                    ("codex", "UserPromptSubmit"),
                    ("codex", "PostToolUse"),
                    ("cursor", "preToolUse"),
                    ("gemini-cli", "BeforeTool"),
                    ("copilot-cli", "preToolUse"),
                ] {
                    let (code, out, err) = run(&shell, program, host, event);
                    assert_eq!((code, out.as_str()), (2, ""), "{program} {event}");
                    assert!(err.contains("Run: midrail doctor"), "{err}");
                }
                for (host, event) in [("codex", "Stop"), ("gemini-cli", "AfterAgent")] {
                    let (code, out, err) = run(&shell, program, host, event);
                    assert_eq!((code, out.as_str()), (0, ""), "{program} {event}");
                    assert!(err.contains("Run: midrail doctor"), "{err}");
                }
                let (code, out, _) = run(&shell, program, "copilot-cli", "userPromptSubmitted");
                let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
                assert_eq!((code, answer["decision"].as_str()), (0, Some("block")));
            }
        }
    }

    #[test]
    fn answer_of_the_program_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let proof = "for a; do n=$a; done; echo midrail:$((31*n+17))";
        let denies = script(folder.path(), "denies", &format!("echo 'not this' >&2; {proof}; exit 2"));
        let answer = r#"printf '{"a":"%%s\\n %s"}\n' "$*""#;
        let allows = script(folder.path(), "allows", &format!("{answer}; {proof}"));
        let silent = script(folder.path(), "silently-allows", proof);
        for event in ["PreToolUse", "Stop", "SessionStart"] {
            let answer = run(&["sh", "-c"], &denies, "codex", event);
            assert_eq!(answer, (2, String::new(), "not this\n".to_owned()));
            let (code, out, err) = run(&["sh", "-c"], &allows, "codex", event);
            assert_eq!((code, err.as_str()), (0, ""));
            assert!(out.starts_with(&format!("{{\"a\":\"%s\\n hook codex {event} --timeout ")), "{out}");
            assert!(out.ends_with("\"}\n"), "{out}");
            assert_eq!(run(&["sh", "-c"], &silent, "codex", event), (0, String::new(), String::new()));
        }
    }

    #[test]
    fn answer_that_the_host_does_not_read_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let proof = "for a; do n=$a; done; echo '{}'; echo midrail:$((31*n+17))";
        let answers = script(folder.path(), "answers", proof);
        let host = hosts::find("claude-code").unwrap();
        let registration = host.hook_event("PreToolUse").unwrap().registration.unwrap();
        let line = line(&answers, host.name, "PreToolUse", registration, host.shell);
        for closed in [format!("exec >&-; {line}"), format!("{{ sleep 0.2; {line}; }} | exec true")] {
            let script = if closed.contains('|') {
                format!("exec 3>&1; {{ sleep 0.2; ( {line} ); echo $? >&3; }} | true")
            } else {
                format!("( {closed} ); echo $?")
            };
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n", "{script}");
        }
    }

    #[test]
    fn project_file_contains_no_path_if_possible() {
        let folder = tempfile::tempdir().unwrap();
        let this = PathBuf::from(script(folder.path(), "midrail-1.0", ""));
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let mut env = Environment::at(&folder.path().join("p"), &folder.path().join("h"));
        let choose = |scope, env: &Environment| HookProgram::choose(scope, None, &this, env).unwrap().name;
        assert_eq!(choose(InstallScope::Project, &env), this.canonicalize().unwrap().display().to_string());
        std::os::unix::fs::symlink(&this, bin.join("midrail")).unwrap();
        env.path = Some(bin.clone().into_os_string());
        assert_eq!(choose(InstallScope::Project, &env), "midrail");
        assert_eq!(choose(InstallScope::User, &env), bin.join("midrail").display().to_string());
        std::fs::remove_file(bin.join("midrail")).unwrap();
        script(&bin, "midrail", "");
        assert_eq!(choose(InstallScope::User, &env), this.canonicalize().unwrap().display().to_string());
        let named = HookProgram::choose(InstallScope::Project, Some(&folder.path().join("no")), &this, &env);
        assert!(named.unwrap_err().to_string().contains("not an executable program"));
    }

    #[test]
    fn command_that_mentions_midrail_is_not_ours() {
        for command in [
            "grep -q 'midrail hook claude-code PreToolUse' log",
            "logger midrail hook claude-code PreToolUse; lint.sh",
            "true || midrail hook claude-code PreToolUse",
            "midrail hook claude-code PreToolUse || true",
            "midrail hook claude-code PreToolUse; true",
            "midrail hook claude-code PreToolUse --pack x",
            "midrail hook codex PreToolUse",
        ] {
            assert!(!is_ours(command, "claude-code"), "{command}");
        }
        assert!(is_ours("midrail hook claude-code PreToolUse", "claude-code"));
        let quoted = "'/opt/it'\\''s/midrail' hook claude-code Stop --timeout 5";
        assert!(is_ours(quoted, "claude-code"));
    }
}
