//! The catalogue of built-in guardrails. `build.rs` lists them: one for every page in this folder.

use crate::builtin::{Builtin, PackKey};

/// All built-in guardrails, ordered by their readable names.
pub const CATALOGUE: &[Builtin] = &include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// Finds a built-in guardrail by its id, its readable name or an alias. `-` and `_` are interchangeable.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    let by_id = CATALOGUE.iter().find(|builtin| builtin.id == name);
    by_id.or_else(|| CATALOGUE.iter().find(|builtin| builtin.names().any(|other| other == name))).or_else(
        || {
            let hyphenated = name.replace('_', "-");
            CATALOGUE
                .iter()
                .find(|builtin| builtin.names().any(|other| other.replace('_', "-") == hyphenated))
        },
    )
}

/// The id of a guardrail that is named by its id or by its readable name: `destructive-command` is `safety-001`. Names
/// of other guardrails stay as they are.
pub fn guardrail_id(name: &str) -> String {
    let (base, suffix) = name.find('@').map_or((name, ""), |at| name.split_at(at));
    let hyphenated = base.replace('_', "-");
    match CATALOGUE.iter().find(|builtin| builtin.name != builtin.id && builtin.name == hyphenated) {
        Some(builtin) => format!("{}{suffix}", builtin.id),
        None => name.to_owned(),
    }
}

/// The built-in guardrail that a pack configures under this key.
pub fn configured_by(key: PackKey) -> Option<&'static Builtin> {
    CATALOGUE.iter().find(|builtin| builtin.pack_key == key)
}

/// The label of a guardrail in text for people: `destructive-command (safety-001)`. Ids that are readable by themselves,
/// and ids of other guardrails, stay alone.
pub fn label(id: &str) -> String {
    let base = id.split('@').next().unwrap_or(id);
    match CATALOGUE.iter().find(|builtin| builtin.id == base && builtin.name != base) {
        Some(builtin) => format!("{} ({id})", builtin.name),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_title_and_sections() {
        for builtin in CATALOGUE {
            let title = format!("# {}\n", label(builtin.id));
            assert!(builtin.page.starts_with(&title), "{}.md starts with `{}`", builtin.name, title.trim());
            for section in ["## Settings", "## Triggers on", "## Allows", "## Limits"] {
                assert!(builtin.page.contains(section), "{}.md lacks `{section}`", builtin.name);
            }
            assert!(builtin.summary().ends_with('.'), "the summary of {}.md is a sentence", builtin.name);
        }
    }

    #[test]
    fn names_are_unique_and_priorities_stay_below_100() {
        let mut names: Vec<&str> = CATALOGUE.iter().flat_map(Builtin::names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(CATALOGUE.iter().all(|builtin| (1..100).contains(&builtin.priority)));
    }

    #[test]
    fn ids_readable_names_and_seed_names_find_the_same_guardrail() {
        for name in ["safety-001", "destructive-command", "destructive_command", "destructive_command_block"]
        {
            assert_eq!(builtin(name).map(|builtin| builtin.id), Some("safety-001"), "{name}");
        }
        for name in ["read_before_write", "read-before-write"] {
            assert_eq!(builtin(name).map(|builtin| builtin.id), Some("read_before_write"), "{name}");
        }
        assert_eq!(builtin("tool-allowlist").map(|builtin| builtin.id), Some("tool-allowlist"));
        assert_eq!(builtin("tool_allowlist").map(|builtin| builtin.id), Some("builtin-004"));
        assert!(builtin("safety-999").is_none());
    }

    #[test]
    fn readable_names_stand_for_numbered_ids() {
        for (name, id) in [
            ("destructive-command", "safety-001"),
            ("destructive_command", "safety-001"),
            ("destructive-command@strict", "safety-001@strict"),
            ("safety-001", "safety-001"),
            ("rate-limit", "rate-limit"),
            ("my_own@pack", "my_own@pack"),
        ] {
            assert_eq!(guardrail_id(name), id);
        }
    }

    #[test]
    fn labels_show_the_readable_name_with_a_seed_id() {
        assert_eq!(label("safety-001"), "destructive-command (safety-001)");
        assert_eq!(label("safety-001@strict"), "destructive-command (safety-001@strict)");
        assert_eq!(label("rate-limit"), "rate-limit");
        assert_eq!(label("read_before_write"), "read_before_write");
        assert_eq!(label("my-own"), "my-own");
    }
}
