//! Who answers what guardrails put to people, and where notices go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use midrail_core::{Authorities, Emergency};

use super::{Compiler, Issue, key};
use crate::expr::Expected;
use crate::raw::{ApprovalRules, Channel};
use crate::rule::ExpressionCondition;

impl Compiler<'_> {
    pub(super) fn authorities(&mut self, rules: &ApprovalRules) -> Authorities {
        let usual = Authorities::default();
        for (name, roles) in
            [("order", &rules.order), ("supervisors", &rules.supervisors), ("humans", &rules.humans)]
        {
            self.roles(&format!("/approvals/{name}"), roles.as_deref());
        }
        let emergency = rules.emergency.as_ref().and_then(|rule| {
            let only_for =
                self.expression("/approvals/emergency/only_for", &rule.only_for, Expected::Bool)?;
            Some(Emergency {
                only_for: Arc::new(ExpressionCondition(only_for)),
                description: rule.only_for.trim().to_owned(),
                wait_s: rule.wait.map_or(60, |wait| wait.whole()),
                review_within_s: rule.review_within.map_or(24 * 60 * 60, |within| within.whole()),
            })
        });
        Authorities {
            order: rules.order.clone().unwrap_or(usual.order),
            supervisors: rules.supervisors.clone().unwrap_or(usual.supervisors),
            humans: rules.humans.clone().unwrap_or(usual.humans),
            bypass_timeout_s: rules.bypass_timeout.map_or(usual.bypass_timeout_s, |time| time.whole()),
            emergency,
        }
    }

    fn roles(&mut self, at: &str, roles: Option<&[String]>) {
        let Some(roles) = roles else { return };
        if roles.is_empty() {
            let issue = Issue::new(at, "without a role nobody could answer");
            self.issues.push(issue.help("name at least one role, or leave it out"));
        }
        let mut seen = BTreeSet::new();
        for (i, role) in roles.iter().enumerate() {
            let place = format!("{at}/{i}");
            if role.trim().is_empty() {
                self.issues.push(Issue::new(place, "a role needs a name").help("write it as a word"));
            } else if !seen.insert(role) {
                let issue = Issue::new(place, format!("the role `{role}` stands here twice"));
                self.issues.push(issue.help("name each role once"));
            }
        }
    }

    pub(super) fn channels(&mut self, channels: &BTreeMap<String, Channel>) {
        for (to, channel) in channels {
            let at = format!("/notify/{}", key(to));
            if let Some(webhook) = &channel.webhook
                && !is_address(webhook)
            {
                let issue = Issue::new(format!("{at}/webhook"), "this is no address of a webhook");
                self.issues
                    .push(issue.help("write `https://HOST[:PORT]/PATH`, or `http://` on this machine"));
            }
            if channel.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
                let issue = Issue::new(format!("{at}/command"), "there is no command in it");
                self.issues.push(issue.help("write the command line, or leave it out"));
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
    fn notices_go_to_addresses_of_the_web() {
        for fine in ["https://hooks.example.com/a?b", "http://127.0.0.1:8080", "https://[::1]/"] {
            assert!(is_address(fine), "{fine}");
        }
        for wrong in ["", "hooks.example.com", "https://", "ftp://a", "https://me:pw@a/", "https://a\n/"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
