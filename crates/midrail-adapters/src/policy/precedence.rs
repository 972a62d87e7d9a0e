//! The order of exported rules for hosts in which an allow can be an exception of a deny.

use super::rule::{PolicyRule, Subject, Verdict};
use super::writer::Writer;

/// Which rule decides, the one that decides first lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precedence {
    Deny,
    Ask,
    Exception,
    DenyWithExceptions,
    AskWithExceptions,
    Allow,
}

/// The rules in the order in which they decide. Exceptions are rules of their own.
pub(crate) fn by_precedence(rules: Vec<PolicyRule>, writer: &mut Writer) -> Vec<(Precedence, PolicyRule)> {
    let (mut ordered, mut exceptions) = (Vec::new(), Vec::new());
    for rule in &rules {
        // An exception must not allow what another rule with exceptions denies.
        let is_free = |exception: &Subject| {
            rules.iter().all(|other| {
                other.exceptions.is_empty()
                    || other.exceptions.contains(exception)
                    || !other.subject.may_overlap(exception)
            })
        };
        // In the host an exception is an allow. Where the pack only does not object, the host must not allow.
        let is_vouched_for = |exception: &Subject| {
            rules.iter().any(|other| other.verdict == Verdict::Allow && other.subject.covers(exception))
        };
        let (vouched, silent): (Vec<&Subject>, Vec<&Subject>) =
            rule.exceptions.iter().partition(|it| is_vouched_for(it));
        let (kept, lost): (Vec<&Subject>, Vec<&Subject>) = vouched.into_iter().partition(|it| is_free(it));
        if !silent.is_empty() {
            writer.is_stricter(&rule.source, "an exception would be an allow, and `vouch` does not list it");
        }
        if !lost.is_empty() {
            writer.is_stricter(&rule.source, "an exception would allow what another guardrail denies");
        }
        let precedence = match (rule.verdict, kept.is_empty()) {
            (Verdict::Allow, _) => Precedence::Allow,
            (Verdict::Ask, true) => Precedence::Ask,
            (Verdict::Ask, false) => Precedence::AskWithExceptions,
            (Verdict::Deny, true) => Precedence::Deny,
            (Verdict::Deny, false) => Precedence::DenyWithExceptions,
        };
        for exception in kept.into_iter().cloned() {
            if !exceptions.contains(&exception) {
                let allow = PolicyRule::new(Verdict::Allow, exception.clone());
                ordered.push((Precedence::Exception, PolicyRule { source: rule.source.clone(), ..allow }));
                exceptions.push(exception);
            }
        }
        ordered.push((precedence, rule.clone()));
    }
    // An allow that is an exception already is not written twice.
    ordered
        .retain(|(precedence, rule)| *precedence != Precedence::Allow || !exceptions.contains(&rule.subject));
    ordered.sort_by_key(|(precedence, _)| *precedence);
    ordered
}
