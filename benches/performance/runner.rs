//! Runs one case a number of times and prints the nanoseconds, allocations and bytes allocated: `--case NAME --times N`.

use std::alloc::System;
use std::time::Instant;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Repetitions before the measurement: caches fill, and the engine learns what to prefetch.
const WARM: u64 = 3;

/// The case and the number of repetitions that the arguments name.
pub(crate) fn requested() -> Option<(String, u64)> {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().skip_while(|arg| *arg != name).nth(1).cloned();
    Some((value("--case")?, value("--times")?.parse().ok()?))
}

/// Runs a case. It receives the number of the repetition.
pub(crate) fn run(times: u64, mut case: Box<dyn FnMut(u64)>) {
    (0..WARM).for_each(&mut case);
    let region = Region::new(ALLOCATOR);
    let started = Instant::now();
    (WARM..WARM + times).for_each(&mut case);
    let took = started.elapsed();
    let change = region.change();
    println!("{} {} {}", took.as_nanos(), change.allocations + change.reallocations, change.bytes_allocated);
}
