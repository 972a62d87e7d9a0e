//! The conversations of the service with MCP servers: sessions by their ids, and the servers of packs.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use midrail::McpUpstream;
use midrail::core::hex;
use midrail::guardrails::HeaderPiece;
use midrail_adapters::mcp::http::upstream::Upstream;
use midrail_adapters::mcp::{KnownSessions, ProxyOptions, address_server};
use parking_lot::Mutex;

use super::conversation::Conversation;
use crate::access::Caller;
use crate::app::App;
use crate::problem::{HandlerResult, Problem};
use crate::text::{random_name, short};

/// The most sessions. The one that was not used for the longest time ends first.
const MAX_SESSIONS: usize = 1024;

/// After how long an unused session ends.
const IDLE: Duration = Duration::from_secs(3600);

/// How often waiting calls are reported and pins are read.
const TICK: Duration = Duration::from_secs(1);

/// The conversations of the service.
#[derive(Default)]
pub(super) struct Hub {
    sessions: Mutex<BTreeMap<String, Session>>,
    /// Conversations that may have something to do.
    active: Mutex<Vec<Weak<Conversation>>>,
    /// The servers, by project and name.
    upstreams: Mutex<BTreeMap<(String, String), KnownUpstream>>,
    /// The sessions of the era without `initialize` that have started.
    known: KnownSessions,
    ticks: Mutex<bool>,
}

/// A server, and the settings that it was made from.
type KnownUpstream = (McpUpstream, Arc<Upstream>);

struct Session {
    owner: String,
    conversation: Arc<Conversation>,
}

impl Hub {
    /// A server of the caller's project.
    fn upstream(&self, caller: &Caller, name: &str) -> HandlerResult<KnownUpstream> {
        let project = caller.project.name().to_owned();
        let Some(settings) = caller.project.engine().mcp_server(name) else {
            let problem =
                Problem::not_found(format!("there is no MCP server `{}` in the packs", short(name)));
            return Err(problem.help("add it to a pack: `mcp: {servers: {NAME: {url: https://…}}}`"));
        };
        let mut upstreams = self.upstreams.lock();
        let key = (project, name.to_owned());
        if let Some((known, upstream)) = upstreams.get(&key)
            && *known == settings
        {
            return Ok((settings, upstream.clone()));
        }
        let headers =
            settings.headers.iter().map(|(header, pieces)| Ok((header.to_owned(), value(&pieces)?)));
        let headers = headers.collect::<HandlerResult<Vec<_>>>()?;
        let upstream = Upstream::new(settings.url.as_str(), &headers);
        let upstream = Arc::new(upstream.map_err(|error| Problem::unavailable(error.to_string()))?);
        upstreams.insert(key, (settings.clone(), upstream.clone()));
        Ok((settings, upstream))
    }

    /// A new conversation of a caller with a server.
    pub(super) fn start(
        &self,
        app: &App,
        caller: &Caller,
        name: &str,
        is_session: bool,
    ) -> HandlerResult<Arc<Conversation>> {
        let (settings, upstream) = self.upstream(caller, name)?;
        let options = ProxyOptions {
            server: address_server(name, settings.url.as_str()),
            // A request that is in no session has one of the caller.
            nonce: if is_session { random_name() } else { name_of(caller) },
            caller: Some(name_of(caller)),
            known: Some(self.known.clone()),
            ..ProxyOptions::default()
        };
        let silence = app.config.limits.silence;
        let conversation = Conversation::new(caller.project.clone(), upstream, options, is_session, silence);
        let mut active = self.active.lock();
        active.retain(|conversation| conversation.strong_count() > 0);
        active.push(Arc::downgrade(&conversation));
        Ok(conversation)
    }

