//! The stores: the contract of all of them, and the files, processes and versions of SQLite.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod anchor;
mod archives;
mod common;
mod continuity;
mod contract;
mod disk;
mod export;
mod mounts;
#[cfg(feature = "postgres")]
#[path = "../postgres/server.rs"]
mod postgres_server;
mod processes;
mod retention;
mod tamper;
mod threads;
mod versions;
