//! Updates the shared state of information flow after an event.

use std::collections::BTreeSet;

use midrail_core::{Action, Changes, Context, Effect, EventKind, Fault, Missing, TRUSTED, UNTRUSTED};

use super::available::available;
use super::call::is_named;
use super::files::FileLabels;
use super::labels::{Labels, Source};
use super::named::Named;
use super::rows::{Subject, seen};
use super::seen::{Seen, note_changed_manifests, seen_prompt, seen_result};
use crate::shared::own_files::cloned_folders;

/// The most files of an event whose labels are recorded one by one. If there are more, every file gets the labels.
const MAX_FILES: usize = 64;

/// The most remotes of a project.
const MAX_REMOTES: usize = 16;

/// The sender of prompts that the user of the agent writes.
const USER: &str = "user";

/// The kinds of event that change labels or named destinations.
pub(crate) const OBSERVED: &[EventKind] = &[
    EventKind::SessionStart,
    EventKind::BeforeModel,
    EventKind::AfterTool,
    EventKind::BeforeHandoff,
    EventKind::AfterHandoff,
];

/// Updates labels, named destinations and labelled files.
pub(crate) fn observe(context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
    let event = context.event;
    let is_cleared = event.kind == EventKind::SessionStart
        && !event.is_sub_agent()
        && matches!(event.source.as_deref(), Some("clear" | "new"));
    let labels_before = Labels::from_context(context)?;
    let named_before = Named::from_context(context)?;
    let (mut labels, mut named) = if is_cleared {
        (Labels::default(), named_before.cleared())
    } else {
        (labels_before.clone(), named_before.clone())
    };
    if !named.has_remotes {
        add_remotes(context, &mut named, changes)?;
    }
    match event.kind {
        EventKind::BeforeModel => observe_prompt(context, effect, &mut labels, &mut named, changes)?,
        EventKind::AfterTool => observe_result(context, effect, &mut labels, &named, changes)?,
        EventKind::BeforeHandoff | EventKind::AfterHandoff => {
            let handed = event.handoff.as_ref().and_then(|handoff| handoff.labels.as_deref());
            let source = Source::new("hand-off", None, None);
            handed.unwrap_or_default().iter().for_each(|label| labels.raise(label, &source));
        }
        _ => {}
    }
    named.write_if_changed(&named_before, changes)?;
    if labels != labels_before {
        if is_cleared {
            Labels::key().remove(changes);
        } else {
            Labels::key().write(changes, &labels)?;
        }
    }
    Ok(())
}

/// The remotes of the repository at the first event of a session name their addresses.
fn add_remotes(context: &Context<'_>, named: &mut Named, changes: &mut Changes) -> Result<(), Missing> {
    named.has_remotes = true;
    let Some(git) = available(context, context.git())?.flatten() else { return Ok(()) };
    // Request all facts before the first one is missing, so that they are fetched together.
    let digests: Vec<_> =
        git.remotes.values().take(MAX_REMOTES).map(|url| context.destination_digests(url)).collect();
    for digests in digests {
        named.add_trusted(context, available(context, digests)?.unwrap_or_default(), changes)?;
    }
    Ok(())
}

fn observe_prompt(
    context: &Context<'_>,
    effect: Effect,
    labels: &mut Labels,
    named: &mut Named,
    changes: &mut Changes,
) -> Result<(), Missing> {
    let event = context.event;
    let sender = event.sender.as_deref().filter(|sender| *sender != USER);
    if let Some(sender) = sender {
        let seen = seen_prompt(context, sender)?;
        return apply(context, effect, &seen, labels, named, changes);
    }
    // The prompt of a sub-agent is written by an agent.
    if effect.allows() && !event.is_sub_agent() {
        named.add_user(context, context.name_digests()?, changes)?;
    }
    Ok(())
}

fn observe_result(
    context: &Context<'_>,
    effect: Effect,
    labels: &mut Labels,
    named: &Named,
    changes: &mut Changes,
) -> Result<(), Missing> {
    let files_before = FileLabels::from_context(context)?;
    let shown = seen_result(context, &files_before, labels.contains(UNTRUSTED))?;
    apply(context, effect, &shown, labels, named, changes)?;
    note_changed_manifests(context, changes)?;
    let mut files = files_before.clone();
    label_files(context, labels, named, &mut files)?;
    if files != files_before {
        raise_new_labels(context, &files, labels)?;
        FileLabels::key().write(changes, &files)?;
    }
    Ok(())
}

