//! The identity of a caller, its rights, and the project of the request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use midrail::admin::{ADMIN, ApiKey, KeyRight, Person};
use midrail::{Event, session_id};

use crate::access::cookie::SignedIn;
use crate::access::visibility::Visibility;
use crate::blocking::blocking;
use crate::problem::Problem;
use crate::project::Project;
use crate::text::short;

/// The right that a route requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// Nothing: health, the log-in page, style sheets.
    Open,
    /// Any authenticated caller.
    Known,
    /// To request decisions.
    Decide,
    /// To request approvals.
    Ask,
    /// To read a project. A key that is limited to agents sees what belongs to them.
    Read,
    /// To read what belongs to all agents of a project.
    ReadAll,
    /// To answer requests, with a role of the packs. Only people can have it.
    Answer,
    /// To set up projects, keys and policies. No program can.
    Administer,
}

impl Right {
    /// Describes the callers that have the right.
    pub(crate) fn holders(self) -> &'static str {
        match self {
            Right::Open | Right::Known => "nothing",
            Right::Decide => "a key with the right `decide`",
            Right::Ask => "a key with the right `ask`, or a person with a role that answers requests",
            Right::Read => "a key with the right `read`, or a person",
            Right::ReadAll => "a key with the right `read` for all agents, or a person",
            Right::Answer => "a person with a role that answers requests",
            Right::Administer => "a person with the role `admin`",
        }
    }
}

/// The role of people who may only read.
pub const VIEWER: &str = "viewer";

/// An authenticated caller and the project of the request.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Who it is.
    pub(crate) identity: Identity,
    /// The project.
    pub(crate) project: Arc<Project>,
}

/// The identity of a caller.
#[derive(Clone)]
pub(crate) enum Identity {
    /// A caller on this machine, as long as no credentials exist.
    Anyone,
    /// A program.
    Program(Arc<ApiKey>),
    /// A person who has logged in.
    Person(Arc<SignedIn>),
}

impl Identity {
    /// Whether they have a right.
    pub(crate) fn may(&self, right: Right) -> bool {
        match (self, right) {
            (_, Right::Open | Right::Known) => true,
            (Identity::Anyone, right) => right <= Right::ReadAll,
            (Identity::Program(key), Right::Decide) => key.may(KeyRight::Decide),
            (Identity::Program(key), Right::Ask) => key.may(KeyRight::Ask),
            (Identity::Program(key), Right::Read) => key.may(KeyRight::Read),
            (Identity::Program(key), Right::ReadAll) => {
                key.may(KeyRight::Read) && Visibility::of(Some(key.as_ref())).is_full()
            }
            (Identity::Program(_), Right::Answer | Right::Administer) => false,
            (Identity::Person(_), Right::Decide) => false,
            (Identity::Person(_), Right::Read | Right::ReadAll) => true,
            (Identity::Person(person), Right::Ask | Right::Answer) => {
                person.person.roles().iter().any(|role| role != VIEWER && role != ADMIN)
            }
            (Identity::Person(person), Right::Administer) => person.is_admin(),
        }
    }

    /// Whether they may access a project.
    pub(crate) fn may_enter(&self, project: &str) -> bool {
        match self {
            Identity::Anyone => true,
            Identity::Program(key) => key.is_for_project(project),
            Identity::Person(signed_in) => signed_in.may_enter(project),
        }
    }

    /// Their name, for records and for the log.
    pub(crate) fn name(&self) -> String {
        match self {
            Identity::Anyone => "anyone on this machine".to_owned(),
            Identity::Program(key) => format!("key {} ({})", key.scope.name, key.id),
            Identity::Person(signed_in) => signed_in.person.name().to_owned(),
        }
    }
}

impl Caller {
    /// Whether they have a right beyond the one that their route took.
    pub(crate) fn may(&self, right: Right) -> bool {
        self.identity.may(right)
    }

    /// Whether a new check of the same credentials gives the same kind of caller, who may still access the project.
    pub(crate) fn is_still(&self, who: &Identity) -> bool {
        std::mem::discriminant(&self.identity) == std::mem::discriminant(who)
            && who.may_enter(self.project.name())
    }

    /// The person who has logged in.
    pub(crate) fn signed_in(&self) -> Option<&SignedIn> {
        match &self.identity {
            Identity::Person(signed_in) => Some(signed_in),
            Identity::Anyone | Identity::Program(_) => None,
        }
    }

    /// The person, for operations that only people may use.
    pub(crate) fn person(&self) -> Result<&Person, Problem> {
        let person = self.signed_in().map(|signed_in| &signed_in.person);
        person.ok_or_else(|| Problem::forbidden("this takes a person who has logged in"))
    }

    /// Checks that the caller may act for an agent: a key can be limited to some.
    pub(crate) fn check_agent(&self, agent: Option<&str>) -> Result<(), Problem> {
        if self.key().is_none_or(|key| key.is_for_agent(agent)) {
            return Ok(());
        }
        let agent =
            agent.map_or("an agent without an id".to_owned(), |id| format!("the agent `{}`", short(id)));
        Err(Problem::forbidden(format!("this key may not act for {agent}")))
    }

    /// Checks that the caller may act in a session. A key that is limited to agents may not where others act: it would use
    /// their approvals, and change what their guardrails have counted.
    pub(crate) fn check_session(&self, session: &str) -> Result<(), Problem> {
        let Some(key) = self.key().filter(|key| key.scope.agents.is_some()) else { return Ok(()) };
        let agents = self.project.engine().session_agents(session)?.unwrap_or_default();
        let is_own = |agent: &String| !agent.is_empty() && key.is_for_agent(Some(agent));
        if agents.iter().all(is_own) {
            return Ok(());
        }
        let refused =
            format!("this key may not act in the session `{}`, where other agents act", short(session));
        Err(Problem::forbidden(refused).help("name another session, or use a key for all of its agents"))
    }

    /// The same for the session of an event, which may have to be looked up in the store.
    pub(crate) async fn check_session_of(&self, event: &Event) -> Result<(), Problem> {
        if self.visibility().is_full() {
            return Ok(());
        }
        let (caller, session) = (self.clone(), session_id(event));
        blocking(move || caller.check_session(&session)).await
    }

    /// What they see of the project.
    pub(crate) fn visibility(&self) -> Visibility<'_> {
        Visibility::of(self.key())
    }

    /// The key of the program that is calling.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        match &self.identity {
            Identity::Program(key) => Some(key),
            _ => None,
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // INVARIANT: the guard of the route has set it. A route without a guard fails.
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| Problem::internal("the route has no guard"))
    }
}
