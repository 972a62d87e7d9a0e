//! The built-in guardrails by name: a plain table. One line here, a `.rs` and a `.md` file make a guardrail.

use midrail_core::{Category, EventKind};

use crate::settings::Settings;
use crate::{
    DestructiveCommand, InjectionPatterns, OutputSecretScan, ReadBeforeWrite, RuleSet, SandboxBoundary,
    ScopeBoundary, SecretRedaction, SelfProtection, SensitiveFile, TimeBudget, TokenBudget, ToolAllowlist,
    ToolList, Unconfigured,
};

/// A built-in guardrail: what it is called, where it stands, and its page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its id in packs, decisions and logs.
    pub id: &'static str,
    /// Its name in words.
    pub name: &'static str,
    /// Other names that packs know it by.
    pub aliases: &'static [&'static str],
    /// Its category.
    pub category: Category,
    /// Its place in the chain, unless a pack says otherwise.
    pub priority: u32,
    /// The kinds of event that it is asked about, unless a pack says otherwise.
    pub on: &'static [EventKind],
    /// In force in every policy.
    pub always_on: bool,
    /// How it is made from what a pack gives it under `with:`.
    pub settings: Settings,
    /// Its page: reference, `midrail explain` and test at once.
    pub page: &'static str,
}

const BEFORE_TOOL: &[EventKind] = &[EventKind::BeforeTool];

/// All built-in guardrails.
pub const CATALOGUE: &[Page] = &[
    Page {
        id: "self-protection",
        name: "self_protection",
        aliases: &[],
        category: Category::Safety,
        priority: 5,
        on: BEFORE_TOOL,
        always_on: true,
        settings: Settings::none::<SelfProtection>(),
        page: include_str!("self_protection.md"),
    },
    Page {
        id: "safety-001",
        name: "destructive_command_block",
        aliases: &["destructive_command"],
        category: Category::Safety,
        priority: 10,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::of::<DestructiveCommand>(),
        page: include_str!("destructive_command.md"),
    },
    Page {
        id: "safety-002",
        name: "sensitive_file_protection",
        aliases: &["sensitive_file"],
        category: Category::Safety,
        priority: 10,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::of::<SensitiveFile>(),
        page: include_str!("sensitive_file.md"),
    },
    Page {
        id: "safety-003",
        name: "output_secret_scan",
        aliases: &[],
        category: Category::Safety,
        priority: 10,
        on: &[EventKind::AfterTool, EventKind::AfterModel],
        always_on: false,
        settings: Settings::of::<OutputSecretScan>(),
        page: include_str!("output_secret_scan.md"),
    },
    Page {
        id: "safety-004",
        name: "sandbox_boundary",
        aliases: &[],
        category: Category::Safety,
        priority: 10,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::of::<SandboxBoundary>(),
        page: include_str!("sandbox_boundary.md"),
    },
    Page {
        id: "builtin-001",
        name: "token_budget",
        aliases: &["builtin_token_budget"],
        category: Category::Budget,
        priority: 1,
        on: BEFORE_TOOL,
        always_on: true,
        settings: Settings::none::<TokenBudget>(),
        page: include_str!("token_budget.md"),
    },
    Page {
        id: "builtin-002",
        name: "time_budget",
        aliases: &["builtin_time_budget"],
        category: Category::Budget,
        priority: 2,
        on: BEFORE_TOOL,
        always_on: true,
        settings: Settings::none::<TimeBudget>(),
        page: include_str!("time_budget.md"),
    },
    Page {
        id: "builtin-003",
        name: "scope_boundary",
        aliases: &["builtin_scope_boundary"],
        category: Category::Scope,
        priority: 3,
        on: BEFORE_TOOL,
        always_on: true,
        settings: Settings::none::<ScopeBoundary>(),
        page: include_str!("scope_boundary.md"),
    },
    Page {
        id: "builtin-004",
        name: "tool_allowlist",
        aliases: &["builtin_tool_allowlist"],
        category: Category::Scope,
        priority: 4,
        on: BEFORE_TOOL,
        always_on: true,
        settings: Settings::none::<ToolAllowlist>(),
        page: include_str!("tool_allowlist.md"),
    },
    Page {
        id: "read_before_write",
        name: "read_before_write",
        aliases: &[],
        category: Category::Compliance,
        priority: 60,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::of::<ReadBeforeWrite>(),
        page: include_str!("read_before_write.md"),
    },
    Page {
        id: "require_before",
        name: "require_before",
        aliases: &["sequential_dependency", "keyed_dependency"],
        category: Category::Compliance,
        priority: 61,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::none::<RuleSet>(),
        page: include_str!("require_before.md"),
    },
    Page {
        id: "secret-redaction",
        name: "secret_redaction",
        aliases: &["secret_redaction"],
        category: Category::Safety,
        priority: 20,
        on: &[EventKind::AfterTool, EventKind::AfterModel],
        always_on: false,
        settings: Settings::of::<SecretRedaction>(),
        page: include_str!("secret_redaction.md"),
    },
    Page {
        id: "injection-patterns",
        name: "injection_patterns",
        aliases: &["injection_patterns"],
        category: Category::Safety,
        priority: 10,
        on: &[EventKind::BeforeModel],
        always_on: false,
        settings: Settings::of::<InjectionPatterns>(),
        page: include_str!("injection_patterns.md"),
    },
    Page {
        id: "tool-allowlist",
        name: "tool_list",
        aliases: &[],
        category: Category::Safety,
        priority: 10,
        on: BEFORE_TOOL,
        always_on: false,
        settings: Settings::of::<ToolList>(),
        page: include_str!("tool_list.md"),
    },
    Page {
        id: "scope-classifier",
        name: "scope_classifier",
        aliases: &["scope_classifier"],
        category: Category::Scope,
        priority: 90,
        on: &[EventKind::BeforeModel, EventKind::BeforeTool],
        always_on: false,
        settings: Settings::none::<Unconfigured>(),
        page: include_str!("unconfigured.md"),
    },
];

/// The page of an id, name or alias.
pub fn page(id: &str) -> Option<&'static Page> {
    CATALOGUE.iter().find(|page| page.id == id || page.name == id || page.aliases.contains(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_sections() {
        for page in CATALOGUE {
            for section in ["# ", "## Settings", "## Passes", "## Stops", "## Limits"] {
                assert!(page.page.contains(section), "{} lacks {section}", page.id);
            }
        }
    }

    #[test]
    fn ids_are_unique_and_built_ins_stay_below_100() {
        let mut ids: Vec<&str> = CATALOGUE.iter().map(|page| page.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), CATALOGUE.len());
        assert!(CATALOGUE.iter().all(|page| (1..100).contains(&page.priority)));
    }
}
