//! What the agent sees in an event: the labels of a result or a prompt, and whether it may name destinations.

use std::collections::BTreeSet;

use midrail_core::{
    Action, ActionType, Changes, Confidence, Context, Key, Missing, PRIVATE, TRUSTED, UNTRUSTED, glob,
};
use midrail_scan::names;

use super::available::available;
use super::files::FileLabels;
use super::labels::Source;
use super::rows::{Subject, seen};
use super::words;
use crate::sensitive_file::holds_credentials;
use crate::shared::data::FLOW;
use crate::shared::file_paths::is_generated;

/// The most files and hosts of an event that are considered one by one. A call with more is rare, and sees everything that is
/// labelled.
const MAX_SUBJECTS: usize = 64;

/// The most manifests that the agent changed that are remembered one by one.
const MAX_CHANGED_MANIFESTS: usize = 64;

/// A host that the call does not show.
const UNKNOWN_HOST: &str = "an unknown host";

/// What an event shows to the agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// The labels, each with its source.
    pub(super) labels: Vec<(String, Source)>,
    /// Whether the whole text is of a trusted source.
    pub(super) is_trusted: bool,
}

impl Seen {
    fn add(&mut self, labels: impl IntoIterator<Item = impl Into<String>>, source: &Source) {
        self.labels.extend(labels.into_iter().map(|label| (label.into(), source.clone())));
    }
}

/// The labels of a prompt that the user of the agent did not write.
pub(super) fn seen_prompt(context: &Context<'_>, sender: &str) -> Result<Seen, Missing> {
    let mut found = Seen::default();
    let source = Source::new("prompt", Some(sender), None);
    match seen(context, Subject::Sender(sender))? {
        Some(labels) if labels.iter().all(|label| *label == TRUSTED) => found.is_trusted = true,
        Some(labels) => found.add(labels.into_iter().filter(|label| *label != TRUSTED), &source),
        None => found.add([UNTRUSTED], &source),
    }
    Ok(found)
}

/// The labels of the result of a call.
pub(super) fn seen_result(
    context: &Context<'_>,
    files: &FileLabels,
    has_untrusted: bool,
) -> Result<Seen, Missing> {
    let Some(tool) = context.event.tool_name() else { return Ok(Seen::default()) };
    let action = context.action()?;
    let mut found = Seen::default();
    let mut is_trusted = true;
    let mut subjects = subjects(action);
    if subjects.len() > MAX_SUBJECTS {
        subjects.truncate(MAX_SUBJECTS);
        is_trusted = false;
        found.add(files.labels(), &Source::new(tool, None, context.event.call_id()));
    }
    for subject in &subjects {
        let from = match subject {
            Subject::Host(name) | Subject::File(name) => Some(*name),
            Subject::Tool | Subject::Sender(_) => None,
        };
        let source = Source::new(tool, from, context.event.call_id());
        if let Subject::File(path) = subject {
            let carried = carried(context, files, path)?;
            is_trusted &= carried.is_empty();
            found.add(carried, &source);
        }
        match seen(context, *subject)? {
            Some(labels) => {
                let labels: BTreeSet<&str> = labels.into_iter().collect();
                is_trusted &= labels.iter().all(|label| *label == TRUSTED);
                found.add(labels.into_iter().filter(|label| *label != TRUSTED), &source);
            }
            None => {
                let label = default_label(context, action, tool, *subject)?;
                is_trusted &= label.is_none() && !has_untrusted && is_manifest(context, *subject)?;
                found.add(label, &source);
            }
        }
    }
    // A client shows a database next to the files and hosts of its line: `psql -f query.sql`.
    if starts_database_client(action) && !subjects.iter().any(|subject| matches!(subject, Subject::Tool)) {
        is_trusted = false;
        found.add([PRIVATE], &Source::new(tool, None, context.event.call_id()));
    }
    // A detector raises labels; it never clears one.
    if !has_untrusted && !found.labels.iter().any(|(label, _)| label == UNTRUSTED) {
        let injections = available(context, context.injections())?.unwrap_or_default();
        if injections.iter().any(|finding| finding.confidence > Confidence::Low) {
            found.add([UNTRUSTED], &Source::new(tool, None, context.event.call_id()));
        }
    }
    found.is_trusted = is_trusted && found.labels.is_empty() && shows_only_sources(action);
    Ok(found)
}

/// What the text of a result came from.
fn subjects(action: &Action) -> Vec<Subject<'_>> {
    let mut all: Vec<Subject<'_>> = Vec::new();
    let received = action.network.iter().filter(|it| it.receives);
    let addresses = received.clone().flat_map(|it| &it.addresses).map(|address| host_of(address));
    all.extend(addresses.map(Subject::Host));
    if action.kind == ActionType::Network {
        all.extend(action.hosts.iter().map(|host| Subject::Host(host)));
    }
    // A call that contacts unknown hosts, or those of the project's forge.
    if received.clone().any(|it| it.addresses.is_empty()) {
        all.push(Subject::Host(UNKNOWN_HOST));
    }
    all.extend(action.reads.iter().map(|file| Subject::File(file)));
    all.dedup();
    if all.is_empty() {
        all.push(Subject::Tool);
    }
    all
}

