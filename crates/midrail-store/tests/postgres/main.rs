//! The PostgreSQL store beyond the contract: projects, several machines, faults, tampering, waiting, TLS.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod anchor;
#[path = "../store/archives.rs"]
mod archives;
#[path = "../store/common.rs"]
mod common;
mod faults;
mod lost;
mod many;
mod separation;
mod server;
mod tables;
mod tamper;
mod tls;
mod waiting;

use std::time::Duration;

use midrail_core::AuditRef;
use midrail_store::{Commit, PostgresOptions, PostgresStore, Result, Slices, Store};

/// A connection of its own to the shared server.
fn connect() -> Option<PostgresStore> {
    Some(PostgresStore::connect(&PostgresOptions::new(server::url()?)).unwrap())
}

/// A project of its own on the shared server.
fn project(name: &str) -> Option<PostgresStore> {
    Some(connect()?.project(&server::unique(name)))
}

/// Options with a short timeout.
fn short_timeout(url: String) -> PostgresOptions {
    PostgresOptions { timeout: Duration::from_secs(1), ..PostgresOptions::new(url) }
}

/// Adds one to a slice, as a decision would, until there is no conflict.
fn count_one(store: &PostgresStore, session: &str, key: &str) -> Result<AuditRef> {
    let record = common::record(session, 1);
    loop {
        let slice = store.load(session, &[key])?.remove(0);
        let mut commit = Commit::new(&record);
        commit.read.push((key.to_owned(), slice.version));
        commit.changes.set(key, slice.value.and_then(|value| value.as_u64()).unwrap_or(0) + 1);
        match store.commit(&commit) {
            Err(error) if error.is_conflict() => {}
            outcome => return outcome,
        }
    }
}

fn counted(store: &PostgresStore, session: &str, key: &str) -> u64 {
    let slice = store.load(session, &[key]).unwrap().remove(0);
    slice.value.and_then(|value| value.as_u64()).unwrap_or(0)
}
