//! What is going to be written: a plan that can be shown before anything happens.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::agent::{self, Agent, Format, InstallScope};
use super::backup::Record;
use super::command::{HookProgram, is_found_at_login, quote};
use super::files::{self, SettingsError};
use super::places::Environment;
use super::{codex, opencode, starter, toml};

/// What is to be set up.
#[derive(Debug, Clone)]
pub struct InstallRequest {
    /// For these agents.
    pub agents: Vec<Agent>,
    /// For whom.
    pub scope: InstallScope,
    /// The program that they are to run.
    pub program: HookProgram,
}

/// A file that becomes another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The agent that reads it; `None`: Midrail itself.
    pub agent: Option<Agent>,
    /// The file.
    pub path: PathBuf,
    /// What it is; `None`: it is not there.
    pub before: Option<String>,
    /// What it becomes; `None`: it is removed.
    pub after: Option<String>,
    /// What it was before Midrail ever changed it, as far as is known.
    pub(super) original: Option<String>,
    /// Folders that were made for it earlier.
    pub(super) made: Vec<PathBuf>,
}

/// What is going to be written, and what stands in the way.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The files that change.
    pub changes: Vec<FileChange>,
    /// Files that are as they should be.
    pub settled: Vec<(Agent, PathBuf)>,
    /// Files that are left alone, and why.
    pub troubles: Vec<SettingsError>,
    /// What a person has to know or do.
    pub remarks: Vec<(Agent, String)>,
    /// Whether copies of replaced files go, too.
    pub(super) purge: bool,
}

/// Plans to put Midrail into agents.
pub fn install(wish: &InstallRequest, places: &Environment) -> Plan {
    let mut plan = Plan::default();
    for agent in &wish.agents {
        let host = agent.host();
        let at_login = at_login(*agent, wish, places);
        let wish = at_login.as_ref().unwrap_or(wish);
        let Some(path) = (host.file)(places, wish.scope) else {
            let what = format!(
                "{} has no such place: guard every user with `midrail init --user --agent {}`",
                host.title, host.name
            );
            plan.remarks.push((*agent, what));
            continue;
        };
        match hooks(*agent, wish, &path, places) {
            Ok(Some(change)) => plan.changes.push(change),
            Ok(None) => plan.settled.push((*agent, path)),
            Err(trouble) => {
                plan.troubles.push(trouble);
                continue;
            }
        }
        if at_login.is_some() {
            let what = "Cursor starts hooks with your login shell, and that does not find `midrail`: the file holds its \
                        path, so it holds for this machine alone."
                .to_owned();
            plan.remarks.push((*agent, what));
        }
        plan.remarks.extend((host.remarks)(places, wish.scope).into_iter().map(|remark| (*agent, remark)));
    }
    match wish.scope {
        InstallScope::Project => plan.changes.extend(starters(places)),
        InstallScope::User => {}
        InstallScope::Managed => {
            let path = Path::new(&wish.program.name);
            let is_anyones = path.metadata().is_ok_and(|it| it.uid() != 0 || it.mode() & 0o022 != 0);
            let warn = |agent: &Agent| {
                let what = format!(
                    "{} is not root's alone, so whoever owns it can put another program in its place: install Midrail \
                     where only root writes, and name it with `--program PATH`",
                    path.display()
                );
                (*agent, what)
            };
            plan.remarks.extend(wish.agents.first().filter(|_| is_anyones).map(warn));
        }
    }
    plan
}

/// The wish with the path of the program, where Cursor would not find it by its name.
fn at_login(agent: Agent, wish: &InstallRequest, places: &Environment) -> Option<InstallRequest> {
    let name = &wish.program.name;
    if agent != Agent::Cursor || name.contains('/') || is_found_at_login(name, places)? {
        return None;
    }
    let path = places.on_path(name)?.to_str()?.to_owned();
    Some(InstallRequest {
        program: HookProgram { name: path, why: wish.program.why.clone() },
        ..wish.clone()
    })
}

