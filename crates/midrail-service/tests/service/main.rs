//! The service over HTTP: authentication and authorisation (`access`), and what the API answers (`api`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod access;
mod api;
mod gateways;
