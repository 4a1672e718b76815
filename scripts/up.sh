#!/usr/bin/env bash
# Builds Warren with its page inside and starts it. Arguments go to `warren up`.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo >/dev/null; then
  echo "make up: cargo is missing" >&2
  echo "hint: install Rust from https://rustup.rs, then run make up again" >&2
  exit 1
fi

# The box that workspaces are made in by default. Without it Warren starts all the same, and says what does not work.
if [ "$(uname -s)" = Linux ] && ! command -v bwrap >/dev/null; then
  echo "make up: bubblewrap is missing; workspaces are boxed with it" >&2
  if ! scripts/setup.sh --only bubblewrap --ask >&2; then
    echo "make up: going on without it: workspaces need Docker then, or \`--provider local\`, which isolates nothing" >&2
  fi
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
