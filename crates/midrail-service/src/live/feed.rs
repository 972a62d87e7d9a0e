//! Server-sent events of a project: every reader goes through the log from where it stands, and is given each record in
//! its order. Whoever comes again with the last id that it saw misses nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use midrail::store::{Alert, Filter};
use midrail::{ApiKey, Approval, Effect};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout};

use crate::access::{Caller, Right, Sight};
use crate::app::App;
use crate::lines::Line;
use crate::live::Listener;
use crate::problem::{Outcome, Problem};
use crate::project::Project;
use crate::streamed::{Filling, streamed};
use crate::work::blocking;

/// How often something is sent where nothing happens, so that nobody on the way takes the stream for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a reader may take for what is sent to it. Whoever is slower is let go.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 10_000 });

/// How long a stream lasts. Readers come again by themselves, and it is asked again who they are.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// How often it is asked whether a reader may still listen: before anything is told, but no more than once in so long.
const ASKED: Duration = Duration::from_secs(1);

/// How long a reader to whom nothing is told is believed.
const BELIEVED: Duration = Duration::from_secs(3);

/// Records that are read at a time.
const PAGE: usize = 200;

/// Alerts that are looked at.
const ALERTS: usize = 50;

/// Pieces that wait to be read.
const PIECES: usize = 8;

/// Something that happened.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "they are made one after the other, and not kept")]
pub(crate) enum Happening {
    /// An event was decided.
    Decision(Line),
    /// A request to a person was made, answered or changed.
    Approval(Asked),
    /// Something else was changed by somebody: a pause, a lock.
    Change(Line),
    /// An alert was raised.
    Alert(Alert),
}

/// A request to a person, and the record that tells of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Asked {
    /// The record.
    pub(crate) record: Line,
    /// The request as it is now.
    pub(crate) approval: Approval,
    /// How it stands now.
    pub(crate) status: String,
}

impl Happening {
    /// The name of the event on the wire.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Happening::Decision(_) => "decision",
            Happening::Approval(_) => "approval",
            Happening::Change(_) => "change",
            Happening::Alert(_) => "alert",
        }
    }
}

/// What a reader wants to hear of. Everything that is set must hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Decisions with this effect.
    pub(crate) effect: Option<Effect>,
    /// Decisions with this effect, or a higher one.
    pub(crate) at_least: Option<Effect>,
    /// What belongs to this session.
    pub(crate) session: Option<String>,
    /// Decisions in which this guardrail said more than allow, and requests of it.
    pub(crate) guardrail: Option<String>,
    /// Decisions about this tool.
    pub(crate) tool: Option<String>,
    /// The key of who listens, where it is a program: what it may not see it does not hear.
    pub(crate) key: Option<ApiKey>,
}

impl Wanted {
    /// Whether whoever listens sees it.
    fn sees(&self, happening: &Happening) -> bool {
        let sight = Sight::of(self.key.as_ref());
        match happening {
            Happening::Decision(line) | Happening::Change(line) => sight.line(line),
            Happening::Approval(asked) => sight.approval(&asked.approval),
            Happening::Alert(_) => sight.is_whole(),
        }
    }

    fn fits(&self, happening: &Happening) -> bool {
        let is = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_ref().is_none_or(|wanted| value == Some(wanted.as_str()))
        };
        match happening {
            Happening::Decision(line) => {
                let effect = line.effect.parse::<Effect>().ok();
                self.effect.is_none_or(|wanted| effect == Some(wanted))
                    && self.at_least.is_none_or(|least| effect >= Some(least))
                    && is(&self.session, Some(&line.session))
                    && is(&self.tool, line.tool.as_deref())
                    && self.guardrail.as_ref().is_none_or(|id| line.guardrails.contains(id))
            }
            Happening::Approval(asked) => {
                is(&self.session, Some(&asked.approval.session))
                    && is(&self.guardrail, Some(&asked.approval.guardrail))
                    && is(&self.tool, asked.approval.tool.as_deref())
            }
            Happening::Change(line) => {
                is(&self.session, Some(&line.session)) && self.guardrail.is_none() && self.tool.is_none()
            }
            Happening::Alert(_) => self.session.is_none() && self.guardrail.is_none() && self.tool.is_none(),
        }
    }
}

/// How a happening is shown on the wire. `None`: not at all.
pub(crate) type Showing = dyn Fn(&Happening) -> Option<String> + Send + Sync;

/// What happened, in its order, each with the id that comes with it.
type Happened = Vec<(Happening, Option<u64>)>;

