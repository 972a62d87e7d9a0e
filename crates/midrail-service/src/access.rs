//! Who is calling, and what they may do. Every route names the [`Right`] that it takes, and its handler gets a
//! [`Caller`] that has it: there is no other way to a project.

mod cookie;
mod doorkeeper;
mod guard;
mod pace;
mod sight;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use midrail::{ADMIN, ApiKey, KeyRight, Person};

use crate::problem::Problem;
use crate::project::Project;

pub(crate) use cookie::{SignedIn, Ticket, clear_cookie, csrf_token, random_name};
pub(crate) use doorkeeper::Doorkeeper;
pub(crate) use guard::{Face, guard, headers, peer, place, unescaped};
pub(crate) use sight::Sight;

/// What a route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Right {
    /// Nothing: health, the log-in page, style sheets.
    Open,
    /// To be known, whoever it is.
    Known,
    /// To ask for decisions.
    Decide,
    /// To ask people for something.
    Ask,
    /// To look at a project: who may for some agents sees what belongs to them.
    Read,
    /// To look at what belongs to all agents of a project.
    ReadAll,
    /// To answer for a person, as the pack says who may. No program can.
    Answer,
    /// To set up projects, keys and policies. No program can.
    Administer,
}

impl Right {
    /// Who has it, in words.
    fn words(self) -> &'static str {
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

/// The role of people who may look, and answer nothing.
pub const VIEWER: &str = "viewer";

/// Who is calling, in which project.
#[derive(Clone)]
pub(crate) struct Caller {
    who: Who,
    project: Arc<Project>,
}

/// Who is calling.
#[derive(Clone)]
pub(crate) enum Who {
    /// Somebody on this machine, as long as nothing is set up that could tell who.
    Anyone,
    /// A program.
    Program(Arc<ApiKey>),
    /// A person who has logged in.
    Person(Arc<SignedIn>),
}

impl Who {
    /// Whether they have a right.
    pub(crate) fn may(&self, right: Right) -> bool {
        match (self, right) {
            (_, Right::Open | Right::Known) => true,
            (Who::Anyone, right) => right <= Right::ReadAll,
            (Who::Program(key), Right::Decide) => key.may(KeyRight::Decide),
            (Who::Program(key), Right::Ask) => key.may(KeyRight::Ask),
            (Who::Program(key), Right::Read) => key.may(KeyRight::Read),
            (Who::Program(key), Right::ReadAll) => {
                key.may(KeyRight::Read) && Sight::of(Some(key.as_ref())).is_whole()
            }
            (Who::Program(_), Right::Answer | Right::Administer) => false,
            (Who::Person(_), Right::Decide) => false,
            (Who::Person(_), Right::Read | Right::ReadAll) => true,
            (Who::Person(person), Right::Ask | Right::Answer) => {
                person.person.roles().iter().any(|role| role != VIEWER && role != ADMIN)
            }
            (Who::Person(person), Right::Administer) => person.is_admin(),
        }
    }

    /// Their name, for records and for the log.
    pub(crate) fn name(&self) -> String {
        match self {
            Who::Anyone => "anyone on this machine".to_owned(),
            Who::Program(key) => format!("key {} ({})", key.scope.name, key.id),
            Who::Person(signed_in) => signed_in.person.name().to_owned(),
        }
    }
}

impl Caller {
    /// The project that they are in.
    pub(crate) fn project(&self) -> &Arc<Project> {
        &self.project
    }

    /// Who it is.
    pub(crate) fn who(&self) -> &Who {
        &self.who
    }

    /// Whether they have a right beyond the one that their route took.
    pub(crate) fn may(&self, right: Right) -> bool {
        self.who.may(right)
    }

    /// Whether somebody who shows the same later is still whoever came, and may still enter the project.
    pub(crate) fn is_still(&self, who: &Who) -> bool {
        match (&self.who, who) {
            (Who::Anyone, Who::Anyone) => true,
            (Who::Program(_), Who::Program(key)) => key.is_for_project(self.project.name()),
            (Who::Person(_), Who::Person(signed_in)) => signed_in.may_enter(self.project.name()),
            _ => false,
        }
    }

    /// The person who is calling, for what only people may do.
    pub(crate) fn person(&self) -> Result<&Person, Problem> {
        match &self.who {
            Who::Person(signed_in) => Ok(&signed_in.person),
            _ => Err(Problem::forbidden("this takes a person who has logged in")),
        }
    }

    /// What they see of the project.
    pub(crate) fn sight(&self) -> Sight<'_> {
        Sight::of(self.key())
    }

    /// The key of the program that is calling.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        match &self.who {
            Who::Program(key) => Some(key),
            _ => None,
        }
    }
}

#[cfg(test)]
impl Caller {
    /// Somebody on this machine.
    pub(crate) fn anyone(project: Arc<Project>) -> Self {
        Caller { who: Who::Anyone, project }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // INVARIANT: the guard of the route has put it there. A route without one serves nobody.
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.ok_or_else(|| Problem::internal("the route has no guard"))
    }
}
