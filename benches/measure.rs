//! Measures and prints how long work on a text takes.

use std::time::{Duration, Instant};

/// Whether the arguments select a name, or are empty.
fn is_wanted(name: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--")).peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word))
}

/// Prints the median and the 99th percentile of the time that work takes.
pub(crate) fn times(name: &str, text: &str, mut work: impl FnMut(&str)) {
    if !is_wanted(name) {
        return;
    }
    let started = Instant::now();
    let mut all: Vec<Duration> = Vec::new();
    while all.len() < 20 || (started.elapsed() < Duration::from_millis(300) && all.len() < 20_000) {
        let start = Instant::now();
        work(text);
        all.push(start.elapsed());
    }
    all.sort();
    let part = |share: usize| all[(all.len() - 1) * share / 100];
    println!("{:<66} median {:>9.1?}  p99 {:>9.1?}", cut(name), part(50), part(99));
}

/// Prints the median time and the throughput of some passes over a text.
pub(crate) fn through(passes: usize, name: &str, text: &str, mut work: impl FnMut(&str)) {
    if !is_wanted(name) {
        return;
    }
    let mut all: Vec<_> = (0..passes)
        .map(|_| {
            let start = Instant::now();
            work(text);
            start.elapsed()
        })
        .collect();
    all.sort_unstable();
    let took = all[passes / 2];
    let size = f64::from(u32::try_from(text.len()).unwrap()) / 1e6;
    println!("{:<66} {took:>9.1?}  {:>8.0} MB/s", cut(name), size / took.as_secs_f64());
}

fn cut(name: &str) -> String {
    name.chars().take(66).collect()
}