/// Where a reader stands.
pub(crate) struct Feed {
    project: Arc<Project>,
    wanted: Wanted,
    /// The last record that was gone through.
    cursor: u64,
    /// Alerts that the reader knows, or that are older than the stream.
    known: BTreeSet<(Timestamp, String, String)>,
}

impl Feed {
    /// Begins after a record, or with what happens from now on.
    pub(crate) fn begin(project: Arc<Project>, wanted: Wanted, after: Option<u64>) -> Outcome<Self> {
        let store = project.store();
        let head = store.head()?.map_or(0, |head| head.seq);
        // One that lies ahead is of another log.
        let cursor = after.filter(|after| *after <= head).unwrap_or(head);
        let last = match after {
            Some(_) => store.entry(cursor)?.map(|entry| entry.labels.time),
            None => None,
        };
        let alerts = store.alerts(ALERTS)?.into_iter();
        let known = alerts.filter(|alert| last.is_none_or(|last| alert.fired_at < last)).map(|it| key(&it));
        let known = known.collect();
        Ok(Feed { project, wanted, cursor, known })
    }

    /// The next page of what happened: with each happening the id that a reader comes again with. The flag tells whether
    /// there may be more.
    pub(crate) fn next(&mut self) -> Outcome<(Happened, bool)> {
        let store = self.project.store().clone();
        let filter = Filter {
            session: self.wanted.session.clone(),
            after_seq: Some(self.cursor),
            limit: Some(PAGE),
            ..Filter::default()
        };
        let head = store.head()?.map_or(0, |head| head.seq);
        let page = store.entries(&filter)?;
        let mut happened = Vec::new();
        for entry in &page {
            let line = Line::of(entry);
            if let Some(id) = &line.approval
                && let Some(approval) = store.approval(id)?
            {
                let status = approval.status_at(self.project.engine().now()).to_owned();
                let approval = Approval { seal: None, ..approval };
                let asked = Asked { record: line.clone(), approval, status };
                // INVARIANT: the id comes with the last event of a record, so that none of them is missed.
                let id = (!line.is_decision()).then_some(entry.seq);
                happened.push((Happening::Approval(asked), id));
                if !line.is_decision() {
                    continue;
                }
            }
            let happening =
                if line.is_decision() { Happening::Decision(line) } else { Happening::Change(line) };
            happened.push((happening, Some(entry.seq)));
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
            happened.extend(new.into_iter().map(|alert| (Happening::Alert(alert), None)));
        }
        happened.retain(|(happening, _)| self.wanted.sees(happening) && self.wanted.fits(happening));
        Ok((happened, !page.is_empty()))
    }
}

fn key(alert: &Alert) -> (Timestamp, String, String) {
    (alert.fired_at, alert.name.clone(), alert.key.clone())
}

/// Whoever reads a stream, and what they showed when they came.
pub(crate) struct Reader {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) headers: HeaderMap,
}

impl Reader {
    /// Whether they would still be let in.
    async fn may_listen(&self) -> Outcome<bool> {
        let who = self.app.doorkeeper.who(&self.app, &self.headers, Right::Read).await?;
        Ok(who.is_some_and(|who| who.may(Right::Read) && self.caller.is_still(&who)))
    }
}

/// A stream of what happens, shown in some way, until the reader goes, is too slow or not known any more, or the service
/// ends.
pub(crate) async fn stream(
    reader: Reader,
    wanted: Wanted,
    after: Option<u64>,
    show: Arc<Showing>,
) -> Outcome<Response> {
    let project = reader.caller.project().clone();
    // First the ear, then the beginning: nothing comes to pass in between.
    let listener = project.live().listen(project.store())?;
    let feed = blocking(move || Feed::begin(project, wanted, after)).await?;
    let (filling, body) = streamed(PIECES + 1);
    // The place of the last word is held, so that it can be said to whoever is too slow for all others.
    let last = filling.clone().reserve_owned().await;
    let last = last.map_err(|_| Problem::internal("the stream was closed before it began"))?;
    tokio::spawn(async move {
        if let Some(why) = fill(&reader, feed, listener, &filling, &show).await {
            last.send(Ok(Bytes::from(why)));
        }
    });
    let headers = [(CONTENT_TYPE.as_str(), "text/event-stream"), ("x-accel-buffering", "no")];
    Ok((headers, body).into_response())
}

