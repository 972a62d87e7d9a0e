//! The state of the proxy: open requests of both sides, requests that wait for approvers, and sessions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use midrail::core::McpServer;
use midrail::{Event, ToolCall};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::sealed_questions::SealedQuestions;
use crate::relay::{Decide, OpenRequests, PendingApproval, RelayOutput, Side, Stream};
use crate::rpc;

/// The name of this host in events and records.
pub(super) const NAME: &str = "mcp";

/// How often a client receives a notification that a call waits for an approver, in milliseconds.
const PROGRESS_EVERY: u64 = 5_000;

/// The name of a side in messages.
pub(super) fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "the MCP client",
        Side::Server => "the MCP server",
    }
}

/// The options of a proxy.
#[derive(Debug, Clone, Default)]
pub struct ProxyOptions {
    /// The server behind it.
    pub server: McpServer,
    /// The folder that the client works in.
    pub cwd: Option<String>,
    /// A text that no other proxy has, for ids and sessions.
    pub nonce: String,
    /// Who the client is, if it has proved that. Its sessions of the modern era are its own.
    pub caller: Option<String>,
    /// The sessions of the modern era that have started, if other proxies have the same.
    pub known: Option<KnownSessions>,
}

/// The names of sessions that have started.
pub type KnownSessions = Arc<Mutex<BTreeSet<String>>>;

/// The most names of sessions that are remembered. A session that starts again loses nothing.
pub(super) const MAX_KNOWN: usize = 10_000;

/// The proxy.
pub struct Proxy {
    pub(super) decide: Decide,
    pub(super) options: ProxyOptions,
    pub(super) now: u64,
    /// The client's name.
    pub(super) client: Option<String>,
    /// Whether the client can ask its user.
    pub(super) can_elicit: bool,
    /// The sessions that have started. Those of the modern era belong to a client, not to this process.
    pub(super) sessions: BTreeSet<String>,
    pub(super) requests: OpenRequests<OpenRequest>,
    /// Requests that wait for approvers, by number.
    pub(super) held: BTreeMap<u64, Held>,
    pub(super) withheld: WithheldLists,
    pub(super) questions: Option<SealedQuestions>,
    /// What the server may send unasked.
    pub(super) unasked: Allowance,
}

/// How many messages with text a server may send unasked: each is decided and recorded.
pub(super) struct Allowance {
    left: u64,
    since: u64,
}

/// The most such messages at once, and in each second after them.
const UNASKED: u64 = 1_000;
const UNASKED_PER_SECOND: u64 = 20;

impl Allowance {
    fn new() -> Self {
        Allowance { left: UNASKED, since: 0 }
    }

    /// Whether another message is allowed at a time in milliseconds.
    pub(super) fn take(&mut self, now: u64) -> bool {
        let seconds = now.saturating_sub(self.since) / 1_000;
        self.since = self.since.saturating_add(seconds.saturating_mul(1_000));
        self.left = self.left.saturating_add(seconds.saturating_mul(UNASKED_PER_SECOND)).min(UNASKED);
        let is_allowed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_allowed
    }
}

/// A request that has no answer yet.
pub(super) struct OpenRequest {
    /// The stream on which it came.
    pub(super) stream: Stream,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) session: String,
    pub(super) is_modern: bool,
    pub(super) state: OpenState,
}

/// Returns how many definitions of the server wait for a person. `None`: it is not known.
pub type CountWaiting = Box<dyn Fn() -> Option<usize> + Send>;

/// What was withheld from lists of this process.
#[derive(Default)]
pub(super) struct WithheldLists {
    pub(super) count_waiting: Option<CountWaiting>,
    /// The notifications for the lists.
    pub(super) notifications: BTreeSet<&'static str>,
    pub(super) waiting: usize,
    pub(super) next_check: Option<u64>,
}

/// What is known about an open request.
pub(super) enum OpenState {
    /// It was not forwarded yet.
    Held,
    /// It was forwarded. Its answer is judged as the result of this call, if there is one.
    Forwarded(Option<ToolCall>),
    /// Midrail asks the user of the client about this request.
    Question(Box<GatedRequest>),
}

/// A message that is decided before it is forwarded.
pub(super) struct GatedRequest {
    pub(super) from: Side,
    /// The stream on which it came.
    pub(super) stream: Stream,
    /// `None`: it is a notification or an answer.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) session: String,
    pub(super) is_modern: bool,
    pub(super) progress: Option<Value>,
    /// The line as it came, or with changed arguments.
    pub(super) line: String,
    /// The events that must be allowed, in this order.
    pub(super) events: VecDeque<Event>,
    /// The call that its answer is the result of.
    pub(super) call: Option<ToolCall>,
    /// The user has allowed the call, which is its first event.
    pub(super) is_answered: bool,
}

/// A request that waits for an approver.
pub(super) struct Held {
    pub(super) request: GatedRequest,
    pub(super) reason: String,
    /// When the next notification is due.
    pub(super) next_progress: Option<u64>,
    reports: u64,
}

impl Proxy {
    /// A proxy without sessions.
    pub fn new(options: ProxyOptions, decide: Decide) -> Self {
        Proxy {
            decide,
            requests: OpenRequests::new(&options.nonce),
            options,
            now: 0,
            client: None,
            can_elicit: false,
            sessions: BTreeSet::new(),
            held: BTreeMap::new(),
            withheld: WithheldLists::default(),
            questions: None,
            unasked: Allowance::new(),
        }
    }

    /// The open requests of a sender.
    pub(super) fn open(&mut self, sender: Side) -> &mut BTreeMap<String, OpenRequest> {
        self.requests.of(sender)
    }

    /// Keeps a request until an approver answers.
    pub(super) fn hold(&mut self, request: GatedRequest, reason: String, out: &mut RelayOutput) {
        let Some(event) = request.events.front().cloned() else { return };
        let number = self.requests.next_number();
        out.holds.push(PendingApproval { number, event });
        let next_progress = request.progress.is_some().then_some(self.now);
        self.held.insert(number, Held { request, reason, next_progress, reports: 0 });
        self.report_progress(out);
    }

    /// Reports to clients that sent a token that their calls wait.
    pub(super) fn report_progress(&mut self, out: &mut RelayOutput) {
        for held in self.held.values_mut() {
            let Some(token) = &held.request.progress else { continue };
            if held.next_progress.is_some_and(|due| due <= self.now) {
                held.reports = held.reports.saturating_add(1);
                held.next_progress = Some(self.now.saturating_add(PROGRESS_EVERY));
                let params =
                    json!({"progressToken": token, "progress": held.reports, "message": held.reason});
                out.on(held.request.stream).send(
                    Side::Client,
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
                );
            }
        }
    }
}

/// The id of the request that a line answers, if the line is cut off or too deep to be read.
pub(super) fn answered_id(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut start = 0;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' if in_string => {
                in_string = false;
                if depth == 1 && text.get(start..at) == Some("id") {
                    let rest = text.get(at..)?.strip_prefix('"')?.trim_start().strip_prefix(':')?;
                    let id = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
                    return Some(rpc::key(&id));
                }
            }
            '"' => {
                in_string = true;
                start = at + 1;
            }
            '{' | '[' if !in_string => depth = depth.saturating_add(1),
            '}' | ']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}
