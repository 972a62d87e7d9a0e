#!/usr/bin/env bash
# Lint and test everything about Cedar policies with the feature `cedar`. The default tests check that builds without it refuse
# such packs. It takes some 10 minutes on two cores, because the feature changes dependencies that everything is built on.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo clippy --locked --all-targets -p midrail-guardrails -p midrail-pack -p midrail --features midrail/cedar -- -D warnings
cargo test --locked -p midrail-guardrails --features cedar --lib cedar
cargo test --locked -p midrail --features cedar --test engine -- cedar guides every_guardrails_page
