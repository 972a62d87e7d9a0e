//! Short texts in which earlier events had no secret: names of sessions, agents and tools, folders, members. Most texts of an event
//! are as in the one before it, and whether they may contain a secret depends on nothing else.

use midrail_scan::secrets;
use parking_lot::{Mutex, MutexGuard};

/// The number of texts that are remembered, a power of two.
const SLOTS: usize = 256;

/// The longest text that is remembered, with the name of its member.
const MAX_BYTES: usize = 160;

/// Remembers texts without secrets.
#[derive(Default)]
pub(crate) struct CleanTexts(Mutex<Vec<CleanText>>);

/// A text, and the name of the member that it is the value of. A name has none.
#[derive(Default)]
struct CleanText {
    member: Option<String>,
    text: String,
}

/// Tests the texts of one event.
pub(crate) struct TextCheck<'t>(Option<MutexGuard<'t, Vec<CleanText>>>);

impl CleanTexts {
    /// Starts testing the texts of an event. While another thread does, nothing is remembered.
    pub(crate) fn check(&self) -> TextCheck<'_> {
        let mut texts = self.0.try_lock();
        if let Some(texts) = texts.as_mut().filter(|texts| texts.is_empty()) {
            texts.resize_with(SLOTS, CleanText::default);
        }
        TextCheck(texts)
    }
}

impl TextCheck<'_> {
    /// Whether a text may contain a secret, as [`secrets::may_contain`] finds it.
    pub(crate) fn may_contain(&mut self, member: Option<&str>, text: &str) -> bool {
        let size = text.len() + member.map_or(0, str::len);
        let slots = self.0.as_mut().filter(|_| size <= MAX_BYTES && !text.is_empty());
        let Some(slot) = slots.and_then(|slots| slots.get_mut(slot_of(member, text))) else {
            return secrets::may_contain(member, text);
        };
        if slot.text == text && slot.member.as_deref() == member {
            return false;
        }
        let may_contain = secrets::may_contain(member, text);
        if !may_contain {
            text.clone_into(&mut slot.text);
            match (member, &mut slot.member) {
                (Some(member), Some(known)) => member.clone_into(known),
                (member, known) => *known = member.map(str::to_owned),
            }
        }
        may_contain
    }
}

/// The slot of a text.
fn slot_of(member: Option<&str>, text: &str) -> usize {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let add = |hash: u64, text: &str| {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        let hash = words.iter().fold(hash, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
    };
    let hash = add(add(0, text), member.unwrap_or_default());
    usize::try_from(hash >> 32).unwrap_or_default() % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    #[test]
    fn remembered_answers_are_those_of_the_scan() {
        let clean = CleanTexts::default();
        let long = "a long text ".repeat(40);
        let texts = ["", "ls", "main", SECRET, "hunter2-kf93kd8s", "/repo/src/main.rs", &long];
        let members = [None, Some("session"), Some("password"), Some("api_key"), Some("ls")];
        for _ in 0..3 {
            for (member, text) in members.iter().flat_map(|member| texts.map(|text| (*member, text))) {
                let expected = secrets::may_contain(member, text);
                assert_eq!(clean.check().may_contain(member, text), expected, "{member:?} {text}");
            }
        }
        assert!(clean.check().may_contain(None, SECRET));
        assert!(clean.0.lock().iter().all(|slot| slot.text != SECRET));
    }

    #[test]
    fn a_text_is_tested_while_another_thread_tests() {
        let clean = CleanTexts::default();
        let mut first = clean.check();
        let mut second = clean.check();
        assert!(!first.may_contain(None, "ls") && second.may_contain(None, SECRET));
    }
}
