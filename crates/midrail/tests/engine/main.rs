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

mod alerts;
mod approvals;
mod architecture;
mod asking;
mod at_once;
mod cases;
mod commands;
mod completion;
mod denials;
mod desk;
mod examples;
mod failures;
mod feedback;
mod foresight;
mod guides;
mod language;
mod loading;
mod notices;
mod outside;
mod overdue;
mod pauses;
mod people;
mod reference;
mod scripts;
mod sessions;
mod shadow;
mod shipped;
mod standing;
mod streams;
mod threads;
