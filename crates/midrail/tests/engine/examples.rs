//! The examples run, not only compile.

#[path = "../../../../examples/agent_loop.rs"]
mod agent_loop;
#[path = "../../../../examples/conditional.rs"]
mod conditional;
#[path = "../../../../examples/review_before_merge.rs"]
mod review_before_merge;

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
