//! The command that an agent runs for an event, and the program in it.

use std::path::{Path, PathBuf};

use super::agent::{Hooked, Host, InstallScope, Moment};
use super::files::SettingsError;
use super::places::Environment;

/// The program that agents are told to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookProgram {
    /// As it is written into settings.
    pub name: String,
    /// Why it is written so.
    pub why: String,
}

impl HookProgram {
    /// The program for a scope: the one that is named, else this one.
    pub fn choose(
        scope: InstallScope,
        named: Option<&Path>,
        this: &Path,
        places: &Environment,
    ) -> Result<HookProgram, SettingsError> {
        if let Some(named) = named {
            let path = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
            if !super::places::is_program(&path) {
                return Err(SettingsError::of(&path, "this is no program that can be run")
                    .help("name the program `midrail` with `--program PATH`"));
            }
            return Ok(HookProgram { name: text(&path)?, why: "as named".to_owned() });
        }
        let real = this.canonicalize().unwrap_or_else(|_| this.to_owned());
        let found = places.on_path("midrail");
        let on_path = found.filter(|path| path.canonicalize().is_ok_and(|path| path == real));
        match (scope, on_path) {
            // A file that goes into a repository holds no path of this machine.
            (InstallScope::Project, Some(_)) => Ok(HookProgram {
                name: "midrail".to_owned(),
                why: "found on the search path, so that the file holds for others, too".to_owned(),
            }),
            (InstallScope::Project, None) => Ok(HookProgram {
                name: text(&real)?,
                why: "by its path, because `midrail` on the search path is not this program".to_owned(),
            }),
            // A link such as one in ~/.local/bin outlives the version behind it.
            (InstallScope::User | InstallScope::Managed, Some(path)) => {
                Ok(HookProgram { name: text(&path)?, why: "by its path".to_owned() })
            }
            (InstallScope::User | InstallScope::Managed, None) => {
                Ok(HookProgram { name: text(&real)?, why: "by its path".to_owned() })
            }
        }
    }
}

fn text(path: &Path) -> Result<String, SettingsError> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => {
            Err(SettingsError::of(path, "no command line can hold this path")
                .help("put the program elsewhere"))
        }
    }
}

/// A word for `sh`, in quotes where it needs them.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The command of an event. Whatever happens to the program, the command ends as is right for the moment: a shell stands
/// around it, because most agents take a hook that fails for one that has nothing to say.
pub(super) fn line(program: &str, host: &Host, hooked: &Hooked) -> String {
    let ask = format!("{program} hook {} {} --timeout {}", host.name, hooked.event, hooked.seconds);
    let otherwise = match hooked.moment {
        Moment::Prompt | Moment::Before => {
            "r=$?; [ $r = 2 ] || echo \"Midrail did not answer, so this does not happen. Run: midrail doctor\" >&2; exit 2;"
        }
        Moment::After => {
            "r=$?; [ $r = 2 ] || echo \"Midrail did not answer about this result. Run: midrail doctor\" >&2; exit 2;"
        }
        Moment::PromptByJson => {
            "echo '{\"decision\":\"block\",\"reason\":\"Midrail did not answer, so this does not happen. Run: midrail doctor\"}';"
        }
        Moment::Stop | Moment::Note => {
            "r=$?; [ $r = 2 ] && exit 2; echo \"Midrail did not answer. Run: midrail doctor\" >&2; exit 0;"
        }
    };
    let script = format!("{ask} || {{ {otherwise} }}");
    if host.any_shell { format!("sh -c {}", quote(&script)) } else { script }
}

/// Whether a command is one of ours for an agent, of this version or another. Ours tell people to run `midrail doctor`,
/// whatever the program is called. One that only speaks of Midrail is somebody else's.
pub(super) fn is_ours(command: &str, agent: &str) -> bool {
    let inner = command.strip_prefix("sh -c '").and_then(|rest| rest.strip_suffix('\''));
    let script = inner.map_or_else(|| command.to_owned(), |inner| inner.replace("'\\''", "'"));
    let Some((program, rest)) = script.split_once(&format!(" hook {agent} ")) else { return false };
    let is_word = match program.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => !quoted.replace("'\\''", "").contains('\''),
        None => quote(program) == program,
    };
    let (asked, otherwise) =
        rest.split_once(" || ").map_or((rest, None), |(asked, rest)| (asked, Some(rest)));
    let mut words = asked.split(' ');
    let is_event = words.next().is_some_and(|event| {
        !event.is_empty() && event.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    });
    let is_limit = match (words.next(), words.next(), words.next()) {
        (None, ..) => true,
        (Some("--timeout"), Some(seconds), None) => seconds.parse::<u32>().is_ok(),
        _ => false,
    };
    let is_wrapper = otherwise.is_none_or(|it| it.starts_with("{ ") && it.ends_with(" }"));
    script.contains("midrail") && is_word && is_event && is_limit && is_wrapper
}

/// Whether the user's shell finds a program when it starts as Cursor starts it; `None`: there is nothing to ask.
pub(super) fn is_found_at_login(program: &str, places: &Environment) -> Option<bool> {
    let mut shell = std::process::Command::new(places.shell.as_ref()?);
    shell.args(["-lc", &format!("command -v {}", quote(program))]).env("HOME", &places.home);
    if let Some(path) = &places.path {
        shell.env("PATH", path);
    }
    let ended = super::process::run(&mut shell, "", std::time::Duration::from_secs(10));
    Some(ended.is_ok_and(|ended| ended.code == Some(0)))
}