fn hooks(
    agent: Agent,
    wish: &InstallRequest,
    path: &Path,
    places: &Environment,
) -> Result<Option<FileChange>, SettingsError> {
    let host = agent.host();
    if agent == Agent::Cursor && path.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
        return Err(SettingsError::of(path, "is a link, and Cursor reads no links")
            .help("put a file in its place, then run this again"));
    }
    let before = files::read(path)?;
    let is_plugin = (host.format)(wish.scope) == Format::Plugin;
    if is_plugin && before.as_deref().is_some_and(|text| !opencode::is_ours(text)) {
        return Err(SettingsError::of(path, "is not Midrail's plugin")
            .help("give it another name, then run this again"));
    }
    let program = if is_plugin { wish.program.name.clone() } else { quote(&wish.program.name) };
    let empty = if path.extension().is_some_and(|ending| ending == "json") { "{}\n" } else { "" };
    let text = before.as_deref().unwrap_or(empty);
    let after = host.installed(wish.scope, text, &program).map_err(|flaw| agent::trouble(path, flaw))?;
    if before.as_deref() == Some(after.as_str()) {
        return Ok(None);
    }
    let record = Record::last(path, places).filter(|record| record.after == before);
    let (original, made) = match record {
        Some(record) => (record.before, record.made),
        None => {
            // Somebody else changed it since, or there is no record: without our hooks it is what it was.
            let stripped = before.as_deref().map(|text| host.removed(wish.scope, text, None)).transpose();
            let stripped = stripped.map_err(|flaw| agent::trouble(path, flaw))?.flatten();
            (stripped.or_else(|| before.clone()), Vec::new())
        }
    };
    Ok(Some(FileChange {
        agent: Some(agent),
        path: path.to_owned(),
        before,
        after: Some(after),
        original,
        made,
    }))
}

/// The pack that a project begins with, where it has none.
fn starters(places: &Environment) -> Vec<FileChange> {
    let folder = places.project.join(midrail::paths::PROJECT_FOLDER);
    let is_pack = |path: PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        ["yaml", "yml", "json", "js", "mjs"].contains(&ending)
    };
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let has_pack = entries.into_iter().any(|entry| is_pack(entry.path()));
    let wanted = [("pack.yaml", starter::PACK, has_pack), (".gitignore", starter::IGNORE, false)];
    let missing = wanted
        .into_iter()
        .filter(|(name, _, is_there)| !is_there && folder.join(name).symlink_metadata().is_err());
    let changes = missing.map(|(name, text, _)| FileChange {
        agent: None,
        path: folder.join(name),
        before: None,
        after: Some(text.to_owned()),
        original: None,
        made: Vec::new(),
    });
    changes.collect()
}

/// Plans to take Midrail out of agents. With `purge`, a project's pack goes, too.
pub fn uninstall(agents: &[Agent], scope: InstallScope, purge: bool, places: &Environment) -> Plan {
    let mut plan = Plan { purge: purge && scope == InstallScope::Project, ..Plan::default() };
    for agent in agents {
        let Some(path) = (agent.host().file)(places, scope) else { continue };
        match without_hooks(*agent, scope, &path, places) {
            Ok(Some(change)) => plan.changes.push(change),
            Ok(None) => {}
            Err(trouble) => plan.troubles.push(trouble),
        }
        if *agent == Agent::Codex && scope != InstallScope::Managed {
            match without_trust(&path, places) {
                Ok(change) => plan.changes.extend(change),
                Err(trouble) => plan.troubles.push(trouble),
            }
        }
    }
    if purge && scope == InstallScope::Project {
        let folder = places.project.join(midrail::paths::PROJECT_FOLDER);
        for name in ["pack.yaml", ".gitignore"] {
            let path = folder.join(name);
            match files::read(&path) {
                Ok(Some(text)) => plan.changes.push(FileChange {
                    agent: None,
                    path,
                    before: Some(text),
                    after: None,
                    original: None,
                    made: vec![folder.clone()],
                }),
                Ok(None) => {}
                Err(trouble) => plan.troubles.push(trouble),
            }
        }
    }
    plan
}

/// Where hooks of ours are registered, in any scope.
pub fn registered(agents: &[Agent], places: &Environment) -> Vec<(Agent, InstallScope, PathBuf)> {
    let mut found: Vec<(Agent, InstallScope, PathBuf)> = Vec::new();
    for agent in agents {
        for scope in InstallScope::ALL {
            let Some(path) = (agent.host().file)(places, scope) else { continue };
            let Ok(Some(text)) = files::read(&path) else { continue };
            let is_ours = agent.host().registered(scope, &text).is_ok_and(|hooks| !hooks.is_empty());
            if is_ours && !found.iter().any(|(_, _, known)| *known == path) {
                found.push((*agent, scope, path));
            }
        }
    }
    found
}

