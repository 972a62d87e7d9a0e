//! Domains and local parts of e-mail addresses: real ones, examples and roles.

use super::data::{EXAMPLE_DOMAINS, PLACEHOLDER_LOCALS, ROLE_LOCALS, TOP_LEVEL_DOMAINS};

/// Whether a top-level domain exists.
pub(super) fn is_top_level(top: &str) -> bool {
    TOP_LEVEL_DOMAINS.contains(top.as_bytes())
}

/// Whether an address is an example, or one that no person reads.
pub(super) fn is_example(local: &str, domain: &str) -> bool {
    let base =
        domain.rmatch_indices('.').nth(1).map_or(domain, |(dot, _)| domain.get(dot + 1..).unwrap_or(domain));
    let is_silent = local.starts_with("noreply")
        || local.starts_with("no-reply")
        || local.starts_with("donotreply")
        || local.starts_with("do-not-reply")
        || domain.contains("noreply")
        || domain.ends_with("gserviceaccount.com");
    let (label, _) = base.split_once('.').unwrap_or((base, ""));
    let is_made_up = label.contains("example")
        || label.ends_with("domain")
        || label.starts_with("your")
        || matches!(label, "anywhere" | "home" | "myhost" | "nowhere" | "remotehost" | "whatever");
    is_made_up
        || EXAMPLE_DOMAINS.contains(base.as_bytes())
        || domain.starts_with("example.")
        || PLACEHOLDER_LOCALS.contains(local.as_bytes())
        || is_silent
}

/// Whether a local part is that of a role.
pub(super) fn is_role(local: &str) -> bool {
    ROLE_LOCALS.contains(local.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_extensions_are_no_domains() {
        for ending in ["png", "js", "tgz", "service", "route", "json"] {
            assert!(!is_top_level(ending), "{ending}");
        }
    }
}
