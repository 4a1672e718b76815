#!/usr/bin/env bash
# Everything that must hold, in one run: set-up, lints, house rules, Rust tests, web tests, browser tests, the
# documents' commands. A step that fails does not hide the steps after it. The last line is `N passed, N failed`.
#
# The runners' own reports are counted (scripts/count.sh); a step that only says yes or no counts as one.
set -uo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
logs=$target/test-logs
rm -rf "$logs" && mkdir -p "$logs"

# The tests bring their own server and their own environment.
unset WARREN_URL WARREN_TOKEN WARREN_DATA WARREN_CONFIG
export CARGO_TERM_COLOR=never NO_COLOR=1

# PostgreSQL refuses to run as root, so its folder must be one that another user may enter; a checkout need not be.
WARREN_SERVICES_DIR=$(mktemp -d) && chmod 755 "$WARREN_SERVICES_DIR"
export WARREN_SERVICES_DIR
stop_services() {
  # A second Ctrl-C must not cut it short.
  trap '' INT TERM
  scripts/docker.sh stop >"$logs/docker-stop.log" 2>&1 || cat "$logs/docker-stop.log" >&2
  scripts/postgres.sh stop >"$logs/postgres-stop.log" 2>&1 || cat "$logs/postgres-stop.log" >&2
  rm -rf "$WARREN_SERVICES_DIR"
}
trap stop_services EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

layers=()
declare -A passed=() failed=()
steps=() broken=()

add() { # LAYER PASSED FAILED
  if [ -z "${passed[$1]:-}" ]; then layers+=("$1") && passed[$1]=0 && failed[$1]=0; fi
  passed[$1]=$((passed[$1] + $2))
  failed[$1]=$((failed[$1] + $3))
}

# step NAME COUNTER COMMAND…: runs it, keeps the log and counts. The counter is `check` for a step that only says yes
# or no, or a report that scripts/count.sh can read.
step() {
  local name=$1 counter=$2 log code=0 begin=$SECONDS good bad layer
  shift 2
  log="$logs/${name// /-}.log"
  printf '\n── %s: %s\n' "$name" "$*"
  "$@" 2>&1 </dev/null | tee "$log"
  code=${PIPESTATUS[0]}
  steps+=("$name $((SECONDS - begin))")
  if [ "$code" -ne 0 ]; then broken+=("$name"); fi
  case $counter in
    check) add checks $((code == 0)) $((code != 0)) ;;
    *)
      while read -r good bad layer; do add "$layer" "$good" "$bad"; done \
        < <(scripts/count.sh "$counter" "${name/doctests/doc}" "$code" <"$log")
      ;;
  esac
}

# ── Steps ──

step "set-up" check scripts/setup.sh
step "page" check scripts/web.sh build
step "format" check cargo fmt --all --check
step "clippy" check cargo clippy --workspace --all-targets --locked -- -D warnings
step "house rules" check cargo xtask check
step "PostgreSQL" check scripts/postgres.sh start
WARREN_TEST_POSTGRES=$(scripts/postgres.sh url)
export WARREN_TEST_POSTGRES
step "Docker" check scripts/docker.sh start
WARREN_TEST_DOCKER=$(scripts/docker.sh url)
export WARREN_TEST_DOCKER

step "MCP suite" check scripts/conformance.sh install

step "A2A clients" check scripts/peers.sh a2a install
step "model SDKs" check scripts/peers.sh model install
step "chat clients" check scripts/peers.sh chat install
step "resident agents" check scripts/residents.sh install quick
step "OpenAPI clients" check scripts/peers.sh openapi install
step "OpenAPI document" check scripts/peers.sh openapi validate openapi/v1.json
step "binary" check cargo build --locked --package warren-cli
WARREN_BIN=$(cd "$target" && pwd)/debug/warren
export WARREN_BIN
if command -v cargo-nextest >/dev/null; then
  step "Rust tests" nextest cargo nextest run --workspace --locked --no-fail-fast --status-level pass
  step "parity" check scripts/parity.sh --of "$logs/Rust-tests.log"
else
  echo "cargo-nextest is not installed; cargo test does the same, less neatly"
  step "Rust tests" libtest cargo test --workspace --all-targets --locked --no-fail-fast
fi
step "doctests" libtest cargo test --workspace --doc --locked --no-fail-fast

step "web lint" check npm --prefix web run --silent lint
step "web client" check npm --prefix web run --silent check-generated
step "web unit" vitest npm --prefix web run --silent test
step "browser" vitest npm --prefix web run --silent e2e
step "docs' commands" docs cargo xtask docs-test

# ── Verdict ──

printf '\n%-28s %8s\n' step seconds
for one in "${steps[@]}"; do printf '%-28s %8s\n' "${one% *}" "${one##* }"; done
printf '\n%-28s %8s %8s\n' layer passed failed
total_passed=0 total_failed=0
for layer in "${layers[@]}"; do
  printf '%-28s %8s %8s\n' "$layer" "${passed[$layer]}" "${failed[$layer]}"
  total_passed=$((total_passed + passed[$layer]))
  total_failed=$((total_failed + failed[$layer]))
done
if [ ${#broken[@]} -gt 0 ]; then
  printf '\nfailed steps (logs in %s):\n' "$logs"
  printf '  %s\n' "${broken[@]}"
fi
printf '\n%s passed, %s failed\n' "$total_passed" "$total_failed"
[ "$total_failed" -eq 0 ]
