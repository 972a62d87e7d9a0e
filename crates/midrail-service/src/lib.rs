//! The service: the engine for many agents over HTTP, and a console for people.
//!
//! [`run`] serves until it is stopped. It brings its own async runtime, so the caller needs none. The engine and the
//! store stay synchronous: they are called on threads that may block (`blocking`), or by the queue that decides the
//! events of a project (`decision_queue`).
//!
//! A request arrives through `api` or `console`. Both declare the right that each route requires, and `access`
//! authenticates the caller before a handler runs. Handlers work in the `project` of the caller, which has its own
//! engine, store and approvers: no handler can access another project.

mod access;
mod api;
mod app;
mod blocking;
mod config;
mod connection_limit;
mod console;
mod decision_queue;
mod gateways;
mod live;
pub mod markdown;
mod mcp;
mod membership;
mod observe;
mod problem;
mod project;
mod record_line;
mod server;
mod signals;
mod stream_body;
mod text;
mod timeline;

pub use access::VIEWER;
pub use api::openapi;
pub use config::{At, Config, FilesAt, Limits, StoreAt, Tls};
pub use observe::otlp::Otlp;
pub use project::{HOME, OpenError, PolicyDiffers, project_file};
pub use server::{Ready, ServeError, run, run_until};
pub use signals::StopSignals;
