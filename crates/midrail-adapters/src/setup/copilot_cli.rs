//! GitHub Copilot CLI: a file of hooks of our own.

use super::agent::{Format, Hooked, Host, InstallScope, Moment, after, before, note, stop};
use super::jsonc::Field;
use super::strict::PLAIN;

pub(super) const HOST: Host = Host {
    name: "copilot-cli",
    title: "Copilot CLI",
    programs: &["copilot"],
    traces: |places| {
        vec![
            places.project.join(".github/hooks"),
            places.project.join(".github/copilot-instructions.md"),
            places.copilot.clone(),
        ]
    },
    file: |places, scope| match scope {
        InstallScope::Project => Some(places.project.join(".github/hooks/midrail.json")),
        InstallScope::User => Some(places.copilot.join("hooks/midrail.json")),
        InstallScope::Managed => Some(places.etc("github-copilot").join("policy.d/midrail.json")),
    },
    format: |_| Format::Flat,
    // Left out: permissionRequest (preToolUse was asked already), userPromptTransformed (userPromptSubmitted was),
    // preCompact and notification (they neither act nor tell anything). Payloads do not name their event, so the command
    // does.
    events: &[
        note("sessionStart"),
        // Here exit code 2 stops nothing; an answer in JSON does.
        Hooked { event: "userPromptSubmitted", moment: Moment::PromptByJson, seconds: 60 },
        before("preToolUse"),
        after("postToolUse"),
        after("postToolUseFailure"),
        note("subagentStart"),
        stop("subagentStop"),
        stop("agentStop"),
        note("errorOccurred"),
        note("sessionEnd"),
    ],
    handler: |hooked, command| {
        vec![
            ("type", Field::text("command")),
            ("bash", Field::Text(command)),
            ("timeoutSec", Field::Number(hooked.seconds)),
        ]
    },
    remarks: |_, scope| {
        match scope {
        InstallScope::Project => vec![
            "Copilot CLI reads a project's hooks only in a folder that it trusts: answer its question so, or start it with \
             `--trust-folder` where nobody is there to answer."
                .to_owned(),
        ],
        InstallScope::User => Vec::new(),
        InstallScope::Managed => vec!["Copilot CLI heeds this file only where root owns it.".to_owned()],
    }
    },
    reads: PLAIN,
    any_shell: false,
};
