//! Helpers that several guardrails share. No guardrail calls another one.

pub(crate) mod applicability;
pub(crate) mod calls;
pub(crate) mod classifier;
pub(crate) mod compiled_schema;
pub(crate) mod data;
pub(crate) mod downloads;
pub(crate) mod durations;
pub(crate) mod feedback_block;
pub(crate) mod file_access;
pub(crate) mod file_paths;
pub(crate) mod file_scopes;
pub(crate) mod flow;
pub(crate) mod fnv;
pub(crate) mod found_files;
pub(crate) mod git;
pub(crate) mod handoff;
pub(crate) mod letter_pairs;
pub(crate) mod lock_list;
pub(crate) mod locks;
pub(crate) mod missing_classifier;
pub(crate) mod objections;
pub(crate) mod one_or_many;
pub(crate) mod outcome;
pub(crate) mod overridden_facts;
pub(crate) mod replaced_parts;
pub(crate) mod required_command;
#[cfg(feature = "json-schema")]
mod schema_validator;
pub(crate) mod sensitive_data;
pub(crate) mod settings;
pub(crate) mod started_programs;
pub(crate) mod text;
pub(crate) mod text_origin;
pub(crate) mod thresholds;
pub(crate) mod todo_list;
