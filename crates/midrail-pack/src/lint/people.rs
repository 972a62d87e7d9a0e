//! Requests that nobody can answer, notices that reach nobody, and steps that come in the wrong order.

use std::collections::BTreeSet;

use midrail_core::Authorities;
use midrail_guardrails::{Seconds, Share, Thresholds};
use serde::Deserialize;

use super::{DiagnosticLevel, Found, Issue, Linter};
use crate::compile::key;
use crate::diagnostic::nearest;
use crate::raw::{ApprovalRules, Channel, Pack};

/// Roles that no `approvals` ranks: nobody but someone of exactly this role, or a person, can answer.
pub(super) fn roles(linter: &mut Linter<'_>) {
    let known = ranked(linter);
    let issue = |at: String, role: &str| {
        let help = match nearest(role, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`? Else rank it in `approvals.order`"),
            None => format!("use one of {}, or rank it in `approvals.order`", join(&known)),
        };
        Issue::new(at, format!("no role `{role}` is ranked, so nobody stands above it")).help(help)
    };
    let is_unknown = |role: &Option<String>| role.as_ref().filter(|role| !known.contains(*role)).cloned();
    let mut found = Vec::new();
    for (at, document) in linter.packs() {
        if let Some(role) = is_unknown(&document.pack.defaults.approver) {
            found.push((at, issue("/defaults/approver".to_owned(), &role)));
        }
    }
    for Found { document, guard } in &linter.guards {
        if let Some(role) = is_unknown(&guard.guard.approver) {
            found.push((*document, issue(format!("{}/approver", guard.at), &role)));
        }
        let bypass = guard.guard.bypass.as_ref().filter(|bypass| bypass.allowed);
        if let Some(role) = bypass.and_then(|bypass| is_unknown(&bypass.requires_approval)) {
            found.push((*document, issue(format!("{}/bypass/requires_approval", guard.at), &role)));
        }
    }
    for (document, issue) in found {
        linter.found("unknown-role", DiagnosticLevel::Warning, document, issue);
    }
}

/// Requests that time out before anybody can answer.
pub(super) fn timeouts(linter: &mut Linter<'_>) {
    let is_none = |time: Option<Seconds>| time.is_some_and(|Seconds(seconds)| seconds < 1.0);
    let issue = |at: String| {
        Issue::new(at, "nobody can answer in no time: every request times out at once")
            .help("give people minutes, such as `30m`; to stop the action without asking use `effect: block`")
    };
    let mut found = Vec::new();
    for (at, document) in linter.packs() {
        let Pack { defaults, approvals, .. } = &document.pack;
        if is_none(defaults.approval_timeout) {
            found.push((at, issue("/defaults/approval_timeout".to_owned())));
        }
        for (i, limit) in document.pack.strikes.iter().enumerate() {
            if is_none(limit.approval_timeout) {
                found.push((at, issue(format!("/strikes/{i}/approval_timeout"))));
            }
        }
        if is_none(approvals.as_ref().and_then(|rules| rules.bypass_timeout)) {
            found.push((at, issue("/approvals/bypass_timeout".to_owned())));
        }
    }
    for Found { document, guard } in &linter.guards {
        if is_none(guard.guard.approval_timeout) {
            found.push((*document, issue(format!("{}/approval_timeout", guard.at))));
        }
    }
    for (document, issue) in found {
        linter.found("no-time-to-answer", DiagnosticLevel::Warning, document, issue);
    }
}

/// Steps of a budget of which the milder comes after the harder, and so never.
pub(super) fn thresholds(linter: &mut Linter<'_>) {
    linter.each_guard("steps-out-of-order", DiagnosticLevel::Warning, |it| {
        let said = it.guard.guard.with.as_ref()?.get("thresholds")?;
        let Thresholds { warn, escalate, block } = Thresholds::deserialize(said).ok()?;
        let steps = [("warn", warn), ("escalate", escalate), ("block", block)];
        let said: Vec<(&str, f64)> =
            steps.iter().filter_map(|(name, share)| share.map(|Share(share)| (*name, share))).collect();
        let pair = said.windows(2).find_map(|pair| match pair {
            [(mild, early), (hard, late)] if early > late => Some((mild, hard)),
            _ => None,
        });
        let (mild, hard) = pair?;
        let message = format!("`{mild}` comes after `{hard}`, so it never happens");
        let at = format!("{}/with/thresholds/{mild}", it.guard.at);
        Some(Issue::new(at, message).help("let the milder step come first, or leave it out"))
    });
}

/// Channels by which nobody is told anything.
pub(super) fn channels(linter: &mut Linter<'_>) {
    let is_empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    for (at, document) in linter.packs() {
        for (to, channel) in &document.pack.notify {
            let Channel { webhook, command, log } = channel;
            if is_empty(webhook) && is_empty(command) && *log != Some(true) {
                let message =
                    format!("notices to `{to}` go nowhere: there is neither a webhook nor a command");
                let issue = Issue::new(format!("/notify/{}", key(to)), message)
                    .help("add `webhook` or `command`, or say `log: true` if the log is all that is meant");
                linter.found("empty-channel", DiagnosticLevel::Warning, at, issue);
            }
        }
    }
}

/// The roles that some pack ranks. What none says is as it is by default.
fn ranked(linter: &Linter<'_>) -> BTreeSet<String> {
    let usual = Authorities::default();
    let rules: Vec<&ApprovalRules> =
        linter.packs().filter_map(|(_, document)| document.pack.approvals.as_ref()).collect();
    let mut roles = BTreeSet::new();
    let mut add = |said: fn(&ApprovalRules) -> &Option<Vec<String>>, usual: &[String]| {
        let mut all = rules.iter().filter_map(|rules| said(rules).as_ref()).flatten().peekable();
        match all.peek() {
            Some(_) => roles.extend(all.cloned()),
            None => roles.extend(usual.iter().cloned()),
        }
    };
    add(|rules| &rules.order, &usual.order);
    add(|rules| &rules.supervisors, &usual.supervisors);
    add(|rules| &rules.humans, &usual.humans);
    roles
}

fn join(roles: &BTreeSet<String>) -> String {
    roles.iter().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ")
}
