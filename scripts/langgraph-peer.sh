#!/usr/bin/env bash
# LangGraph with its SQLite checkpointer, as a control for Warren's sessions and as the baseline of their benchmarks.
#   scripts/langgraph-peer.sh install                       install it (again only if its versions changed); print where
#   scripts/langgraph-peer.sh kills [KILLS] [SEED]          kill a process with tool loops and interrupts again and again,
#                                                           and count what went wrong; 100 kills unless told
#   scripts/langgraph-peer.sh bench FOLDER [STEPS] [THREADS]  one line of JSON: time of a step, steps a second, bytes on disk
# Versions are pinned in scripts/langgraph-peer/. stdout has what was asked for and nothing else.
set -euo pipefail
cd "$(dirname "$0")/langgraph-peer"
sources=$PWD
place=${CARGO_TARGET_DIR:-../../target}/langgraph-peer

missing() {
  echo "langgraph-peer: $1 is missing: $2" >&2
  exit 1
}

install() {
  mkdir -p "$place"
  place=$(cd "$place" && pwd)
  exec 9>"$place/lock"
  flock 9
  local sum
  sum=$(sha256sum <requirements.txt | cut -d' ' -f1)
  if [ "$(cat "$place/done" 2>/dev/null)" = "$sum" ]; then return; fi
  echo "langgraph-peer: installing LangGraph" >&2
  rm -rf "$place/python" "$place/done"
  command -v python3 >/dev/null || missing python3 "install the Debian package python3"
  python3 -m venv "$place/python" >&2 || missing python3-venv "install the Debian package python3-venv"
  "$place/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt >&2 ||
    missing "a package of requirements.txt" "see what pip says above"
  printf '%s' "$sum" >"$place/done"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
  install)
    install
    printf '%s\n' "$place"
    ;;
  kills | bench)
    install
    exec 9>&-
    # Without compiled files in the source tree, and without anything that calls home.
    LANGSMITH_TRACING=false exec "$place/python/bin/python" -B "$sources/$verb.py" "$@"
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' ../langgraph-peer.sh >&2
    exit 2
    ;;
esac
