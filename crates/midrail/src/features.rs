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
    let is_missing = |need: &MissingFeature| match need.feature {
        "scripts" => cfg!(not(feature = "scripts")),
        _ => cfg!(not(feature = "external")),
    };
    needs(policy, source).into_iter().find(is_missing).map_or(Ok(()), Err)
}

/// The features that a policy and its channels need.
fn needs(policy: &Policy, source: &PolicySource) -> Vec<MissingFeature> {
    let guardrails = policy.entries().iter().filter_map(|entry| {
        let settings = entry.guardrail.external_request()?;
        let feature = match settings.downcast_ref::<DeepSettings>().map(|settings| &settings.kind) {
            Some(DeepBackend::Http(_) | DeepBackend::Judge(_) | DeepBackend::Moderation(_)) => "external",
            Some(DeepBackend::Command(_)) => return None,
            None if settings.is::<Script>() => "scripts",
            None => return None,
        };
        Some(MissingFeature { user: format!("`{}`", entry.spec.id), feature })
    });
    let channels = source.0.iter().flat_map(|layered| &layered.pack.notify);
    let webhooks = channels.filter(|(_, channel)| channel.webhook.is_some());
    let user = |to: &String| format!("the webhook of `{to}`");
    let webhooks = webhooks.map(|(to, _)| MissingFeature { user: user(to), feature: "external" });
    guardrails.chain(webhooks).collect()
}

#[cfg(test)]
mod tests {
    use midrail_pack::{Layer, PackDocument, compile_policy};

    use super::*;

    #[test]
    fn external_services_scripts_and_webhooks_need_features() {
        let pack = "\
pack: t
guardrails:
  - {id: classifier, deep: {http: {url: 'https://example.com/'}}}
  - {id: local, deep: {command: 'true'}}
  - {id: rules, script: {code: 'export default {}'}}
notify:
  reviewer: {webhook: 'https://example.com/'}
  architect: {log: true}
";
        let documents = PackDocument::read("t", pack, None).unwrap();
        let documents: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
        let (policy, source) = compile_policy(&documents).unwrap();
        let needs: Vec<String> = needs(&policy, &source).iter().map(ToString::to_string).collect();
        let message = |user: &str, feature: &str| {
            format!(
                "{user} needs the Cargo feature `{feature}` of the crate `midrail`, which this build lacks"
            )
        };
        assert_eq!(
            needs,
            [
                message("`rules`", "scripts"),
                message("`classifier`", "external"),
                message("the webhook of `reviewer`", "external")
            ]
        );
    }
}
