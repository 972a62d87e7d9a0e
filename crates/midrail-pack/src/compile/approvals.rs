//! Authorities for approvals, and channels of notices.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Authorities, Emergency};

use crate::compile::compiler::Compiler;
use crate::issue::pointer_key;
use crate::raw::{ApprovalRules, Channel, UnattendedRule};

impl Compiler<'_> {
    pub(super) fn authorities(&mut self, rules: &ApprovalRules) -> Authorities {
        let default = Authorities::default();
        for (name, roles) in
            [("order", &rules.order), ("supervisors", &rules.supervisors), ("humans", &rules.humans)]
        {
            self.roles(&format!("/approvals/{name}"), roles.as_deref());
        }
        let limits = [
            ("waiting_per_session", rules.waiting_per_session),
            ("waiting_per_agent", rules.waiting_per_agent),
        ];
        for (name, _) in limits.into_iter().filter(|(_, limit)| *limit == Some(0)) {
            let help = "allow at least 1, or use `effect: block` to request no approval";
            self.issue(format!("/approvals/{name}"), "no request could be made", help);
        }
        let emergency = rules.emergency.as_ref().and_then(|rule| {
            Some(Emergency {
                only_for: self.condition("/approvals/emergency/only_for", &rule.only_for)?,
                description: rule.only_for.trim().to_owned(),
                wait_s: rule.wait.map_or(60, |wait| wait.whole()),
                review_within_s: rule.review_within.map_or(24 * 60 * 60, |within| within.whole()),
            })
        });
        Authorities {
            order: rules.order.clone().unwrap_or(default.order),
            supervisors: rules.supervisors.clone().unwrap_or(default.supervisors),
            humans: rules.humans.clone().unwrap_or(default.humans),
            bypass_timeout_s: rules.bypass_timeout.map_or(default.bypass_timeout_s, |time| time.whole()),
            waiting_per_session: rules.waiting_per_session.unwrap_or(default.waiting_per_session),
            waiting_per_agent: rules.waiting_per_agent.unwrap_or(default.waiting_per_agent),
            emergency,
            unattended: rules.unattended.map_or(default.unattended, UnattendedRule::to_core),
        }
    }

    fn roles(&mut self, at: &str, roles: Option<&[String]>) {
        let Some(roles) = roles else { return };
        if roles.is_empty() {
            self.issue(at, "at least one role is needed", "add a role, or leave the list out");
        }
        let mut seen = BTreeSet::new();
        for (i, role) in roles.iter().enumerate() {
            let place = format!("{at}/{i}");
            if role.trim().is_empty() {
                self.issue(place, "a role needs a name", "write the name of the role");
            } else if !seen.insert(role) {
                self.issue(place, format!("the role `{role}` is listed twice"), "list each role once");
            }
        }
    }

    pub(super) fn channels(&mut self, channels: &BTreeMap<String, Channel>) {
        for (to, channel) in channels {
            let at = format!("/notify/{}", pointer_key(to));
            if let Some(webhook) = &channel.webhook
                && !is_address(webhook)
            {
                let help = "write `https://HOST[:PORT]/PATH`, or `http://` on this machine";
                self.issue(format!("{at}/webhook"), "this is not the address of a webhook", help);
            }
            if channel.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
                let help = "write the command line, or leave it out";
                self.issue(format!("{at}/command"), "the command is empty", help);
            }
        }
    }
}

/// Whether a notice can be sent there.
fn is_address(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty() && !host.contains(['@', ' ']) && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_http_addresses() {
        for fine in ["https://hooks.example.com/a?b", "http://127.0.0.1:8080", "https://[::1]/"] {
            assert!(is_address(fine), "{fine}");
        }
        for wrong in ["", "hooks.example.com", "https://", "ftp://a", "https://me:pw@a/", "https://a\n/"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
