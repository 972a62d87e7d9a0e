//! Tests of `decide`: a naive reference model, properties, and examples.
//!
//! One binary, so that the tests link once. `reference` is the model, `plan` describes guardrails as data, `world` is the store
//! and the probes, and `generate` has the strategies of property tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    reason = "a test that cannot continue panics; helpers of tests are not in a #[test] function"
)]

mod agreement;
mod approvals;
mod bypass;
mod commands;
mod faults;
mod generate;
mod ladder;
mod modifying;
mod pauses;
mod plan;
mod policies;
mod properties;
mod records;
mod redaction;
mod reference;
mod rewriting;
mod state;
mod streams;
mod strikes;
mod vouching;
mod world;
