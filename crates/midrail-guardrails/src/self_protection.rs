//! self-protection: blocks changes to Midrail's files and to the host settings that call it, and subcommands that
//! only people may run.

mod protected;
mod startup;
mod sweeps;
mod untracked;

use std::sync::LazyLock;

use midrail_core::{Action, Danger, path, written_key};
use midrail_shell::command;

use self::protected::{ADVICE, OWN_FILE, objection};
use crate::prelude::*;
use crate::shared::data::{FILES, HOST_SETTINGS, PROGRAMS};
use crate::shared::downloads;
use crate::shared::file_access::{FileAccess, action_files, agent_scripts};
use crate::shared::file_paths::{PlacePatterns, from_root, has_wildcard, is_below, may_match};
use crate::shared::objections::{all, strongest};

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
    /// Whether a danger would delete the whole folder of the session, including its guardrails.
    fn takes_all(context: &Context<'_>, action: &Action) -> Result<bool, Missing> {
        // What `find -name` selects is checked by its pattern.
        let takes_folders = |danger: &&Danger| danger.harmless_inside && danger.rule != "find-delete-some";
        let targets = action.dangers.iter().filter(takes_folders).flat_map(|it| &it.targets);
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

/// The verdict on a file in an unknown folder that is one of Midrail or of a host's settings, if the folder is theirs, and on
/// one whose name another command prints that is given such a name.
fn unknown_target(access: &FileAccess<'_>) -> Option<Verdict> {
    let is_printed = access.file.contains("$(") || access.file.contains('`');
    let (why, advice) = if is_printed && protected::is_named_in(access.file) {
        ("is what another command prints, and may control Midrail", "Name the file in the call.")
    } else if is_in_unknown_folder(access.file) {
        ("is in an unknown folder, and may control Midrail", "Name the folder in the call.")
    } else {
        return None;
    };
    let reason = format!("{} {why}.", access.name());
    Some(Verdict::new(Effect::Escalate, reason).advise(advice).with("path", access.file))
}

/// Whether a file in an unknown folder is one of Midrail or of a host's settings, if the folder is theirs.
fn is_in_unknown_folder(file: &str) -> bool {
    let Some(rest) = path::below_unknown(file).filter(|rest| !rest.is_empty()) else { return false };
    let rest = rest.to_lowercase();
    let ends = |pattern: &&str| {
        pattern.to_lowercase().strip_suffix(&rest).is_some_and(|folder| folder.ends_with('/'))
    };
    let mut settings = HOST_SETTINGS.list("hosts").iter().chain(FILES.list("midrail files"));
    FILES.has("midrail file names", &rest) || settings.any(ends)
}

/// The verdict on a file that defines an agent or registers a tool server.
fn extension(access: &FileAccess<'_>, names: &[String]) -> Option<Verdict> {
    static EXTENSIONS: LazyLock<PlacePatterns> =
        LazyLock::new(|| PlacePatterns::new(HOST_SETTINGS.list("extensions")));
    names.iter().any(|name| EXTENSIONS.any(name, may_be_extension)).then(|| {
        let reason = format!(
            "{} defines an agent or registers a tool server, which acts outside of this session.",
            access.name()
        );
        Verdict::new(Effect::Escalate, reason).advise(EXTENSION_ADVICE).with("path", access.file)
    })
}

/// Whether a name may be that of an extension. Shells do not expand `*.json` to a hidden name.
fn may_be_extension(pattern: &str, name: &str) -> bool {
    let is_hidden = || {
        let hidden = pattern.rsplit('/').next().is_some_and(|last| last.starts_with('.'));
        let name = name.rsplit('/').next().unwrap_or_default();
        hidden && has_wildcard(name) && !name.starts_with('.')
    };
    may_match(pattern, name) && !is_hidden()
}

/// Whether a place outside the project is the program `midrail` in a folder of programs.
fn is_program(name: &str) -> bool {
    let mut parts = name.rsplit('/');
    let is_midrail = parts.next().is_some_and(|name| matches!(name, "midrail" | "midrail.exe"));
    let is_outside = name.starts_with(['/', '~']);
    is_outside && is_midrail && parts.next().is_some_and(|folder| matches!(folder, "bin" | "sbin" | "shims"))
}

const EXTENSION_ADVICE: &str =
    "Continue only if the user asked for it. Tell the user what the file adds, and wait for the approval.";

/// Rules whose findings an approver may allow.
const ESCALATED: [&str; 9] = [
    "midrail-unread-diff",
    "midrail-agent-settings",
    "midrail-agent-process",
    "midrail-agent-profile",
    "midrail-git-setting",
    "midrail-install",
    AGENT_FOLDER,
    NAMED,
    UNPACK,
];

/// The rule for an agent that is started in another folder.
const AGENT_FOLDER: &str = "midrail-agent-folder";

/// The rule for a word that names a file which the command may change.
const NAMED: &str = "midrail-named";

/// The rule for an archive that fills a folder.
const UNPACK: &str = "midrail-unpack";

/// The verdict on a finding about Midrail.
fn finding(danger: &Danger, is_in_script: bool) -> Verdict {
    let place = if is_in_script { " in a script" } else { "" };
    let reason = format!("`{}`{place}: {}", danger.command, danger.reason);
    let is_escalated = ESCALATED.contains(&danger.rule.as_str());
    let has_own_advice = is_escalated || (danger.rule == command::prompt::RULE && !is_in_script);
    Verdict::new(if is_escalated { Effect::Escalate } else { Effect::Block }, reason)
        .advise(if has_own_advice { danger.safer.as_str() } else { ADVICE })
        .with("rule", danger.rule.as_str())
}

/// The strongest finding about Midrail.
fn strongest_finding<'d>(
    context: &Context<'_>,
    dangers: impl IntoIterator<Item = &'d Danger>,
    is_in_script: bool,
) -> Result<Option<Verdict>, Missing> {
    // The folder of the session may be named by its path.
    let is_here = |target: &String| matches!(context.place(target, None).key.as_str(), "" | ".");
    let own = dangers.into_iter().filter(|danger| command::is_about_midrail(&danger.rule));
    let real = own.map(|danger| {
        let is_real = match danger.rule.as_str() {
            AGENT_FOLDER => !danger.targets.iter().all(is_here),
            NAMED => has_any(&danger.targets, |target| is_protected(context, target))?,
            UNPACK => has_any(&danger.targets, |target| {
                Ok(protected::is_above_settings(target) || is_protected(context, target)?)
            })?,
            _ => true,
        };
        Ok(is_real.then(|| finding(danger, is_in_script)))
    });
    let (known, missing): (Vec<_>, Vec<_>) = real.collect::<Vec<_>>().into_iter().partition(Result::is_ok);
    let found = strongest(known.into_iter().flatten().flatten());
    // A block counts even if other checks lack a fact.
    let is_block = found.as_ref().is_some_and(|verdict| verdict.effect >= Effect::Block);
    missing.into_iter().find(|_| !is_block).unwrap_or(Ok(found))
}

