//! The engine as its users see it: cases, sessions, failures, many threads.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "tests may fail loudly"
)]

mod cases;
mod examples;
mod failures;
mod guides;
mod house;
mod loading;
mod reference;
mod sessions;
mod threads;
