#!/usr/bin/env bash
# Run a private PostgreSQL server for development: `start` prints its URL, `stop` stops it and removes its files.
# The programs come from MIDRAIL_PG_BIN, PATH, or /usr/lib/postgresql/*/bin; the data directory is MIDRAIL_PG_HOME.
set -euo pipefail

home="${MIDRAIL_PG_HOME:-${TMPDIR:-/tmp}/midrail-postgres-$(id -u)}"
port="${MIDRAIL_PG_PORT:-54329}"

bin="${MIDRAIL_PG_BIN:-}"
if [ -z "$bin" ] && command -v initdb >/dev/null 2>&1; then
    bin="$(dirname "$(readlink -f "$(command -v initdb)")")"
fi
if [ -z "$bin" ]; then
    for folder in /usr/lib/postgresql/*/bin; do
        [ -x "$folder/initdb" ] && bin="$folder"
    done
fi
if [ -z "$bin" ]; then
    echo "PostgreSQL not found: install it, or set MIDRAIL_PG_BIN to the directory of its programs" >&2
    exit 1
fi

# PostgreSQL refuses to run as root.
as() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        local user=nobody
        id postgres >/dev/null 2>&1 && user=postgres
        # No shell in between, so that arguments are not parsed twice.
        (cd / && setpriv --reuid "$(id -u "$user")" --regid "$(id -g "$user")" --clear-groups "$@")
    fi
}

case "${1:-}" in
start)
    if [ ! -e "$home" ]; then
        mkdir -m 700 "$home"
        if [ "$(id -u)" -eq 0 ]; then
            user=nobody
            id postgres >/dev/null 2>&1 && user=postgres
            chown "$user" "$home"
        fi
        as "$bin/initdb" -U midrail -A trust -E UTF8 --locale=C -D "$home/data" >/dev/null
    fi
    if ! as "$bin/pg_ctl" -D "$home/data" status >/dev/null 2>&1; then
        as "$bin/pg_ctl" -D "$home/data" -w -l "$home/log" \
            -o "-p $port -k $home -c listen_addresses=127.0.0.1" start >/dev/null
    fi
    echo "postgres://midrail@127.0.0.1:$port/postgres"
    ;;
stop)
    [ -e "$home" ] || exit 0
    as "$bin/pg_ctl" -D "$home/data" -m fast -w stop >/dev/null 2>&1 || true
    rm -rf "$home"
    ;;
*)
    echo "usage: scripts/postgres.sh start|stop" >&2
    exit 2
    ;;
esac
