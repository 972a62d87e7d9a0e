//! Server-sent events of a project: every reader receives the records in order from its own position. A reader that
//! reconnects with its last id misses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use midrail::Effect;
use midrail::store::{Alert, Approval, AuditFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until, timeout};

use crate::access::{Caller, Right, Visibility};
use crate::app::App;
use crate::blocking::blocking;
use crate::live::follow::Listener;
use crate::problem::{HandlerResult, Problem};
use crate::record_line::RecordLine;
use crate::stream_body::{BodySender, stream_body};

/// The interval of heartbeats, which keep proxies from closing an idle stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The timeout for reading a chunk. Slower readers are dropped.
const READ_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 10_000 });

/// How long a stream lasts. Readers reconnect, and are authenticated again.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// The least interval between checks that a reader is still authorised, before something is sent.
const RECHECK: Duration = Duration::from_secs(1);

/// The interval of these checks while nothing is sent.
const IDLE_RECHECK: Duration = Duration::from_secs(3);

/// Records that are read at a time.
const PAGE: usize = 200;

/// Alerts that are looked at.
const ALERTS: usize = 50;

/// Pieces that wait to be read.
const BUFFERED_CHUNKS: usize = 8;

/// A live event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "they are short-lived")]
pub(crate) enum LiveEvent {
    /// An event was decided.
    Decision(RecordLine),
    /// A request to a person was made, answered or changed.
    Approval(ApprovalEvent),
    /// Another administrative change: a pause, a lock.
    Change(RecordLine),
    /// An alert was raised.
    Alert(Alert),
}

/// A request to a person, and the record of its change.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ApprovalEvent {
    /// The record.
    pub(crate) record: RecordLine,
    /// The request as it is now.
    pub(crate) approval: Approval,
    /// Its current status.
    pub(crate) status: String,
}

impl LiveEvent {
    /// Whether a reader may see it.
    fn is_visible(&self, visibility: Visibility<'_>) -> bool {
        match self {
            LiveEvent::Decision(line) | LiveEvent::Change(line) => visibility.line(line),
            LiveEvent::Approval(checked) => visibility.approval(&checked.approval),
            LiveEvent::Alert(_) => visibility.is_full(),
        }
    }

    /// The name of the event on the wire.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            LiveEvent::Decision(_) => "decision",
            LiveEvent::Approval(_) => "approval",
            LiveEvent::Change(_) => "change",
            LiveEvent::Alert(_) => "alert",
        }
    }
}

/// The filter of a reader. All set fields must match.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LiveFilter {
    /// Only decisions with this effect
    pub(crate) effect: Option<Effect>,
    /// Only decisions with this effect or a higher one
    pub(crate) at_least: Option<Effect>,
    /// Only events of this session
    pub(crate) session: Option<String>,
    /// Only decisions in which this guardrail returned more than allow, and its requests
    pub(crate) guardrail: Option<String>,
    /// Only events of this tool
    pub(crate) tool: Option<String>,
    /// Start after this record, not with new events
    pub(crate) after: Option<u64>,
}

impl LiveFilter {
    fn fits(&self, event: &LiveEvent) -> bool {
        let is = |filter: &Option<String>, value: Option<&str>| {
            filter.as_ref().is_none_or(|filter| value == Some(filter.as_str()))
        };
        match event {
            LiveEvent::Decision(line) => {
                let effect = line.effect.parse::<Effect>().ok();
                self.effect.is_none_or(|filter| effect == Some(filter))
                    && self.at_least.is_none_or(|least| effect >= Some(least))
                    && is(&self.session, Some(&line.session))
                    && is(&self.tool, line.tool.as_deref())
                    && self.guardrail.as_ref().is_none_or(|id| line.guardrails.contains(id))
            }
            LiveEvent::Approval(checked) => {
                is(&self.session, Some(&checked.approval.session))
                    && is(&self.guardrail, Some(&checked.approval.guardrail))
                    && is(&self.tool, checked.approval.tool.as_deref())
            }
            LiveEvent::Change(line) => {
                is(&self.session, Some(&line.session)) && self.guardrail.is_none() && self.tool.is_none()
            }
            LiveEvent::Alert(_) => self.session.is_none() && self.guardrail.is_none() && self.tool.is_none(),
        }
    }
}

/// Renders an event for the wire. `None`: it is not sent.
pub(crate) type Render = dyn Fn(&LiveEvent) -> Option<String> + Send + Sync;

/// Events in order, each with the id to reconnect with.
type EventPage = Vec<(LiveEvent, Option<u64>)>;

/// The position of a reader.
pub(crate) struct Feed {
    caller: Caller,
    filter: LiveFilter,
    /// The last record that was read.
    cursor: u64,
    /// Alerts that the reader knows, or that are older than the stream.
    known: BTreeSet<(Timestamp, String, String)>,
}

