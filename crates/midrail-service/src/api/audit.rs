//! The audit log: search, one record with its proof, what a decision was made from, export and verification.

use std::io::{self, Write};
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use midrail::core::Record;
use midrail::reproduce::{DecisionChange, Reproduction, ReproductionResult};
use midrail::store::{AuditEntry, AuditFilter, Checkpoint, Labels, TrustAnchor, Verification};
use midrail::{Decision, Effect, EventKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::access::{Caller, Right};
use crate::api::input::{Body, Named, Page, Query, page_size};
use crate::api::openapi::{Content, Lifetime, Operation, Place};
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::stream_body::{BodySender, stream_body};

/// Bytes of an export that are sent at a time.
const CHUNK: usize = 64 << 10;

/// The timeout for one chunk of an export.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Which records.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    kind: Option<EventKind>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    guardrail: Option<String>,
    #[serde(default)]
    since: Option<Timestamp>,
    #[serde(default)]
    until: Option<Timestamp>,
    #[serde(default)]
    newest_first: bool,
    #[serde(default)]
    after: Option<u64>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    full: bool,
}

/// Which records of an export come with their content.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    kind: Option<EventKind>,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    effect: Option<Effect>,
    #[serde(default)]
    guardrail: Option<String>,
    #[serde(default)]
    since: Option<Timestamp>,
    #[serde(default)]
    until: Option<Timestamp>,
}

/// A record as it audit_record in the log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditRecord {
    /// Its number.
    pub(crate) seq: u64,
    /// What it is found by.
    pub(crate) labels: Labels,
    /// The hash of the record before it.
    pub(crate) prev: String,
    /// Its hash.
    pub(crate) hash: String,
    /// The record as it was hashed, byte for byte.
    pub(crate) body: String,
    /// The same as a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<Value>,
    /// The first signature that covers it. Absent: it comes after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// How a decision came about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Explanation {
    /// The record in short.
    #[serde(flatten)]
    pub(crate) line: RecordLine,
    /// The decision, with what each guardrail said.
    pub(crate) decision: Decision,
    /// The event, with secrets replaced.
    pub(crate) event: Value,
    /// What was known of the world.
    pub(crate) facts: Value,
    /// What was known of the session.
    pub(crate) slices: Value,
    /// Whether it comes out the same when it is made again from what was recorded.
    pub(crate) replay: Replay,
    /// How the agent can ask a person, where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) how_to_ask: Option<String>,
}

/// What came of making a decision again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Replay {
    /// `same`, `differs`, `unknown`, or `nothing` where there was nothing to decide.
    pub(crate) outcome: String,
    /// Where it differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<DecisionChange>,
    /// Why it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// What is known of the log from elsewhere.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LogExpected")]