    /// Keeps a session, and returns its id.
    pub(super) fn keep(
        &self,
        caller: &Caller,
        server: &str,
        conversation: Arc<Conversation>,
    ) -> HandlerResult<String> {
        let mut bytes = [0_u8; 20];
        getrandom::fill(&mut bytes).map_err(|error| Problem::internal(error.to_string()))?;
        let id = hex::encode(&bytes);
        let mut sessions = self.sessions.lock();
        let oldest = (sessions.len() >= MAX_SESSIONS)
            .then(|| sessions.iter().max_by_key(|(_, session)| session.conversation.idle_time()))
            .flatten()
            .map(|(id, _)| id.clone());
        let ended = oldest.and_then(|id| sessions.remove(&id));
        sessions.insert(id.clone(), Session { owner: owner(caller, server), conversation });
        drop(sessions);
        if let Some(session) = ended {
            session.conversation.end();
        }
        Ok(id)
    }

    /// A session of the caller with a server.
    pub(super) fn session(
        &self,
        caller: &Caller,
        server: &str,
        id: &str,
    ) -> HandlerResult<Arc<Conversation>> {
        let sessions = self.sessions.lock();
        let session = sessions.get(id).filter(|session| session.owner == owner(caller, server));
        let session = session.filter(|session| !session.conversation.state.lock().is_gone);
        let unknown = || {
            Problem::not_found("the session has ended, or is unknown")
                .help("send `initialize` to start another")
        };
        session.map(|session| session.conversation.clone()).ok_or_else(unknown)
    }

    /// Ends a session.
    pub(super) fn remove(&self, id: &str) {
        let session = self.sessions.lock().remove(id);
        if let Some(session) = session {
            session.conversation.end();
        }
    }

    /// Starts the thread that reports waiting calls and ends unused sessions, unless it runs.
    pub(super) fn start_ticks(self: &Arc<Self>, app: &App) -> HandlerResult<()> {
        let mut ticks = self.ticks.lock();
        if std::mem::replace(&mut *ticks, true) {
            return Ok(());
        }
        let (ticking, app) = (self.clone(), app.clone());
        let tick = move || {
            while !app.is_closing() {
                thread::sleep(TICK);
                ticking.tick();
            }
        };
        let started = thread::Builder::new().name("midrail-mcp".to_owned()).spawn(tick);
        started.map(drop).map_err(|error| {
            *ticks = false;
            Problem::unavailable(error.to_string())
        })
    }

    fn tick(&self) {
        let active: Vec<_> = self.active.lock().iter().filter_map(Weak::upgrade).collect();
        active.iter().for_each(|conversation| conversation.tick());
        drop(active);
        let is_over = |_: &String, session: &mut Session| {
            session.conversation.state.lock().is_gone || session.conversation.idle_time() > IDLE
        };
        let ended: Vec<_> = self.sessions.lock().extract_if(.., is_over).collect();
        ended.iter().for_each(|(_, session)| session.conversation.end());
    }

    /// Ends all conversations.
    pub(super) fn end(&self) {
        self.sessions.lock().clear();
        let active: Vec<_> = self.active.lock().iter().filter_map(Weak::upgrade).collect();
        active.iter().for_each(|conversation| conversation.end());
    }
}

/// The caller in the names of sessions.
fn name_of(caller: &Caller) -> String {
    caller.key().map_or_else(|| "local".to_owned(), |key| key.id.to_string())
}

/// The owner of a session. No other caller can use its id.
fn owner(caller: &Caller, server: &str) -> String {
    format!("{}\n{server}\n{}", caller.project.name(), caller.identity.name())
}

/// The value of a header, with the variables that it names.
fn value(pieces: &[HeaderPiece<'_>]) -> HandlerResult<String> {
    let piece = |piece: &HeaderPiece<'_>| match piece {
        HeaderPiece::Words(words) => Ok((*words).to_owned()),
        HeaderPiece::Variable(name) => env::var(name)
            .map_err(|_| Problem::unavailable(format!("the variable `{name}` of a header is not set"))),
    };
    pieces.iter().map(piece).collect()
}
