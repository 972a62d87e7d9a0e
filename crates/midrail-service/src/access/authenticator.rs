//! Authenticates callers by their credentials: the key of a program, the cookie of a person, or none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};
use midrail::admin::ApiKey;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::access::cookie::{SignedIn, Ticket};
use crate::access::identity::{Identity, Right};
use crate::access::rate_limit::RateLimiter;
use crate::blocking::blocking;
use crate::config::Config;
use crate::problem::{HandlerResult, Problem};
use crate::project::{HOME, Projects};

/// How long a key is cached. A key that another instance revokes stays valid for this time.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The most cached keys.
const MOST: usize = 10_000;

/// Wrong keys from one address before it has to wait.
const WRONG_KEYS: u32 = 20;

/// Approver keys that are checked concurrently, and that may wait for a check.
const CHECKS: usize = 4;
const QUEUED_CHECKS: usize = 64;

/// How long the answer to a wrong key is delayed after too many, and how many are delayed at a time.
const DELAY: Duration = Duration::from_millis(500);
const MAX_DELAYED: usize = 32;

/// Valid keys by the digest of their text, and when they were read.
type Keys = BTreeMap<[u8; 32], (Arc<ApiKey>, Instant)>;

/// Which credentials exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setup {
    /// Programs have keys.
    pub(crate) keys: bool,
    /// People have keys.
    pub(crate) people: bool,
}

/// The credentials of a request.
enum Credential {
    Key(String),
    Cookie(String, Box<Ticket>),
    Nothing,
}

/// Authenticates callers, and limits their rate.
pub(crate) struct Authenticator {
    projects: Arc<Projects>,
    /// Whether only programs on this machine can send requests.
    is_private: bool,
    keys: Mutex<Keys>,
    setup: Mutex<Option<(Setup, Instant)>>,
    /// Requests of programs.
    pub(crate) requests: RateLimiter,
    wrong_key_window: Duration,
    /// Wrong keys by address.
    wrong_keys: RateLimiter,
    checks: Semaphore,
    queued_checks: Semaphore,
    delayed: Semaphore,
}

impl Authenticator {
    pub(crate) fn new(projects: Arc<Projects>, config: &Config) -> Self {
        Authenticator {
            projects,
            is_private: config.is_private(),
            wrong_key_window: config.limits.wrong_keys,
            keys: Mutex::default(),
            setup: Mutex::default(),
            requests: RateLimiter::default(),
            wrong_keys: RateLimiter::default(),
            checks: Semaphore::new(CHECKS),
            queued_checks: Semaphore::new(CHECKS + QUEUED_CHECKS),
            delayed: Semaphore::new(MAX_DELAYED),
        }
    }

    /// Clears the cache after a change in this instance.
    pub(crate) fn forget(&self) {
        self.keys.lock().clear();
        *self.setup.lock() = None;
    }

    /// Counts requests of a program. `Err`: how long it has to wait for its rate limit.
    pub(crate) fn take(&self, who: &Identity, wanted: u32) -> Result<(), Duration> {
        let Identity::Program(key) = who else { return Ok(()) };
        let Some(per_minute) = key.scope.per_minute else { return Ok(()) };
        self.requests.take(&key.id, wanted, per_minute, Duration::from_secs(60), Instant::now())
    }

    /// The same, with a problem as its error.
    pub(crate) fn count(&self, who: &Identity, wanted: usize) -> HandlerResult<()> {
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        self.take(who, wanted).map_err(|wait| {
            let limit = match who {
                Identity::Program(key) => key.scope.per_minute.unwrap_or_default(),
                _ => 0,
            };
            Problem::too_many(format!(
                "this key may make {limit} requests a minute, and each event counts as one"
            ))
            .retry_after(wait.as_secs() + 1)
        })
    }

    /// A permit to check an approver key. Few are checked concurrently and some wait; further callers have to
    /// retry, so that many wrong keys do not delay other logins for long.
    pub(crate) async fn key_check_permit(&self) -> HandlerResult<[SemaphorePermit<'_>; 2]> {
        let busy = || Problem::unavailable("too many people are logging in now").retry_after(1);
        let queued = self.queued_checks.try_acquire().map_err(|_| busy())?;
        let check = self.checks.acquire().await.map_err(|_| busy())?;
        Ok([check, queued])
    }

    /// Delays a caller with too many wrong keys. The number of delayed callers is limited.
    pub(crate) async fn delay(&self) {
        if let Ok(_delayed) = self.delayed.try_acquire() {
            tokio::time::sleep(DELAY).await;
        }
    }

    /// Counts a wrong key. `Err`: there were too many recently.
    pub(crate) fn wrong_key(&self, from: &str) -> HandlerResult<()> {
        let wait = self.wrong_keys.take(from, 1, WRONG_KEYS, self.wrong_key_window, Instant::now());
        wait.map_err(|wait| {
            Problem::too_many("too many wrong keys came from this address").retry_after(wait.as_secs() + 1)
        })
    }

