//! Checks that hosts are protected: that hooks are registered, enabled, trusted and run, and that answers block what they
//! should block.

mod live;
mod model;
mod probe;
mod registration;
mod servers;

use std::error::Error;
use std::path::{Path, PathBuf};

use midrail::pack::Pack;
use midrail::store::{AuditFilter, AuditLog};
use midrail::{Load, SqliteStore, Store};

use super::change::Backup;
use super::check::{CheckResult, CheckStatus, HookFile};
use super::environment::{Environment, InstallScope};
use super::files::{self, SettingsResult};
use crate::host::{HostSpec, Installation};
use crate::hosts;
use crate::mcp_client::McpClient;

/// The results of one host.
#[derive(Debug, Clone)]
pub struct HostDiagnosis {
    /// The host.
    pub host: &'static HostSpec,
    /// Its version, if it reports one.
    pub version: Option<String>,
    /// The results.
    pub results: Vec<CheckResult>,
    /// Whether hooks are registered in the project only.
    is_project_only: bool,
}

impl HostDiagnosis {
    /// Whether the host is protected in this folder, now and in the next session, in one line.
    pub fn verdict(&self) -> CheckResult {
        let title = self.host.title;
        let first =
            |is_wanted: fn(&CheckResult) -> bool| self.results.iter().find(|it| is_wanted(it)).cloned();
        if let Some(bad) = first(|it| it.level == CheckStatus::Bad) {
            return CheckResult { message: format!("{title} is not protected: {}", bad.message), ..bad };
        }
        if let Some(open) = first(|it| it.is_open) {
            return CheckResult {
                message: format!("{title} might not be protected: {}", open.message),
                ..open
            };
        }
        let branch = if self.is_project_only { ", while the project has its settings file" } else { "" };
        CheckResult::good(format!("{title} is protected here, in this session and the next{branch}"))
    }
}

/// The results of an MCP client without hooks.
#[derive(Debug, Clone)]
pub struct ClientDiagnosis {
    /// The client.
    pub client: &'static McpClient,
    /// The results.
    pub results: Vec<CheckResult>,
}

/// All results.
#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    /// Those of each host.
    pub hosts: Vec<HostDiagnosis>,
    /// Those of MCP clients without hooks that have servers.
    pub clients: Vec<ClientDiagnosis>,
    /// Those of Midrail itself.
    pub general: Vec<CheckResult>,
}

impl Diagnosis {
    /// Whether nothing would be allowed that should be blocked.
    pub fn is_sound(&self) -> bool {
        self.results().all(|result| result.level != CheckStatus::Bad)
    }

    /// Whether every checked host is certainly protected.
    pub fn is_protected(&self) -> bool {
        !(self.hosts.is_empty() && self.clients.is_empty()) && self.results().all(|result| !result.is_open)
    }

    fn results(&self) -> impl Iterator<Item = &CheckResult> {
        let hosts = self.hosts.iter().flat_map(|host| &host.results);
        hosts.chain(self.clients.iter().flat_map(|client| &client.results)).chain(&self.general)
    }
}

/// Checks hosts and MCP clients: those that are named, else those that are present. If `is_live`, each host itself is run
/// against a scripted model, too.
pub fn diagnose(named: &[&'static McpClient], is_live: bool, env: &Environment) -> Diagnosis {
    let is_named = |name: &str| named.iter().any(|client| client.name == name);
    let is_checked = |host: &&'static HostSpec| {
        if named.is_empty() { host.is_present(env) } else { is_named(host.name) }
    };
    let checked = hosts::ALL.iter().filter(is_checked);
    let hosts = checked.map(|host| diagnose_host(host, is_named(host.name), is_live, env)).collect();
    let without_hooks = hosts::MCP_CLIENTS
        .iter()
        .filter(|client| hosts::find(client.name).is_none() && (named.is_empty() || is_named(client.name)));
    let clients =
        without_hooks.map(|client| ClientDiagnosis { client, results: servers::check(client, env) });
    let clients = clients.filter(|client| !client.results.is_empty()).collect();
    Diagnosis { hosts, clients, general: general(env) }
}

