//! Packs as users write them: read, compiled, and decided on.
//!
//! One binary, so that the tests link once. `world` is what the tests are written in, `checker` knows enough of JSON
//! Schema to hold packs against the schema that editors use.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    reason = "a test that cannot go on is to stop, loudly; helpers of tests are not in a #[test] function"
)]

mod checker;
mod definitions;
mod expressions;
mod flow;
mod layers;
mod lint;
mod mistakes;
mod problems;
mod properties;
mod schema;
mod seeds;
mod vouch;
mod world;
