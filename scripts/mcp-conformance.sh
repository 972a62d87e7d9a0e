#!/usr/bin/env bash
# Run the MCP conformance suite against a server directly and through Midrail, in both eras of the protocol and over both transports.
# A check that passes directly and does not pass through Midrail is an error. The suite needs Node 22, which comes from the npm
# registry like the suite itself; both are kept in a cache folder.
# Usage: scripts/mcp-conformance.sh [MIDRAIL]
set -euo pipefail
cd "$(dirname "$0")/.."

midrail=${1:-${CARGO_TARGET_DIR:-target}/debug/midrail}
[ $# -gt 0 ] || cargo build --quiet --locked -p midrail-cli
midrail=$(realpath "$midrail")

suite=@modelcontextprotocol/conformance@0.2.0-alpha.12
sdk=@modelcontextprotocol/client@2.4.0
lab=${MIDRAIL_CONFORMANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/midrail-mcp-conformance}
mkdir -p "$lab"
if [ "$(cat "$lab/installed" 2>/dev/null)" != "$suite $sdk" ]; then
    echo '{"private": true}' >"$lab/package.json"
    node=node-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
    (cd "$lab" && npm install --silent --no-audit --no-fund --ignore-scripts "$suite" "$sdk" "$node@22")
    echo "$suite $sdk" >"$lab/installed"
fi
PATH=$(echo "$lab"/node_modules/node-*/bin):$PATH
export PATH

# The client is imported from the folder where its SDK is installed.
cp scripts/mcp/*.mjs "$lab/"
exec node "$lab/conformance.mjs" "$midrail" "$lab"
