//! The records that the subcommands of `midrail audit` select.

use jiff::Timestamp;
use midrail::store::{AuditEntry, AuditFilter, pages};
use midrail::{Effect, EventKind, Store};
use serde_json::{Value, json};

use crate::error::{CliError, CliResult};
use crate::input::{StoreArgs, guardrail_name};
use crate::time;

/// Filters of records. All given filters must match. Times are RFC 3339, a day, or a duration ago: 2h, 3d.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Records {
    /// Only records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only records in which this guardrail decided or returned more than allow
    #[arg(long, value_name = "ID", value_parser = guardrail_name)]
    guardrail: Option<String>,
    /// Only records with this effect: allow, warn, redact, contain, retry, escalate, block, halt
    #[arg(long, value_name = "EFFECT")]
    effect: Option<Effect>,
    /// Only records of this event kind
    #[arg(long, value_name = "KIND")]
    kind: Option<EventKind>,
    /// Only records of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only records since this time: 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    until: Option<Timestamp>,
}

impl Records {
    pub(crate) fn filter(&self) -> AuditFilter {
        AuditFilter {
            session: self.session.clone(),
            guardrail: self.guardrail.clone(),
            effect: self.effect,
            kind: self.kind,
            tool: self.tool.clone(),
            since: self.since,
            until: self.until,
            ..AuditFilter::default()
        }
    }
}

/// Visits all records that match a filter, page by page.
pub(crate) fn each(
    store: &dyn Store,
    filter: AuditFilter,
    mut work: impl FnMut(&AuditEntry) -> CliResult<()>,
) -> CliResult<()> {
    for page in pages(store, filter, usize::MAX) {
        page?.iter().try_for_each(&mut work)?;
    }
    Ok(())
}

/// A record of the log, for programs.
pub(crate) fn as_json(entry: &AuditEntry) -> CliResult<Value> {
    let body = entry
        .json()
        .map_err(|error| CliError::new(format!("record {} cannot be read: {error}", entry.seq)))?;
    Ok(json!({"seq": entry.seq, "prev": entry.prev, "hash": entry.hash, "record": body}))
}

/// The error of an unknown record.
pub(crate) fn no_record(file: &StoreArgs, store: &dyn Store, seq: u64) -> CliError {
    let name = file.display_path().map(|name| name.display().to_string()).unwrap_or_default();
    let failure = CliError::new(format!("there is no record {seq} in `{name}`"));
    match store.head() {
        Ok(Some(head)) => failure.help(format!("the log has records 1 to {}", head.seq)),
        _ => failure.help("the log is empty"),
    }
}
