#!/usr/bin/env bash
# Programs of others to try Warren with. Each suite is a folder scripts/SUITE-peers with its versions pinned.
#   scripts/peers.sh SUITE install                   install a suite (again only if its versions changed); print where
# a2a: the official A2A clients, and an agent made with the official SDK
#   scripts/peers.sh a2a agent [ARGS…]               run the agent; it prints its URL and ends when stdin closes
#   scripts/peers.sh a2a python|node ARGS…           run the client for Python or JavaScript
#   scripts/peers.sh a2a conformance URL [TOKEN]     try an agent for what the protocol asks for; --help has more
# chat: the chat clients of the AI SDK (npm `ai`), one of each major version that Warren speaks to
#   scripts/peers.sh chat node MAJOR URL TOKEN SCENARIO    run one against a session; prints what it saw as JSON
# langgraph: LangGraph with its SQLite checkpointer, as a control for Warren's sessions and the baseline of their benchmarks
#   scripts/peers.sh langgraph kills [KILLS] [SEED]  kill a process with tool loops and interrupts again and again, and
#                                                    count what went wrong; 100 kills unless told
#   scripts/peers.sh langgraph bench FOLDER [STEPS] [THREADS]  one line of JSON: time of a step, steps a second, bytes on disk
# model: the official model SDKs as clients, and servers of others that stand for model APIs
#   scripts/peers.sh model node|python anthropic URL KEY   run an SDK against a server
#   scripts/peers.sh model node|python openai URL KEY chat|responses
#   scripts/peers.sh model aimock                    npm @copilotkit/aimock; prints its URL, ends when stdin closes
#   scripts/peers.sh model llmock [OPTIONS…]         PyPI llmock; the same
# openapi: clients that others' programs generate from the API's document, and a check of the document itself
#   scripts/peers.sh openapi validate FILE           say what is wrong with a document (PyPI openapi-spec-validator)
#   scripts/peers.sh openapi client openapi-python-client|openapi-generator|openapi-typescript FILE URL TOKEN
#                                                    generate one and have it use a Warren; prints what it saw as JSON
# oidc: npm oidc-provider, by which people sign in
#   scripts/peers.sh oidc provider                   run it; prints its URL, ends when stdin closes
# stdout has what was asked for and nothing else.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")"

usage() {
  sed -n '2,26s/^# \{0,1\}//p' peers.sh >&2
  exit 2
}

missing() {
  echo "$suite-peers: $1 is missing: $2" >&2
  exit 1
}

# Python packages where the suite has a requirements.txt, npm packages where it has a package.json.
install() {
  mkdir -p "$place"
  place=$(cd "$place" && pwd)
  # Tests run at once, and only one of them installs.
  exec 9>"$place/lock"
  flock 9
  local sum file files=()
  for file in requirements.txt package.json package-lock.json client.mjs client.ts; do
    if [ -f "$file" ]; then files+=("$file"); fi
  done
  sum=$(cat "${files[@]}" | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" != "$sum" ]; then
    echo "$suite-peers: installing" >&2
    rm -rf "$place/python" "$place/node" "$place/done"
    if [ -f requirements.txt ]; then install_python; fi
    if [ -f package.json ]; then install_node; fi
    printf '%s' "$sum" >"$place/done"
  fi
  exec 9>&-
}

install_python() {
  command -v python3 >/dev/null || missing python3 "install the Debian package python3"
  python3 -m venv "$place/python" >&2 || missing python3-venv "install the Debian package python3-venv"
  "$place/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt >&2 ||
    missing "a package of requirements.txt" "see what pip says above"
}

install_node() {
  command -v npm >/dev/null || missing npm "install the Debian package npm"
  mkdir "$place/node"
  # The client stands beside its packages, where Node looks for them.
  cp package.json package-lock.json client.* "$place/node"
  npm --prefix "$place/node" install --no-save --no-audit --no-fund --loglevel=error >&2 ||
    missing "a package of package.json" "see what npm says above"
}

# Without compiled files in the source tree, and without anything that calls home.
python() { LANGSMITH_TRACING=false exec "$place/python/bin/python" -B "$@"; }

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
  echo "$suite-peers: $name did not start:" >&2
  cat "$place/$name.$port.log" >&2
  exit 1
}

# generated GENERATOR FILE URL TOKEN: makes a client in a folder of its own, since tests run at once, and runs it.
generated() {
  local document work packages=$place/node/node_modules/.bin
  [ $# -eq 4 ] || usage
  document=$(cd "$from" && realpath "$2")
  work=$(mktemp -d "$place/node/run.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  if [ "$1" != openapi-typescript ]; then
    "$place/python/bin/python" -B "$PWD/clients.py" "$1" "$document" "$3" "$4" "$work"
    return
  fi
  cp "$place/node/client.ts" "$work"
  "$packages/openapi-typescript" "$document" --output "$work/api.ts" >&2
  "$packages/tsc" --strict --target es2022 --module nodenext --typeRoots "$place/node/node_modules/@types" --types node --skipLibCheck "$work/client.ts" >&2
  node "$work/client.js" "$3" "$4"
}

suite=${1:-}
verb=${2:-}
[ $# -ge 2 ] || usage
shift 2
case $suite in
  a2a | chat | langgraph | model | oidc | openapi) ;;
  *) usage ;;
esac
case "$suite $verb" in
  *" install" | "a2a agent" | "a2a python" | "a2a node" | "a2a conformance" | "chat node") ;;
  "langgraph kills" | "langgraph bench" | "model node" | "model python" | "model aimock" | "model llmock") ;;
  "oidc provider" | "openapi validate" | "openapi client") ;;
  *) usage ;;
esac
place=$PWD/../target
place=${CARGO_TARGET_DIR:-$place}/$suite-peers
cd "$suite-peers"
install
case $verb in
  install) printf '%s\n' "$place" ;;
  node) exec node "$place/node/client.mjs" "$@" ;;
  python) python "$PWD/client.py" "$@" ;;
  agent | kills | bench) python "$PWD/$verb.py" "$@" ;;
  conformance) python -m conformance "$@" ;;
  aimock)
    serve aimock "$place/node/node_modules/.bin/llmock" -f "$PWD/fixtures.json" --strict --log-level silent -p
    ;;
  validate) python -m openapi_spec_validator "$(cd "$from" && realpath "$1")" ;;
  client) generated "$@" ;;
  provider) serve provider node "$place/node/client.mjs" ;;
  llmock) serve llmock "$place/python/bin/llmock" serve "$@" --host 127.0.0.1 --log-level warning --port ;;
esac
