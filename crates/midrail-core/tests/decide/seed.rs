//! The seed of property tests: fixed by default, so that the test command is deterministic.
//!
//! `MIDRAIL_SEED=7` sets another seed; `MIDRAIL_SEED=random` chooses one and prints it. A test binary or crate includes this
//! file with `#[path = "…/midrail-core/tests/decide/seed.rs"] mod seed;` and starts its properties with
//! `#![proptest_config(crate::seed::config())]`.

use std::sync::LazyLock;

use proptest::test_runner::{Config, RngSeed};

/// The configuration of property tests, with as many cases as `PROPTEST_CASES` requests.
pub(crate) fn config() -> Config {
    Config { rng_seed: RngSeed::Fixed(*SEED), ..Config::default() }
}

/// The same with at least this many cases.
#[allow(dead_code, reason = "not every test binary that includes this file needs more cases")]
pub(crate) fn config_with_cases(cases: u32) -> Config {
    let config = config();
    Config { cases: config.cases.max(cases), ..config }
}

/// One seed for all properties of a test binary.
static SEED: LazyLock<u64> = LazyLock::new(seed);

#[allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test helper, not a part of the pure crates that include it"
)]
fn seed() -> u64 {
    let Ok(text) = std::env::var("MIDRAIL_SEED") else { return 1 };
    if text != "random" {
        return text.parse().unwrap_or_else(|_| panic!("MIDRAIL_SEED is `{text}`: use a number or `random`"));
    }
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = u64::from(since_epoch.subsec_nanos()) ^ since_epoch.as_secs();
    eprintln!("property tests run with MIDRAIL_SEED={seed}");
    seed
}
