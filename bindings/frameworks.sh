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

# Tests modules in an environment with these requirements: python_tests ENVIRONMENT REQUIREMENTS MODULE...
python_tests() {
  local environment=$tests/$1 requirements=bindings/python/tests/frameworks/$2
  shift 2
  if ! cmp -s "$requirements" "$environment/requirements.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet -r "$requirements"
    cp "$requirements" "$environment/requirements.txt"
  fi
  "$environment/bin/pip" install --quiet --no-index --no-deps --force-reinstall "$prefix"/wheels/*.whl
  rm -rf "$environment/tests"
  cp -r bindings/python/tests "$environment/tests"
  for module in "$@"; do
    (cd "$environment/tests/frameworks" && MIDRAIL_PROGRAM=$environment/bin/midrail ../../bin/python -W ignore run.py "test_$module" \
      > "$tests/results/$module.tap" 2> "$tests/results/$module.log") || { tail -60 "$tests/results/$module.log" >&2; exit 1; }
  done
}
# Checks the types of adapters against those of the frameworks: python_types ENVIRONMENT MODULE...
python_types() {
  local environment=$tests/$1
  shift
  echo '{"typeCheckingMode": "basic"}' > "$environment/pyrightconfig.json"
  "$prefix/tools/bin/pyright" --project "$environment/pyrightconfig.json" --pythonpath "$environment/bin/python" \
    "${@/#/bindings/python/python/midrail/}"
}
python_tests python requirements.txt langchain openai_agents pydantic_ai adk claude
python_types python langchain.py openai_agents.py pydantic_ai.py adk.py claude.py
# Its requirements exclude those of the others.
python_tests crewai requirements-crewai.txt crewai
python_types crewai crewai.py

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
  node=node
  # Mastra needs Node 22.13 or later, which is one of the packages.
  [ "$name" != mastra ] || node=node_modules/.bin/node
  (cd "$tests/node" && MIDRAIL_PROGRAM=$program "$node" --test --test-reporter=tap "test/frameworks/$name.test.js" \
    > "$tests/results/$name.tap") || { grep -A 30 '^not ok' "$tests/results/$name.tap" >&2; exit 1; }
done

# Checks the types of the adapters against those of the frameworks.
cp "$tests/node/test/frameworks/types.mts" "$tests/node/types.mts"
(cd "$tests/node" && "$prefix/tools/node_modules/.bin/tsc" --noEmit --strict --skipLibCheck --module nodenext --target es2023 \
  --types node --typeRoots "$prefix/tools/node_modules/@types" types.mts)

python3 bindings/matrix.py "$mode" "$tests/results"
