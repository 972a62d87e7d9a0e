//! The order of rules: which rule decides first, and which therefore never decides.

use std::cmp::Reverse;

use super::rule::{Finding, HostPolicy, PolicyRule, Subject, Verdict};

/// Orders the rules of a host in which the strictest matching rule decides. A weaker rule that a stricter one includes never
/// decides, and neither does one that is listed twice.
pub(crate) fn strictest_first(policy: &mut HostPolicy) {
    policy.rules.sort_by_key(|rule| Reverse(rule.verdict));
    let all = std::mem::take(&mut policy.rules);
    let mut found = Findings::default();
    for (at, rule) in all.iter().cloned().enumerate() {
        let stricter = all.iter().find(|other| other.verdict > rule.verdict && covers(other, &rule));
        let repeated =
            all.iter().take(at).find(|other| other.verdict == rule.verdict && other.subject == rule.subject);
        if let Some(other) = stricter {
            found.dead.push((rule.verdict, rule.source.finding(decides_before(other))));
        } else if let Some(other) = repeated {
            let reason = format!("`{}` in {} says the same", other.source.rule, other.source.file);
            found.left_out.push((rule.verdict, rule.source.finding(reason)));
        } else {
            policy.rules.push(rule);
        }
    }
    found.add_to(policy);
}

/// Orders the rules of a host in which the first matching rule decides, from the first to the last. An allow that decides before a
/// deny or an ask becomes an exception of it, so that Midrail is never weaker and rarely stricter.
pub(crate) fn first_match(policy: &mut HostPolicy) {
    let mut before: Vec<PolicyRule> = Vec::new();
    let mut found = Findings::default();
    for mut rule in std::mem::take(&mut policy.rules) {
        if let Some(other) = before.iter().find(|other| covers(other, &rule)) {
            found.dead.push((rule.verdict, rule.source.finding(decides_before(other))));
            continue;
        }
        before.push(rule.clone());
        if rule.verdict == Verdict::Ask && rule.subject.is_everything() {
            let reason = "the host asks by default, and Midrail vouches only for what is listed";
            found.left_out.push((rule.verdict, rule.source.finding(reason)));
            continue;
        }
        if rule.verdict == Verdict::Allow {
            policy.rules.push(rule);
            continue;
        }
        let above = before.iter().filter(|other| other.subject.may_overlap(&rule.subject));
        let weaker: Vec<&PolicyRule> = above.filter(|other| other.verdict < rule.verdict).collect();
        let (kept, lost): (Vec<&PolicyRule>, Vec<&PolicyRule>) =
            weaker.into_iter().partition(|other| other.verdict == Verdict::Allow && can_except(&rule, other));
        rule.exceptions = kept.iter().map(|other| other.subject.clone()).collect();
        policy.rules.push(match lost.first() {
            Some(other) => rule.stricter(format!("{} in the host", decides_before(other))),
            None => rule,
        });
    }
    found.add_to(policy);
}

fn decides_before(rule: &PolicyRule) -> String {
    format!("`{}` ({}) decides before it", rule.source.rule, rule.verdict.name())
}

/// Findings about parts of rules.
#[derive(Default)]
struct Findings {
    dead: Vec<(Verdict, Finding)>,
    left_out: Vec<(Verdict, Finding)>,
}

impl Findings {
    /// Reports a rule once, and only if no part of it was imported.
    fn add_to(self, policy: &mut HostPolicy) {
        let HostPolicy { rules, left_out, dead, .. } = policy;
        for (from, to) in [(self.dead, dead), (self.left_out, left_out)] {
            for (verdict, finding) in from {
                let is_imported =
                    rules.iter().any(|rule| rule.verdict == verdict && rule.source == finding.source);
                let is_listed = to.iter().any(|other| other.source == finding.source);
                if !is_imported && !is_listed {
                    to.push(finding);
                }
            }
        }
    }
}

/// Whether a rule of any verdict includes another.
fn covers(general: &PolicyRule, specific: &PolicyRule) -> bool {
    // The text of a line is only an approximation of what the host compares.
    !matches!(general.subject, Subject::CommandText(_)) && general.subject.covers(&specific.subject)
}

/// Whether a guardrail for the rule can express the exception.
fn can_except(rule: &PolicyRule, exception: &PolicyRule) -> bool {
    matches!(
        (&rule.subject, &exception.subject),
        (Subject::Command(_) | Subject::CommandText(_), Subject::Command(_))
            | (Subject::Read(_), Subject::Read(_))
            | (Subject::Edit(_), Subject::Edit(_))
            | (Subject::Tool(_), Subject::Tool(_))
    )
}
