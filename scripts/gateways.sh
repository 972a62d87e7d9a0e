#!/usr/bin/env bash
# Run LiteLLM in front of a scripted model, with Midrail as its guardrail: blocks, rewritten texts, blocked tool calls, and secrets inside
# streams. Then call Midrail as Envoy does, over gRPC. LiteLLM and the messages of Envoy come from the Python package index and are kept
# in a cache folder. A given program has to be built with the feature `grpc`.
# Usage: scripts/gateways.sh [MIDRAIL]
set -euo pipefail
cd "$(dirname "$0")/.."

midrail=${1:-${CARGO_TARGET_DIR:-target}/debug/midrail}
[ $# -gt 0 ] || cargo build --quiet --locked -p midrail-cli --features grpc
midrail=$(realpath "$midrail")

packages="litellm[proxy]==1.106.2 grpcio xds-protos"
lab=${MIDRAIL_GATEWAYS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/midrail-gateways}
mkdir -p "$lab"
if [ "$(cat "$lab/installed" 2>/dev/null)" != "$packages" ]; then
    python3 -m venv --clear "$lab/venv"
    # shellcheck disable=SC2086 # a list of packages
    "$lab/venv/bin/pip" install --quiet --disable-pip-version-check $packages
    echo "$packages" >"$lab/installed"
fi
export PYTHONDONTWRITEBYTECODE=1
"$lab/venv/bin/python" scripts/gateways/litellm_test.py "$midrail" "$lab/venv/bin/litellm"
"$lab/venv/bin/python" scripts/gateways/envoy_test.py "$midrail"
