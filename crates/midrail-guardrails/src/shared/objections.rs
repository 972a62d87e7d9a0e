//! The result of several checks: the first or the strongest objection, or what could not be checked.

use midrail_core::{Fault, Missing, Verdict};

/// All values, or the first missing fact. Every fact is requested first, so that they are fetched together.
pub(crate) fn all<T, C: FromIterator<T>>(
    facts: impl IntoIterator<Item = Result<T, Missing>>,
) -> Result<C, Missing> {
    let facts: Vec<_> = facts.into_iter().collect();
    facts.into_iter().collect()
}

/// The first objection. An objection counts even if other checks lack a fact.
pub(crate) fn first_verdict(
    checks: impl IntoIterator<Item = Result<Option<Verdict>, Missing>>,
) -> Result<Verdict, Fault> {
    let (mut objection, mut unknown) = (None, None);
    // All checks run, so that the facts that they lack are fetched together.
    for check in checks {
        match check {
            Ok(None) => {}
            Ok(Some(verdict)) => objection = objection.or(Some(verdict)),
            Err(missing) => unknown = Some(missing),
        }
    }
    match (objection, unknown) {
        (Some(verdict), _) => Ok(verdict),
        (None, Some(missing)) => Err(missing.into()),
        (None, None) => Ok(Verdict::allow()),
    }
}

/// The strongest objection, the first one if several are equal.
pub(crate) fn strongest(objections: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
    objections.into_iter().reduce(|one, other| if other.effect > one.effect { other } else { one })
}
