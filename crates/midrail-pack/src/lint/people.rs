//! Requests that no approver can answer, notices without a channel, and thresholds in the wrong order.

use std::collections::BTreeSet;

use midrail_core::Authorities;
use midrail_guardrails::{Seconds, Share, Thresholds};
use serde::Deserialize;

use crate::diagnostic::{DiagnosticLevel, nearest};
use crate::issue::{Issue, pointer_key};
use crate::lint::linter::{Findings, Packs};
use crate::raw::{ApprovalRules, Channel};

/// Roles without a rank: only an approver with exactly this role, or a person, can answer.
pub(super) fn roles(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let known = ranked(packs);
    let mut check = |document: usize, at: String, role: Option<&String>| {
        let Some(role) = role.filter(|role| !known.contains(*role)) else { return };
        let help = match nearest(role, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? Otherwise add it to `approvals.order`"),
            None => {
                let known: Vec<String> = known.iter().map(|role| format!("`{role}`")).collect();
                format!("use one of {}, or add it to `approvals.order`", known.join(", "))
            }
        };
        let message = format!("the role `{role}` has no rank, so no higher role can answer");
        out.warn("unknown-role", document, Issue::new(at, message).help(help));
    };
    for (at, document) in packs.iter() {
        check(at, "/defaults/approver".to_owned(), document.pack.defaults.approver.as_ref());
    }
    for found in &packs.guards {
        let guard = found.guard.guard;
        check(found.document, found.at("approver"), guard.approver.as_ref());
        let bypass = guard.bypass.as_ref().filter(|bypass| bypass.allowed);
        let role = bypass.and_then(|bypass| bypass.requires_approval.as_ref());
        check(found.document, found.at("bypass/requires_approval"), role);
    }
}

/// Requests that time out at once.
pub(super) fn timeouts(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let mut check = |document: usize, at: String, timeout: Option<Seconds>| {
        if timeout.is_some_and(|Seconds(seconds)| seconds < 1.0) {
            let help = "use minutes, such as `30m`; to stop the action without approval use `effect: block`";
            let message = "no approver can answer: every request times out at once";
            out.warn("no-time-to-answer", document, Issue::new(at, message).help(help));
        }
    };
    for (at, document) in packs.iter() {
        let pack = &document.pack;
        check(at, "/defaults/approval_timeout".to_owned(), pack.defaults.approval_timeout);
        for (i, limit) in pack.strikes.iter().enumerate() {
            check(at, format!("/strikes/{i}/approval_timeout"), limit.approval_timeout);
        }
        let bypass = pack.approvals.as_ref().and_then(|rules| rules.bypass_timeout);
        check(at, "/approvals/bypass_timeout".to_owned(), bypass);
    }
    for found in &packs.guards {
        check(found.document, found.at("approval_timeout"), found.guard.guard.approval_timeout);
    }
}

/// Thresholds of a budget that a stricter one precedes.
pub(super) fn thresholds(packs: &Packs<'_>, out: &mut Findings<'_>) {
    out.each(packs, "steps-out-of-order", DiagnosticLevel::Warning, |found| {
        let thresholds = found.guard.guard.with.as_ref()?.get("thresholds")?;
        let Thresholds { warn, escalate, block } = Thresholds::deserialize(thresholds).ok()?;
        let steps = [("warn", warn), ("escalate", escalate), ("block", block)];
        let set: Vec<(&str, f64)> =
            steps.iter().filter_map(|(name, share)| share.map(|Share(share)| (*name, share))).collect();
        let (mild, strict) = set.windows(2).find_map(|pair| match pair {
            [(mild, early), (strict, late)] if early > late => Some((mild, strict)),
            _ => None,
        })?;
        let message = format!("`{mild}` comes after `{strict}`, so it never happens");
        let issue = Issue::new(found.at(&format!("with/thresholds/{mild}")), message);
        Some(issue.help("put the milder threshold first, or leave it out"))
    });
}

/// Channels that deliver nothing.
pub(super) fn channels(packs: &Packs<'_>, out: &mut Findings<'_>) {
    let is_empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    for (at, document) in packs.iter() {
        for (to, Channel { webhook, command, log }) in &document.pack.notify {
            if is_empty(webhook) && is_empty(command) && *log != Some(true) {
                let message =
                    format!("notices to `{to}` are not delivered: there is no webhook and no command");
                let help = "add `webhook` or `command`, or `log: true` if the log is enough";
                let issue = Issue::new(format!("/notify/{}", pointer_key(to)), message).help(help);
                out.warn("empty-channel", at, issue);
            }
        }
    }
}

/// The ranked roles of all packs, with the defaults of those that are not set.
fn ranked(packs: &Packs<'_>) -> BTreeSet<String> {
    let default = Authorities::default();
    let rules: Vec<&ApprovalRules> =
        packs.iter().filter_map(|(_, document)| document.pack.approvals.as_ref()).collect();
    let roles = |get: fn(&ApprovalRules) -> &Option<Vec<String>>, default: Vec<String>| {
        let set: Vec<String> = rules.iter().filter_map(|rules| get(rules).clone()).flatten().collect();
        if set.is_empty() { default } else { set }
    };
    [
        roles(|rules| &rules.order, default.order),
        roles(|rules| &rules.supervisors, default.supervisors),
        roles(|rules| &rules.humans, default.humans),
    ]
    .into_iter()
    .flatten()
    .collect()
}
