//! The formats of providers' keys, compiled from `data/secrets/formats`.

use midrail_core::{Confidence, Severity};

pub(super) use crate::choices::{Position, Span};

/// One format.
#[derive(Debug)]
pub(super) struct Format {
    /// The kind in findings. Several formats may share one.
    pub(super) kind: &'static str,
    /// What it is, for people.
    pub(super) description: &'static str,
    /// A regular expression over bytes. The first group is the key; without one, the whole match is.
    pub(super) pattern: &'static str,
    pub(super) position: Position,
    /// How far before the keyword the match may begin.
    pub(super) bytes_before: usize,
    /// How many bytes are searched from the keyword, or from the value.
    pub(super) window: usize,
    pub(super) span: Span,
    /// Whether the format is less specific than those of providers.
    pub(super) is_generic: bool,
    /// Whether the keyword counts in any case.
    pub(super) any_case: bool,
    /// The least entropy of the key, in tenths of a bit per character.
    pub(super) min_entropy: u32,
    /// Whether values that look like dummies count, because the format leaves no doubt.
    pub(super) allow_dummies: bool,
    /// Words of which the name that a key is assigned to has to contain one. Without words, a hint is enough.
    pub(super) name_contains: &'static [&'static str],
    /// A word that has to be in the line, before the key.
    pub(super) line_contains: Option<&'static str>,
    /// Texts right before the key that make it harmless.
    pub(super) not_after: &'static [&'static str],
    /// Whether a key that is longer than the window ends at a space, and not where base 64 ends.
    pub(super) ends_at_space: bool,
    /// Returns the confidence in a key, or `None` if it is none.
    pub(super) check: fn(&[u8]) -> Option<Confidence>,
    pub(super) severity: Severity,
}

include!(concat!(env!("OUT_DIR"), "/secret_formats.rs"));