/// Raises the labels of what was seen, or adds the destinations that it names. A result that is withheld raises labels as well: an
/// approver may still release it.
fn apply(
    context: &Context<'_>,
    effect: Effect,
    seen: &Seen,
    labels: &mut Labels,
    named: &Named,
    changes: &mut Changes,
) -> Result<(), Missing> {
    let mut raised: BTreeSet<(&str, Option<&str>)> = BTreeSet::new();
    for (label, source) in &seen.labels {
        if raised.insert((label.as_str(), source.from.as_deref())) {
            labels.raise(label, source);
        }
    }
    if seen.is_trusted && effect.allows() {
        named.add_trusted(context, context.name_digests()?, changes)?;
    }
    Ok(())
}

/// Adds the labels of the session to the files that the call wrote, and copies those of files that it copied. What it fetched from
/// elsewhere is untrusted.
fn label_files(
    context: &Context<'_>,
    labels: &Labels,
    named: &Named,
    files: &mut FileLabels,
) -> Result<(), Missing> {
    let action = context.action()?;
    let current: BTreeSet<String> = labels.names().map(str::to_owned).collect();
    let cloned: Vec<String> = cloned_folders(action).iter().map(|folder| format!("{folder}/")).collect();
    let has_fetched = !(action.fetched.is_empty() && cloned.is_empty());
    if current.is_empty() && files.is_empty() && !has_fetched {
        return Ok(());
    }
    let mut of_fetched = current.clone();
    if has_fetched && !is_fetched_from_known(context, action, named)? {
        of_fetched.insert(UNTRUSTED.to_owned());
    }
    let place = |path: &str| {
        let real = context.real_place(path, None)?.key;
        Ok::<_, Missing>(if path.ends_with('/') { format!("{}/", real.trim_end_matches('/')) } else { real })
    };
    if action.writes.len() + action.fetched.len() > MAX_FILES || action.copies.len() > MAX_FILES {
        let all: BTreeSet<String> = files.labels().into_iter().map(str::to_owned).chain(current).collect();
        files.add("/", &all);
        return Ok(());
    }
    let written: Vec<_> = action.writes.iter().map(|path| place(path)).collect();
    let fetched: Vec<_> = action.fetched.iter().chain(&cloned).map(|path| place(path)).collect();
    let copies: Vec<_> = action.copies.iter().map(|copy| (place(&copy.from), place(&copy.to))).collect();
    for (from, to) in copies {
        files.copy(&from?, &to?);
    }
    for place in written {
        files.add(&place?, &current);
    }
    for place in fetched {
        files.add(&place?, &of_fetched);
    }
    Ok(())
}

/// Raises the labels of files that the call both fetched and showed: `git clone x && cat x/README.md`.
fn raise_new_labels(context: &Context<'_>, files: &FileLabels, labels: &mut Labels) -> Result<(), Missing> {
    let action = context.action()?;
    let tool = context.event.tool_name().unwrap_or_default();
    let reads = action.reads.iter().take(MAX_FILES);
    let places: Vec<_> =
        reads.map(|path| Ok::<_, Missing>((path, context.real_place(path, None)?.key))).collect();
    for place in places {
        let (path, place) = place?;
        let source = Source::new(tool, Some(path), context.event.call_id());
        files.labels_of(&place).into_iter().for_each(|label| labels.raise(label, &source));
    }
    Ok(())
}

/// Whether a call fetches files only from repositories that the user named, or from trusted hosts.
fn is_fetched_from_known(context: &Context<'_>, action: &Action, named: &Named) -> Result<bool, Missing> {
    let is_trusted = |host: &String| {
        let labels = seen(context, Subject::Host(host))?;
        Ok::<_, Missing>(labels.is_some_and(|labels| labels.iter().all(|label| *label == TRUSTED)))
    };
    let trusted: Vec<bool> = action.hosts.iter().map(is_trusted).collect::<Result<_, _>>()?;
    if !trusted.is_empty() && !action.has_unknown_hosts && trusted.iter().all(|is| *is) {
        return Ok(true);
    }
    let addresses = action.commands.iter().flat_map(|call| &call.args).filter(|arg| arg.contains(':'));
    let are_named: Vec<_> = addresses.map(|address| is_named(context, named, address)).collect();
    let has_addresses = !are_named.is_empty();
    let are_named = available(context, are_named.into_iter().collect::<Result<Vec<bool>, Missing>>())?;
    Ok(has_addresses && are_named.is_some_and(|named| named.iter().all(|is| *is)))
}
