//! What takes this guard away, or answers for a person. The rows' names begin with `midrail-`: self-protection goes by it.

use midrail_core::Severity::Critical;

use super::super::rule::{Rule, rule};

pub(super) const RULES: &[Rule] = &[
    rule("midrail-verb", &["midrail"], Critical, "Answers for a person, or switches the agent's own guardrails off")
        .when(&[
            "approve|deny|bypass|override|uninstall|disable|login",
        "--color ... approve|deny|bypass|uninstall",
            "approval|approvals|bypass|quarantine|lock|locks|key|keys|alert|alerts|policy|session|sessions approve|deny|decide|grant|lift|release|add|create|remove|revoke|delete|reload|end|reset|set",
        ])
        .safer("tell a person what stands in the way")
        .stops(&["midrail approve a-1", "midrail uninstall --yes", "midrail approvals decide a-1 --approve", "midrail quarantine lift x"])
        .passes(&["midrail check", "midrail explain safety-001", "midrail policy", "midrail test .midrail", "midrail approvals list", "midrail approve --help"]),
    rule("midrail-kill", &["pkill", "killall", "systemctl", "service", "launchctl"], Critical, "Ends the agent's own guardrails")
        .when(&["@*midrail*", "* @*midrail*"])
        .unless(&["status|is-active|show|list-units|cat|print|list", "* status"])
        .safer("tell a person what stands in the way")
        .stops(&["pkill midrail", "pkill -f 'midrail serve'", "killall -9 midrail", "systemctl stop midrail"])
        .passes(&["systemctl status midrail", "pkill -f vite", "service midrail status"]),
];