fn diagnose_host(host: &'static HostSpec, is_named: bool, is_live: bool, env: &Environment) -> HostDiagnosis {
    let program = host.program(env);
    let version = program.as_deref().and_then(registration::version_of);
    let mut results = Vec::new();
    let mut files = Vec::new();
    for (scope, path) in host.settings(env) {
        // In the home itself, a project's file is the user's.
        if scope == InstallScope::Project && host.files.at(env, InstallScope::User).as_ref() == Some(&path) {
            continue;
        }
        match hook_file(host, scope, &path) {
            Ok(file) => files.extend(file),
            Err(error) => {
                results.push(CheckResult::bad(error.to_string(), error.help.unwrap_or_default()));
            }
        }
    }
    let init =
        format!("midrail init{} --agent {}", files.first().map_or("", |file| file.scope.flag()), host.name);
    if files.is_empty() {
        let message = "no hook of Midrail is registered".to_owned();
        let is_used = is_named || program.is_some() || !results.is_empty() || is_set_up(host, env);
        results.push(if is_used {
            CheckResult::bad(message, format!("run `{init}`"))
        } else {
            // It was used once, somewhere else.
            CheckResult::caution(
                format!("{message} (its program is not on the search path)"),
                format!("run `{init}` if it is used here"),
            )
            .open()
        });
        results.extend(check_servers(host, env));
        return HostDiagnosis { host, version, results, is_project_only: false };
    }
    let installation = Installation { files: &files, program: program.as_deref(), env, host };
    results.extend(registration::coverage(host, &files, &init));
    results.extend(registration::programs(&files, env, &init));
    results.extend((host.setup.check)(&installation));
    results.extend(links(host, &files));
    results.extend(disabling_settings(host, &installation));
    results.extend(registration::failure_answers(host, &files, version.as_deref(), &init));
    results.extend(probe::check(host, &files, env));
    if is_live {
        results.extend(live::check(host, &files, program.as_deref(), env));
    }
    let is_project_only = installation.is_project_only();
    if is_project_only {
        results.push(CheckResult::caution(
            "the hooks are in a file of the project: with a branch that does not have it, the next session is not protected",
            format!("run `midrail init --agent {}`, which protects all projects of this user", host.name),
        ));
    }
    results.extend(check_servers(host, env));
    HostDiagnosis { host, version, results, is_project_only }
}

fn check_servers(host: &HostSpec, env: &Environment) -> Vec<CheckResult> {
    let client = hosts::MCP_CLIENTS.iter().find(|client| client.name == host.name);
    client.map(|client| servers::check(client, env)).unwrap_or_default()
}

/// A file with Midrail's hooks, if there are any in it.
fn hook_file(host: &HostSpec, scope: InstallScope, path: &Path) -> SettingsResult<Option<HookFile>> {
    let Some(text) = files::read(path)? else { return Ok(None) };
    let hooks = host.check(scope, &text).and_then(|()| host.registered(scope, &text));
    let hooks = hooks.map_err(|error| error.in_file(path))?;
    Ok((!hooks.is_empty()).then(|| HookFile { scope, path: path.to_owned(), text, hooks }))
}

/// Whether a host is set up in this project, or was protected once and is not any more.
fn is_set_up(host: &HostSpec, env: &Environment) -> bool {
    // Other programs read instructions, too, and files in the home are for all projects.
    let is_used_here = |path: &PathBuf| {
        path.starts_with(&env.project) && path.extension().is_none_or(|it| it != "md") && path.exists()
    };
    let was_protected = host.settings(env).iter().any(|(scope, path)| {
        let after = Backup::last(path, env).and_then(|backup| backup.after);
        after.is_some_and(|text| host.registered(*scope, &text).is_ok_and(|hooks| !hooks.is_empty()))
    });
    was_protected || !env.is_home() && host.traces(env).iter().any(is_used_here)
}

fn links(host: &HostSpec, files: &[HookFile]) -> Vec<CheckResult> {
    let links = files.iter().filter(|file| !host.follows_links && file.path.is_symlink());
    let result = |file: &HookFile| {
        CheckResult::bad(
            format!("{} is a link, and {} does not follow links", file.path.display(), host.title),
            "replace the link with a file",
        )
    };
    links.map(result).collect()
}

fn disabling_settings(host: &HostSpec, installation: &Installation<'_>) -> Vec<CheckResult> {
    let variables = host.disabling_variables.iter().filter(|name| installation.env.is_set(name));
    let variables = variables.map(|name| {
        let message = format!("`{name}` is set, and {} then runs no hooks", host.title);
        CheckResult::bad(message, format!("remove `{name}` from the environment"))
    });
    let mut results: Vec<CheckResult> = variables.collect();
    let disabled = (host.setup.disabled_in)(installation);
    if disabled.is_empty() && results.is_empty() {
        return vec![CheckResult::good("no file disables hooks")];
    }
    let mut files = installation.files.iter();
    let managed = files.find(|file| file.scope == InstallScope::Managed).map(|file| &file.path);
    let result = |(path, setting): (PathBuf, &str)| {
        let message = format!("{setting} in {} disables hooks", path.display());
        let fix = format!("remove {setting} from {}", path.display());
        // Managed hooks can be disabled only in the managed file.
        if managed.is_some_and(|managed| *managed != path) {
            CheckResult::caution(format!("{message}; the managed hooks still run"), fix)
        } else {
            CheckResult::bad(message, fix)
        }
    };
    results.extend(disabled.into_iter().map(result));
    results
}

