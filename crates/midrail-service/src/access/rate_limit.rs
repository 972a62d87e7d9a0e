//! Rate limits: a token bucket for each key and each address.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The most buckets. If there are more, full ones are removed, which has no effect on their limits.
const MOST: usize = 10_000;

/// A token bucket for each name.
#[derive(Default)]
pub(crate) struct RateLimiter {
    buckets: Mutex<BTreeMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    seen: Instant,
}

impl RateLimiter {
    /// Takes tokens from a bucket that holds `most` and fills up in `per`, or none if there are not enough. `Err`:
    /// when there will be enough.
    pub(crate) fn take(
        &self,
        name: &str,
        wanted: u32,
        most: u32,
        per: Duration,
        now: Instant,
    ) -> Result<(), Duration> {
        let wanted = f64::from(wanted);
        let most = f64::from(most.max(1));
        let rate = most / per.as_secs_f64().max(0.001);
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MOST && !buckets.contains_key(name) {
            // Buckets that were unused for the refill time are full again.
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.seen) < per);
            if buckets.len() >= MOST {
                buckets.pop_first();
            }
        }
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket { left: most, seen: now });
        let since = now.saturating_duration_since(bucket.seen).as_secs_f64();
        bucket.left = (bucket.left + since * rate).min(most);
        bucket.seen = now;
        if bucket.left < wanted {
            return Err(Duration::from_secs_f64((wanted - bucket.left) / rate));
        }
        bucket.left -= wanted;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_empties_and_fills_again() {
        let limiter = RateLimiter::default();
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        for _ in 0..3 {
            assert!(limiter.take("a", 1, 3, minute, start).is_ok());
        }
        let wait = limiter.take("a", 1, 3, minute, start).unwrap_err();
        assert!(wait <= Duration::from_secs(20), "{wait:?}");
        assert!(limiter.take("b", 1, 3, minute, start).is_ok());
        assert!(limiter.take("a", 1, 3, minute, start + Duration::from_secs(21)).is_ok());
        assert!(limiter.take("a", 1, 3, minute, start + Duration::from_secs(21)).is_err());
    }

    #[test]
    fn several_tokens_are_taken_at_once() {
        let limiter = RateLimiter::default();
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        assert!(limiter.take("a", 7, 10, minute, start).is_ok());
        assert!(limiter.take("a", 4, 10, minute, start).is_err());
        assert!(limiter.take("a", 3, 10, minute, start).is_ok());
        assert!(limiter.take("a", 1, 10, minute, start).is_err());
    }

    #[test]
    fn number_of_buckets_is_limited() {
        let limiter = RateLimiter::default();
        let start = Instant::now();
        for name in 0..MOST + 500 {
            let _ = limiter.take(&name.to_string(), 1, 5, Duration::from_secs(60), start);
        }
        assert!(limiter.buckets.lock().len() <= MOST);
    }
}
