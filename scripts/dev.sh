#!/usr/bin/env bash
# For working on Warren: the server is built and started again when a Rust source changes, the page comes from vite
# with hot reload. Ends both on Ctrl-C. The data lies in the target folder, apart from your own.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
address=${WARREN_DEV_LISTEN:-127.0.0.1:7878}
server='' page=''

end() { # PID: asks, and waits for the end
  if [ -n "$1" ] && kill "$1" 2>/dev/null; then wait "$1" 2>/dev/null || true; fi
}
trap 'end "$server"; end "$page"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stamp() { find crates Cargo.toml Cargo.lock -type f \( -name '*.rs' -o -name '*.toml' -o -name '*.sql' -o -name '*.lock' \) -printf '%p %T@\n' | sort | cksum; }

if scripts/web.sh install; then
  WARREN_URL="http://$address" npm --prefix web run --silent dev -- --clearScreen false &
  page=$!
fi

built=''
while true; do
  now=$(stamp)
  if [ "$now" != "$built" ]; then
    built=$now
    if cargo build --locked --package warren-cli; then
      end "$server"
      "$target/debug/warren" up --data "$target/dev-data" --listen "$address" &
      server=$!
    else
      echo "dev: the build failed; the old server goes on" >&2
    fi
  fi
  sleep 1
done
