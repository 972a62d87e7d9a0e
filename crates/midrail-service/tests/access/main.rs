//! Who gets in, and what becomes of those who try otherwise.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bodies;
mod keys;
mod limits;
mod people;
mod policy;
mod stop;
mod streams;
mod tls;
mod world;
