//! The examples run, not only compile.

#[path = "../../../../examples/agent_loop.rs"]
mod agent_loop;
#[path = "../../../../examples/conditional.rs"]
mod conditional;
#[path = "../../../../examples/review_before_merge.rs"]
mod review_before_merge;
#[path = "../../../../examples/soak_streams.rs"]
mod soak_streams;

#[test]
fn agent_loop_runs() {
    agent_loop::main().unwrap();
}

#[test]
fn review_before_merge_runs() {
    review_before_merge::main().unwrap();
}

#[test]
fn conditional_runs() {
    conditional::main().unwrap();
}

/// The whole soak is `cargo run --release -p midrail --example soak_streams`.
#[test]
fn a_small_soak_of_streams_leaks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let soaked = soak_streams::soak(folder.path(), 16_000).unwrap();
    assert!(soaked.chunks == 16_000 && soaked.secrets > 500, "{soaked:?}");
}
