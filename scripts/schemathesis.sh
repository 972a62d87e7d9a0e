#!/usr/bin/env bash
# Test a service against its OpenAPI document with valid and invalid requests: no response may be a server error or missing in
# the document. Needs Python; installs Schemathesis from PyPI if it is missing. Takes about two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

SEED=${SEED:-1}
EXAMPLES=${EXAMPLES:-8}
WORK=$(mktemp -d)
SERVER=
finish() {
    if [ -n "$SERVER" ]; then
        kill "$SERVER" 2>/dev/null || true
        wait "$SERVER" 2>/dev/null || true
    fi
    rm -rf "$WORK"
}
trap finish EXIT

if command -v schemathesis >/dev/null 2>&1; then
    TOOL=schemathesis
else
    PLACE=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/midrail-schemathesis
    TOOL=$PLACE/bin/schemathesis
    if [ ! -x "$TOOL" ]; then
        if ! command -v python3 >/dev/null 2>&1; then
            echo "skipped: Python is not installed" >&2
            exit 0
        fi
        if ! { python3 -m venv "$PLACE" && "$PLACE/bin/pip" install --quiet 'schemathesis>=4,<5'; }; then
            echo "skipped: Schemathesis cannot be installed from PyPI" >&2
            exit 0
        fi
    fi
fi

if [ -z "${MIDRAIL:-}" ]; then
    cargo build --quiet --locked -p midrail-cli
    MIDRAIL=${CARGO_TARGET_DIR:-target}/debug/midrail
fi
export HOME="$WORK" XDG_CONFIG_HOME="$WORK/config" XDG_STATE_HOME="$WORK/state"

# Starts a service with an empty store, and sets $URL.
serve() {
    : >"$WORK/ready"
    "$MIDRAIL" serve --listen 127.0.0.1:0 --store "$WORK/$1.db" --files elsewhere --json >"$WORK/ready" 2>"$WORK/$1.log" &
    SERVER=$!
    for _ in $(seq 200); do
        URL=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$WORK/ready")
        if [ -n "$URL" ]; then return; fi
        sleep 0.1
    done
    echo "the service did not start:" >&2
    cat "$WORK/$1.log" >&2
    exit 1
}

stop() {
    kill "$SERVER"
    wait "$SERVER"
    SERVER=
}

# Runs Schemathesis. Endless responses have their own tests; requests that log the caller out would end the run.
check() {
    (cd "$WORK" && "$TOOL" run "$URL/v1/openapi.json" \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
        --phases coverage,fuzzing --max-examples "$EXAMPLES" --seed "$SEED" --generation-database none \
        --request-timeout 20 --continue-on-failure --suppress-health-check all --warnings off --no-color \
        --exclude-operation-id stream --exclude-operation-id stream_socket --exclude-operation-id live --exclude-operation-id logout \
        --exclude-operation-id revoke_person "$@")
}

field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p"; }

echo "== without a key"
serve open
check
stop

echo "== with a key"
KEY=$("$MIDRAIL" key add all --project '*' --right decide --right ask --right read --store "$WORK/key.db" --json | field key)
serve key
check -H "Authorization: Bearer $KEY"
stop

echo "== as a person"
PERSON=$("$MIDRAIL" approver add ann --role human_operator --role admin --store "$WORK/person.db" --json | field key)
serve person
curl -s -D "$WORK/head" -H 'Content-Type: application/json' -d "{\"name\":\"ann\",\"key\":\"$PERSON\"}" "$URL/v1/login" >"$WORK/me"
COOKIE=$(sed -n 's/^set-cookie: \([^;]*\);.*/\1/p' "$WORK/head")
CSRF=$(field csrf <"$WORK/me")
check -H "Cookie: $COOKIE" -H "x-csrf-token: $CSRF" --include-tag policy --include-tag keys --include-tag people \
    --include-tag approvals --include-tag standing --include-tag alerts --include-tag projects
stop

echo "== all responses conform"