/// Checks packs and store.
fn general(env: &Environment) -> Vec<CheckResult> {
    let mut results = Vec::new();
    let load = Load { folder: Some(env.project.clone()), ..Load::default() };
    match load.load() {
        Ok(loaded) => {
            let guardrails = loaded.policy.entries().len();
            results.push(CheckResult::good(format!("packs are valid: {guardrails} guardrails")));
            let missing = loaded.unprotected();
            if !missing.is_empty() {
                results.push(CheckResult::caution(
                    format!("not protected by guardrails of the default pack: {}", missing.join(", ")),
                    "remove `extends: none` or what disables them, unless that is intended",
                ));
            }
            if loaded.source.0.iter().any(|layered| limits_reported_usage(&layered.pack)) {
                results.push(CheckResult::caution(
                    "a budget of tokens or cost is set, but coding agents do not report their usage",
                    "set `time_budget` or `api_call_budget`, which Midrail counts itself",
                ));
            }
        }
        Err(error) => {
            let help = error.help().unwrap_or_else(|| "run `midrail lint` for details".to_owned());
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let place = text.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
            let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
            results.push(CheckResult::bad(
                format!("packs are not valid, so every action is blocked: {first}{place}"),
                help,
            ));
        }
    }
    results.push(match midrail::paths::default_store() {
        None => CheckResult::bad("there is no folder for the store", "set `HOME`"),
        Some(path) => match check_store(&path) {
            Ok(None) => CheckResult::good(format!("the store is writable: {}", path.display())),
            Ok(Some(report)) => report,
            Err(error) => CheckResult::bad(
                format!("the store is not writable, so every action is blocked: {}: {error}", path.display()),
                "give this user write access, or choose another folder with `XDG_STATE_HOME`",
            ),
        },
    });
    results
}

/// Opens the store, or checks that one can be created.
fn check_store(path: &Path) -> Result<Option<CheckResult>, Box<dyn Error>> {
    if path.exists() {
        return Ok(Some(store_report(path, &SqliteStore::open(path)?)?));
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    tempfile::Builder::new().prefix(".midrail-").tempfile_in(folder)?;
    Ok(None)
}

/// A store that grows beyond this should be archived.
const LARGE_STORE: u64 = 1 << 30;

/// Whether a store is intact, and how large it is.
fn store_report(path: &Path, store: &SqliteStore) -> Result<CheckResult, Box<dyn Error>> {
    if let Some(damage) = store.damage()? {
        return Ok(CheckResult::bad(
            format!(
                "the store was damaged or replaced, so every action is blocked: {}: {damage}",
                path.display()
            ),
            "find out what happened with `midrail audit verify`, then run `midrail audit acknowledge`",
        ));
    }
    let bytes = path.metadata()?.len();
    let newest = AuditFilter { newest_first: true, limit: Some(1), ..AuditFilter::default() };
    let oldest = AuditFilter { limit: Some(1), ..AuditFilter::default() };
    let (newest, oldest) = (store.entries(&newest)?, store.entries(&oldest)?);
    let growth = newest.first().zip(oldest.first()).map(|(newest, oldest)| {
        let records = newest.seq.saturating_sub(oldest.seq) + 1;
        let days = newest.labels.time.duration_since(oldest.labels.time).as_hours().max(24) / 24;
        let per_day = bytes / u64::try_from(days).unwrap_or(1).max(1);
        format!(", {records} records in {days} days, {} a day", size(per_day))
    });
    let message =
        format!("the store is writable: {} ({}{})", path.display(), size(bytes), growth.unwrap_or_default());
    Ok(if bytes > LARGE_STORE {
        let fix = "move old records to a file with `midrail audit archive --before 90d --to FILE`";
        CheckResult::caution(format!("{message}; it is large"), fix)
    } else {
        CheckResult::good(message)
    })
}

/// A number of bytes for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Whether a pack limits tokens or cost, which only a host can report.
fn limits_reported_usage(pack: &Pack) -> bool {
    let agents = pack.agents.values().map(|agent| (agent.token_budget, agent.cost_budget));
    let tasks = pack.tasks.values().map(|task| (task.token_budget, task.cost_budget));
    let mut budgets = agents.chain(tasks).chain([(pack.budgets.tokens, pack.budgets.cost)]);
    budgets.any(|(tokens, cost)| tokens.is_some() || cost.is_some())
}
