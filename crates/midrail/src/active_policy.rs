//! The policy in force, with everything that packs and the program add to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use midrail_core::{Policy, PolicyEntry};
use midrail_guardrails::{EndpointUrl, Headers, McpDefinitions};
use midrail_pack::{AlertCondition, AlertRule, Channel, PolicySource};

use crate::last_policy;

/// The policy in force.
#[derive(Clone)]
pub(crate) struct ActivePolicy {
    pub(crate) policy: Arc<Policy>,
    /// The packs, for replay. Guardrails that the program registered are not part of it.
    pub(crate) source: Arc<PolicySource>,
    /// The program's changes, which also apply to every later policy.
    pub(crate) changes: Arc<ProgramChanges>,
    pub(crate) settings: Arc<PackSettings>,
}

impl ActivePolicy {
    pub(crate) fn new(policy: Policy, source: &PolicySource, changes: Arc<ProgramChanges>) -> Self {
        let policy = Arc::new(changes.apply(policy));
        ActivePolicy {
            policy,
            source: Arc::new(source.clone()),
            changes,
            settings: Arc::new(PackSettings::new(source)),
        }
    }

    /// The same, with the channels of other packs.
    pub(crate) fn with_channels(mut self, source: &PolicySource) -> Self {
        if let Some(settings) = Arc::get_mut(&mut self.settings) {
            settings.channels = channels(source);
        }
        self
    }

    /// Registers a guardrail, in place of one with the same id.
    pub(crate) fn register(&mut self, entry: PolicyEntry) {
        self.policy = Arc::new(self.policy.with_entry(entry.clone()));
        let changes = Arc::make_mut(&mut self.changes);
        changes.unregistered.remove(&*entry.spec.id);
        changes.registered.insert(entry.spec.id.clone(), entry);
    }

    /// Removes a guardrail. `false`: there is none with this id.
    pub(crate) fn unregister(&mut self, id: &str) -> bool {
        let Some(policy) = self.policy.without(id) else { return false };
        self.policy = Arc::new(policy);
        let changes = Arc::make_mut(&mut self.changes);
        changes.registered.remove(id);
        changes.unregistered.insert(id.to_owned());
        true
    }
}

/// Guardrails that the program registered or removed, by id.
#[derive(Clone, Default)]
pub(crate) struct ProgramChanges {
    registered: BTreeMap<Arc<str>, PolicyEntry>,
    unregistered: BTreeSet<String>,
}

impl ProgramChanges {
    fn apply(&self, mut policy: Policy) -> Policy {
        for id in &self.unregistered {
            policy = policy.without(id).unwrap_or(policy);
        }
        self.registered.values().fold(policy, |policy, entry| policy.with_entry(entry.clone()))
    }
}

/// The settings of packs that no decision depends on.
pub(crate) struct PackSettings {
    /// The files of the policy, under every name that they have.
    pub(crate) files: Vec<String>,
    /// The pack files of the user and the project, without those that they extend.
    pub(crate) own_files: Vec<PathBuf>,
    /// The channels of notices, by recipient.
    pub(crate) channels: BTreeMap<String, Channel>,
    /// The MCP servers that the service reaches at an address, by name.
    pub(crate) mcp_servers: BTreeMap<String, McpUpstream>,
    pub(crate) alerts: Vec<AlertWatch>,
}

impl PackSettings {
    fn new(source: &PolicySource) -> Self {
        PackSettings {
            files: policy_files(source),
            own_files: last_policy::own_files(source),
            channels: channels(source),
            mcp_servers: mcp_servers(source),
            alerts: AlertWatch::from_packs(source),
        }
    }
}

/// The channels of all packs. The highest layer counts.
fn channels(source: &PolicySource) -> BTreeMap<String, Channel> {
    // Packs are listed from the highest layer to the lowest, and the last entry of a map counts.
    let channels = source.0.iter().rev().flat_map(|layered| &layered.pack.notify);
    channels.map(|(to, channel)| (to.clone(), channel.clone())).collect()
}

/// An MCP server that the service reaches at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpUpstream {
    /// Its address.
    pub url: EndpointUrl,
    /// The headers of requests to it.
    pub headers: Headers,
}

/// The MCP servers of all packs. The highest layer counts.
fn mcp_servers(source: &PolicySource) -> BTreeMap<String, McpUpstream> {
    let packs = source.0.iter().rev().filter_map(|layered| layered.pack.mcp.as_ref()?.with.clone());
    let settings = packs.filter_map(|with| serde_json::from_value::<McpDefinitions>(with).ok());
    let servers = settings.flat_map(|settings| settings.servers);
    servers
        .filter_map(|(name, rule)| Some((name, McpUpstream { url: rule.url?, headers: rule.headers })))
        .collect()
}

/// The files that a policy was read from: packs, scripts, Cedar policies and the files that belong to them, and the targets of
/// links.
fn policy_files(source: &PolicySource) -> Vec<String> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for pack in &source.0 {
        // A shipped pack has no file.
        files.extend(Some(&pack.path).filter(|path| !path.starts_with("midrail:")).map(PathBuf::from));
        for script in pack.pack.scripts() {
            files.extend(script.file.iter().chain(&script.belongs).map(PathBuf::from));
        }
        files.extend(pack.pack.cedar().flat_map(|cedar| &cedar.belongs).map(PathBuf::from));
    }
    let files = files.into_iter().map(|file| std::path::absolute(&file).unwrap_or(file));
    let names = files.flat_map(|file| [file.canonicalize().unwrap_or_else(|_| file.clone()), file]);
    let names: BTreeSet<String> = names.map(|file| file.to_string_lossy().into_owned()).collect();
    names.into_iter().collect()
}

/// An alert rule of a pack with its parsed condition.
#[derive(Debug, Clone)]
pub(crate) struct AlertWatch {
    pub(crate) rule: AlertRule,
    pub(crate) condition: AlertCondition,
}

impl AlertWatch {
    /// The alerts of all packs. Of two with the same name, the one of the higher layer counts.
    pub(crate) fn from_packs(source: &PolicySource) -> Vec<AlertWatch> {
        let mut names = BTreeSet::new();
        let rules = source.0.iter().flat_map(|layered| &layered.pack.alerts);
        rules
            .filter(|rule| names.insert(rule.name.as_str()))
            .filter_map(|rule| {
                Some(AlertWatch { rule: rule.clone(), condition: AlertCondition::parse(&rule.condition)? })
            })
            .collect()
    }
}
