//! Packs: text to spanned trees, expressions and diagnostics; no file, clock or network.

#![forbid(unsafe_code)]

pub mod diagnostic;
pub mod yaml;
