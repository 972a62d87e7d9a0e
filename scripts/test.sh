#!/usr/bin/env bash
# Passes all tests, and does its own set-up. Needs a Rust toolchain and a C compiler; the rest it brings itself where it
# can (Debian's packages as root, npm, PyPI), and names what it could not have.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

# A PostgreSQL server and a browser from the system's packages, where this may be done; tests name what they lack.
bring() {
    local what=$1
    shift
    for there in "$@"; do
        if command -v "$there" >/dev/null 2>&1 || compgen -G "$there" >/dev/null; then return 0; fi
    done
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "bringing $what"
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$what" >/dev/null 2>&1 ||
            { apt-get update >/dev/null 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$what" >/dev/null 2>&1; } ||
            echo "$what could not be installed"
    fi
}
bring postgresql "${MIDRAIL_PG_BIN:-/usr/lib/postgresql/*/bin}/initdb" initdb
bring chromium "${CHROMIUM:-chromium}" chromium-browser google-chrome

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

say "the console in a browser"
bash scripts/console/run.sh

say "the API against its own document"
bash scripts/schemathesis.sh

say "the examples of deployment"
bash scripts/lint-deploy.sh

say "all is well"
