//! The packs that come with the program.

use midrail_pack::diagnostic::nearest;

/// The pack that is in force where there is no other: its name and its text.
pub const DEFAULT: (&str, &str) = ("default", include_str!("../../../packs/default.yaml"));

/// All shipped packs, in the order of their names. Each has a page in `docs/packs`.
pub const PACKS: &[(&str, &str)] = &[
    ("ci-agent", include_str!("../../../packs/ci-agent.yaml")),
    ("customer-support", include_str!("../../../packs/customer-support.yaml")),
    ("data-analyst", include_str!("../../../packs/data-analyst.yaml")),
    DEFAULT,
    ("infrastructure", include_str!("../../../packs/infrastructure.yaml")),
    ("overnight-coding", include_str!("../../../packs/overnight-coding.yaml")),
    ("read-only-analyst", include_str!("../../../packs/read-only-analyst.yaml")),
    ("strict", include_str!("../../../packs/strict.yaml")),
];

/// A shipped pack by its name, with or without `midrail:` before it.
pub fn pack(name: &str) -> Option<(&'static str, &'static str)> {
    let name = name.strip_prefix("midrail:").unwrap_or(name);
    PACKS.iter().find(|(known, _)| *known == name).copied()
}

/// A hint for a name that is no shipped pack: the most similar one, or all of them.
pub(crate) fn suggest(name: &str, near: fn(&str) -> String, all: fn(&str) -> String) -> String {
    let names = || PACKS.iter().map(|(name, _)| *name);
    nearest(name, names()).map_or_else(|| all(&names().collect::<Vec<_>>().join(", ")), near)
}
