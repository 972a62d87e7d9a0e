//! The program as its users see it: what goes in, what comes out, and how it ends.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue panics; helpers of tests are not in a #[test] function"
)]

mod acp;
mod approvals;
mod audit;
mod bad_input;
mod budget;
#[path = "../../../../benches/performance/callgrind.rs"]
mod callgrind;
mod check;
mod contained;
mod damage;
mod demo;
mod detect;
mod documents;
#[path = "../../../../benches/performance/events.rs"]
mod events;
mod explain;
mod flow;
mod hook;
#[path = "../../../midrail-adapters/tests/support/http_server.rs"]
mod http_server;
mod import;
mod init;
mod lint;
mod log;
mod lost_hooks;
mod mcp;
mod mistakes;
mod operations;
mod pause;
mod pictures;
mod policies;
mod policy;
#[path = "../../../midrail-store/tests/postgres/server.rs"]
mod postgres;
mod processes;
mod protocol;
mod replay;
mod retention;
mod run;
mod schema;
mod scripts;
mod serve;
mod shell;
mod stats;
mod stream;
mod test;
mod vanished;
mod vouched;
mod world;
mod wrong;