fn without_hooks(
    agent: Agent,
    scope: InstallScope,
    path: &Path,
    places: &Environment,
) -> Result<Option<FileChange>, SettingsError> {
    let host = agent.host();
    let Some(text) = files::read(path)? else { return Ok(None) };
    let record = Record::last(path, places);
    let before = record.as_ref().and_then(|record| record.before.as_deref());
    let removed = host.removed(scope, &text, before).map_err(|flaw| agent::trouble(path, flaw))?;
    let Some(removed) = removed else { return Ok(None) };
    let made = record.as_ref().map(|record| record.made.clone()).unwrap_or_default();
    let after = match record {
        Some(record) if record.after.as_deref() == Some(text.as_str()) => record.before,
        record => {
            let was_there = record.is_some_and(|record| record.before.is_some());
            let is_empty = !was_there && host.is_only_for_hooks(path) && holds_nothing(&removed);
            (!is_empty).then_some(removed)
        }
    };
    Ok(Some(FileChange {
        agent: Some(agent),
        path: path.to_owned(),
        before: Some(text),
        original: after.clone(),
        after,
        made,
    }))
}

/// Whether a file of hooks says nothing any more.
fn holds_nothing(text: &str) -> bool {
    let value = super::jsonc::value(text).unwrap_or_default();
    text.trim().is_empty()
        || value.as_object().is_some_and(|fields| fields.keys().all(|key| key == "version"))
}

/// Plans that Codex trusts the hooks that it knows of ours.
pub fn trust(places: &Environment) -> Plan {
    let mut plan = Plan::default();
    let path = places.codex.join("config.toml");
    let change = (|| {
        let program = Agent::Codex.program(places).ok_or_else(|| {
            SettingsError::of(
                &path,
                "`codex` is not on the search path, and only Codex knows what it is to trust",
            )
            .help("type `/hooks` in Codex and trust them there")
        })?;
        let known = codex::known(&program, places).map_err(|why| {
            SettingsError::of(&path, format!("Codex does not tell what it is to trust: {why}"))
                .help("type `/hooks` in Codex and trust them there")
        })?;
        if known.is_empty() {
            let registered = registered(&[Agent::Codex], places);
            let is_in_project_alone = registered.iter().all(|(_, scope, _)| *scope == InstallScope::Project);
            let help = match is_in_project_alone && !codex::is_trusted_project(places) {
                true => {
                    "a project's hooks are read only where the project is trusted: start `codex` here and say so"
                }
                false => {
                    "type `/hooks` in Codex, which tells what it reads, and run `midrail doctor --agent codex`"
                }
            };
            return Err(SettingsError::of(&path, "Codex does not see the hooks here").help(help));
        }
        let hooks: Vec<(String, String)> = known
            .into_iter()
            .filter(|known| known.status != "managed" && known.status != "trusted")
            .map(|known| (known.key, known.hash))
            .collect();
        let before = files::read(&path)?;
        let text = before.as_deref().unwrap_or_default();
        let after = toml::trust(text, &hooks).map_err(|flaw| agent::trouble(&path, flaw))?;
        if hooks.is_empty() || before.as_deref() == Some(after.as_str()) {
            return Ok(None);
        }
        let record = Record::last(&path, places).filter(|record| record.after == before);
        let original = record.map_or_else(|| before.clone(), |record| record.before);
        Ok(Some(FileChange {
            agent: Some(Agent::Codex),
            path: path.clone(),
            before,
            after: Some(after),
            original,
            made: Vec::new(),
        }))
    })();
    match change {
        Ok(Some(change)) => plan.changes.push(change),
        Ok(None) => plan.settled.push((Agent::Codex, path)),
        Err(trouble) => plan.troubles.push(trouble),
    }
    plan
}

/// The trust that goes with the hooks of a file.
fn without_trust(hooks: &Path, places: &Environment) -> Result<Option<FileChange>, SettingsError> {
    let path = places.codex.join("config.toml");
    let Some(text) = files::read(&path)? else { return Ok(None) };
    let record = Record::last(&path, places);
    let before = record.as_ref().and_then(|record| record.before.as_deref());
    let file = hooks.display().to_string();
    let removed = toml::distrust(&text, &file, before).map_err(|flaw| agent::trouble(&path, flaw))?;
    let Some(removed) = removed else { return Ok(None) };
    let after = match record {
        Some(record) if record.after.as_deref() == Some(text.as_str()) => record.before,
        _ => Some(removed),
    };
    Ok(Some(FileChange {
        agent: Some(Agent::Codex),
        path,
        before: Some(text),
        original: after.clone(),
        after,
        made: Vec::new(),
    }))
}
