#!/usr/bin/env bash
# Checks the program in the installed packages: bindings/program.sh PROGRAM...
set -euo pipefail
for program in "$@"; do
  home=$(mktemp -d)
  export HOME=$home
  mkdir "$home/.claude"
  cd "$home"
  "$program" --version
  if "$program" check --tool Read --args '{"file_path": ".env"}' > "$home/decision"; then
    echo "error: $program allowed a blocked call" >&2
    exit 1
  elif [ $? != 2 ]; then
    cat "$home/decision" >&2
    exit 1
  fi
  "$program" init --agent claude-code --yes > "$home/init"
  # The hook starts the program itself: through Node it would take a hundred times as long.
  hook=$(grep -oE '/[^ "\\'"'"']*/midrail' "$home/.claude/settings.json" | grep -v "^$home" | head -1)
  if [ "$(head -c 4 "$hook" | tail -c 3)" != ELF ]; then
    echo "error: the hook starts $hook, which is not the native program" >&2
    exit 1
  fi
  echo "the hook starts the native program"
  cd / && rm -rf "$home"
done
