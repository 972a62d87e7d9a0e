//! The packs that come with the program.

/// The pack that is in force where there is no other: its name and its text.
pub const DEFAULT: (&str, &str) = ("default", include_str!("../../../packs/default.yaml"));

/// All shipped packs.
pub const PACKS: &[(&str, &str)] = &[DEFAULT];

/// A shipped pack by its name, with or without `midrail:` before it.
pub fn pack(name: &str) -> Option<(&'static str, &'static str)> {
    let name = name.strip_prefix("midrail:").unwrap_or(name);
    PACKS.iter().find(|(known, _)| *known == name).copied()
}
