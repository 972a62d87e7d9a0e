#!/usr/bin/env bash
# Tests the adapters with the real frameworks, in the packages that `scripts/bindings.sh` built: bindings/frameworks.sh PREFIX.
# The table of docs/guide/frameworks.md is compared with the results; `--write` after the prefix writes it.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$1
mode=${2:---check}
tests=$prefix/frameworks
mkdir -p "$tests"
rm -rf "$tests/results"
mkdir "$tests/results"

requirements=bindings/python/tests/frameworks/requirements.txt
if ! cmp -s $requirements "$tests/python/requirements.txt"; then
  rm -rf "$tests/python"
  python3 -m venv "$tests/python"
  "$tests/python/bin/pip" install --quiet -r $requirements
  cp $requirements "$tests/python/"
fi
"$tests/python/bin/pip" install --quiet --no-index --no-deps --force-reinstall "$prefix"/wheels/*.whl
rm -rf "$tests/python/tests"
cp -r bindings/python/tests "$tests/python/tests"
for module in bindings/python/tests/frameworks/test_*.py; do
  name=$(basename "$module" .py)
  (cd "$tests/python/tests/frameworks" && MIDRAIL_PROGRAM=$tests/python/bin/midrail ../../bin/python -W ignore run.py "$name" \
    > "$tests/results/${name#test_}.tap")
done

packages=bindings/node/test/frameworks/package.json
if ! cmp -s $packages "$tests/node/package.json.installed"; then
  rm -rf "$tests/node"
  mkdir -p "$tests/node"
  cp $packages "$tests/node/package.json"
  (cd "$tests/node" && npm install --silent --no-audit --no-fund)
  cp $packages "$tests/node/package.json.installed"
fi
rm -rf "$tests/node/node_modules/midrail" "$tests/node/node_modules/@midrail" "$tests/node/test"
cp -r "$prefix/node/node_modules/midrail" "$prefix/node/node_modules/@midrail" "$tests/node/node_modules/"
cp -r bindings/node/test "$tests/node/test"
program=$(echo "$tests"/node/node_modules/@midrail/*/midrail)
for module in bindings/node/test/frameworks/*.test.js; do
  name=$(basename "$module" .test.js)
  (cd "$tests/node" && MIDRAIL_PROGRAM=$program node --test --test-reporter=tap "test/frameworks/$name.test.js" \
    > "$tests/results/$name.tap") || { grep -A 30 '^not ok' "$tests/results/$name.tap" >&2; exit 1; }
done

python3 bindings/matrix.py "$mode" "$tests/results"
