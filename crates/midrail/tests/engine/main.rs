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

mod add_guardrail;
mod alerts;
mod approvals;
mod approvers;
mod architecture;
mod batches;
mod cases;
mod cedar;
mod commands;
mod completion;
mod conformance;
mod denials;
mod examples;
mod external_calls;
mod external_services;
mod failures;
mod feedback;
mod flow;
mod guides;
mod joined_calls;
mod language;
mod loading;
mod messages;
mod notices;
mod overdue;
mod pack_properties;
mod pauses;
mod prefetch;
mod questions;
mod recipes;
mod reference;
mod request_guidance;
mod restored_files;
mod script_settings;
mod scripts;
mod secrets_in_names;
mod sessions;
mod shadow;
mod shared_state;
mod shared_store;
mod shipped;
mod size_limits;
mod spellings;
mod streams;
mod threads;
