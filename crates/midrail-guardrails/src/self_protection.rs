//! self-protection: an agent leaves its own guardrails alone: their files, the hosts' settings that call them, and the
//! verbs that answer for a person.

use midrail_core::{
    Action, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict, written_key,
};
use midrail_detect::shell;

use crate::fetched;
use crate::places::{is_below, may_hit};
use crate::touched::{self, scripts};

/// Always on, and without settings: what could be set could be set to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelfProtection;

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

/// Settings in which hosts are told to ask Midrail, or could be told not to.
const HOST_SETTINGS: &[&str] = &[
    "**/.claude",
    "**/.codex",
    "**/.gemini",
    "**/.cursor",
    "**/.copilot",
    "**/.opencode",
    "**/.claude/settings.json",
    "**/.claude/settings.local.json",
    "**/.claude/hooks/**",
    "$CLAUDE_CONFIG_DIR",
    "$CLAUDE_CONFIG_DIR/settings.json",
    "$CLAUDE_CONFIG_DIR/settings.local.json",
    "/etc/claude-code/**",
    "**/library/application support/claudecode/**",
    "**/.codex/config.toml",
    "**/.codex/hooks.json",
    "**/.codex/requirements.toml",
    "$CODEX_HOME",
    "$CODEX_HOME/config.toml",
    "$CODEX_HOME/hooks.json",
    "/etc/codex/**",
    "**/.gemini/settings.json",
    "**/.gemini/extensions/**",
    "**/.gemini/trusted*.json",
    "/etc/gemini-cli/**",
    "**/library/application support/geminicli/**",
    "**/.cursor/hooks.json",
    "**/.cursor/cli.json",
    "/etc/cursor/**",
    "/library/application support/cursor/**",
    "**/.copilot/hooks/**",
    "**/.copilot/config.json",
    "**/.copilot/settings.json",
    "$COPILOT_HOME",
    "$COPILOT_HOME/hooks/**",
    "$COPILOT_HOME/config.json",
    "$COPILOT_HOME/settings.json",
    "**/.github/hooks/**",
    "/etc/github-copilot/**",
    "**/.opencode/plugin/**",
    "**/.opencode/plugins/**",
    "**/.opencode/opencode.json*",
    "**/.config/opencode/**",
    "$XDG_CONFIG_HOME/opencode/**",
    "opencode.json",
    "opencode.jsonc",
];

