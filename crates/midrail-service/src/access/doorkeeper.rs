//! Knows callers by what they show: the key of a program, the cookie of a person, or nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use midrail::ApiKey;
use ring::digest;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::access::cookie::{SignedIn, Ticket};
use crate::access::pace::Pace;
use crate::access::{Right, Who};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::project::HOME;
use crate::work::blocking;

/// How long what the store said of a key is believed. A key that another instance revokes is good for so long.
const BELIEVED: Duration = Duration::from_secs(1);

/// Keys that are remembered at a time.
const MOST: usize = 10_000;

/// Wrong keys a minute from one place before it is told to wait.
const WRONG_KEYS: u32 = 20;

/// Keys of people that are looked at together, and that wait for their turn beside them.
const EYES: usize = 4;
const TURNS: usize = 64;

/// How long an answer to a wrong key is kept back once there were too many, and of how many at a time.
const SLOWED: Duration = Duration::from_millis(500);
const BENCHES: usize = 32;

/// Keys that were shown, by the digest of their text, and when the store was asked.
type Keys = BTreeMap<[u8; 32], (Arc<ApiKey>, Instant)>;

/// Knows callers, and how often they came.
pub(crate) struct Doorkeeper {
    keys: Mutex<Keys>,
    set_up: Mutex<Option<(SetUp, Instant)>>,
    /// How often programs have come.
    pub(crate) pace: Pace,
    /// How often somebody has shown a wrong key.
    wrong: Pace,
    eyes: Semaphore,
    turns: Semaphore,
    benches: Semaphore,
}

impl Default for Doorkeeper {
    fn default() -> Self {
        Doorkeeper {
            keys: Mutex::default(),
            set_up: Mutex::default(),
            pace: Pace::default(),
            wrong: Pace::default(),
            eyes: Semaphore::new(EYES),
            turns: Semaphore::new(EYES + TURNS),
            benches: Semaphore::new(BENCHES),
        }
    }
}

/// The place of somebody whose key is being looked at.
pub(crate) struct Looking<'a> {
    _eye: SemaphorePermit<'a>,
    _turn: SemaphorePermit<'a>,
}

/// What there is to tell callers by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetUp {
    /// Programs have keys.
    pub(crate) keys: bool,
    /// People have keys.
    pub(crate) people: bool,
}

/// What a request shows.
enum Shown {
    Key(String),
    Cookie(String, Box<Ticket>),
    Nothing,
}

impl Doorkeeper {
    /// Forgets what it believed, because something was changed here.
    pub(crate) fn forget(&self) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.set_up.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Counts what a program asks for. `Err`: it has to wait so long, because its key may ask only so often.
    pub(crate) fn take(&self, who: &Who, wanted: u32) -> Result<(), Duration> {
        let Who::Program(key) = who else { return Ok(()) };
        let Some(per_minute) = key.scope.per_minute else { return Ok(()) };
        self.pace.take_many(&key.id, wanted, per_minute, Duration::from_secs(60), Instant::now())
    }

    /// The same, told as a problem.
    pub(crate) fn count(&self, who: &Who, wanted: usize) -> Outcome<()> {
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        self.take(who, wanted).map_err(|wait| {
            let told = match who {
                Who::Program(key) => key.scope.per_minute.unwrap_or_default(),
                _ => 0,
            };
            Problem::too_many(format!(
                "this key may make {told} requests a minute, and each event counts as one"
            ))
            .retry_after(wait.as_secs() + 1)
        })
    }

