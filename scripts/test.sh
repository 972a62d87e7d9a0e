#!/usr/bin/env bash
# Run format, lints and all tests. Needs a Rust toolchain and a C compiler; installs PostgreSQL from Debian's packages if it
# may, and reports what it could not run. scripts/campaign.sh runs the long campaigns: browser, real agents, fuzzing, faults.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

if ! compgen -G "${MIDRAIL_PG_BIN:-/usr/lib/postgresql/*/bin}/initdb" >/dev/null && ! command -v initdb >/dev/null &&
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    step "install PostgreSQL"
    install() { DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql >/dev/null 2>&1; }
    install || { apt-get update >/dev/null 2>&1 && install; } || echo "PostgreSQL could not be installed"
fi

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked -- -D warnings

step "the library without features"
cargo check -p midrail --no-default-features --locked

step "tests"
cargo test --workspace --locked

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

step "dependencies: licences, bans, sources"
if command -v cargo-deny >/dev/null; then
    # Advisories need a database from the network; these three checks do not.
    cargo deny --locked check --hide-inclusion-graph bans licenses sources
else
    echo "skipped: cargo-deny is not installed (cargo install cargo-deny)"
fi

step "all tests passed"
