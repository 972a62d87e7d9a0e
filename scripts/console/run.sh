#!/usr/bin/env bash
# Tests the console in a real browser. Takes a chromium (CHROMIUM, or one on the PATH) and npm; prints a note if they are missing.
# The program is the one in MIDRAIL, or is built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
skip() { echo "console: skipped, because $1"; exit 0; }
[ -n "$chromium" ] || skip "there is no chromium (set CHROMIUM)"
command -v node >/dev/null || skip "there is no node"
if [ -z "${MIDRAIL:-}" ]; then
  (cd "$root" && cargo build --quiet -p midrail-cli)
  MIDRAIL="${CARGO_TARGET_DIR:-$root/target}/debug/midrail"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${PLAYWRIGHT_CORE:-}" ]; then
  command -v npm >/dev/null || skip "there is no npm (set PLAYWRIGHT_CORE to a directory that contains playwright-core)"
  (cd "$work" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund playwright-core@1 >/dev/null 2>&1) ||
    skip "npm cannot fetch playwright-core"
  PLAYWRIGHT_CORE=$work
fi
export CHROMIUM=$chromium MIDRAIL PLAYWRIGHT_CORE
exec node --test --test-concurrency=1 "$here"/*.test.mjs