/// Whether a result shows nothing but the files and hosts of the call. A command line can print any text next to them:
/// `cat Cargo.toml; echo evil.example`.
fn shows_only_sources(action: &Action) -> bool {
    let is_plain = |program: &String| FLOW.list("plain readers").contains(&program.as_str());
    match action.programs.as_slice() {
        [] => action.kind != ActionType::Command,
        [program] => is_plain(program) && action.commands.len() == 1,
        _ => false,
    }
}

/// The host of a URL, in the spelling of the call.
pub(super) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    // Programs disagree about the host of `https://a\@b/`.
    if authority.contains('\\') {
        return UNKNOWN_HOST;
    }
    let host = authority.rsplit('@').next().unwrap_or(authority);
    if host.starts_with('[') { host } else { host.split(':').next().unwrap_or(host) }
}

/// The labels that a file carries since it was written.
fn carried(context: &Context<'_>, files: &FileLabels, path: &str) -> Result<Vec<String>, Missing> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut labels = BTreeSet::new();
    for place in context.places(path)? {
        labels.extend(files.labels_of(&place).into_iter().map(str::to_owned));
    }
    Ok(labels.into_iter().collect())
}

/// The label of a subject that no row names.
fn default_label(
    context: &Context<'_>,
    action: &Action,
    tool: &str,
    subject: Subject<'_>,
) -> Result<Option<&'static str>, Missing> {
    Ok(match subject {
        Subject::Host(host) => (!names::is_local(host)).then_some(UNTRUSTED),
        Subject::File(path) if holds_credentials(context, path)? => Some(PRIVATE),
        Subject::File(path) => is_download(context, path)?.then_some(UNTRUSTED),
        Subject::Sender(_) => Some(UNTRUSTED),
        Subject::Tool if action.kind == ActionType::Network => Some(UNTRUSTED),
        Subject::Tool => {
            let is_mcp = tool.starts_with("mcp__");
            let reads_database =
                starts_database_client(action) || (is_mcp && words::has_word(tool, "database words"));
            let is_untrusted = is_mcp && words::only_reads(tool) && words::has_word(tool, "untrusted words");
            if is_untrusted { Some(UNTRUSTED) } else { reads_database.then_some(PRIVATE) }
        }
    })
}

/// Whether a command line prints what is in a database.
fn starts_database_client(action: &Action) -> bool {
    let programs = FLOW.list("database programs");
    action.programs.iter().any(|program| programs.contains(&program.as_str()))
}

/// Whether a file is one that the user downloaded.
fn is_download(context: &Context<'_>, path: &str) -> Result<bool, Missing> {
    if !path.contains("Downloads/") {
        return Ok(false);
    }
    let place = context.real_place(path, None)?;
    Ok(!place.inside && place.key.split('/').any(|folder| folder == "Downloads"))
}

/// The manifests that the agent changed: they name what it wrote into them. If there are many, none counts as unchanged.
fn changed_manifests_key() -> Key<BTreeSet<String>> {
    Key::new("flow/manifests")
}

fn is_manifest_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    FLOW.list("manifests").iter().any(|pattern| glob::name_matches(pattern, name))
}

/// Records the manifests that the call of the event changed.
pub(super) fn note_changed_manifests(context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
    let action = context.action()?;
    let written: Vec<_> = action.writes.iter().filter(|path| is_manifest_name(path)).collect();
    if written.is_empty() {
        return Ok(());
    }
    let places: Vec<_> = written.into_iter().map(|path| context.real_place(path, None)).collect();
    let key = changed_manifests_key();
    let before = key.read(context)?.unwrap_or_default();
    let mut changed = before.clone();
    for place in places.into_iter().take(MAX_CHANGED_MANIFESTS) {
        changed.insert(place?.key);
    }
    if changed.len() > before.len() && before.len() < MAX_CHANGED_MANIFESTS {
        key.write(changes, &changed)?;
    }
    Ok(())
}

/// Whether a subject is a manifest or lock file of the project, which may name destinations. That of a dependency is not, nor one that
/// the agent changed.
fn is_manifest(context: &Context<'_>, subject: Subject<'_>) -> Result<bool, Missing> {
    let Subject::File(path) = subject else { return Ok(false) };
    if !is_manifest_name(path) {
        return Ok(false);
    }
    let place = context.real_place(path, None)?;
    let changed = changed_manifests_key().read(context)?.unwrap_or_default();
    if changed.len() >= MAX_CHANGED_MANIFESTS || changed.contains(&place.key) {
        return Ok(false);
    }
    let is_foreign = |folder: &str| FLOW.has("folders of dependencies", folder);
    Ok(place.inside && !is_generated(&place.key) && !place.key.split('/').any(is_foreign))
}