impl Feed {
    /// Starts after the record of the filter, or with new events.
    pub(crate) fn begin(caller: Caller, filter: LiveFilter) -> HandlerResult<Self> {
        let store = caller.project.store();
        let head = store.head()?.map_or(0, |head| head.seq);
        // A position after the head belongs to another log.
        let cursor = filter.after.filter(|after| *after <= head).unwrap_or(head);
        let last = match filter.after {
            Some(_) => store.entry(cursor)?.map(|entry| entry.labels.time),
            None => None,
        };
        let alerts = store.alerts(ALERTS)?.into_iter();
        let known = alerts.filter(|alert| last.is_none_or(|last| alert.fired_at < last)).map(|it| key(&it));
        let known = known.collect();
        Ok(Feed { caller, filter, cursor, known })
    }

    /// The next page of events, each with the id to reconnect with, and whether there may be more.
    pub(crate) fn next(&mut self) -> HandlerResult<(EventPage, bool)> {
        let store = self.caller.project.store().clone();
        let filter = AuditFilter {
            session: self.filter.session.clone(),
            after_seq: Some(self.cursor),
            limit: Some(PAGE),
            ..AuditFilter::default()
        };
        let head = store.head()?.map_or(0, |head| head.seq);
        let page = store.entries(&filter)?;
        let mut events = Vec::new();
        for entry in &page {
            let line = RecordLine::new(entry);
            if let Some(id) = &line.approval
                && let Some(approval) = store.approval(id)?
            {
                let status = approval.status_at(self.caller.project.engine().now()).to_owned();
                let approval = Approval { seal: None, ..approval };
                let checked = ApprovalEvent { record: line.clone(), approval, status };
                // INVARIANT: the id comes with the last event of a record, so that none of them is missed.
                let id = (!line.is_decision()).then_some(entry.seq);
                events.push((LiveEvent::Approval(checked), id));
                if !line.is_decision() {
                    continue;
                }
            }
            let event = if line.is_decision() { LiveEvent::Decision(line) } else { LiveEvent::Change(line) };
            events.push((event, Some(entry.seq)));
        }
        self.cursor = page.last().map_or(self.cursor.max(head), |last| last.seq);
        if page.is_empty() {
            let mut alerts = store.alerts(ALERTS)?;
            alerts.reverse();
            let new = alerts.into_iter().filter(|alert| !self.known.contains(&key(alert)));
            let new: Vec<Alert> = new.collect();
            self.known.extend(new.iter().map(key));
            while self.known.len() > 2 * ALERTS {
                self.known.pop_first();
            }
            events.extend(new.into_iter().map(|alert| (LiveEvent::Alert(alert), None)));
        }
        let visibility = self.caller.visibility();
        events.retain(|(event, _)| event.is_visible(visibility) && self.filter.fits(event));
        Ok((events, !page.is_empty()))
    }
}

fn key(alert: &Alert) -> (Timestamp, String, String) {
    (alert.fired_at, alert.name.clone(), alert.key.clone())
}

/// The reader of a stream, with its credentials.
pub(crate) struct Reader {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) headers: HeaderMap,
}

impl Reader {
    /// Whether the reader is still authorised.
    async fn is_authorised(&self) -> HandlerResult<bool> {
        let who = self.app.authenticator.identify(&self.headers, Right::Read).await?;
        Ok(who.is_some_and(|who| who.may(Right::Read) && self.caller.is_still(&who)))
    }
}

