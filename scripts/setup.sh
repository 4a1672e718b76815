#!/usr/bin/env bash
# Installs the system packages that the tests need and that are missing; says what it does. Running it again changes
# nothing. `--check` only tells what is missing (exit code 1 if anything is). `--only PACKAGE` looks after that one alone;
# with `--ask`, somebody at a terminal is asked before anything is installed (exit code 1 if they say no).
# Debian and its relatives first; elsewhere it names what to install by hand.
set -euo pipefail

checks_only=no asks=no only=
while [ $# -gt 0 ]; do
  case $1 in
    --check) checks_only=yes ;;
    --ask) asks=yes ;;
    --only) only=$2 && shift ;;
    *) echo "setup: unknown option $1" >&2 && exit 2 ;;
  esac
  shift
done

# One row per part: how to see that it is there, the Debian package, what it is for.
parts=(
  "has_postgres|postgresql|the second database, run privately by scripts/postgres.sh"
  "has bwrap|bubblewrap|the sandbox"
  "has_docker|docker.io|the containers, in a private daemon run by scripts/docker.sh"
  "has_static_busybox|busybox-static|the image that container tests use"
  "has chromium|chromium|the browser tests"
  "has rg|ripgrep|the yardstick for grep"
  "has promtool|prometheus|the linter of metrics"
  "has node|nodejs|building and testing the page"
  "has npm|npm|building and testing the page"
  "has_pip|python3-pip|a newer Node for the MCP conformance suite (scripts/conformance.sh)"
  "has curl|curl|a client of the web door of boxes"
  "has git|git|a client of the web door of boxes"
  "has_venv|python3-venv|the official clients for Python, installed by scripts/peers.sh"
)

has() { command -v "$1" >/dev/null 2>&1; }
has_docker() { { has dockerd || [ -x /usr/sbin/dockerd ]; } && has docker; }
has_static_busybox() { has busybox && ! ldd "$(command -v busybox)" >/dev/null 2>&1; }
has_pip() { python3 -m pip --version >/dev/null 2>&1; }
has_venv() { has python3 && python3 -c "import ensurepip, venv" 2>/dev/null; }
has_postgres() { has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }
say() { echo "setup: $*"; }

missing=()
for part in "${parts[@]}"; do
  IFS='|' read -r probe package purpose <<<"$part"
  if [ -n "$only" ] && [ "$package" != "$only" ]; then continue; fi
  if $probe; then continue; fi
  say "$package is missing ($purpose)"
  missing+=("$package")
done

if [ -z "$only" ]; then
  if ! has cargo; then
    say "cargo is missing: install Rust from https://rustup.rs" >&2
    exit 1
  fi
  for component in clippy rustfmt; do
    if "cargo-${component/rustfmt/fmt}" --version >/dev/null 2>&1; then continue; fi
    say "the Rust component $component is missing"
    if [ $checks_only = yes ]; then missing+=("$component"); else rustup component add "$component"; fi
  done
fi

if [ ${#missing[@]} -eq 0 ]; then
  say "nothing is missing"
  exit 0
fi
if [ $checks_only = yes ]; then
  say "missing: ${missing[*]}"
  exit 1
fi

# Not by a pipe into `grep -q`: it stops reading at the first match, and a writer that is cut off counts as a failure.
is_listed() { [[ $(apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }
# Since Debian 13 the daemon comes without its command.
case " ${missing[*]} " in *" docker.io "*)
  if has apt-cache && is_listed docker-cli; then missing+=(docker-cli); fi ;;
esac

command_line="apt-get install --yes --no-install-recommends ${missing[*]}"
if ! has apt-get; then
  say "this system has no apt-get; install the counterparts of: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root() { "$@"; }
elif has sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root() { sudo "$@"; }
else
  say "neither root nor sudo; as root run: $command_line" >&2
  exit 1
fi

if [ $asks = yes ] && [ -t 0 ] && [ -t 2 ]; then
  read -r -p "setup: install it now, with \`$command_line\`? [Y/n] " answer
  case $answer in [Nn]*) say "nothing was installed" && exit 1 ;; esac
fi

# Debian starts a service as soon as its package is installed, and makes a database cluster for PostgreSQL. The tests
# bring their own, so both are held back for the time of the installation, and nothing of that stays behind.
held_back=()
hold_back() { # FILE MODE TEXT
  if [ -e "$1" ]; then return; fi
  as_root mkdir -p "$(dirname "$1")"
  printf '%b\n' "$3" | as_root tee "$1" >/dev/null
  as_root chmod "$2" "$1"
  held_back+=("$1")
}
release() { for file in "${held_back[@]}"; do as_root rm -f "$file"; done; }
trap release EXIT
hold_back /usr/sbin/policy-rc.d 755 '#!/bin/sh\nexit 101'
case " ${missing[*]} " in *" postgresql "*)
  hold_back /etc/postgresql-common/createcluster.d/warren-setup.conf 644 'create_main_cluster = false' ;;
esac

update() { say "apt-get update" && as_root apt-get update --quiet; }
install() { say "$command_line" && as_root env DEBIAN_FRONTEND=noninteractive $command_line; }

updated=no
for package in "${missing[@]}"; do
  if [ $updated = no ] && ! is_listed "$package"; then update && updated=yes; fi
  if ! is_listed "$package"; then
    say "the package $package is not to be had from this system's sources" >&2
    exit 1
  fi
done
# Lists that are there can still be old; one update, then the second failure counts.
if ! install; then
  if [ $updated = yes ] || ! update || ! install; then
    say "installing failed; the packages are: ${missing[*]}" >&2
    exit 1
  fi
fi
say "installed: ${missing[*]}"
