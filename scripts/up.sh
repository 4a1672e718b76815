#!/usr/bin/env bash
# Builds Warren with its page inside and starts it. Arguments go to `warren up`.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo >/dev/null; then
  echo "make up: cargo is missing" >&2
  echo "hint: install Rust from https://rustup.rs, then run make up again" >&2
  exit 1
fi

# Without Node, or when the page cannot be built, Warren comes with a placeholder page and everything else works.
if ! scripts/web.sh build; then
  echo "make up: going on without the page; the API and the command line are whole" >&2
fi

echo "make up: building (the first time takes minutes)" >&2
cargo build --profile local --locked --package warren-cli

# Cargo knows best where it builds: CARGO_TARGET_DIR or a user's configuration may have moved it.
target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
exec "$target/local/warren" up "$@"
