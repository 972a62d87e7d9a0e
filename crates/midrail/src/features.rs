//! Checks that this build has the Cargo features that a policy needs.

use midrail_core::Policy;
use midrail_guardrails::{DeepBackend, DeepSettings, Script};
use midrail_pack::PolicySource;

/// A part of a policy that needs a Cargo feature which this build lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{user} needs the Cargo feature `{feature}` of the crate `midrail`, which this build lacks")]
pub struct MissingFeature {
    /// The guardrail or the channel.
    pub user: String,
    /// The feature.
    pub feature: &'static str,
}

/// Checks that this build has the features that a policy and its channels need.
pub(crate) fn check(policy: &Policy, source: &PolicySource) -> Result<(), MissingFeature> {
    let guardrails = policy.entries().iter().filter_map(|entry| {
        let settings = entry.guardrail.external_request()?;
        let feature = match settings.downcast_ref::<DeepSettings>().map(|settings| &settings.kind) {
            Some(DeepBackend::Http(_) | DeepBackend::Judge(_) | DeepBackend::Moderation(_)) => "external",
            Some(DeepBackend::Command(_)) => return None,
            None if settings.is::<Script>() => "scripts",
            None => return None,
        };
        Some((format!("`{}`", entry.spec.id), feature))
    });
    let channels = source.0.iter().flat_map(|layered| &layered.pack.notify);
    let webhooks = channels.filter(|(_, channel)| channel.webhook.is_some());
    let webhooks = webhooks.map(|(to, _)| (format!("the webhook of `{to}`"), "external"));
    match guardrails.chain(webhooks).find(|(_, feature)| !is_enabled(feature)) {
        Some((user, feature)) => Err(MissingFeature { user, feature }),
        None => Ok(()),
    }
}

fn is_enabled(feature: &str) -> bool {
    match feature {
        "scripts" => cfg!(feature = "scripts"),
        _ => cfg!(feature = "external"),
    }
}
