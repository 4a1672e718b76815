#!/usr/bin/env bash
# The official A2A clients, and an agent made with the official SDK, to try Warren with.
#   scripts/a2a-peers.sh install          install them (again only if their lock files changed) and print where
#   scripts/a2a-peers.sh agent [ARGS…]    run the agent; it prints its URL and ends when stdin closes
#   scripts/a2a-peers.sh python ARGS…     run the client for Python
#   scripts/a2a-peers.sh node ARGS…       run the client for JavaScript
#   scripts/a2a-peers.sh conformance URL [TOKEN]   try an agent for what the protocol asks for; --help has more
# Versions are pinned in scripts/a2a-peers/. stdout has what was asked for and nothing else.
set -euo pipefail
cd "$(dirname "$0")/a2a-peers"
sources=$PWD
place=${CARGO_TARGET_DIR:-../../target}/a2a-peers

install() {
  mkdir -p "$place"
  place=$(cd "$place" && pwd)
  # Tests run at once, and only one of them installs.
  exec 9>"$place/lock"
  flock 9
  local sum
  sum=$(cat requirements.txt package.json package-lock.json | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" = "$sum" ]; then return; fi
  echo "a2a-peers: installing the official clients" >&2
  rm -rf "$place/python" "$place/node" "$place/done"
  if ! python3 -m venv "$place/python" >&2; then
    echo "a2a-peers: python3 cannot make an environment: install the Debian package python3-venv" >&2
    exit 1
  fi
  "$place/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt >&2
  if ! command -v npm >/dev/null; then
    echo "a2a-peers: npm is missing: install the Debian package npm" >&2
    exit 1
  fi
  mkdir "$place/node"
  cp package.json package-lock.json client.mjs "$place/node"
  npm --prefix "$place/node" install --no-save --no-audit --no-fund --loglevel=error >&2
  printf '%s' "$sum" >"$place/done"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
  install)
    install
    printf '%s\n' "$place"
    ;;
  agent | python | node | conformance)
    install
    exec 9>&-
    case $verb in
      agent) exec "$place/python/bin/python" "$sources/agent.py" "$@" ;;
      python) exec "$place/python/bin/python" "$sources/client.py" "$@" ;;
      # Without compiled files in the source tree.
      conformance) exec "$place/python/bin/python" -B -m conformance "$@" ;;
      # Beside its packages, where Node looks for them.
      node)
        cp "$sources/client.mjs" "$place/node/client.$$.mjs"
        trap 'rm -f "$place/node/client.$$.mjs"' EXIT
        node "$place/node/client.$$.mjs" "$@"
        ;;
    esac
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' ../a2a-peers.sh >&2
    exit 2
    ;;
esac
