//! The slices `flow/named` and `flow/named/…`: keyed digests of the destinations that the user and trusted results named. They
//! contain no text. Digests are spread over many small slices by their first digits, so the cost of an event depends on the names
//! in it and not on those of the session.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Changes, Context, Key, Missing};
use midrail_scan::names::DIGEST_DIGITS;
use serde::{Deserialize, Serialize};

/// How many digits the digests of one slice begin with.
const SHARED_DIGITS: usize = 2;

/// The most digests of one slice.
const MAX_DIGESTS: usize = 32;

/// The named destinations of a session as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    /// How often they were cleared. Slices from before a clearing count as empty.
    #[serde(default)]
    clears: u64,
    /// Whether the user named anything.
    #[serde(default)]
    pub(crate) has_user_names: bool,
    /// Whether the remotes of the project were added.
    #[serde(default)]
    pub(crate) has_remotes: bool,
}

/// The named destinations whose digests begin with the same digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    /// How often the session was cleared before.
    #[serde(default)]
    clears: u64,
    /// Those that the user named. They are never evicted; beyond the limit, further ones are not added.
    #[serde(default)]
    user: Digests,
    /// Those of trusted results, the oldest first. They make room for others.
    #[serde(default)]
    trusted: Digests,
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

impl Part {
    fn key(name: String) -> Key<Part> {
        Key::new(name)
    }

    /// Adds destinations that the user named.
    fn add_user(&mut self, digests: &[String]) {
        self.trusted.remove_all(digests);
        self.user.extend(digests, &Digests::default());
        self.user.0.truncate(MAX_DIGESTS * DIGEST_DIGITS);
        self.evict();
    }

    /// Adds destinations that a trusted result named.
    fn add_trusted(&mut self, digests: &[String]) {
        self.trusted.extend(digests, &self.user);
        self.evict();
    }

    fn evict(&mut self) {
        let count = self.user.len() + self.trusted.len();
        let old = count.saturating_sub(MAX_DIGESTS).min(self.trusted.len());
        self.trusted.0.drain(..old * DIGEST_DIGITS);
    }
}

/// The name of the slice that contains a digest.
fn slice_of(digest: &str) -> String {
    format!("flow/named/{}", digest.get(..SHARED_DIGITS).unwrap_or_default())
}

/// The names of the slices that show whether one of some digests is known.
pub fn slices_of_names(digests: &[String]) -> BTreeSet<String> {
    digests.iter().map(|digest| slice_of(digest)).collect()
}

impl Named {
    /// The slice.
    fn key() -> Key<Named> {
        Key::new("flow/named")
    }

    pub(crate) fn from_context(context: &Context<'_>) -> Result<Self, Missing> {
        Ok(Self::key().read(context)?.unwrap_or_default())
    }

    /// The same session after a new conversation has begun.
    pub(crate) fn cleared(&self) -> Self {
        if *self == Named::default() {
            return Named::default();
        }
        Named { clears: self.clears.saturating_add(1), ..Named::default() }
    }

    /// Whether one of some digests is known.
    pub(crate) fn contains_any(&self, context: &Context<'_>, digests: &[String]) -> Result<bool, Missing> {
        self.has_one_of(context, digests, |part| part.user.iter().chain(part.trusted.iter()).collect())
    }

    /// Whether the user named one of some digests.
    pub(crate) fn is_of_user(&self, context: &Context<'_>, digests: &[String]) -> Result<bool, Missing> {
        self.has_one_of(context, digests, |part| part.user.iter().collect())
    }

    fn has_one_of(
        &self,
        context: &Context<'_>,
        digests: &[String],
        known: fn(&Part) -> Vec<&[u8]>,
    ) -> Result<bool, Missing> {
        // Request all slices before the first one is missing, so that they are loaded together.
        let parts: Vec<_> = digests.iter().map(|it| Part::key(slice_of(it)).read(context)).collect();
        for (digest, part) in digests.iter().zip(parts) {
            let part = part?.filter(|part| part.clears == self.clears);
            if part.is_some_and(|part| known(&part).contains(&digest.as_bytes())) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds destinations that the user named.
    pub(crate) fn add_user(
        &mut self,
        context: &Context<'_>,
        digests: &[String],
        changes: &mut Changes,
    ) -> Result<(), Missing> {
        self.has_user_names |= !digests.is_empty();
        self.add(context, digests, changes, Part::add_user)
    }

    /// Adds destinations that a trusted result named.
    pub(crate) fn add_trusted(
        &self,
        context: &Context<'_>,
        digests: &[String],
        changes: &mut Changes,
    ) -> Result<(), Missing> {
        self.add(context, digests, changes, Part::add_trusted)
    }

    fn add(
        &self,
        context: &Context<'_>,
        digests: &[String],
        changes: &mut Changes,
        add: fn(&mut Part, &[String]),
    ) -> Result<(), Missing> {
        let mut by_slice: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for digest in digests {
            by_slice.entry(slice_of(digest)).or_default().push(digest.clone());
        }
        let parts: Vec<_> = by_slice
            .into_iter()
            .map(|(name, digests)| (Part::key(name), digests))
            .map(|(key, digests)| (key.read_changed(context, changes), key, digests))
            .collect();
        for (before, key, digests) in parts {
            let before = before?;
            let empty = Part { clears: self.clears, ..Part::default() };
            let mut part = before.clone().filter(|part| part.clears == self.clears).unwrap_or(empty);
            add(&mut part, &digests);
            if before.as_ref() != Some(&part) {
                key.write(changes, &part)?;
            }
        }
        Ok(())
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

    fn contains(part: &Part, number: usize) -> bool {
        let digest = format!("{number:012x}");
        part.user.iter().chain(part.trusted.iter()).any(|known| known == digest.as_bytes())
    }

    #[test]
    fn trusted_names_make_room_for_others_and_those_of_the_user_stay() {
        let mut part = Part::default();
        part.add_trusted(&digests(0..30));
        part.add_user(&digests(50..54));
        assert!(contains(&part, 50) && !contains(&part, 1) && contains(&part, 2));
        part.add_trusted(&digests(100..200));
        assert!(contains(&part, 53) && contains(&part, 199));
        assert_eq!(part.user.len() + part.trusted.len(), MAX_DIGESTS);
        part.add_user(&digests(300..400));
        assert_eq!((part.user.len(), part.trusted.len()), (MAX_DIGESTS, 0));
        assert!(contains(&part, 50));
    }

    #[test]
    fn digests_are_stored_as_one_text() {
        let mut part = Part::default();
        part.add_user(&digests(1..3));
        let stored = serde_json::to_value(&part).unwrap();
        assert_eq!(stored["user"], "000000000001000000000002");
        assert_eq!(serde_json::from_value::<Part>(stored).unwrap(), part);
        assert!(serde_json::from_str::<Part>(r#"{"user": "00"}"#).is_err());
    }

    #[test]
    fn slices_are_found_by_digest() {
        let names = slices_of_names(&["00aa".to_owned(), "00bb".to_owned(), "ffbb".to_owned()]);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["flow/named/00", "flow/named/ff"]);
    }
}
