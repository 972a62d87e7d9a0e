//! The audit log over HTTP: search, one record with its proof, explanation, export and verification.

use std::io::{self, BufWriter, Write};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use jiff::Timestamp;
use midrail::core::{AuditRef, Record, Suppressed};
use midrail::reproduce::{DecisionChange, Reproduction, ReproductionResult};
use midrail::store::{AuditEntry, AuditFilter, Checkpoint, Labels, TrustAnchor, Verification};
use midrail::{Decision, Effect, EventKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Page, Query, Read, page_size};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::stream_body::{BodySender, stream_body};

/// Bytes of an export that are sent at a time.
const CHUNK: usize = 64 << 10;

/// The timeout for one chunk of an export.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A page of a list of records.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ListQuery {
    /// Only records of this session
    session: Option<String>,
    /// Only records of this kind of event
    kind: Option<EventKind>,
    /// Only records of this tool
    tool: Option<String>,
    /// Only records with this effect
    effect: Option<Effect>,
    /// Only records in which this guardrail decided or returned more than allow
    guardrail: Option<String>,
    /// Only records at or after this time
    since: Option<Timestamp>,
    /// Only records before this time
    until: Option<Timestamp>,
    /// List from the newest to the oldest
    newest_first: bool,
    /// Continue after this record
    after: Option<u64>,
    /// Records per page: 1 to 1000, by default 100
    limit: Option<usize>,
    /// Include the full records
    full: bool,
}

/// The records of an export that come with their content.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ExportQuery {
    /// Only records of this session
    session: Option<String>,
    /// Only records of this kind of event
    kind: Option<EventKind>,
    /// Only records of this tool
    tool: Option<String>,
    /// Only records with this effect
    effect: Option<Effect>,
    /// Only records in which this guardrail decided or returned more than allow
    guardrail: Option<String>,
    /// Only records at or after this time
    since: Option<Timestamp>,
    /// Only records before this time
    until: Option<Timestamp>,
}

/// A record as it is in the log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditRecord {
    /// Its number.
    pub(crate) seq: u64,
    /// Its index labels.
    pub(crate) labels: Labels,
    /// The hash of the record before it.
    pub(crate) prev: String,
    /// Its hash.
    pub(crate) hash: String,
    /// The hashed text of the record.
    pub(crate) body: String,
    /// The same text as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Value>,
    /// The first checkpoint that covers it. Absent: it is not signed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// How a decision was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// The record in short.
    #[serde(flatten)]
    pub(crate) line: RecordLine,
    /// The decision, with all verdicts.
    pub(crate) decision: Decision,
    /// The event, with secrets replaced.
    pub(crate) event: Value,
    /// The facts it was based on.
    pub(crate) facts: Value,
    /// The session slices it was based on.
    pub(crate) slices: Value,
    /// The result of replaying the record.
    pub(crate) replay: Replay,
    /// How the agent can request an approval, if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) how_to_ask: Option<String>,
}

/// The result of replaying a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Replay {
    /// `same`, `differs`, `unknown`, or `nothing` if the record has no decision.
    pub(crate) outcome: String,
    /// The fields that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<DecisionChange>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// Known facts about the log to verify it against.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogExpected")]
struct ExpectedLog {
    /// A record that must exist, noted earlier.
    #[serde(default)]
    head: Option<LogHead>,
    /// The keys that may have signed. Absent: every key that the log names.
    #[serde(default)]
    keys: Option<Vec<String>>,
}

/// A record and its hash.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogHead {
    /// Its number.
    seq: u64,
    /// Its hash.
    hash: String,
}

/// The result of a verification.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogVerified")]
struct VerificationResult {
    /// Whether the log is intact.
    sound: bool,
    /// Details.
    #[serde(flatten)]
    found: Verification,
}

pub(super) fn routes(api: Api) -> Api {
    api.group("audit")
        .get("/v1/audit", "list_records", "List records of the audit log")
        .json(Right::Read, list)
        .get(
            "/v1/audit/export",
            "export_log",
            "Export the log as JSON lines, which `midrail audit verify FILE` verifies without the store",
        )
        .long()
        .takes::<Query<ExportQuery>>()
        .answers(
            200,
            "The log. Records that the filters exclude, or that the key may not see, are exported as hashes only",
            Some(Content::text("application/jsonl")),
        )
        .handler(Right::Read, get(export))
        .post("/v1/audit/verify", "verify_log", "Verify the whole log")
        .long()
        .fails(&[409])
        .json(Right::ReadAll, verify)
        .get("/v1/audit/{seq}", "show_record", "Show a record as it is in the log, with its proof")
        .json(Right::Read, |caller, Named(seq): Named<u64>| audit_record(caller, seq))
        .get("/v1/audit/{seq}/explanation", "explain_record", "Explain a decision: every verdict, and a replay")
        .fails(&[409])
        .json(Right::Read, explain)
}

fn list(caller: &Caller, Query(query): Query<ListQuery>) -> HandlerResult<Page<RecordLine>> {
    let filter = AuditFilter {
        limit: Some(page_size(query.limit)?),
        newest_first: query.newest_first,
        after_seq: query.after,
        session: query.session,
        kind: query.kind,
        tool: query.tool,
        effect: query.effect,
        guardrail: query.guardrail,
        since: query.since,
        until: query.until,
    };
    page(caller, &filter, if query.full { RecordLine::with_record } else { RecordLine::new })
}

