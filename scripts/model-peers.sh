#!/usr/bin/env bash
# The official model SDKs as clients, and servers of others that stand for model APIs, to try Warren with.
#   scripts/model-peers.sh install                        install them (again only if their versions changed); print where
#   scripts/model-peers.sh node anthropic URL KEY         run the SDK for JavaScript against a server
#   scripts/model-peers.sh node openai URL KEY chat|responses
#   scripts/model-peers.sh python anthropic|openai URL KEY [chat|responses]    the same for Python
#   scripts/model-peers.sh aimock                         npm @copilotkit/aimock; prints its URL, ends when stdin closes
#   scripts/model-peers.sh llmock [OPTIONS…]              PyPI llmock; the same
# Versions are pinned in scripts/model-peers/. stdout has what was asked for and nothing else.
set -euo pipefail
cd "$(dirname "$0")/model-peers"
sources=$PWD
place=${CARGO_TARGET_DIR:-../../target}/model-peers

missing() {
  echo "model-peers: $1 is missing: $2" >&2
  exit 1
}

install() {
  mkdir -p "$place"
  place=$(cd "$place" && pwd)
  # Tests run at once, and only one of them installs.
  exec 9>"$place/lock"
  flock 9
  local sum
  sum=$(cat requirements.txt package.json package-lock.json client.mjs | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" = "$sum" ]; then return; fi
  echo "model-peers: installing the official SDKs and the other servers" >&2
  rm -rf "$place/python" "$place/node" "$place/done"
  command -v python3 >/dev/null || missing python3 "install the Debian package python3"
  python3 -m venv "$place/python" >&2 || missing python3-venv "install the Debian package python3-venv"
  "$place/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt >&2 ||
    missing "a package of requirements.txt" "see what pip says above"
  command -v npm >/dev/null || missing npm "install the Debian package npm"
  mkdir "$place/node"
  cp package.json package-lock.json client.mjs "$place/node"
  npm --prefix "$place/node" install --no-save --no-audit --no-fund --loglevel=error >&2 ||
    missing "a package of package.json" "see what npm says above"
  printf '%s' "$sum" >"$place/done"
}

# serve NAME COMMAND…: starts a server on a free port (the last argument), prints its URL when it answers, and ends it
# when stdin closes.
serve() {
  local name=$1 port pid
  shift
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  "$@" "$port" >"$place/$name.$port.log" 2>&1 </dev/null &
  pid=$!
  # shellcheck disable=SC2064
  trap "kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -f '$place/$name.$port.log'" EXIT
  for _ in $(seq 300); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      printf 'http://127.0.0.1:%s\n' "$port"
      cat >/dev/null
      return
    fi
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.1
  done
  echo "model-peers: $name did not start:" >&2
  cat "$place/$name.$port.log" >&2
  exit 1
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
  install)
    install
    printf '%s\n' "$place"
    ;;
  node | python | aimock | llmock)
    install
    exec 9>&-
    case $verb in
      node) exec node "$place/node/client.mjs" "$@" ;;
      # Without compiled files in the source tree.
      python) exec "$place/python/bin/python" -B "$sources/client.py" "$@" ;;
      aimock)
        serve aimock "$place/node/node_modules/.bin/llmock" -f "$sources/fixtures.json" --strict --log-level silent -p
        ;;
      llmock) serve llmock "$place/python/bin/llmock" serve "$@" --host 127.0.0.1 --log-level warning --port ;;
    esac
    ;;
  *)
    sed -n '2,10s/^# \{0,1\}//p' ../model-peers.sh >&2
    exit 2
    ;;
esac