/// The program of a command of ours, as it would be run.
pub(super) fn program_of(command: &str) -> Option<String> {
    let (before, _) = command.split_once(" hook ")?;
    let before = before.strip_prefix("sh -c '").unwrap_or(before);
    let before = before.replace("'\\''", "'");
    match before.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => Some(quoted.replace("'\\''", "'")),
        None => Some(before),
    }
}

/// Where a program that is written into settings is found.
pub(super) fn find(program: &str, places: &Environment) -> Option<PathBuf> {
    if program.contains('/') {
        let path = PathBuf::from(program);
        return super::places::is_program(&path).then_some(path);
    }
    places.on_path(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Agent;
    use std::process::Command;

    fn run(shell: &[&str], program: &str, agent: Agent, event: &str) -> (i32, String, String) {
        let host = agent.host();
        let hooked = host.events.iter().find(|hooked| hooked.event == event).unwrap();
        let line = line(&quote(program), host, hooked);
        assert!(host.is_ours(&line), "{line}");
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
    fn a_program_that_fails_stops_actions_and_lets_work_end() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("it's $HOME `here`");
        std::fs::create_dir(&inside).unwrap();
        let killed = script(&inside, "killed", "kill -9 $$");
        let failing = script(&inside, "failing", "exit 1");
        let missing = inside.join("missing").display().to_string();
        for program in [&killed, &failing, &missing] {
            for shell in [["sh", "-c"], ["bash", "-c"]] {
                for (agent, event) in [
                    (Agent::ClaudeCode, "PreToolUse"),
                    (Agent::Codex, "UserPromptSubmit"),
                    (Agent::Codex, "PostToolUse"),
                    (Agent::Cursor, "preToolUse"),
                    (Agent::GeminiCli, "BeforeTool"),
                    (Agent::CopilotCli, "preToolUse"),
                ] {
                    let (code, out, err) = run(&shell, program, agent, event);
                    assert_eq!((code, out.as_str()), (2, ""), "{program} {event}");
                    assert!(err.contains("Run: midrail doctor"), "{err}");
                }
                for (agent, event) in [(Agent::Codex, "Stop"), (Agent::GeminiCli, "AfterAgent")] {
                    let (code, out, err) = run(&shell, program, agent, event);
                    assert_eq!((code, out.as_str()), (0, ""), "{program} {event}");
                    assert!(err.contains("Run: midrail doctor"), "{err}");
                }
                let (code, out, _) = run(&shell, program, Agent::CopilotCli, "userPromptSubmitted");
                let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
                assert_eq!((code, answer["decision"].as_str()), (0, Some("block")));
            }
        }
    }

    #[test]
    fn what_the_program_says_comes_through() {
        let folder = tempfile::tempdir().unwrap();
        let denies = script(folder.path(), "denies", "echo 'not this' >&2; exit 2");
        let allows = script(folder.path(), "allows", "echo \"{\\\"a\\\":\\\"$*\\\"}\"");
        for event in ["PreToolUse", "Stop", "SessionStart"] {
            let told = run(&["sh", "-c"], &denies, Agent::Codex, event);
            assert_eq!(told, (2, String::new(), "not this\n".to_owned()));
            let (code, out, err) = run(&["sh", "-c"], &allows, Agent::Codex, event);
            assert_eq!((code, err.as_str()), (0, ""));
            assert!(out.starts_with(&format!("{{\"a\":\"hook codex {event} --timeout ")), "{out}");
        }
    }

    #[test]
    fn a_projects_file_holds_no_path_where_it_need_not() {
        let folder = tempfile::tempdir().unwrap();
        let this = PathBuf::from(script(folder.path(), "midrail-1.0", ""));
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let mut places = Environment::at(&folder.path().join("p"), &folder.path().join("h"));
        let choose =
            |scope, places: &Environment| HookProgram::choose(scope, None, &this, places).unwrap().name;
        assert_eq!(
            choose(InstallScope::Project, &places),
            this.canonicalize().unwrap().display().to_string()
        );
        std::os::unix::fs::symlink(&this, bin.join("midrail")).unwrap();
        places.path = Some(bin.clone().into_os_string());
        assert_eq!(choose(InstallScope::Project, &places), "midrail");
        assert_eq!(choose(InstallScope::User, &places), bin.join("midrail").display().to_string());
        std::fs::remove_file(bin.join("midrail")).unwrap();
        script(&bin, "midrail", "");
        assert_eq!(choose(InstallScope::User, &places), this.canonicalize().unwrap().display().to_string());
        let named =
            HookProgram::choose(InstallScope::Project, Some(&folder.path().join("no")), &this, &places);
        assert!(named.unwrap_err().to_string().contains("no program"));
    }

    #[test]
    fn what_only_speaks_of_midrail_is_not_ours() {
        let host = Agent::ClaudeCode.host();
        for command in [
            "grep -q 'midrail hook claude-code PreToolUse' log",
            "logger midrail hook claude-code PreToolUse; lint.sh",
            "true || midrail hook claude-code PreToolUse",
            "midrail hook claude-code PreToolUse || true",
            "midrail hook claude-code PreToolUse; true",
            "midrail hook claude-code PreToolUse --pack x",
            "midrail hook codex PreToolUse",
        ] {
            assert!(!host.is_ours(command), "{command}");
        }
        assert!(host.is_ours("midrail hook claude-code PreToolUse"));
        assert!(host.is_ours("'/opt/it'\\''s/midrail' hook claude-code Stop --timeout 5 || { exit 2; }"));
    }
}