impl SelfProtection {
    fn objection(name: &str) -> Option<&'static str> {
        let found = |list: &[&str]| list.iter().any(|pattern| may_hit(pattern, name));
        if found(OWN_FILES) {
            Some("belongs to the agent's own guardrails")
        } else if found(HOST_SETTINGS) {
            Some("tells the agent's host to ask its guardrails")
        } else {
            None
        }
    }

    /// Whether a danger would take the whole folder of the session, and the guardrails in it.
    fn takes_all(context: &Context<'_>, action: &Action) -> Result<bool, Missing> {
        let targets =
            action.dangers.iter().filter(|danger| danger.harmless_inside).flat_map(|it| &it.targets);
        let names: Vec<_> = targets.map(|target| context.names_of(target)).collect();
        for names in names {
            let is_root = |name: &String| match name.as_str() {
                "" | "." | ".." | "/" => true,
                name if name.starts_with("../") => name.split('/').all(|part| matches!(part, ".." | "")),
                name => context.root().is_some_and(|root| name.starts_with('/') && is_below(name, root)),
            };
            let holds_own = |name: &String| {
                context.own_places().iter().any(|place| is_below(name, place) || is_below(place, name))
            };
            if names?.iter().any(|name| is_root(name) || holds_own(name)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Programs that add to a folder that is named as their target.
const COPIES: &[&str] = &["cp", "install", "touch", "tar", "unzip", "curl", "wget", "mkdir"];

const ADVICE: &str = "Leave it as it is. If it stands in the way, tell a person, who can change it.";

impl Guardrail for SelfProtection {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // A call without a tool does nothing that is known; others object to it.
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        if let Some(danger) = action.dangers.iter().find(|danger| shell::is_about_midrail(&danger.rule)) {
            let is_typing = danger.rule == shell::prompt::RULE;
            return Ok(Verdict::block(format!("`{}`: {}", danger.command, danger.reason))
                .advise(if is_typing { danger.safer.as_str() } else { ADVICE })
                .with("rule", danger.rule.as_str()));
        }
        let scripts = scripts(context, action)?;
        let dangers = scripts.iter().flat_map(|(_, does)| &does.dangers);
        if let Some(danger) = dangers.into_iter().find(|danger| shell::is_about_midrail(&danger.rule)) {
            return Ok(Verdict::block(format!("`{}`, in a script: {}", danger.command, danger.reason))
                .advise(ADVICE)
                .with("rule", danger.rule.as_str()));
        }
        let mut all = touched::of(action, None)?;
        for (script, does) in scripts {
            all.extend(touched::of(does, Some(script))?);
        }
        let written = all.iter().filter(|it| it.is_write);
        let names: Vec<_> = written.map(|it| (it, context.names_of(it.file))).collect();
        let takes_all = Self::takes_all(context, action);
        if let Ok(true) = takes_all {
            return Ok(Verdict::block("This would remove the agent's own guardrails with the folder.")
                .advise(ADVICE));
        }
        let mut fault = takes_all.err();
        // What is copied into a folder leaves the rest of it as it is; what is moved or linked may not.
        let copies = action.programs.iter().all(|program| COPIES.contains(&program.as_str()));
        for (it, names) in names {
            match names {
                Ok(names) => {
                    let is_own = |name: &&String| {
                        context.own_places().iter().any(|place| {
                            is_below(place, name) || (!copies && !name.is_empty() && is_below(name, place))
                        })
                    };
                    let own = names.iter().find(is_own).map(|_| "belongs to the agent's own guardrails");
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

    /// Remembers what the agent writes, so that it is looked into when it is run.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !effect.goes_on() || context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(());
        }
        let written = touched::of(context.action()?, None)?;
        let written = written.iter().filter(|it| it.is_write);
        let places: Vec<_> = written.map(|it| context.real_place(it.file, None)).collect();
        for place in places {
            changes.set(written_key(&place?.key), true);
        }
        fetched::observe(context, changes)
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Leave your own guardrails, and the settings that call them, as they are.".to_owned())
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
    fn wildcards_of_everyday_work_are_free() {
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
    fn its_files_and_the_hosts_settings_are_not_written() {
        for file in [".midrail/pack.yaml", "a/../.Midrail/x", ".claude/settings.json", "~/.codex/config.toml"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Block, "{file}");
            assert_eq!(effect("Read", json!({"file_path": file})), Effect::Allow, "{file}");
        }
        assert_eq!(effect("foo", json!({"path": ".midrail/pack.yaml"})), Effect::Block);
    }

    /// Every file that `midrail init` writes, and those that could switch it off.
    #[test]
    fn whatever_calls_it_is_not_written() {
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
            // Hosts tell the folder that they work in; without one, `/etc` would be a folder of the sandbox.
            let event = Event::before_tool("Write", json!({"file_path": file}));
            let event = Event { cwd: Some("/repo".to_owned()), ..event };
            assert_eq!(Run::of(SelfProtection).decide(&event).effect, Effect::Block, "{file}");
        }
    }

    #[test]
    fn an_agent_neither_sets_up_nor_takes_out_its_guardrails() {
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
    fn other_files_are_free() {
        for file in ["src/midrail.rs", ".claude/commands/a.md", "docs/.midrail.md", ".github/workflows/a.yml"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn a_call_that_tells_nothing_is_left_to_others() {
        assert_eq!(effect("", json!({})), Effect::Allow);
        assert_eq!(effect("Write", json!({})), Effect::Allow);
    }
}
