//! Authentication and authorisation. Every route names the [`Right`] that it requires, and its handler receives a
//! [`Caller`] that has it: there is no other way to a project.

pub(crate) mod authenticator;
mod body;
mod cookie;
mod guard;
mod identity;
mod peer;
mod rate_limit;
mod visibility;

pub(crate) use authenticator::{KEY_HEADER, use_key_header};
pub(crate) use body::read_body;
pub(crate) use cookie::{SignedIn, Ticket, clear_cookie, csrf_token};
pub(crate) use guard::{Surface, guard, set_security_headers};
pub(crate) use identity::{Caller, Identity, Right};
pub(crate) use peer::Peer;
pub(crate) use visibility::Visibility;

pub use identity::VIEWER;