struct ExpectedLog {
    /// A record that must be there, as it was once noted down.
    #[serde(default)]
    head: Option<LogHead>,
    /// The names of the keys that may have signed. Absent: every key that the log itself names.
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

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogVerified")]
struct VerificationResult {
    /// Whether everything fits.
    sound: bool,
    /// What was found.
    #[serde(flatten)]
    found: Verification,
}

fn with_filters(operation: Operation) -> Operation {
    operation
        .with::<Option<String>>(Place::Query, "session", "Those of this session")
        .with::<Option<EventKind>>(Place::Query, "kind", "Those of this kind of event")
        .with::<Option<String>>(Place::Query, "tool", "Those of this tool")
        .with::<Option<Effect>>(Place::Query, "effect", "Those with this effect")
        .with::<Option<String>>(
            Place::Query,
            "guardrail",
            "Those that this guardrail decided, or in which it said more than allow",
        )
        .with::<Option<Timestamp>>(Place::Query, "since", "Those at or after this time")
        .with::<Option<Timestamp>>(Place::Query, "until", "Those before this time")
}

pub(super) fn routes(api: Api) -> Api {
    let of = |method, path, id, summary| Operation::new(method, path, id, "audit", summary);
    let list = with_filters(of("get", "/v1/audit", "list_records", "Lists records of the audit log"))
        .with::<bool>(Place::Query, "newest_first", "From the newest to the oldest")
        .with::<Option<u64>>(Place::Query, "after", "Go on after this record")
        .with::<Option<usize>>(Place::Query, "limit", "Records of a page: 1 to 1000, usually 100")
        .with::<bool>(Place::Query, "full", "With the whole records")
        .gives::<Page<RecordLine>>("Records. After the last page `next` is absent")
        .fails(&[504]);
    let export = with_filters(of(
        "get",
        "/v1/audit/export",
        "export_log",
        "Exports the log as JSON lines that verify on their own: `midrail audit verify FILE`",
    ))
    .answers(
        200,
        "The log. Of records that the filters leave out, or that the key may not see, only the hashes are there",
        Some(Content::text("application/jsonl")),
    );
    let verify =
        of("post", "/v1/audit/verify", "verify_log", "Goes through the whole log and tells whether it fits")
            .takes::<ExpectedLog>()
            .gives::<VerificationResult>("What was found")
            .fails(&[409]);
    let one = |path, id, summary| {
        of("get", path, id, summary).with::<u64>(Place::Path, "seq", "The number of the record").fails(&[504])
    };
    let show =
        one("/v1/audit/{seq}", "show_record", "Shows a record as it audit_record in the log, with its proof")
            .gives::<AuditRecord>("The record");
    let explain = one(
        "/v1/audit/{seq}/explanation",
        "explain_record",
        "Tells how a decision came about, verdict by verdict, and makes it again",
    )
    .gives::<Explanation>("How it came about")
    .fails(&[409, 504]);
    api.route(list, Right::Read, Lifetime::Short, get(records))
        .route(export, Right::Read, Lifetime::Long, get(export_log))
        .route(verify, Right::ReadAll, Lifetime::Long, post(verify_log))
        .route(show, Right::Read, Lifetime::Short, get(record))
        .route(explain, Right::Read, Lifetime::Short, get(explanation))
}

async fn records(caller: Caller, Query(query): Query<ListQuery>) -> HandlerResult<Json<Page<RecordLine>>> {
    let limit = page_size(query.limit)?;
    let filter = AuditFilter {
        session: query.session,
        kind: query.kind,
        tool: query.tool,
        effect: query.effect,
        guardrail: query.guardrail,
        since: query.since,
        until: query.until,
        newest_first: query.newest_first,
        after_seq: query.after,
        limit: Some(limit),
    };
    let line = if query.full { RecordLine::with_record } else { RecordLine::new };
    blocking(move || Ok(Json(page(&caller, &filter, line)?))).await
}

/// A page of the records that are visible to the caller.
pub(crate) fn page(
    caller: &Caller,
    filter: &AuditFilter,
    line: fn(&AuditEntry) -> RecordLine,
) -> HandlerResult<Page<RecordLine>> {
    let (entries, next) = caller.visibility().entries(&**caller.project().store(), filter)?;
    Ok(Page { items: entries.iter().map(line).collect(), next: next.map(|next| next.to_string()) })
}

/// A record, if it is visible to the caller.
pub(crate) fn entry(caller: &Caller, seq: u64) -> HandlerResult<AuditEntry> {
    let store = caller.project().store();
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

/// What a record says, where it can be read.
pub(crate) fn decode_record(entry: &AuditEntry) -> HandlerResult<Record> {
    entry.record().map_err(|error| {
        Problem::refused(error.to_string())
            .help("POST /v1/audit/verify tells whether it is as it was written")
    })
}

async fn record(caller: Caller, Named(seq): Named<u64>) -> HandlerResult<Json<AuditRecord>> {
    blocking(move || Ok(Json(audit_record(&caller, seq)?))).await
}

/// A record as it audit_record in the log.
pub(crate) fn audit_record(caller: &Caller, seq: u64) -> HandlerResult<AuditRecord> {
    let AuditEntry { seq, labels, prev, hash, body } = entry(caller, seq)?;
    let record = serde_json::from_str(&body).ok();
    let checkpoint = caller.project().store().checkpoints(seq.saturating_sub(1), 1)?.into_iter().next();
    Ok(AuditRecord { seq, labels, prev, hash, body, record, checkpoint })
}

async fn explanation(caller: Caller, Named(seq): Named<u64>) -> HandlerResult<Json<Explanation>> {
    blocking(move || Ok(Json(explain(&caller, seq)?))).await
}

/// How a decision came about.
pub(crate) fn explain(caller: &Caller, seq: u64) -> HandlerResult<Explanation> {
    let project = caller.project();
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
    decision.audit =
        midrail::core::Suppressed(Some(midrail::core::AuditRef { seq, hash: entry.hash.clone() }));
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

async fn verify_log(
    caller: Caller,
    Body(known): Body<ExpectedLog>,
) -> HandlerResult<Json<VerificationResult>> {
    let expect = TrustAnchor { head: known.head.map(|head| (head.seq, head.hash)), keys: known.keys };
    let found = verify_project_log(caller, expect).await?;
    Ok(Json(VerificationResult { sound: found.is_intact(), found }))
}

/// Goes through the log of the caller's project, one at a time.
pub(crate) async fn verify_project_log(caller: Caller, expect: TrustAnchor) -> HandlerResult<Verification> {
    let place = caller.project().verifying().clone().try_acquire_owned();
    let place = place.map_err(|_| {
        Problem::refused("this log is being verified already").help("wait until that is done").retry_after(5)
    })?;
    blocking(move || {
        let _place = place;
        Ok(caller.project().store().verify(&expect, &mut |_, _| {})?)
    })
    .await
}

async fn export_log(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ExportQuery>,
) -> HandlerResult<Response> {
    let filter = AuditFilter {
        session: query.session,
        kind: query.kind,
        tool: query.tool,
        effect: query.effect,
        guardrail: query.guardrail,
        since: query.since,
        until: query.until,
        ..AuditFilter::default()
    };
    let place = caller.project().exporting().clone().try_acquire_owned();
    let place = place
        .map_err(|_| Problem::unavailable("this log is being exported by others already").retry_after(5))?;
    let (sender, body) = stream_body(2);
    let name = format!("midrail-audit-{}.jsonl", caller.project().name().replace('/', "-"));
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut out = ChunkWriter { app, sender, kept: Vec::with_capacity(CHUNK), to: Handle::current() };
        let (store, visibility) = (caller.project().store(), caller.visibility());
        if let Err(error) = store.export_shown(&filter, &|entry| visibility.entry(entry), &mut out) {
            log::warn!(project = caller.project().name(), error:%; "an export was broken off");
            // The connection is closed with an error, so that an incomplete export is recognised.
            let _ = out.send(Err(io::Error::other("the export was broken off")));
        }
    });
    let headers = [
        (CONTENT_TYPE, "application/jsonl".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((headers, body).into_response())
}

/// Sends what is written in pieces, and waits until they are read.
struct ChunkWriter {
    app: App,
    sender: BodySender,
    kept: Vec<u8>,
    to: Handle,
}

impl ChunkWriter {
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

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::replace(&mut self.kept, Vec::with_capacity(CHUNK)));
        self.send(Ok(piece))
    }
}
