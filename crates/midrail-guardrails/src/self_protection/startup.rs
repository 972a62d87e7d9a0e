//! Files that a shell obeys when it starts: a line in them can replace Midrail or an agent's settings in the next session.

use std::sync::LazyLock;

use midrail_core::{ActionType, Context, Effect, Verdict};
use midrail_shell::command;

use crate::shared::data::FILES;
use crate::shared::file_access::FileAccess;
use crate::shared::file_paths::{PlacePatterns, path_fits};

/// Why a startup file must not be changed in this way.
pub(super) fn objection(
    context: &Context<'_>,
    access: &FileAccess<'_>,
    names: &[String],
) -> Option<&'static str> {
    static STARTUP: LazyLock<PlacePatterns> =
        LazyLock::new(|| PlacePatterns::new(FILES.list("startup files")));
    if access.script.is_some() || !names.iter().any(|name| STARTUP.any(name, path_fits)) {
        return None;
    }
    disables(&written_text(context, access)?)
        .then_some("would replace Midrail or an agent's settings in later sessions")
}

/// The text of a call that writes a file, without the path of the file.
fn written_text(context: &Context<'_>, access: &FileAccess<'_>) -> Option<String> {
    let tool = context.event.tool.as_ref()?;
    Some(serde_json::to_string(&tool.args).unwrap_or_default().replace(access.file, ""))
}

/// Endings of files that people or compilers read: they set no variable by themselves.
const PROSE: [&str; 14] =
    ["md", "mdx", "rst", "txt", "adoc", "html", "rs", "py", "js", "mjs", "ts", "tsx", "go", "rb"];

/// Files with settings of git.
const GIT_SETTINGS: [&str; 4] = [".git/config", ".gitconfig", ".config/git/config", ".gitmodules"];

/// The verdict on a file that gives an agent other settings, or git another work tree, where a session obeys it.
pub(super) fn redirection(
    context: &Context<'_>,
    access: &FileAccess<'_>,
    names: &[String],
) -> Option<Verdict> {
    let ending = access.file.rsplit(['/', '.']).next().unwrap_or_default().to_lowercase();
    if access.script.is_some() || PROSE.contains(&ending.as_str()) {
        return None;
    }
    let text = written_text(context, access)?;
    let is_git = names.iter().any(|name| GIT_SETTINGS.iter().any(|file| name.ends_with(file)));
    let is_command = context.action().is_ok_and(|action| action.kind == ActionType::Command);
    let reason = if let Some(variable) = assigned_variable(&text, is_command) {
        format!("{} sets `{variable}`, which gives agents other settings.", access.name())
    } else if is_git && ["worktree", "[include"].iter().any(|word| text.to_lowercase().contains(word)) {
        format!("{} makes git change files elsewhere, or follow other settings.", access.name())
    } else {
        return None;
    };
    let advice =
        "Continue only if the user asked for it. Tell the user what changes, and wait for the approval.";
    Some(Verdict::new(Effect::Escalate, reason).advise(advice).with("path", access.file))
}

/// Whether a variable that follows is set in the command line itself, and not in what it writes: `A=1 make > log`.
fn is_for_one_program(before: &str) -> bool {
    let before = before.trim_end_matches(' ');
    let ends =
        ["{\"command\":\"", ";", "&", "|", "(", " env", " export", "\"env", "\"export", " -e", " sudo"];
    ends.iter().any(|end| before.ends_with(end))
}

/// A variable that moves an agent's settings, and that a text gives a value: `NAME=x`, `NAME = "x"`, `"NAME": "x"`.
fn assigned_variable(text: &str, is_command: bool) -> Option<&'static str> {
    // Two of them move the settings of many other programs.
    let mut names = command::settings_variables().filter(|name| !name.starts_with("XDG_"));
    names.find(|name| {
        text.match_indices(name).any(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let rest = text.get(at + name.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['\\', '"', '\'', ' ', ']']);
            let is_other = before.ends_with(['$', '{', '_']) || rest.starts_with("==");
            let is_here = is_command && is_for_one_program(before);
            rest.starts_with(['=', ':']) && !is_other && !is_here
        })
    })
}

/// Whether a text names Midrail, a variable that moves an agent's settings, or defines a command with an agent's name.
fn disables(text: &str) -> bool {
    let is_defined = |agent: &&str| {
        [format!("alias {agent}="), format!("{agent}()"), format!("{agent} ()"), format!("function {agent}")]
            .iter()
            .any(|definition| text.contains(definition))
    };
    text.to_lowercase().contains("midrail")
        || FILES.list("agent variables").iter().any(|name| text.contains(name))
        || FILES.list("agent programs").iter().any(is_defined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_variables_are_found() {
        for text in [
            "CODEX_HOME=/x",
            "CODEX_HOME = \\\"/x\\\"",
            "{\"CLAUDE_CONFIG_DIR\": \"/x\"}",
            "export GEMINI_CLI_HOME=/x",
        ] {
            assert!(assigned_variable(text, false).is_some(), "{text}");
        }
        for text in ["echo $CODEX_HOME", "MY_CODEX_HOME=/x", "CODEX_HOME is a variable", "FOO=1"] {
            assert!(assigned_variable(text, false).is_none(), "{text}");
        }
    }

    #[test]
    fn definitions_of_agents_are_found() {
        for text in
            ["alias claude='claude --bare'", "codex() { :; }", "export CODEX_HOME=/tmp", "alias midrail=true"]
        {
            assert!(disables(text), "{text}");
        }
        for text in ["export PATH=~/bin:$PATH", "alias ll='ls -l'", "eval \"$(starship init zsh)\""] {
            assert!(!disables(text), "{text}");
        }
    }
}
