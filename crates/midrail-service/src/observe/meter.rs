//! Counts and durations of requests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::response::Response;
use midrail::metrics::MetricsText;
use parking_lot::Mutex;

/// Upper bounds of the histogram of durations, in seconds.
const BOUNDS: [(u64, &str); 12] = [
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (10_000_000, "10"),
];

/// Counts requests by route.
#[derive(Default)]
pub(crate) struct Meter {
    routes: Mutex<BTreeMap<Key, Tally>>,
    under_way: AtomicU64,
}

/// A route and how a request to it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    method: &'static str,
    route: &'static str,
    status: u16,
}

/// The requests by duration, and the time that they took. The last bucket has no bound.
#[derive(Default)]
struct Tally {
    micros: u64,
    buckets: [u64; BOUNDS.len() + 1],
}

impl Meter {
    fn add(&self, key: Key, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let mut routes = self.routes.lock();
        let tally = routes.entry(key).or_default();
        tally.micros = tally.micros.saturating_add(micros);
        let bucket = BOUNDS.partition_point(|(bound, _)| *bound < micros);
        if let Some(bucket) = tally.buckets.get_mut(bucket) {
            *bucket += 1;
        }
    }

    /// The metrics.
    pub(crate) fn write(&self, out: &mut MetricsText) {
        let routes = self.routes.lock();
        out.head("http_requests_total", "counter", "Requests, by route and status.");
        for (Key { method, route, status }, tally) in &*routes {
            let status = status.to_string();
            let labels = [("method", *method), ("route", *route), ("status", status.as_str())];
            out.sample("http_requests_total", &labels, tally.buckets.iter().sum::<u64>());
        }
        out.head("http_request_duration_seconds", "histogram", "How long requests took, by route.");
        let mut by_route: BTreeMap<(&str, &str), Tally> = BTreeMap::new();
        for (key, tally) in &*routes {
            let sum = by_route.entry((key.method, key.route)).or_default();
            sum.micros = sum.micros.saturating_add(tally.micros);
            for (all, one) in sum.buckets.iter_mut().zip(tally.buckets) {
                *all += one;
            }
        }
        for ((method, route), tally) in by_route {
            let labels = [("method", method), ("route", route)];
            let bounds = BOUNDS.iter().map(|(_, bound)| *bound);
            let seconds = format!("{}.{:06}", tally.micros / 1_000_000, tally.micros % 1_000_000);
            out.histogram("http_request_duration_seconds", &labels, bounds, &tally.buckets, &seconds);
        }
        let in_flight = [(Vec::new(), self.under_way.load(Ordering::Relaxed))];
        out.family("http_requests_in_flight", "gauge", "Requests that are being worked on.", in_flight);
    }
}

/// Measures how long the answer to a request takes.
pub(crate) async fn measure(
    meter: &Meter,
    method: &'static str,
    route: &'static str,
    answer: impl Future<Output = Response>,
) -> Response {
    // A request whose caller disconnected is counted with status 499.
    struct UnderWay<'a>(&'a Meter, Key, Instant);
    impl Drop for UnderWay<'_> {
        fn drop(&mut self) {
            self.0.under_way.fetch_sub(1, Ordering::Relaxed);
            self.0.add(self.1, self.2.elapsed());
        }
    }
    meter.under_way.fetch_add(1, Ordering::Relaxed);
    let mut under_way = UnderWay(meter, Key { method, route, status: 499 }, Instant::now());
    let response = answer.await;
    under_way.1.status = response.status().as_u16();
    drop(under_way);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let meter = Meter::default();
        let key = Key { method: "post", route: "/v1/decide", status: 200 };
        for micros in [50, 100, 101, 20_000_000] {
            meter.add(key, Duration::from_micros(micros));
        }
        meter.add(Key { status: 422, ..key }, Duration::from_micros(1));
        let mut text = MetricsText::default();
        meter.write(&mut text);
        for line in [
            r#"http_requests_total{method="post",route="/v1/decide",status="200"} 4"#,
            r#"http_requests_total{method="post",route="/v1/decide",status="422"} 1"#,
            r#"http_request_duration_seconds_bucket{method="post",route="/v1/decide",le="0.0001"} 3"#,
            r#"http_request_duration_seconds_bucket{method="post",route="/v1/decide",le="0.00025"} 4"#,
            r#"http_request_duration_seconds_bucket{method="post",route="/v1/decide",le="10"} 4"#,
            r#"http_request_duration_seconds_bucket{method="post",route="/v1/decide",le="+Inf"} 5"#,
            r#"http_request_duration_seconds_sum{method="post",route="/v1/decide"} 20.000252"#,
        ] {
            assert!(text.0.lines().any(|shown| shown == line), "{line}\n{}", text.0);
        }
    }
}