    /// Which credentials exist.
    pub(crate) async fn setup(&self) -> HandlerResult<Setup> {
        let cached = *self.setup.lock();
        if let Some((setup, seen)) = cached
            && seen.elapsed() < CACHE_TTL
        {
            return Ok(setup);
        }
        let projects = self.projects.clone();
        let setup = blocking(move || {
            let home = projects.get(HOME)?;
            let engine = home.engine();
            Ok(Setup { keys: engine.admin().has_api_keys()?, people: engine.admin().has_approvers()? })
        })
        .await?;
        *self.setup.lock() = Some((setup, Instant::now()));
        Ok(setup)
    }

    /// The identity of a caller. `None`: it is unknown.
    pub(crate) async fn identify(
        &self,
        headers: &HeaderMap,
        right: Right,
    ) -> HandlerResult<Option<Identity>> {
        let credential = match credential(headers) {
            // Open routes ignore invalid credentials.
            Err(_) if right == Right::Open => Credential::Nothing,
            credential => credential?,
        };
        match credential {
            Credential::Key(_) if right == Right::Open => return Ok(Some(Identity::Anyone)),
            Credential::Key(text) => return Ok(self.program(text).await?.map(Identity::Program)),
            Credential::Cookie(text, ticket) => {
                if let Some(person) = self.person(text, *ticket).await? {
                    return Ok(Some(Identity::Person(Arc::new(person))));
                }
            }
            Credential::Nothing => {}
        }
        self.anyone(right).await
    }

    /// A caller on this machine needs no credentials as long as none exist.
    async fn anyone(&self, right: Right) -> HandlerResult<Option<Identity>> {
        if right == Right::Open {
            return Ok(Some(Identity::Anyone));
        }
        if !self.is_private {
            return Ok(None);
        }
        let setup = self.setup().await?;
        let may = match right {
            Right::Open => true,
            Right::Decide | Right::Ask => !setup.keys,
            Right::Known | Right::Read | Right::ReadAll => !setup.keys && !setup.people,
            Right::Answer | Right::Administer => false,
        };
        Ok(may.then_some(Identity::Anyone))
    }

    async fn program(&self, text: String) -> HandlerResult<Option<Arc<ApiKey>>> {
        let digest: [u8; 32] = Sha256::digest(&text).into();
        let cached = self.keys.lock().get(&digest).cloned();
        if let Some((key, seen)) = cached
            && seen.elapsed() < CACHE_TTL
        {
            return Ok(Some(key));
        }
        let projects = self.projects.clone();
        let found = blocking(move || Ok(projects.get(HOME)?.engine().admin().api_key(&text)?)).await?;
        let mut keys = self.keys.lock();
        keys.remove(&digest);
        let Some(found) = found.map(Arc::new) else { return Ok(None) };
        if keys.len() >= MOST {
            keys.pop_first();
        }
        keys.insert(digest, (found.clone(), Instant::now()));
        Ok(Some(found))
    }

    async fn person(&self, text: String, ticket: Ticket) -> HandlerResult<Option<SignedIn>> {
        let projects = self.projects.clone();
        blocking(move || {
            // The name comes from the caller, so an unknown project is not created.
            if !projects.knows(&ticket.project)? {
                return Ok(None);
            }
            let project = projects.get(&ticket.project)?;
            let key = project.store().fingerprint_key()?;
            if !Ticket::is_genuine(&text, &key) {
                return Ok(None);
            }
            ticket.person(&project, project.engine().now(), &key)
        })
        .await
    }
}

/// The header in which some gateways send the key of a program.
pub(crate) const KEY_HEADER: &str = "x-api-key";

/// Takes the key of a program from [`KEY_HEADER`] if there is no `Authorization`.
pub(crate) fn use_key_header(headers: &mut HeaderMap) {
    if headers.contains_key(AUTHORIZATION) {
        return;
    }
    let bearer = headers.get(KEY_HEADER).map(|key| [b"Bearer ", key.as_bytes()].concat());
    if let Some(Ok(bearer)) = bearer.map(|bearer| HeaderValue::from_bytes(&bearer)) {
        headers.insert(AUTHORIZATION, bearer);
    }
}

fn credential(headers: &HeaderMap) -> HandlerResult<Credential> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let text = value.to_str().unwrap_or_default();
        let key = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, key)) = key else {
            return Err(Problem::unauthenticated("the header `Authorization` is not `Bearer KEY`"));
        };
        return Ok(Credential::Key(key.trim().to_owned()));
    }
    Ok(match Ticket::claims(headers) {
        Some((text, ticket)) => Credential::Cookie(text, Box::new(ticket)),
        None => Credential::Nothing,
    })
}
