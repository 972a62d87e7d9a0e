//! Compiles policies again from the packs that the store holds.

use midrail_core::Policy;
use midrail_pack::PolicySource;
use midrail_store::{Store, StoreError};

/// Why a policy could not be compiled again from the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredPolicyError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store has no packs for the revision.
    #[error("the policy {0} is not in the store")]
    Missing(String),
    /// The stored packs cannot be read.
    #[error("the policy {revision} cannot be read: {source}")]
    Unreadable {
        /// The revision.
        revision: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// The stored packs no longer compile.
    #[error("the policy {revision} no longer compiles: {problem}")]
    Compile {
        /// The revision.
        revision: String,
        /// The problem.
        problem: String,
    },
    /// The stored packs compile to another policy.
    #[error(
        "the policy {0} does not follow from its packs: a program registered guardrails of its own, or another version \
         of midrail made it"
    )]
    Differs(String),
}

impl StoredPolicyError {
    pub(crate) fn compile(revision: &str, problem: impl ToString) -> Self {
        StoredPolicyError::Compile { revision: revision.to_owned(), problem: problem.to_string() }
    }
}

/// The policy with a revision, compiled from the packs in the store. Commands of their `notify` are left out: another
/// process may have stored them, and only the commands of this machine's own packs may run here.
pub(crate) fn stored_policy(
    store: &dyn Store,
    revision: &str,
) -> Result<(Policy, PolicySource), StoredPolicyError> {
    let text = store.policy(revision)?.ok_or_else(|| StoredPolicyError::Missing(revision.to_owned()))?;
    let mut source: PolicySource = serde_json::from_str(&text)
        .map_err(|source| StoredPolicyError::Unreadable { revision: revision.to_owned(), source })?;
    let policy = source.compile().map_err(|problem| StoredPolicyError::compile(revision, problem))?;
    if **policy.revision() != *revision {
        return Err(StoredPolicyError::Differs(revision.to_owned()));
    }
    for layered in &mut source.0 {
        layered.pack.notify.values_mut().for_each(|channel| channel.command = None);
    }
    Ok((policy, source))
}
