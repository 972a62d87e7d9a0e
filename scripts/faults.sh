#!/usr/bin/env bash
# Run the fault campaign: kills (also of the process that creates a store), failing system calls (by a preload library), damaged databases, write-ahead logs and keys, clock
# jumps and suspended processes. It checks that no allow lacks a record, and that no acknowledged record is lost without a report.
# Usage: scripts/faults.sh [SECONDS] (300 unless given); FAULTS_SEED repeats a run.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --locked -p midrail-cli
target=${CARGO_TARGET_DIR:-$PWD/target}
cc -shared -fPIC -O1 -o "$target/faults.so" scripts/faults/faults.c -ldl
node scripts/faults/run.mjs --midrail "$target/debug/midrail" --preload "$target/faults.so" \
    --seconds "${1:-300}" ${FAULTS_SEED:+--seed "$FAULTS_SEED"}
