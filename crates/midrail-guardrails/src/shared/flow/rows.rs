//! Which rows of the policy's `labels` apply to a call, and which of them is the most specific.

use midrail_core::{Context, Key, LabelRow, Missing, TRUSTED, TRUSTED_HOSTS, TrustedHost, glob};
use midrail_shell::action::bare_name;
use serde_json::Value;

/// What a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject<'a> {
    /// The tool alone.
    Tool,
    /// A host.
    Host(&'a str),
    /// A file, by its path as the call spells it.
    File(&'a str),
    /// The sender of a prompt.
    Sender(&'a str),
}

/// How specific a selector is: a file or host is more so than a tool, a name than a pattern, a long pattern than a short one.
type Specificity = (u8, bool, usize);

/// The rows in force.
pub(super) fn rows<'a>(context: &Context<'a>) -> impl Iterator<Item = &'a LabelRow> + use<'a> {
    let now = context.event.time;
    // A row without a known time has not ended.
    context.label_rows().iter().filter(move |row| row.until.zip(now).is_none_or(|(until, now)| now < until))
}

/// Whether a person trusts a host at the time of the event. Their explicit answer counts more than any row.
pub(super) fn is_trusted_for_now(context: &Context<'_>, host: &str) -> Result<bool, Missing> {
    let Some(now) = context.event.time else { return Ok(false) };
    let host = host.strip_prefix("www.").unwrap_or(host);
    let hosts = Key::<Value>::new(TRUSTED_HOSTS).read(context)?;
    let mut hosts = TrustedHost::all(hosts.as_ref()).into_iter();
    Ok(hosts.any(|trusted| trusted.host == host && trusted.is_active_at(now)))
}

/// Whether a row names the tool of the call, by name or annotation.
pub(super) fn names_tool(row: &LabelRow, context: &Context<'_>) -> bool {
    tool_specificity(row, context).is_some()
}

/// The labels that the most specific rows give to what the agent sees through a subject. `None`: no row applies.
pub(super) fn seen<'a>(context: &Context<'a>, subject: Subject<'_>) -> Result<Option<Vec<&'a str>>, Missing> {
    if let Subject::Host(host) = subject
        && is_trusted_for_now(context, host)?
    {
        return Ok(Some(vec![TRUSTED]));
    }
    let mut best: Option<(Specificity, Vec<&'a str>)> = None;
    for row in rows(context).filter(|row| !row.seen.is_empty()) {
        let own = match subject {
            Subject::Tool => None,
            Subject::Host(host) => {
                let host = host.strip_prefix("www.").unwrap_or(host);
                strongest(&row.hosts, 1, |pattern| {
                    Ok(glob::name_matches(&pattern.to_ascii_lowercase(), host))
                })?
            }
            Subject::File(path) => strongest(&row.files, 1, |pattern| fits(context, pattern, path))?,
            Subject::Sender(sender) => {
                strongest(&row.senders, 1, |pattern| Ok(glob::name_matches(pattern, sender)))?
            }
        };
        let tool = if matches!(subject, Subject::Sender(_)) { None } else { tool_specificity(row, context) };
        let Some(specificity) = own.max(tool) else { continue };
        let labels = row.seen.iter().map(String::as_str);
        match &mut best {
            Some((known, _)) if *known > specificity => {}
            Some((known, seen)) if *known == specificity => seen.extend(labels),
            _ => best = Some((specificity, labels.collect())),
        }
    }
    Ok(best.map(|(_, labels)| labels))
}

/// Whether a path matches a pattern by one of its places. A path with wildcards that may match does.
fn fits(context: &Context<'_>, pattern: &str, path: &str) -> Result<bool, Missing> {
    let mut is_match = false;
    for place in context.places(path)? {
        is_match |= context.path_fits(pattern, &place)?.unwrap_or(true);
    }
    Ok(is_match)
}

fn tool_specificity(row: &LabelRow, context: &Context<'_>) -> Option<Specificity> {
    let tool = context.event.tool.as_ref()?;
    let is_match = |pattern: &str| {
        glob::name_matches(pattern, &tool.name) || glob::name_matches(pattern, bare_name(&tool.name))
    };
    let named = strongest(&row.tools, 0, |pattern| Ok(is_match(pattern))).ok().flatten();
    let has = |(name, wanted): (&String, &Value)| {
        tool.annotations.as_ref().and_then(|annotations| annotations.get(name)) == Some(wanted)
    };
    let is_annotated = !row.annotations.is_empty() && row.annotations.iter().all(has);
    named.or(is_annotated.then_some((0, false, 0)))
}

fn strongest(
    patterns: &[String],
    kind: u8,
    fits: impl Fn(&str) -> Result<bool, Missing>,
) -> Result<Option<Specificity>, Missing> {
    let mut best = None;
    for pattern in patterns {
        if fits(pattern)? {
            let literal = pattern.chars().filter(|c| !matches!(c, '*' | '?' | '{' | '}' | '[' | ']')).count();
            best = best.max(Some((kind, !glob::is_pattern(pattern), literal)));
        }
    }
    Ok(best)
}
