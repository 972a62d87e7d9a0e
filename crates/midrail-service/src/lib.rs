//! The service: the engine for many agents over HTTP, and a console for people.
//!
//! [`run`] serves until it is told to stop. It brings its own async runtime, so that whoever calls it needs none; engine
//! and store stay synchronous, and are called on threads that may block (`blocking`), or where events of a project meet
//! (`decision_queue`).
//!
//! A request comes in through `api` or `console`. Both say for every route what it takes to use it, and
//! `access` finds out who is calling before a handler runs. What they ask for is done in a `project`, which has an
//! engine, a store and people of its own: no handler can reach another project than the caller's.

mod access;
mod api;
mod app;
mod blocking;
mod config;
mod connection_limit;
mod console;
mod decision_queue;
mod live;
mod observe;
mod policy_sync;
mod problem;
mod project;
mod record_line;
mod server;
mod stats;
mod stream_body;
mod text;

pub use access::VIEWER;
pub use api::openapi;
pub use config::{At, Config, FilesAt, Limits, StoreAt, Tls};
pub use observe::otlp::Otlp;
pub use project::{HOME, OpenError, project_file};
pub use server::{Ready, ServeError, run, run_until};
