//! self-protection: blocks changes to Midrail's files and to the host settings that call it, and subcommands that
//! only people may run.

use midrail_core::{
    Action, Category, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict, written_key,
};
use midrail_shell::command;

use crate::builtin::Builtin;
use crate::fetched;
use crate::places::{is_below, may_hit};
use crate::touched::{self, scripts};

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

/// Midrail's own files: packs, store, keys.
const OWN_FILES: &[&str] = &[
    ".midrail",
    ".midrail/**",
    "**/.midrail",
    "**/.midrail/**",
    "**/.config/midrail",
    "**/.config/midrail/**",
    "**/.local/state/midrail",
    "**/.local/state/midrail/**",
    "**/.local/share/midrail",
    "**/.local/share/midrail/**",
    "**/.cache/midrail",
    "**/.cache/midrail/**",
    "$XDG_CONFIG_HOME/midrail",
    "$XDG_CONFIG_HOME/midrail/**",
    "$XDG_STATE_HOME/midrail",
    "$XDG_STATE_HOME/midrail/**",
    "$XDG_DATA_HOME/midrail",
    "$XDG_DATA_HOME/midrail/**",
    "$XDG_CACHE_HOME/midrail",
    "$XDG_CACHE_HOME/midrail/**",
    "/etc/midrail",
    "/etc/midrail/**",
    "midrail.db",
    "midrail.db-*",
    "midrail.db.key",
];

/// Settings that connect hosts to Midrail or could disconnect them. Generated from the hosts in `midrail-adapters`.
const HOST_SETTINGS: &str = include_str!("host_settings.txt");

impl SelfProtection {
    fn objection(name: &str) -> Option<&'static str> {
        let mut settings = HOST_SETTINGS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        if OWN_FILES.iter().any(|pattern| may_hit(pattern, name)) {
            Some("belongs to Midrail, which protects this machine")
        } else if settings.any(|pattern| may_hit(pattern, name)) {
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

/// Programs that only add files to their target folder.
const COPIES: &[&str] = &["cp", "install", "touch", "tar", "unzip", "curl", "wget", "mkdir"];

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
        let scripts = scripts(context, action)?;
        let dangers = scripts.iter().flat_map(|(_, does)| &does.dangers);
        if let Some(danger) = dangers.into_iter().find(|danger| command::is_about_midrail(&danger.rule)) {
            return Ok(Verdict::block(format!("`{}` in a script: {}", danger.command, danger.reason))
                .advise(ADVICE)
                .with("rule", danger.rule.as_str()));
        }
        let mut all = touched::files_of_action(action, None)?;
        for (script, does) in scripts {
            all.extend(touched::files_of_action(does, Some(script))?);
        }
        let written = all.iter().filter(|it| it.is_write);
        let names: Vec<_> = written.map(|it| (it, context.path_aliases(it.file))).collect();
        let takes_all = Self::takes_all(context, action);
        if let Ok(true) = takes_all {
            return Ok(
                Verdict::block("This would delete the guardrails together with the folder.").advise(ADVICE)
            );
        }
        let mut fault = takes_all.err();
        // Copying into a folder keeps its other files; moving or linking may not.
        let copies = action.programs.iter().all(|program| COPIES.contains(&program.as_str()));
        for (it, names) in names {
            match names {
                Ok(names) => {
                    let is_own = |name: &&String| {
                        context.engine_paths().iter().any(|place| {
                            is_below(place, name) || (!copies && !name.is_empty() && is_below(name, place))
                        })
                    };
                    let own =
                        names.iter().find(is_own).map(|_| "belongs to Midrail, which protects this machine");
                    if let Some(why) = own.or_else(|| names.iter().find_map(|name| Self::objection(name))) {
                        return Ok(Verdict::block(format!("{} {why}.", it.name()))
                            .advise(ADVICE)
                            .with("path", it.file));
                    }
                }
                Err(missing) => fault = Some(missing),
            }
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
    }

    /// Records the files that the agent writes, so that they are analysed when they are run.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !effect.allows() || context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(());
        }
        let written = touched::files_of_action(context.action()?, None)?;
        let written = written.iter().filter(|it| it.is_write);
        let places: Vec<_> = written.map(|it| context.real_place(it.file, None)).collect();
        for place in places {
            changes.set(written_key(&place?.key), true);
        }
        fetched::observe(context, changes)
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
    use crate::testing::Run;
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