    /// A place to look at a key that a person shows. Few are looked at together, some wait for their turn, and more are
    /// told to come again: whoever tries many keys keeps nobody waiting for long.
    pub(crate) async fn look_at_key(&self) -> Outcome<Looking<'_>> {
        let busy = || Problem::unavailable("too many people are logging in now").retry_after(1);
        let turn = self.turns.try_acquire().map_err(|_| busy())?;
        let eye = self.eyes.acquire().await.map_err(|_| busy())?;
        Ok(Looking { _eye: eye, _turn: turn })
    }

    /// Keeps somebody waiting who has shown too many wrong keys. Only so many are: others are told at once.
    pub(crate) async fn slow_down(&self) {
        if let Ok(_bench) = self.benches.try_acquire() {
            tokio::time::sleep(SLOWED).await;
        }
    }

    /// Counts a wrong key. `Err`: there were too many of late.
    pub(crate) fn wrong_key(&self, from: &str) -> Outcome<()> {
        let wait = self.wrong.take(from, WRONG_KEYS, Duration::from_secs(60), Instant::now());
        wait.map_err(|wait| {
            Problem::too_many("too many wrong keys came from here").retry_after(wait.as_secs() + 1)
        })
    }

    /// What there is to tell callers by.
    pub(crate) async fn set_up(&self, app: &App) -> Outcome<SetUp> {
        let believed = *self.set_up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((set_up, seen)) = believed
            && seen.elapsed() < BELIEVED
        {
            return Ok(set_up);
        }
        let of = app.clone();
        let set_up = blocking(move || {
            let home = of.projects.get(HOME)?;
            let engine = home.engine();
            Ok(SetUp { keys: engine.has_api_keys()?, people: engine.has_approvers()? })
        })
        .await?;
        *self.set_up.lock().unwrap_or_else(PoisonError::into_inner) = Some((set_up, Instant::now()));
        Ok(set_up)
    }

    /// Who is calling. `None`: nobody who is known here.
    pub(crate) async fn who(&self, app: &App, headers: &HeaderMap, right: Right) -> Outcome<Option<Who>> {
        let shown = match shown(headers) {
            // What is open to all is open to those who show something that nobody understands.
            Err(_) if right == Right::Open => Shown::Nothing,
            shown => shown?,
        };
        match shown {
            Shown::Key(_) if right == Right::Open => Ok(Some(Who::Anyone)),
            Shown::Key(text) => Ok(self.program(app, text).await?.map(Who::Program)),
            Shown::Cookie(text, ticket) => {
                let found = self.person(app, text, *ticket).await?;
                match found {
                    Some(person) => Ok(Some(Who::Person(Arc::new(person)))),
                    None => self.anyone(app, right).await,
                }
            }
            Shown::Nothing => self.anyone(app, right).await,
        }
    }

    /// Somebody who shows nothing is let in on this machine, as long as nothing is set up to tell them by.
    async fn anyone(&self, app: &App, right: Right) -> Outcome<Option<Who>> {
        if right == Right::Open {
            return Ok(Some(Who::Anyone));
        }
        if !app.config.is_private() {
            return Ok(None);
        }
        let set_up = self.set_up(app).await?;
        let may = match right {
            Right::Open => true,
            Right::Decide | Right::Ask => !set_up.keys,
            Right::Known | Right::Read | Right::ReadAll => !set_up.keys && !set_up.people,
            Right::Answer | Right::Administer => false,
        };
        Ok(may.then_some(Who::Anyone))
    }

    async fn program(&self, app: &App, text: String) -> Outcome<Option<Arc<ApiKey>>> {
        let digest = digest::digest(&digest::SHA256, text.as_bytes());
        let Ok(digest) = <[u8; 32]>::try_from(digest.as_ref()) else { return Ok(None) };
        let believed = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        if let Some((key, seen)) = believed
            && seen.elapsed() < BELIEVED
        {
            return Ok(Some(key));
        }
        let of = app.clone();
        let found = blocking(move || Ok(of.projects.get(HOME)?.engine().api_key(&text)?)).await?;
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.remove(&digest);
        let Some(found) = found.map(Arc::new) else { return Ok(None) };
        if keys.len() >= MOST {
            keys.pop_first();
        }
        keys.insert(digest, (found.clone(), Instant::now()));
        Ok(Some(found))
    }

    async fn person(&self, app: &App, text: String, ticket: Ticket) -> Outcome<Option<SignedIn>> {
        let app = app.clone();
        blocking(move || {
            // The project comes from outside: it is not made because somebody names it.
            if !app.projects.knows(&ticket.project)? {
                return Ok(None);
            }
            let project = app.projects.get(&ticket.project)?;
            let key = project.store().fingerprint_key()?;
            if !Ticket::is_genuine(&text, &key) {
                return Ok(None);
            }
            ticket.person(&project, project.engine().now(), &key)
        })
        .await
    }
}

fn shown(headers: &HeaderMap) -> Outcome<Shown> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let text = value.to_str().unwrap_or_default();
        let key = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, key)) = key else {
            return Err(Problem::unauthenticated("the header `Authorization` is not `Bearer KEY`"));
        };
        return Ok(Shown::Key(key.trim().to_owned()));
    }
    Ok(match Ticket::claims(headers) {
        Some((text, ticket)) => Shown::Cookie(text, Box::new(ticket)),
        None => Shown::Nothing,
    })
}