/// A page of the records that are visible to the caller.
pub(crate) fn page(
    caller: &Caller,
    filter: &AuditFilter,
    line: fn(&AuditEntry) -> RecordLine,
) -> HandlerResult<Page<RecordLine>> {
    let (entries, next) = caller.visibility().entries(&**caller.project.store(), filter)?;
    Ok(Page { items: entries.iter().map(line).collect(), next: next.map(|next| next.to_string()) })
}

/// A record, if it is visible to the caller.
pub(crate) fn entry(caller: &Caller, seq: u64) -> HandlerResult<AuditEntry> {
    let store = caller.project.store();
    let found = store.entry(seq)?.filter(|entry| caller.visibility().entry(entry));
    found.ok_or_else(|| {
        let problem = Problem::not_found(format!("there is no record {seq}"));
        match store.head() {
            _ if !caller.visibility().is_full() => problem,
            Ok(Some(head)) => problem.help(format!("the log has records 1 to {}", head.seq)),
            _ => problem.help("the log is empty"),
        }
    })
}

/// The decoded record.
pub(crate) fn decode_record(entry: &AuditEntry) -> HandlerResult<Record> {
    entry.record().map_err(|error| {
        Problem::refused(error.to_string()).help("POST /v1/audit/verify checks that the log was not changed")
    })
}

/// A record as it is in the log.
pub(crate) fn audit_record(caller: &Caller, seq: u64) -> HandlerResult<AuditRecord> {
    let AuditEntry { seq, labels, prev, hash, body, .. } = entry(caller, seq)?;
    let record = serde_json::from_str(&body).ok();
    let checkpoint = caller.project.store().checkpoints(seq.saturating_sub(1), 1)?.into_iter().next();
    Ok(AuditRecord { seq, labels, prev, hash, body, record, checkpoint })
}

fn explain(caller: &Caller, Named(seq): Named<u64>) -> HandlerResult<Explanation> {
    let project = &caller.project;
    let entry = entry(caller, seq)?;
    let record = decode_record(&entry)?;
    let replay = |outcome: &str, changes, why| Replay { outcome: outcome.to_owned(), changes, why };
    let replay = match Reproduction::new(&**project.store()).reproduce(&record)? {
        None => replay("nothing", Vec::new(), None),
        Some(ReproductionResult::Same) => replay("same", Vec::new(), None),
        Some(ReproductionResult::Differs(changes)) => replay("differs", changes, None),
        Some(ReproductionResult::Unknown(why)) => replay("unknown", Vec::new(), Some(why)),
    };
    let mut decision = record.decision;
    decision.audit = Suppressed(Some(AuditRef { seq, hash: entry.hash.clone() }));
    let mut body: Value = serde_json::from_str(&entry.body).unwrap_or_default();
    let mut part = |name: &str| body.get_mut(name).map(Value::take).unwrap_or_default();
    Ok(Explanation {
        line: RecordLine::new(&entry),
        how_to_ask: project.engine().approvals().guidance(&decision),
        decision,
        event: part("event"),
        facts: part("facts"),
        slices: part("slices"),
        replay,
    })
}

fn verify(caller: &Caller, Body(expected): Body<ExpectedLog>) -> HandlerResult<VerificationResult> {
    let anchor = TrustAnchor { head: expected.head.map(|head| (head.seq, head.hash)), keys: expected.keys };
    let found = verify_project_log(caller, &anchor)?;
    Ok(VerificationResult { sound: found.is_intact(), found })
}

/// Verifies the log of the caller's project. Only one verification runs at a time.
pub(crate) fn verify_project_log(caller: &Caller, anchor: &TrustAnchor) -> HandlerResult<Verification> {
    let _permit = caller.project.verifying.try_acquire().map_err(|_| {
        Problem::refused("this log is already being verified").help("wait until it is done").retry_after(5)
    })?;
    Ok(caller.project.store().verify(anchor, &mut |_, _| {})?)
}

async fn export(
    State(app): State<App>,
    caller: Caller,
    Read(Query(query)): Read<Query<ExportQuery>>,
) -> HandlerResult<Response> {
    let ExportQuery { session, kind, tool, effect, guardrail, since, until } = query;
    let filter =
        AuditFilter { session, kind, tool, effect, guardrail, since, until, ..AuditFilter::default() };
    let permit = caller.project.exporting.clone().try_acquire_owned();
    let permit = permit
        .map_err(|_| Problem::unavailable("too many exports of this log are running").retry_after(5))?;
    let (sender, body) = stream_body(2);
    let name = format!("midrail-audit-{}.jsonl", caller.project.name().replace('/', "-"));
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut out = BufWriter::with_capacity(CHUNK, BodyWriter { app, sender, to: Handle::current() });
        let (store, visibility) = (caller.project.store(), caller.visibility());
        if let Err(error) = store.export_shown(&filter, &|entry| visibility.entry(entry), &mut out) {
            log::warn!(project = caller.project.name(), error:%; "an export was aborted");
            // The connection is closed with an error, so that an incomplete export is recognised.
            let _ = out.into_parts().0.send(Err(io::Error::other("the export was aborted")));
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/jsonl".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, body).into_response())
}

/// Sends written bytes, and waits until they are read.
struct BodyWriter {
    app: App,
    sender: BodySender,
    to: Handle,
}

impl BodyWriter {
    fn send(&self, piece: io::Result<Bytes>) -> io::Result<()> {
        self.to.block_on(async {
            tokio::select! {
                sent = timeout(READ_TIMEOUT, self.sender.send(piece)) => match sent {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(_)) => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
                    Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
                },
                () = self.app.closed() => Err(io::Error::from(io::ErrorKind::Interrupted)),
            }
        })
    }
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(Ok(Bytes::copy_from_slice(bytes))).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
