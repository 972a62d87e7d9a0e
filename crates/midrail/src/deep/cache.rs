//! Answers that hold for a while, by the hash of their question. The oldest go first.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use midrail_guardrails::Seconds;
use sha2::{Digest, Sha256};

use super::question::Answer;

/// The most answers that are kept.
const MAX_ENTRIES: usize = 1_024;

/// The most bytes that they may have, as text.
const MAX_BYTES: usize = 8 << 20;

/// The hash of a question.
pub(super) type Key = [u8; 32];

#[derive(Default)]
pub(super) struct Cache {
    answers: BTreeMap<Key, Entry>,
    bytes: usize,
    count: u64,
}

struct Entry {
    answer: Answer,
    kept: Timestamp,
    until: Timestamp,
    size: usize,
    /// The entry with the lowest number is the oldest.
    number: u64,
}

impl Cache {
    /// The answer, if it still holds.
    pub(super) fn get(&mut self, key: &Key, now: Timestamp) -> Option<Answer> {
        let entry = self.answers.get(key)?;
        // After the clock was set back, the age of an answer is unknown.
        if now < entry.until && now >= entry.kept {
            return Some(Answer { cached: true, cost: None, ..entry.answer.clone() });
        }
        self.remove(key);
        None
    }

    /// Keeps an answer.
    pub(super) fn put(&mut self, key: Key, answer: &Answer, holds: Seconds, now: Timestamp) {
        let holds = SignedDuration::try_from_secs_f64(holds.0).unwrap_or_default();
        let size = answer.value.to_string().len();
        let Ok(until) = now.checked_add(holds) else { return };
        if until <= now || size > MAX_BYTES / 8 {
            return;
        }
        self.remove(&key);
        self.count += 1;
        let entry = Entry { answer: answer.clone(), kept: now, until, size, number: self.count };
        self.bytes += size;
        self.answers.insert(key, entry);
        while self.answers.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let oldest = self.answers.iter().min_by_key(|(_, entry)| entry.number).map(|(key, _)| *key);
            let Some(oldest) = oldest else { break };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.answers.remove(key) {
            self.bytes -= entry.size;
        }
    }
}

/// The hash of everything that makes a question the same.
pub(super) fn key(parts: &[&[u8]]) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        // With its length before it, no part can pass for the end of another.
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(text: &str) -> Answer {
        Answer { value: json!(text), cached: false, cost: Some(1.0), cut: false }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    #[test]
    fn cached_answer_expires() {
        let mut cache = Cache::default();
        let one = key(&[b"a", b"bc"]);
        assert_ne!(one, key(&[b"ab", b"c"]));
        cache.put(one, &answer("x"), Seconds(10.0), at(0));
        let found = cache.get(&one, at(9)).unwrap();
        assert_eq!((found.value, found.cached, found.cost), (json!("x"), true, None));
        assert_eq!(cache.get(&one, at(10)), None);
        assert_eq!(cache.get(&one, at(5)), None, "it is gone");
        cache.put(one, &answer("x"), Seconds(10.0), at(0));
        assert_eq!(cache.get(&one, at(-1)), None, "the clock went back");
        cache.put(one, &answer("x"), Seconds(0.0), at(0));
        assert_eq!(cache.get(&one, at(0)), None);
    }

    #[test]
    fn it_never_grows_beyond_its_limits() {
        let mut cache = Cache::default();
        for number in 0..5_000_u32 {
            cache.put(key(&[&number.to_be_bytes()]), &answer("x"), Seconds(10.0), at(0));
            cache.put(key(&[b"same"]), &answer("y"), Seconds(10.0), at(0));
        }
        assert!(cache.answers.len() <= MAX_ENTRIES);
        assert!(cache.get(&key(&[b"same"]), at(1)).is_some());
        assert!(cache.get(&key(&[&4_999_u32.to_be_bytes()]), at(1)).is_some());
        assert!(cache.get(&key(&[&0_u32.to_be_bytes()]), at(1)).is_none());
        let large = "x".repeat(MAX_BYTES / 10);
        for number in 0..30_u32 {
            cache.put(key(&[&number.to_be_bytes()]), &answer(&large), Seconds(10.0), at(0));
        }
        assert!(cache.bytes <= MAX_BYTES);
    }
}
