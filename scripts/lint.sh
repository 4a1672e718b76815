#!/usr/bin/env bash
# Format, lints and house rules, without tests. Goes on after a failure, so that one run shows everything.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=()
check() { # NAME COMMAND…
  local name=$1
  shift
  echo "── $name"
  "$@" || failed+=("$name")
}

check format cargo fmt --all --check
check clippy cargo clippy --workspace --all-targets --locked -- -D warnings
check "house rules" cargo xtask check
check "web packages" scripts/web.sh install
check "web lint" npm --prefix web run --silent lint
check "web client is fresh" npm --prefix web run --silent check-generated

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "lint: all well"