/// A stream of live events until the reader disconnects, is too slow or not authorised any more, or the service
/// stops.
pub(crate) async fn stream(reader: Reader, filter: LiveFilter, show: Arc<Render>) -> HandlerResult<Response> {
    let (caller, project) = (reader.caller.clone(), &reader.caller.project);
    // Listen before reading the start position, so that no event is missed.
    let listener = project.live.listen(project.store())?;
    let feed = blocking(move || Feed::begin(caller, filter)).await?;
    let (sender, body) = stream_body(BUFFERED_CHUNKS + 1);
    // A slot is reserved for the closing event, so that it can be sent to a slow reader.
    let last = sender.clone().reserve_owned().await;
    let last = last.map_err(|_| Problem::internal("the stream was closed before it began"))?;
    tokio::spawn(async move {
        if let Some(why) = fill(&reader, feed, listener, &sender, &show).await {
            last.send(Ok(Bytes::from(why)));
        }
    });
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

/// Fills a stream, and returns its closing event, if there is one.
async fn fill(
    reader: &Reader,
    mut feed: Feed,
    mut listener: Listener,
    sender: &BodySender,
    show: &Arc<Render>,
) -> Option<String> {
    let app = &reader.app;
    let end = Instant::now() + LONGEST;
    let mut checked = Instant::now();
    let mut beat = Instant::now() + HEARTBEAT;
    let mut text = "retry: 1000\n\n".to_owned();
    loop {
        listener.catch_up();
        if checked.elapsed() >= RECHECK {
            match reader.is_authorised().await {
                Ok(true) => checked = Instant::now(),
                Ok(false) => {
                    return Some(closing_event("ended", "the key or the login is not valid any more"));
                }
                Err(problem) => return Some(closing_event("failed", &problem.detail)),
            }
        }
        let (at, render) = (feed.cursor, show.clone());
        let read = blocking(move || {
            let (events, more) = feed.next()?;
            let shown: String = events.iter().filter_map(|(it, id)| event(it, *id, &*render)).collect();
            Ok((feed, shown, more))
        });
        let more;
        let shown;
        (feed, shown, more) = match read.await {
            Ok(read) => read,
            Err(problem) => return Some(closing_event("failed", &problem.detail)),
        };
        text.push_str(&shown);
        // A reader whose filter matches nothing still receives its position.
        if text.is_empty() && feed.cursor > at {
            text = format!("id: {}\nevent: passed\ndata: {{}}\n\n", feed.cursor);
        }
        if !text.is_empty() {
            let piece = Ok(Bytes::from(std::mem::take(&mut text)));
            match timeout(READ_TIMEOUT, sender.send(piece)).await {
                Ok(Ok(())) => beat = Instant::now() + HEARTBEAT,
                Ok(Err(_)) => return None,
                Err(_) => {
                    return Some(closing_event("dropped", "events were not read in time; reconnect"));
                }
            }
        }
        if app.is_closing() {
            return Some(closing_event("ended", "the service is being stopped"));
        }
        if more {
            continue;
        }
        tokio::select! {
            () = listener.news() => {}
            () = sleep_until(checked + IDLE_RECHECK) => {}
            () = sleep_until(beat) => text = ": heartbeat\n\n".to_owned(),
            () = sleep_until(end) => return Some(closing_event("ended", "reconnect")),
            () = sender.closed() => return None,
            () = app.closed() => return Some(closing_event("ended", "the service is being stopped")),
        }
    }
}

fn event(event: &LiveEvent, id: Option<u64>, show: &Render) -> Option<String> {
    let shown = show(event)?;
    let mut text = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    text.push_str(&format!("event: {}\n", event.name()));
    for line in shown.lines() {
        text.push_str(&format!("data: {line}\n"));
    }
    text.push('\n');
    Some(text)
}

fn closing_event(name: &str, why: &str) -> String {
    format!("event: {name}\ndata: {}\n\n", serde_json::json!({"reason": why}))
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin;

    use axum::body::to_bytes;
    use hyper::body::Body as _;
    use midrail::{Event, Load};

    use super::*;
    use crate::config::{At, Config};
    use crate::project::HOME;

    fn app() -> App {
        let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
        App::open(Config::new(At::Address("127.0.0.1:0".parse().unwrap()), load)).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn slow_reader_is_dropped_and_can_reconnect() {
        let app = app();
        let project = app.projects.get(HOME).unwrap();
        let count = u64::try_from((BUFFERED_CHUNKS + 2) * PAGE).unwrap();
        for _ in 0..count {
            let event = Event::before_tool("Read", serde_json::json!({"file_path": "a"})).in_session("s");
            project.engine().decide(event);
        }
        let show = || Arc::new(|it: &LiveEvent| serde_json::to_string(it).ok());
        let reader = || Reader {
            app: app.clone(),
            caller: Caller { identity: crate::access::Identity::Anyone, project: project.clone() },
            headers: HeaderMap::new(),
        };
        let open =
            |after| stream(reader(), LiveFilter { after: Some(after), ..LiveFilter::default() }, show());
        let ids = |text: &str| -> Vec<u64> {
            text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
        };
        // The reader does not read until the timeout: the buffer is full.
        let body = open(0).await.unwrap().into_body();
        while project.live.listeners() > 0 {
            tokio::task::yield_now().await;
        }
        let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        let last = text.lines().filter_map(|line| line.strip_prefix("event: ")).next_back();
        assert_eq!(last, Some("dropped"));
        let mut received = ids(&text);
        assert!(received.len() < usize::try_from(count).unwrap());
        // A reader that reconnects receives the rest.
        while received.last() != Some(&count) {
            let mut body = open(received.last().copied().unwrap_or(0)).await.unwrap().into_body();
            while received.last() != Some(&count)
                && let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                let piece = frame.unwrap().into_data().unwrap();
                received.extend(ids(std::str::from_utf8(&piece).unwrap()));
            }
        }
        assert_eq!(received, (1..=count).collect::<Vec<_>>());
    }
}
