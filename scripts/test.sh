#!/usr/bin/env bash
# Passes all tests, and does its own set-up. Needs a Rust toolchain and a C compiler; the rest it brings itself.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

say "format"
cargo fmt --all --check

say "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

say "tests"
cargo test --workspace --locked

say "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

say "dependencies: licences, bans, sources"
if ! command -v cargo-deny >/dev/null 2>&1; then
    # Advisories need a database from the network; the other three checks do not.
    cargo install cargo-deny --locked --version 0.20.2 --quiet
fi
cargo deny --locked check --hide-inclusion-graph bans licenses sources

if command -v node >/dev/null 2>&1; then
    say "the compatibility kit"
    node --test scripts/compat/
fi

say "all is well"
