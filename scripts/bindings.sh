#!/usr/bin/env bash
# Builds the Python wheel and the npm packages, installs them into empty prefixes, and runs their tests and examples there.
#
#   bash scripts/bindings.sh              build in the profile `dev`, and run everything
#   bash scripts/bindings.sh --release    the same in the profile `release`
#   bash scripts/bindings.sh --frameworks also the tests of the adapters, which install the frameworks (2 GB)
#
# It needs Python 3.10 or later, Node 20 or later, npm, and the registries of both. `MIDRAIL_PROGRAM` names a program to put into the
# packages; otherwise it is built. `MIDRAIL_PREFIX` names the folder for everything that is built and installed. `MIDRAIL_PYTHONS` and
# `MIDRAIL_NODES` name further interpreters to test the packages with.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
profile=dev
frameworks=no
for argument in "$@"; do
  case $argument in
    --release) profile=release ;;
    --frameworks) frameworks=yes ;;
    *) echo "error: unknown option \`$argument\`" >&2; exit 2 ;;
  esac
done

target=${CARGO_TARGET_DIR:-$repository/target}
export CARGO_TARGET_DIR=$target
built=$target/${profile/dev/debug}
prefix=${MIDRAIL_PREFIX:-$target/bindings}
mkdir -p "$prefix"
step() { printf '\n== %s\n' "$*"; }

step "Types are current"
python3 bindings/types.py --check

step "Rust: format, lints, tests"
(cd bindings && cargo fmt --all --check && cargo clippy --quiet --locked --workspace --all-targets -- -D warnings)
(cd bindings && cargo test --quiet --locked -p midrail-binding)

step "The program"
program=${MIDRAIL_PROGRAM:-}
if [ -z "$program" ]; then
  cargo build --locked --profile "$profile" -p midrail-cli
  program=$built/midrail
fi
program=$(realpath "$program")

step "The wheel"
[ -x "$prefix/tools/bin/maturin" ] || { python3 -m venv "$prefix/tools"; "$prefix/tools/bin/pip" install --quiet 'maturin>=1.16,<2' pyright; }
rm -rf "$prefix/wheels" bindings/python/data
mkdir -p bindings/python/data/scripts
cp "$program" bindings/python/data/scripts/midrail
strip bindings/python/data/scripts/midrail
(cd bindings/python && "$prefix/tools/bin/maturin" build --quiet --locked --profile "$profile" --strip --compatibility linux \
  --out "$prefix/wheels")
rm -r bindings/python/data
python3 bindings/sizes.py "$prefix"/wheels/*.whl

step "The npm packages"
(cd bindings && cargo build --locked --profile "$profile" -p midrail-node)
platform=$(node -p '`${process.platform}-${process.arch}`')
version=$(node -p 'require("./bindings/node/package.json").version')
rm -rf "$prefix/npm"
mkdir -p "$prefix/npm/$platform"
cp "$built/libmidrail_node.so" "$prefix/npm/$platform/midrail.node"
cp "$program" "$prefix/npm/$platform/midrail"
strip "$prefix/npm/$platform/midrail.node" "$prefix/npm/$platform/midrail"
cat > "$prefix/npm/$platform/package.json" <<JSON
{
  "name": "@midrail/$platform",
  "version": "$version",
  "description": "The engine and the program of midrail for $platform",
  "license": "Apache-2.0",
  "os": ["${platform%-*}"],
  "cpu": ["${platform#*-}"],
  "main": "midrail.node",
  "files": ["midrail.node", "midrail"]
}
JSON
(cd "$prefix/npm" && npm pack --silent "./$platform" && npm pack --silent "$repository/bindings/node")
ls -l "$prefix"/npm/*.tgz

step "Python: the wheel in an empty environment"
rm -rf "$prefix/python"
python3 -m venv "$prefix/python"
"$prefix/python/bin/pip" install --quiet --no-index --no-deps "$prefix"/wheels/*.whl
cp -r bindings/python/tests "$prefix/python/tests"
cp bindings/python/README.md "$prefix/python/"
export MIDRAIL_REPOSITORY=$repository
(cd "$prefix/python/tests" && MIDRAIL_PROGRAM=$prefix/python/bin/midrail ../bin/python -m unittest discover)
python3 bindings/examples.py python "$prefix/python/examples" bindings/python/README.md docs/guide/python.md
cp bindings/python/pyproject.toml "$prefix/python/"
"$prefix/tools/bin/pyright" --project "$prefix/python/pyproject.toml" --pythonpath "$prefix/python/bin/python" \
  "$prefix/python/examples" bindings/python/python/midrail/_*.py bindings/python/python/midrail/{__init__,wire}.py

for python in ${MIDRAIL_PYTHONS:-}; do
  step "Python: the same wheel with $("$python" --version)"
  rm -rf "$prefix/other-python"
  "$python" -m venv "$prefix/other-python"
  "$prefix/other-python/bin/pip" install --quiet --no-index --no-deps "$prefix"/wheels/*.whl
  (cd "$prefix/python/tests" && MIDRAIL_PROGRAM=$prefix/other-python/bin/midrail "$prefix/other-python/bin/python" -m unittest discover)
done

step "Node: the packages in an empty prefix"
rm -rf "$prefix/node"
mkdir -p "$prefix/node"
echo '{"private": true, "type": "module"}' > "$prefix/node/package.json"
(cd "$prefix/node" && npm install --silent --no-audit --no-fund --omit=optional "$prefix/npm/midrail-$platform-$version.tgz" \
  && npm install --silent --no-audit --no-fund "$prefix/npm/midrail-$version.tgz")
cp -r bindings/node/test "$prefix/node/test"
(cd "$prefix/node" && MIDRAIL_PROGRAM=$prefix/node/node_modules/@midrail/$platform/midrail node --test test/*.test.js)
for node in ${MIDRAIL_NODES:-}; do
  step "Node: the same packages with Node $("$node" --version)"
  (cd "$prefix/node" && MIDRAIL_PROGRAM=$prefix/node/node_modules/@midrail/$platform/midrail "$node" --test test/*.test.js)
done
[ -x "$prefix/tools/node_modules/.bin/tsc" ] \
  || npm install --silent --no-audit --no-fund --prefix "$prefix/tools" typescript@7 @types/node@20
python3 bindings/examples.py js "$prefix/node/examples" bindings/node/README.md docs/guide/node.md
ln -sfn "$prefix/tools/node_modules/@types" "$prefix/node/node_modules/@types"
(cd "$prefix/node" && "$prefix/tools/node_modules/.bin/tsc" --noEmit --strict --allowJs --checkJs --skipLibCheck false \
  --module nodenext --target es2023 --types node examples/*.mjs)

step "The program in both packages"
bash bindings/program.sh "$prefix/python/bin/midrail" "$prefix/node/node_modules/.bin/midrail"

step "The same answer everywhere"
(cd bindings && cargo build --locked --profile "$profile" -p midrail-binding --example decide_events)
"$prefix/python/bin/python" bindings/same_answer/run.py --program "$program" --node "$prefix/node" --target "$built"

if [ "$profile" = release ]; then
  step "What a call costs"
  (cd bindings && cargo build --locked --profile "$profile" -p midrail-binding --example decide_calls)
  "$prefix/python/bin/python" bindings/cost/run.py --node "$prefix/node" --target "$built"
fi

if [ "$frameworks" = yes ]; then
  step "Adapters with the real frameworks"
  bash bindings/frameworks.sh "$prefix"
fi
step "All of it works"