/// Fills a stream. What comes back is its last word, where there is one.
async fn fill(
    reader: &Reader,
    mut feed: Feed,
    mut listener: Listener,
    filling: &Filling,
    show: &Arc<Showing>,
) -> Option<String> {
    let app = &reader.app;
    let end = Instant::now() + LONGEST;
    let mut asked = Instant::now();
    let mut beat = Instant::now() + HEARTBEAT;
    let mut text = "retry: 1000\n\n".to_owned();
    loop {
        listener.catch_up();
        if asked.elapsed() >= ASKED {
            match reader.may_listen().await {
                Ok(true) => asked = Instant::now(),
                Ok(false) => return Some(farewell("ended", "the key or the log-in is not good any more")),
                Err(problem) => return Some(farewell("failed", &problem.detail)),
            }
        }
        let more;
        let at = feed.cursor;
        let read = {
            let show = show.clone();
            blocking(move || {
                let (happened, more) = feed.next()?;
                let shown: String = happened.iter().filter_map(|(it, id)| event(it, *id, &*show)).collect();
                Ok((feed, shown, more))
            })
            .await
        };
        match read {
            Ok((next, shown, has_more)) => {
                text.push_str(&shown);
                more = has_more;
                // A reader that wants little still hears how far it has come.
                if text.is_empty() && next.cursor > at {
                    text = format!("id: {}\nevent: passed\ndata: {{}}\n\n", next.cursor);
                }
                feed = next;
            }
            Err(problem) => return Some(farewell("failed", &problem.detail)),
        }
        if !text.is_empty() {
            let piece = Ok(Bytes::from(std::mem::take(&mut text)));
            match timeout(PATIENCE, filling.send(piece)).await {
                Ok(Ok(())) => beat = Instant::now() + HEARTBEAT,
                Ok(Err(_)) => return None,
                Err(_) => {
                    return Some(farewell("dropped", "what happened was not read in time; come again"));
                }
            }
        }
        if app.is_closing() {
            return Some(farewell("ended", "the service is being stopped"));
        }
        if more {
            continue;
        }
        tokio::select! {
            () = listener.news() => {}
            () = sleep_until(asked + BELIEVED) => {}
            () = sleep_until(beat) => text = ": still here\n\n".to_owned(),
            () = sleep_until(end) => return Some(farewell("ended", "come again")),
            () = filling.closed() => return None,
            () = app.closed() => return Some(farewell("ended", "the service is being stopped")),
        }
    }
}

fn event(happening: &Happening, id: Option<u64>, show: &Showing) -> Option<String> {
    let shown = show(happening)?;
    let mut text = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    text.push_str(&format!("event: {}\n", happening.name()));
    for line in shown.lines() {
        text.push_str(&format!("data: {line}\n"));
    }
    text.push('\n');
    Some(text)
}

fn farewell(name: &str, why: &str) -> String {
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
    use crate::config::{At, Config, FilesAt, Limits, StoreAt};
    use crate::project::HOME;

    fn app() -> App {
        let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
        let config = Config {
            listen: At::Address("127.0.0.1:0".parse().unwrap()),
            store: StoreAt::Memory,
            load,
            projects: Vec::new(),
            files: FilesAt::Elsewhere,
            tls: None,
            behind_proxy: false,
            otlp: None,
            limits: Limits::default(),
        };
        App::open(config).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_reader_that_is_too_slow_is_let_go_and_told_so_and_can_come_again() {
        let app = app();
        let project = app.projects.get(HOME).unwrap();
        let count = u64::try_from((PIECES + 2) * PAGE).unwrap();
        for _ in 0..count {
            let event = Event::before_tool("Read", serde_json::json!({"file_path": "a"})).in_session("s");
            project.engine().decide(event);
        }
        let show = || Arc::new(|it: &Happening| serde_json::to_string(it).ok());
        let reader = || Reader {
            app: app.clone(),
            caller: Caller::anyone(project.clone()),
            headers: HeaderMap::new(),
        };
        let open = |after| stream(reader(), Wanted::default(), Some(after), show());
        let ids = |text: &str| -> Vec<u64> {
            text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
        };
        // Nobody reads until the patience is over: the stream has room for no more than its pieces.
        let body = open(0).await.unwrap().into_body();
        while project.live().listeners() > 0 {
            tokio::task::yield_now().await;
        }
        let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
        let last = text.lines().filter_map(|line| line.strip_prefix("event: ")).next_back();
        assert_eq!(last, Some("dropped"));
        let mut told = ids(&text);
        assert!(told.len() < usize::try_from(count).unwrap());
        // Whoever comes again, as often as it takes, hears the rest.
        while told.last() != Some(&count) {
            let mut body = open(told.last().copied().unwrap_or(0)).await.unwrap().into_body();
            while told.last() != Some(&count)
                && let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                let piece = frame.unwrap().into_data().unwrap();
                told.extend(ids(std::str::from_utf8(&piece).unwrap()));
            }
        }
        assert_eq!(told, (1..=count).collect::<Vec<_>>());
    }
}
