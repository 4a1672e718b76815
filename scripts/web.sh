#!/usr/bin/env bash
# Installs the page's packages and builds it, each only when its sources changed since the last time.
#   scripts/web.sh install | build
# What was done is remembered by checksum below web/node_modules, so that a fresh clone with new file times and an
# unchanged tree are told apart from a real change.
set -euo pipefail
cd "$(dirname "$0")/../web"

memory=node_modules/.warren
oldest=20.19

checksum() { sha256sum | cut -d' ' -f1; }
lock_sum() { cat package.json package-lock.json | checksum; }
source_sum() {
  find . \( -name node_modules -o -name dist -o -name test-results \) -prune -o -type f -print0 |
    sort -z | xargs -0 sha256sum | cat - <(node --version) | checksum
}

need_node() {
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    echo "web: Node is missing, so the page cannot be built" >&2
    echo "hint: install Node $oldest or newer with npm (https://nodejs.org)" >&2
    exit 1
  fi
  if [ "$(printf '%s\n' "$oldest" "$(node --version | tr -d v)" | sort -V | head -n 1)" != "$oldest" ]; then
    echo "web: Node $(node --version) is too old to build the page" >&2
    echo "hint: install Node $oldest or newer (https://nodejs.org)" >&2
    exit 1
  fi
}

install() {
  if [ "$(cat "$memory/lock" 2>/dev/null)" = "$(lock_sum)" ]; then return; fi
  echo "web: installing packages" >&2
  if ! node -e '
    const [wanted, { packages: { "": locked } }] = process.argv.slice(1).map((file) => require(file));
    for (const kind of ["dependencies", "devDependencies"])
      require("assert").deepEqual(locked[kind], wanted[kind]);
  ' ./package.json ./package-lock.json 2>/dev/null; then
    echo "web: package-lock.json does not fit package.json" >&2
    echo "hint: run npm install in web/ and commit package-lock.json" >&2
    exit 1
  fi
  # Not `npm ci`: it refuses a lock file made where the optional binaries of other platforms could not be had. This
  # installs the locked versions just the same, and writes neither file.
  rm -rf node_modules
  npm install --no-save --no-audit --no-fund --loglevel=error >&2
  mkdir -p "$memory"
  lock_sum >"$memory/lock"
}

build() {
  if [ -f dist/index.html ] && [ "$(cat "$memory/sources" 2>/dev/null)" = "$(source_sum)" ]; then return; fi
  echo "web: building the page" >&2
  npm run --silent build >&2
  source_sum >"$memory/sources"
  # Cargo watches the files that were embedded last time; a page that was not there then would go unnoticed.
  touch ../crates/server/src/page.rs
}

# One command per line: within `a && b`, bash would not stop at a failure inside a.
case "${1:-}" in
  install)
    need_node
    install
    ;;
  build)
    need_node
    install
    build
    ;;
  *)
    echo "usage: scripts/web.sh install | build" >&2
    exit 2
    ;;
esac
