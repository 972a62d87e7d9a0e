//! Looks whether agents are guarded: whether hooks are registered, on, trusted and run, and whether an answer stops what
//! it should stop.

mod live;
mod shape;
mod switches;
mod trust;

use std::path::PathBuf;
use std::time::Duration;

use midrail::{Load, SqliteStore, paths as own_places};
use serde::Serialize;
use serde_json::Value;

use super::agent::{Agent, Hooked, InstallScope, Moment};
use super::backup::Record;
use super::command;
use super::files;
use super::places::Environment;
use super::process;

/// How well something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// As it should be.
    Good,
    /// To be known, or mended when there is time.
    Caution,
    /// Something would pass that ought to be stopped, or nothing works.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// How well it is.
    pub level: CheckStatus,
    /// What was found.
    pub what: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// Whether it leaves open that an agent is guarded.
    #[serde(skip)]
    pub is_open: bool,
}

impl CheckResult {
    fn new(level: CheckStatus, what: impl Into<String>, mend: Option<String>) -> Self {
        CheckResult { level, what: what.into(), mend, is_open: level == CheckStatus::Bad }
    }

    fn good(what: impl Into<String>) -> Self {
        CheckResult::new(CheckStatus::Good, what, None)
    }

    fn caution(what: impl Into<String>, mend: impl Into<String>) -> Self {
        CheckResult::new(CheckStatus::Caution, what, Some(mend.into()))
    }

    /// Nobody can say that an agent is guarded where this was found.
    fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    fn bad(what: impl Into<String>, mend: impl Into<String>) -> Self {
        CheckResult::new(CheckStatus::Bad, what, Some(mend.into()))
    }
}

/// What was found at one agent.
#[derive(Debug, Clone)]
pub struct HostDiagnosis {
    /// The agent.
    pub agent: Agent,
    /// Its version, where it tells it.
    pub version: Option<String>,
    /// What was found.
    pub findings: Vec<CheckResult>,
}

/// Everything that was found.
#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    /// At each agent that is here.
    pub agents: Vec<HostDiagnosis>,
    /// At Midrail itself.
    pub general: Vec<CheckResult>,
}

impl Diagnosis {
    /// Whether nothing would pass that ought to be stopped.
    pub fn is_sound(&self) -> bool {
        self.findings().all(|finding| finding.level != CheckStatus::Bad)
    }

    /// Whether every agent that was looked at is guarded, and nothing leaves that open.
    pub fn is_guarded(&self) -> bool {
        !self.agents.is_empty() && self.findings().all(|finding| !finding.is_open)
    }

    fn findings(&self) -> impl Iterator<Item = &CheckResult> {
        self.agents.iter().flat_map(|examined| &examined.findings).chain(&self.general)
    }
}

/// Looks at agents: those that are named, else those that are here.
pub fn diagnose(named: &[Agent], places: &Environment) -> Diagnosis {
    let here = |agent: &Agent| {
        if named.is_empty() { agent.is_here(places) } else { named.contains(agent) }
    };
    let agents = Agent::ALL
        .into_iter()
        .filter(here)
        .map(|agent| examine_one(agent, named.contains(&agent), places))
        .collect();
    Diagnosis { agents, general: general(places) }
}

/// Our hooks in one file.
pub(super) struct Registered {
    pub(super) scope: InstallScope,
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) hooks: Vec<(String, Value)>,
}

impl Registered {
    fn handler(&self, event: &str) -> Option<&Value> {
        self.hooks.iter().find(|(name, _)| name == event).map(|(_, handler)| handler)
    }

    fn command(&self, event: &str) -> Option<&str> {
        let handler = self.handler(event)?;
        ["command", "bash"].iter().find_map(|key| handler.get(key)?.as_str())
    }
}

