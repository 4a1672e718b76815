#!/usr/bin/env bash
# The chat clients of the AI SDK (npm `ai`), one of each major version that Warren speaks to.
#   scripts/chat-peers.sh install                        install them (again only if their versions changed); print where
#   scripts/chat-peers.sh run MAJOR URL TOKEN SCENARIO   run one against a session; prints what it saw as JSON
# Versions are pinned in scripts/chat-peers/. stdout has what was asked for and nothing else.
set -euo pipefail
cd "$(dirname "$0")/chat-peers"
place=${CARGO_TARGET_DIR:-../../target}/chat-peers

missing() {
  echo "chat-peers: $1 is missing: $2" >&2
  exit 1
}

install() {
  mkdir -p "$place"
  place=$(cd "$place" && pwd)
  # Tests run at once, and only one of them installs.
  exec 9>"$place/lock"
  flock 9
  local sum
  sum=$(cat package.json package-lock.json client.mjs | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" = "$sum" ]; then return; fi
  echo "chat-peers: installing the AI SDK's clients" >&2
  command -v npm >/dev/null || missing npm "install the Debian package npm"
  mkdir -p "$place/node"
  cp package.json package-lock.json client.mjs "$place/node"
  npm --prefix "$place/node" install --no-save --no-audit --no-fund --loglevel=error >&2 ||
    missing "a package of package.json" "see what npm says above"
  printf '%s' "$sum" >"$place/done"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
  install)
    install
    printf '%s\n' "$place"
    ;;
  run)
    install
    exec 9>&-
    exec node "$place/node/client.mjs" "$@"
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' ../chat-peers.sh >&2
    exit 2
    ;;
esac
