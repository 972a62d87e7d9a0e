//! The channels of notices, as packs configure them.

use std::collections::BTreeMap;

use midrail_pack::{Channel, PolicySource};

/// The channels of notices, by recipient.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels(pub(super) BTreeMap<String, Channel>);

impl Channels {
    /// The channels of all packs. The highest layer counts.
    pub(crate) fn new(source: &PolicySource) -> Self {
        let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
        for (to, channel) in source.0.iter().flat_map(|layered| &layered.pack.notify) {
            channels.entry(to.clone()).or_insert_with(|| channel.clone());
        }
        Channels(channels)
    }
}