fn examine_one(agent: Agent, is_named: bool, places: &Environment) -> HostDiagnosis {
    let host = agent.host();
    let program = agent.program(places);
    let version = program.as_deref().and_then(|program| {
        let mut command = std::process::Command::new(program);
        let ended = process::run(command.arg("--version"), "", Duration::from_secs(10)).ok()?;
        version_in(&ended.out).map(str::to_owned)
    });
    let mut findings = Vec::new();
    let mut files = Vec::new();
    for scope in InstallScope::ALL {
        let Some(path) = (host.file)(places, scope) else { continue };
        // In the home itself a project's file is the user's.
        if scope == InstallScope::Project && (host.file)(places, InstallScope::User).as_ref() == Some(&path) {
            continue;
        }
        let text = match files::read(&path) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(trouble) => {
                findings.push(CheckResult::bad(trouble.to_string(), trouble.help.unwrap_or_default()));
                continue;
            }
        };
        match host.check(scope, &text).and_then(|()| host.registered(scope, &text)) {
            Ok(hooks) if hooks.is_empty() => {}
            Ok(hooks) => files.push(Registered { scope, path, text, hooks }),
            Err(flaw) => {
                let trouble = super::agent::trouble(&path, flaw);
                findings.push(CheckResult::bad(trouble.to_string(), trouble.help.unwrap_or_default()));
            }
        }
    }
    let flag = files.first().map_or("", |file| file.scope.flag());
    let init = format!("midrail init{flag} --agent {}", host.name);
    if files.is_empty() {
        let what = format!("{} is not guarded: no hook of Midrail is registered", host.title);
        let is_used = is_named || program.is_some() || !findings.is_empty() || is_set_up(agent, places);
        findings.push(match is_used {
            true => CheckResult::bad(what, format!("run `{init}`")),
            // Somebody used it once, somewhere else.
            false => CheckResult::caution(
                format!("{what} (nor is its program on the search path)"),
                format!("run `{init}` if it is used here"),
            )
            .open(),
        });
        return HostDiagnosis { agent, version, findings };
    }
    findings.extend(coverage(agent, &files, &init));
    findings.extend(programs(&files, places, &init));
    findings.extend(trust::findings(agent, &files, program.as_deref(), places));
    findings.extend(switches::findings(agent, &files, places));
    findings.extend(shape::findings(agent, &files, version.as_deref(), &init));
    findings.extend(live::findings(agent, &files, places));
    HostDiagnosis { agent, version, findings }
}

/// Whether an agent is set up in this project, or was guarded by us and is not any more.
fn is_set_up(agent: Agent, places: &Environment) -> bool {
    let host = agent.host();
    let traces = (host.traces)(places);
    // Instructions are read by other programs, too, and what stands in the home is for all projects.
    let is_here =
        |path: &PathBuf| path.starts_with(&places.project) && path.extension().is_none_or(|it| it != "md");
    let was_guarded = InstallScope::ALL.into_iter().any(|scope| {
        let after = (host.file)(places, scope)
            .and_then(|path| Record::last(&path, places))
            .and_then(|record| record.after);
        after.is_some_and(|text| host.registered(scope, &text).is_ok_and(|hooks| !hooks.is_empty()))
    });
    was_guarded || !places.is_home() && traces.iter().any(|path| is_here(path) && path.exists())
}

/// Whether every event is registered somewhere.
fn coverage(agent: Agent, files: &[Registered], init: &str) -> Vec<CheckResult> {
    let host = agent.host();
    let mut findings = Vec::new();
    for file in files {
        let missing: Vec<&Hooked> =
            host.events.iter().filter(|hooked| file.handler(hooked.event).is_none()).collect();
        let elsewhere = |hooked: &&Hooked| files.iter().any(|file| file.handler(hooked.event).is_some());
        let open: Vec<&str> = missing.iter().filter(|it| !elsewhere(it)).map(|it| it.event).collect();
        let is_gate = missing.iter().any(|it| !elsewhere(it) && it.moment != Moment::Note);
        let place = format!("{} ({})", file.path.display(), file.scope.word());
        findings.push(match (open.is_empty(), is_gate) {
            (true, _) => CheckResult::good(format!(
                "{} of {} events registered in {place}",
                host.events.len() - missing.len(),
                host.events.len()
            )),
            (false, true) => CheckResult::bad(
                format!("not registered: {}, in {place}", open.join(", ")),
                format!("run `{init}`"),
            ),
            (false, false) => CheckResult::caution(
                format!("not registered: {}, in {place}", open.join(", ")),
                format!("run `{init}`"),
            ),
        });
    }
    if let [_, _, ..] = files {
        let places: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
        let ways: Vec<String> = files
            .iter()
            .map(|file| format!("`midrail uninstall{} --agent {}`", file.scope.flag(), host.name))
            .collect();
        findings.push(CheckResult::caution(
            format!(
                "registered more than once, in {}: every call is asked about by each, and an approval lifts only the \
                 first question",
                places.join(" and ")
            ),
            format!("keep one: {}", ways.join(" or ")),
        ));
    }
    findings
}