/// Whether a test holds for one of some paths. A fact that is missing counts only if it holds for none.
fn has_any(targets: &[String], test: impl Fn(&String) -> Result<bool, Missing>) -> Result<bool, Missing> {
    let results: Vec<_> = targets.iter().map(test).collect();
    if results.iter().any(|result| matches!(result, Ok(true))) {
        return Ok(true);
    }
    results.into_iter().try_fold(false, |found, result| Ok(found || result?))
}

/// Whether a path is one of Midrail or of a host's settings, by any of its names.
fn is_protected(context: &Context<'_>, path: &str) -> Result<bool, Missing> {
    let mut names = context.path_aliases(path)?;
    names.extend(from_root(path));
    let is_own = |name: &String| context.engine_paths().iter().any(|place| is_below(place, name));
    Ok(names.iter().any(|name| is_own(name) || is_program(name) || objection(name).is_some()))
}

impl Guardrail for SelfProtection {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        // Other guardrails object to a call without a tool.
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let action = context.action()?;
        let mut checks = Checks::default();
        match strongest_finding(context, &action.dangers, false) {
            Ok(Some(verdict)) if verdict.effect >= Effect::Block => return Ok(verdict),
            found => checks.push(found),
        }
        let scripts = agent_scripts(context, action)?;
        checks.push(strongest_finding(context, scripts.iter().flat_map(|(_, does)| &does.dangers), true));
        let mut all = action_files(action, None)?;
        for (script, does) in &scripts {
            all.extend(action_files(does, Some(script))?);
        }
        checks.push(Self::takes_all(context, action).map(|takes_all| {
            let reason = "This would delete the guardrails together with the folder.";
            takes_all.then(|| Verdict::block(reason).advise(ADVICE))
        }));
        // Copying into a folder keeps its other files; moving or linking may not.
        let copies = action.programs.iter().all(|program| PROGRAMS.has("copiers", program));
        let own = |name: &String| {
            let is_own = |place: &String| {
                is_below(place, name) || (!copies && !name.is_empty() && is_below(name, place))
            };
            (context.engine_paths().iter().any(is_own) || is_program(name)).then_some(OWN_FILE)
        };
        for access in all.iter().filter(|it| it.is_write) {
            checks.push(context.path_aliases(access.file).map(|mut names| {
                names.extend(from_root(access.file));
                let why = names
                    .iter()
                    .find_map(own)
                    .or_else(|| names.iter().find_map(|name| objection(name)))
                    .or_else(|| startup::objection(context, access, &names));
                let block = |why| {
                    Verdict::block(format!("{} {why}.", access.name()))
                        .advise(ADVICE)
                        .with("path", access.file)
                };
                why.map(block)
                    .or_else(|| extension(access, &names))
                    .or_else(|| unknown_target(access))
                    .or_else(|| startup::redirection(context, access, &names))
            }));
            checks.push(sweeps::wildcard(context, action, access));
        }
        if !action.writes.is_empty() {
            checks.extend(all.iter().filter(|it| !it.is_write && !it.is_named).map(|access| {
                let names = context.path_aliases(access.file)?;
                let reason = format!("{} is Midrail, and this may give it another name.", access.name());
                let verdict = || Verdict::new(Effect::Escalate, reason).advise(ADVICE);
                Ok(names.iter().any(|name| is_program(name)).then(verdict))
            }));
        }
        checks.push(sweeps::mirror(context, action));
        checks.push(Ok(sweeps::argument(action)));
        let actions = scripts.iter().map(|(script, does)| (*does, Some(*script)));
        for (action, script) in [(action, None)].into_iter().chain(actions) {
            checks.extend(action.sweeps.iter().map(|sweep| sweeps::sweep(context, action, script, sweep)));
            checks.push(untracked::removed(context, action).map(|removed| {
                removed.map(|(path, call)| {
                    let reason = format!("`{call}` would remove '{path}', which controls Midrail.");
                    let advice = "Exclude the files of Midrail and the agent's settings, or name what is to be removed.";
                    Verdict::new(Effect::Escalate, reason).advise(advice).with("path", path.as_str())
                })
            }));
        }
        checks.strongest()
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

/// The results of several checks.
#[derive(Default)]
struct Checks {
    objections: Vec<Verdict>,
    /// A fact that a check lacks.
    unknown: Option<Missing>,
}

impl Checks {
    fn push(&mut self, check: Result<Option<Verdict>, Missing>) {
        match check {
            Ok(None) => {}
            Ok(Some(verdict)) => self.objections.push(verdict),
            Err(missing) => self.unknown = Some(missing),
        }
    }

    /// The strongest objection. It counts even if other checks lack a fact.
    fn strongest(self) -> Result<Verdict, Fault> {
        match (strongest(self.objections), self.unknown) {
            (Some(verdict), _) => Ok(verdict),
            (None, Some(missing)) => Err(missing.into()),
            (None, None) => Ok(Verdict::allow()),
        }
    }
}

impl Extend<Result<Option<Verdict>, Missing>> for Checks {
    fn extend<I: IntoIterator<Item = Result<Option<Verdict>, Missing>>>(&mut self, checks: I) {
        checks.into_iter().for_each(|check| self.push(check));
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
