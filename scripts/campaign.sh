#!/usr/bin/env bash
# Run the long campaigns: Cedar policies, random seeds, the console in a browser, the API against its own document, the deployment examples,
# MCP conformance, LiteLLM as a gateway, licences, the compatibility kit and the real coding agents, the Python and Node packages with the frameworks, faults, and the
# fuzz targets (with a nightly toolchain). Run it by hand before an issue is resolved.
# Usage: scripts/campaign.sh [cedar|seeds|console|api|mcp|gateways|deploy|deny|agents|bindings|guardrail|faults|fuzz ...]
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

cedar() {
    step "Cedar policies: lints and tests with the feature"
    bash scripts/cedar.sh
}
seeds() {
    local seed=${MIDRAIL_SEED:-random}
    [ "$seed" = random ] && seed=$((RANDOM * 32768 + RANDOM))
    step "property tests with the seed $seed (repeat with MIDRAIL_SEED=$seed)"
    PROPTEST_RNG_SEED=$seed PROPTEST_CASES=${PROPTEST_CASES:-2048} cargo test --workspace --locked
}
console() {
    step "the console in a browser"
    if ! command -v "${CHROMIUM:-chromium}" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null
    fi
    bash scripts/console/run.sh
}
api() {
    step "the API against its own document"
    bash scripts/schemathesis.sh
}
mcp() {
    step "the MCP conformance suite, directly and through the proxy"
    bash scripts/mcp-conformance.sh
}
gateways() {
    step "LiteLLM with Midrail as its guardrail, and calls of Envoy over gRPC"
    cargo clippy --locked --all-targets -p midrail-service --features grpc -- -D warnings
    cargo test --locked -p midrail-service --features grpc --test service gateways
    bash scripts/gateways.sh
}
deploy() {
    step "the deployment examples"
    bash scripts/lint-deploy.sh
}
deny() {
    step "dependencies: licences, bans, sources"
    command -v cargo-deny >/dev/null || cargo install cargo-deny --locked --quiet
    cargo deny --locked check --hide-inclusion-graph bans licenses sources
    cargo deny --locked --manifest-path bindings/Cargo.toml check --config deny.toml --hide-inclusion-graph bans licenses sources
}
agents() {
    step "the compatibility kit and the real coding agents"
    node --test scripts/compat/
    cargo build --quiet --locked -p midrail-cli
    # In a temporary folder or a cache everything may be deleted, so nothing would be tested there.
    local lab=$PWD/target/compat
    case "$lab/" in /tmp/* | /var/tmp/* | "${TMPDIR:-/tmp}"/* | */.cache/*) lab=${HOME:-/root}/compat-lab ;; esac
    node scripts/compat/run.mjs --lab "$lab" --midrail "${CARGO_TARGET_DIR:-target}/debug/midrail"
    step "the recorded verdicts of Claude Code and Codex on permission rules"
    node scripts/compat/policies.mjs --lab "$lab"
    MIDRAIL_COMPAT_LAB=$lab cargo test --quiet --locked -p midrail-adapters --test policies codex_program
}
bindings() {
    step "the Python and Node packages, and the adapters with the real frameworks"
    bash scripts/bindings.sh --frameworks
}
guardrail() {
    step "ignored tests: adding a guardrail as CONTRIBUTING.md describes"
    cargo test --workspace --locked -- --ignored
}
faults() {
    step "faults: kills, failing system calls, damaged files, clock jumps, suspended processes"
    bash scripts/faults.sh "${FAULT_SECONDS:-300}"
}
fuzz() {
    step "fuzz targets, ${FUZZ_SECONDS:-60} seconds each"
    if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
        echo "skipped: needs a nightly toolchain and cargo-fuzz"
        return
    fi
    for target in fuzz/fuzz_targets/*.rs; do
        cargo +nightly fuzz run "$(basename "$target" .rs)" -- -max_total_time="${FUZZ_SECONDS:-60}"
    done
}

for campaign in "${@:-cedar seeds console api mcp gateways deploy deny agents bindings guardrail faults fuzz}"; do
    for name in $campaign; do "$name"; done
done
step "all campaigns passed"