/// Whether the programs of the commands are there, and of this version.
fn programs(files: &[Registered], places: &Environment, init: &str) -> Vec<CheckResult> {
    let commands = files.iter().flat_map(|file| {
        let names = file.hooks.iter().map(|(event, _)| event.as_str());
        names.filter_map(|event| file.command(event))
    });
    let mut names: Vec<String> = commands.filter_map(command::program_of).collect();
    names.sort();
    names.dedup();
    let mut findings = Vec::new();
    for name in names {
        let Some(path) = command::find(&name, places) else {
            findings.push(CheckResult::bad(
                format!("the program `{name}` is not there, so every action is stopped"),
                format!("install Midrail, or name the program anew: `{init}`"),
            ));
            continue;
        };
        let mut command = std::process::Command::new(&path);
        let told = process::run(command.arg("--version"), "", Duration::from_secs(10));
        let this = env!("CARGO_PKG_VERSION");
        findings.push(match told.as_ref().map(|ended| version_in(&ended.out)) {
            Ok(Some(version)) if version == this => {
                CheckResult::good(format!("{} runs, version {this}", path.display()))
            }
            Ok(Some(version)) => CheckResult::caution(
                format!("{} is version {version}, this is {this}", path.display()),
                format!("install one of them, then run `{init}`"),
            ),
            Ok(None) | Err(_) => CheckResult::bad(
                format!("{} does not tell its version", path.display()),
                format!("install Midrail anew, or name the program anew: `{init}`"),
            ),
        });
    }
    findings
}

/// Midrail itself: packs, store, and what nobody measures.
fn general(places: &Environment) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    let load = Load { folder: Some(places.project.clone()), ..Load::default() };
    match load.load() {
        Ok(loaded) => {
            findings.push(CheckResult::good(format!(
                "packs are valid: {} guardrails",
                loaded.policy.entries().len()
            )));
            let source: Value = serde_json::from_str(&loaded.source.to_json()).unwrap_or_default();
            let is_set = |keys: &[&str]| has_set(&source, keys);
            if is_set(&["token_budget", "cost_budget"])
                || budgets(&source).any(|it| has_set(it, &["tokens", "cost"]))
            {
                findings.push(CheckResult::caution(
                    "a budget of tokens or of money is set, and coding agents do not tell what they use",
                    "set `time_budget` or `api_call_budget`, which Midrail counts itself",
                ));
            }
        }
        Err(error) => {
            let help =
                error.help().unwrap_or_else(|| "run `midrail lint`, which tells where and why".to_owned());
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            findings.push(CheckResult::bad(
                format!("packs are not valid, so every action is stopped: {first}{place}"),
                help,
            ));
        }
    }
    findings.push(match own_places::default_store() {
        None => CheckResult::bad("there is no place for the store", "set `HOME`"),
        Some(path) => match writable(&path) {
            Ok(()) => CheckResult::good(format!("the store can be written: {}", path.display())),
            Err(why) => CheckResult::bad(
                format!("the store cannot be written, so every action is stopped: {}: {why}", path.display()),
                "let this user write there, or name another place with `XDG_STATE_HOME`",
            ),
        },
    });
    findings
}

/// Whether a store could be used: by opening the one that is there, or by the folder in which one would be made.
fn writable(path: &std::path::Path) -> Result<(), String> {
    if path.exists() {
        return SqliteStore::open(path).map(drop).map_err(|error| error.to_string());
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    let folder = folder.ok_or_else(|| "there is no such folder".to_owned())?;
    tempfile::Builder::new()
        .prefix(".midrail-")
        .tempfile_in(folder)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn has_set(value: &Value, keys: &[&str]) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| (keys.contains(&key.as_str()) && !value.is_null()) || has_set(value, keys)),
        Value::Array(items) => items.iter().any(|item| has_set(item, keys)),
        _ => false,
    }
}

/// The budgets of whole packs.
fn budgets(source: &Value) -> impl Iterator<Item = &Value> {
    source.as_array().into_iter().flatten().filter_map(|layer| layer.pointer("/pack/budgets"))
}

/// The first thing in a text that is a version.
fn version_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || c == '(' || c == ')' || c == 'v');
    words
        .into_iter()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.matches('.').count() >= 2)
}

fn is_at_least(version: &str, least: &[u64]) -> bool {
    let parts = version.split(['.', '-']).map(|part| part.parse::<u64>().unwrap_or_default());
    parts.take(least.len()).collect::<Vec<_>>().as_slice() >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_and_compared() {
        assert_eq!(version_in("2.1.325 (Claude Code)\n"), Some("2.1.325"));
        assert_eq!(version_in("codex-cli 0.166.0"), Some("0.166.0"));
        assert_eq!(version_in("midrail 0.1.0"), Some("0.1.0"));
        assert_eq!(version_in("hello"), None);
        assert!(is_at_least("2.1.295", &[2, 1, 295]));
        assert!(is_at_least("2.10.0", &[2, 1, 295]));
        assert!(!is_at_least("2.1.197", &[2, 1, 295]));
    }
}
