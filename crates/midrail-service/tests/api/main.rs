//! The HTTP API, from outside: a real service in a folder of its own, and programs and people who call it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod approvals;
mod audit;
mod crowd;
mod live;
mod observe;
mod separation;
mod sessions;
mod standing;
mod stats;
mod world;
