//! The service: the engine for many agents over HTTP, and a console for people.
//!
//! [`run`] serves until it is told to stop. It brings its own async runtime, so that whoever calls it needs none; engine
//! and store stay synchronous, and are called on threads that may block (`work`), or where events of a project meet
//! (`desk`).
//!
//! A request comes in through `api` or `console`. Both say for every route what it takes to use it, and
//! `access` finds out who is calling before a handler runs. What they ask for is done in a `project`, which has an
//! engine, a store and people of its own: no handler can reach another project than the caller's.

mod access;
mod api;
mod app;
mod config;
mod console;
mod crowd;
mod desk;
mod figures;
mod lines;
mod live;
mod observe;
mod policies;
mod problem;
mod project;
mod server;
mod streamed;
mod work;

pub use access::VIEWER;
pub use api::openapi;
pub use config::{At, Config, FilesAt, Limits, StoreAt, Tls};
pub use observe::otlp::Otlp;
pub use project::{HOME, OpenError, project_file};
pub use server::{Ready, ServeError, run, run_until};
