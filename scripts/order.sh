#!/usr/bin/env bash
# Writes the order in which the linker puts what hooks, MCP proxies and sandboxes run next to each other, so that a process maps few
# pages of the program, and links the program with it. It takes valgrind, and the linker `lld`, which rustc brings.
# Usage: scripts/order.sh [release|dist] (release unless given)
#
# The names of functions are those of one compiler and one profile. A name that does not exist is ignored.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-release}
order=$PWD/target/order-$profile.txt
mkdir -p target
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# The names of functions depend on the settings of the profile, so both builds keep their symbols.
export CARGO_PROFILE_DIST_STRIP=debuginfo
cargo build --locked --profile "$profile" -p midrail-cli
cp "target/$profile/midrail" "$place/midrail"

mkdir -p "$place/project/.midrail" "$place/home"
cd "$place/project"
printf 'fn main() {}\n' > main.rs
printf 'pack: p\nextends: default\nmcp: {first_seen: pin}\n' > .midrail/pack.yaml
printf 'while read -r line; do printf %%s "{}"; done\n' > server.sh

alone() {
  HOME=$place/home XDG_CONFIG_HOME=$place/config XDG_STATE_HOME=$place/state "$@"
}
profiled() {
  alone valgrind --tool=callgrind --quiet --demangle=no --compress-strings=no --callgrind-out-file="$place/profile.$1" "${@:2}" > "$place/out"
}
hook() {
  printf '{"session_id":"s","cwd":"%s","hook_event_name":"%s",%s}' "$PWD" "$1" "$2" > "$place/in"
  # The first process creates the store, and keeps the compiled packs.
  alone "$place/midrail" hook claude-code "$1" < "$place/in" > "$place/out"
  profiled "$3" "$place/midrail" hook claude-code "$1" < "$place/in"
}
hook PreToolUse '"tool_name":"Bash","tool_input":{"command":"cargo test --workspace 2>&1 | tail -20"}' 1
hook PreToolUse '"tool_name":"Read","tool_input":{"file_path":"main.rs"}' 2
hook PostToolUse '"tool_name":"Read","tool_input":{"file_path":"main.rs"},"tool_response":{"file":{"content":"fn main() {}"}}' 3
hook UserPromptSubmit '"prompt":"Add a test for the parser, please."' 4
printf '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n' |
  profiled 5 "$place/midrail" mcp wrap --server toy -- /bin/sh server.sh

# Valgrind lacks system calls of sandboxes, so this one ends before its command starts.
profiled 6 "$place/midrail" run --no-mounts -- /bin/true || true

# In the order in which the profiles name them; a function of a recursion has a suffix.
sed -n "s/^fn=\(.*\)/\1/p" "$place"/profile.* | sed "s/'[0-9]*$//" | awk '!seen[$0]++' > "$order"
cd - > /dev/null
MIDRAIL_ORDER=$order cargo build --locked --profile "$profile" -p midrail-cli
[ "$profile" != dist ] || strip "target/$profile/midrail"
echo "$(wc -l < "$order") functions are next to each other in target/$profile/midrail ($order)"
