//! The sandbox against attempts to leave it, with and without mounts, as this user and, if this is root, without privileges.
//!
//! A process that runs a sandbox starts itself anew, so these tests have a `main` of their own.

// These tests have no `#[test]`, by which lints know tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod behaviour;
#[cfg(target_os = "linux")]
mod world;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: the sandbox needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = midrail_sandbox::stage() {
        return code.into();
    }
    if let Some(case) =
        std::env::args_os().nth(1).filter(|it| it == "case").and_then(|_| std::env::args_os().nth(2))
    {
        world::run_case(std::path::Path::new(&case));
        return std::process::ExitCode::SUCCESS;
    }
    let filter = std::env::args().nth(1).filter(|it| !it.starts_with('-')).unwrap_or_default();
    let mut failures = attempts::run(&filter);
    failures.extend(behaviour::run(&filter));
    failures.extend(world::rerun_unprivileged(&filter));
    for failure in &failures {
        println!("FAILED {failure}");
    }
    if failures.is_empty() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
