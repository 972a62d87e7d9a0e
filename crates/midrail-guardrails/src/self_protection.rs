//! self-protection: blocks changes to Midrail's files and to the host settings that call it, and subcommands that
//! only people may run.

use midrail_core::{Action, path, written_key};
use midrail_shell::command;

use crate::prelude::*;
use crate::shared::data::{FILES, HOST_SETTINGS, PROGRAMS};
use crate::shared::downloads;
use crate::shared::file_access::{FileAccess, action_files, agent_scripts};
use crate::shared::file_paths::{from_root, is_below, may_match};
use crate::shared::objections::{all, first_verdict};

pub(crate) const BUILTIN: Builtin = Builtin {
    never_bypassed: true,
    ..Builtin::without_settings::<SelfProtection>(
        "self-protection",
        Category::Safety,
        5,
        &[EventKind::BeforeTool],
    )
    .always_on()
};

/// Has no settings, because a setting could disable it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SelfProtection;

impl SelfProtection {
    fn objection(name: &str) -> Option<&'static str> {
        let found = |list: &[&str]| list.iter().any(|pattern| may_match(pattern, name));
        if found(FILES.list("midrail files")) {
            Some(OWN_FILE)
        } else if found(HOST_SETTINGS.list("hosts")) {
            Some("connects the agent's host to Midrail")
        } else {
            None
        }
    }

    /// Whether a danger would delete the whole folder of the session, including its guardrails.
    fn takes_all(context: &Context<'_>, action: &Action) -> Result<bool, Missing> {
        let targets =
            action.dangers.iter().filter(|danger| danger.harmless_inside).flat_map(|it| &it.targets);
        let names: Vec<_> = targets.map(|target| context.path_aliases(target)).collect();
        for names in names {
            let is_root = |name: &String| match name.as_str() {
                "" | "." | ".." | "/" => true,
                name if name.starts_with("../") => name.split('/').all(|part| matches!(part, ".." | "")),
                name => context.root().is_some_and(|root| name.starts_with('/') && is_below(name, root)),
            };
            let holds_own = |name: &String| {
                context.engine_paths().iter().any(|place| is_below(name, place) || is_below(place, name))
            };
            if names?.iter().any(|name| is_root(name) || holds_own(name)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The verdict on a file in an unknown folder that is one of Midrail or of a host's settings, if the folder is theirs.
fn unknown_folder(access: &FileAccess<'_>) -> Option<Verdict> {
    let rest = path::below_unknown(access.file).filter(|rest| !rest.is_empty())?.to_lowercase();
    let ends = |pattern: &&str| {
        pattern.to_lowercase().strip_suffix(&rest).is_some_and(|folder| folder.ends_with('/'))
    };
    let settings = HOST_SETTINGS.list("hosts").iter().chain(FILES.list("midrail files"));
    let is_own = FILES.has("midrail file names", &rest);
    if !is_own && !settings.copied().any(|pattern| ends(&pattern)) {
        return None;
    }
    let reason = format!("{} is in an unknown folder, and may control Midrail.", access.name());
    Some(
        Verdict::new(Effect::Escalate, reason)
            .advise("Name the folder in the call.")
            .with("path", access.file),
    )
}

/// The reason for files of Midrail.
const OWN_FILE: &str = "belongs to Midrail, which protects this machine";

const ADVICE: &str = "Do not change it. If it prevents your work, ask a person to change it.";

impl Guardrail for SelfProtection {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // Other guardrails object to a call without a tool.
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        if let Some(danger) = action.dangers.iter().find(|danger| command::is_about_midrail(&danger.rule)) {
            let is_typing = danger.rule == command::prompt::RULE;
            return Ok(Verdict::block(format!("`{}`: {}", danger.command, danger.reason))
                .advise(if is_typing { danger.safer.as_str() } else { ADVICE })
                .with("rule", danger.rule.as_str()));
        }
        let scripts = agent_scripts(context, action)?;
        let dangers = scripts.iter().flat_map(|(_, does)| &does.dangers);
        if let Some(danger) = dangers.into_iter().find(|danger| command::is_about_midrail(&danger.rule)) {
            return Ok(Verdict::block(format!("`{}` in a script: {}", danger.command, danger.reason))
                .advise(ADVICE)
                .with("rule", danger.rule.as_str()));
        }
        let mut all = action_files(action, None)?;
        for (script, does) in scripts {
            all.extend(action_files(does, Some(script))?);
        }
        let takes_all = Self::takes_all(context, action).map(|takes_all| {
            let reason = "This would delete the guardrails together with the folder.";
            takes_all.then(|| Verdict::block(reason).advise(ADVICE))
        });
        // Copying into a folder keeps its other files; moving or linking may not.
        let copies = action.programs.iter().all(|program| PROGRAMS.has("copiers", program));
        let own = |name: &String| {
            let is_own = |place: &String| {
                is_below(place, name) || (!copies && !name.is_empty() && is_below(name, place))
            };
            context.engine_paths().iter().any(is_own).then_some(OWN_FILE)
        };
        let written = all.iter().filter(|it| it.is_write).map(|it| {
            let mut names = context.path_aliases(it.file)?;
            names.extend(from_root(it.file));
            let why =
                names.iter().find_map(own).or_else(|| names.iter().find_map(|name| Self::objection(name)));
            let verdict =
                |why| Verdict::block(format!("{} {why}.", it.name())).advise(ADVICE).with("path", it.file);
            Ok(why.map(verdict))
        });
        let unknown = all.iter().filter(|it| it.is_write).map(|it| Ok(unknown_folder(it)));
        first_verdict([takes_all].into_iter().chain(written).chain(unknown))
    }

    /// Records the files that the agent writes, so that they are analysed when they are run.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !effect.allows() || context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(());
        }
        let written = action_files(context.action()?, None)?;
        let written = written.iter().filter(|it| it.is_write);
        let places: Vec<_> = all(written.map(|it| context.real_place(it.file, None)))?;
        for place in places {
            Key::new(written_key(&place.key)).write(changes, &true)?;
        }
        downloads::observe(context, changes)
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not change Midrail's files or the settings that call it.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::Event;
    use serde_json::{Value, json};

    fn effect(tool: &str, args: Value) -> Effect {
        Run::of(SelfProtection).before(tool, args).effect
    }

    #[test]
    fn everyday_wildcards_are_allowed() {
        let of = |command: &str| effect("Bash", json!({"command": command}));
        for command in
            ["rm -f data/*.json", "sed -i s/a/b/ src/locales/*.json", "cp data/*.json out/", "rm -f *.db"]
        {
            assert_eq!(of(command), Effect::Allow, "{command}");
        }
        for command in
            ["rm -f .claude/*.json", "rm -f $CODEX_HOME/*.json", "rm -rf .mid*", "cp x .cl*/settings.json"]
        {
            assert_eq!(of(command), Effect::Block, "{command}");
        }
    }

    #[test]
    fn own_files_and_host_settings_are_protected() {
        for file in [".midrail/pack.yaml", "a/../.Midrail/x", ".claude/settings.json", "~/.codex/config.toml"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Block, "{file}");
            assert_eq!(effect("Read", json!({"file_path": file})), Effect::Allow, "{file}");
        }
        assert_eq!(effect("foo", json!({"path": ".midrail/pack.yaml"})), Effect::Block);
    }

    /// Every file that `midrail init` writes, and those that could disable it.
    #[test]
    fn files_that_call_midrail_are_protected() {
        for file in [
            ".claude/settings.local.json",
            "~/.claude/settings.json",
            "$CLAUDE_CONFIG_DIR/settings.json",
            "/etc/claude-code/managed-settings.json",
            "/Library/Application Support/ClaudeCode/managed-settings.json",
            ".codex/hooks.json",
            "$CODEX_HOME/config.toml",
            "/etc/codex/requirements.toml",
            ".gemini/settings.json",
            "~/.gemini/trustedFolders.json",
            "/etc/gemini-cli/settings.json",
            "/Library/Application Support/GeminiCli/settings.json",
            ".github/hooks/midrail.json",
            "~/.copilot/hooks/midrail.json",
            "/etc/github-copilot/policy.d/midrail.json",
            ".cursor/hooks.json",
            "/etc/cursor/hooks.json",
            "/Library/Application Support/Cursor/hooks.json",
            ".opencode/plugin/midrail.js",
            "~/.config/opencode/plugin/midrail.js",
            "$XDG_CONFIG_HOME/opencode/plugin/midrail.js",
            ".midrail/.gitignore",
            ".midrail/backup/_claude-settings_json.1.backup",
            "~/.local/state/midrail/backup/x.backup",
        ] {
            // Without a working directory, `/etc` would be inside the sandbox.
            let event = Event::before_tool("Write", json!({"file_path": file}));
            let event = Event { cwd: Some("/repo".to_owned()), ..event };
            assert_eq!(Run::of(SelfProtection).decide(&event).effect, Effect::Block, "{file}");
        }
    }

    #[test]
    fn installing_and_uninstalling_are_blocked() {
        for command in [
            "midrail uninstall --yes",
            "midrail init --yes --program /tmp/nothing",
            "cd sub && ../bin/midrail uninstall --purge -y",
            "sh -c 'midrail pause 1h'",
        ] {
            assert_eq!(effect("Bash", json!({"command": command})), Effect::Block, "{command}");
        }
        assert_eq!(effect("Bash", json!({"command": "midrail doctor"})), Effect::Allow);
    }

    #[test]
    fn other_files_are_allowed() {
        for file in ["src/midrail.rs", ".claude/commands/a.md", "docs/.midrail.md", ".github/workflows/a.yml"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn call_without_content_is_allowed() {
        assert_eq!(effect("", json!({})), Effect::Allow);
        assert_eq!(effect("Write", json!({})), Effect::Allow);
    }
}
