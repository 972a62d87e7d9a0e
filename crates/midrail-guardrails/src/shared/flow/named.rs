//! The slice `flow/named`: keyed digests of the destinations that the user and trusted results named. It contains no text.

use std::collections::BTreeSet;

use midrail_core::{Changes, Context, Key, Missing};
use midrail_scan::names::DIGEST_DIGITS;
use serde::{Deserialize, Serialize};

/// The most digests of a session.
const MAX_DIGESTS: usize = 4_096;

/// The named destinations of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    /// Those that the user named. They are never evicted; beyond the limit, further ones are not added.
    #[serde(default)]
    user: Digests,
    /// Those of trusted results, the oldest first. They make room for others.
    #[serde(default)]
    trusted: Digests,
    /// Whether the remotes of the project were added.
    #[serde(default)]
    pub(crate) has_remotes: bool,
}

/// A list of digests, one after the other: a digest has a fixed length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
struct Digests(String);

impl TryFrom<String> for Digests {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_list = text.len().is_multiple_of(DIGEST_DIGITS) && text.is_ascii();
        if is_list { Ok(Digests(text)) } else { Err("the list of digests is damaged") }
    }
}

impl Digests {
    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.as_bytes().chunks_exact(DIGEST_DIGITS)
    }

    fn len(&self) -> usize {
        self.0.len() / DIGEST_DIGITS
    }

    /// Adds digests that neither this list nor another one contains.
    fn extend(&mut self, digests: &[String], other: &Digests) {
        let is_digest = |digest: &&String| digest.len() == DIGEST_DIGITS && digest.is_ascii();
        let mut new: BTreeSet<&[u8]> = digests.iter().filter(is_digest).map(|it| it.as_bytes()).collect();
        for known in self.iter().chain(other.iter()) {
            new.remove(known);
        }
        let added: String = new.into_iter().map(String::from_utf8_lossy).collect();
        self.0.push_str(&added);
    }

    /// Removes digests that another list contains.
    fn remove_all(&mut self, other: &[String]) {
        let gone: BTreeSet<&[u8]> = other.iter().map(|digest| digest.as_bytes()).collect();
        if self.iter().any(|digest| gone.contains(digest)) {
            let kept = self.iter().filter(|digest| !gone.contains(digest));
            self.0 = kept.map(|digest| String::from_utf8_lossy(digest)).collect();
        }
    }
}

impl Named {
    /// The slice.
    pub(crate) fn key() -> Key<Named> {
        Key::new("flow/named")
    }

    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key().read(context)?.unwrap_or_default())
    }

    /// Whether one of some digests is known.
    pub(crate) fn contains_any(&self, digests: &[String]) -> bool {
        let is_wanted = |known: &[u8]| digests.iter().any(|digest| digest.as_bytes() == known);
        self.user.iter().chain(self.trusted.iter()).any(is_wanted)
    }

    /// Whether the user named anything.
    pub(crate) fn has_user_names(&self) -> bool {
        self.user.len() > 0
    }

    /// Whether the user named one of some digests.
    pub(crate) fn is_of_user(&self, digests: &[String]) -> bool {
        self.user.iter().any(|known| digests.iter().any(|digest| digest.as_bytes() == known))
    }

    /// Adds destinations that the user named.
    pub(crate) fn add_user(&mut self, digests: &[String]) {
        if digests.is_empty() {
            return;
        }
        self.trusted.remove_all(digests);
        self.user.extend(digests, &Digests::default());
        self.user.0.truncate(MAX_DIGESTS * DIGEST_DIGITS);
        self.evict();
    }

    /// Adds destinations that a trusted result named.
    pub(crate) fn add_trusted(&mut self, digests: &[String]) {
        if digests.is_empty() {
            return;
        }
        self.trusted.extend(digests, &self.user);
        self.evict();
    }

    fn evict(&mut self) {
        let count = self.user.len() + self.trusted.len();
        let old = count.saturating_sub(MAX_DIGESTS).min(self.trusted.len());
        self.trusted.0.drain(..old * DIGEST_DIGITS);
    }

    /// Writes the slice if it changed.
    pub(crate) fn write_if_changed(&self, before: &Named, changes: &mut Changes) -> Result<(), Missing> {
        if self != before {
            Self::key().write(changes, self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("{n:012x}")).collect()
    }

    #[test]
    fn trusted_names_make_room_for_others_and_those_of_the_user_stay() {
        let mut named = Named::default();
        named.add_trusted(&digests(0..4_000));
        named.add_user(&digests(5_000..5_200));
        assert!(named.contains_any(&digests(5_000..5_001)) && !named.contains_any(&digests(0..104)));
        assert!(named.contains_any(&digests(104..105)));
        named.add_trusted(&digests(10_000..20_000));
        assert!(named.contains_any(&digests(5_199..5_200)) && named.contains_any(&digests(19_999..20_000)));
        assert_eq!(named.user.len() + named.trusted.len(), MAX_DIGESTS);
        named.add_user(&digests(30_000..40_000));
        assert_eq!((named.user.len(), named.trusted.len()), (MAX_DIGESTS, 0));
        assert!(named.contains_any(&digests(5_000..5_001)));
    }

    #[test]
    fn digests_are_stored_as_one_text() {
        let mut named = Named::default();
        named.add_user(&digests(1..3));
        let stored = serde_json::to_value(&named).unwrap();
        assert_eq!(stored["user"], "000000000001000000000002");
        assert_eq!(serde_json::from_value::<Named>(stored).unwrap(), named);
        assert!(serde_json::from_str::<Named>(r#"{"user": "00"}"#).is_err());
    }
}
