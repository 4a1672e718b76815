#!/usr/bin/env bash
# Runs the benchmarks and writes docs/benchmarks.md. Each benchmark prints its chapter on standard output (stderr is for
# talk), in Markdown or as plain text, with Warren and the baseline measured in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."

# One row per benchmark: the package and its bench target.
benches=(
  "warren-store-sql commits"
  "warren-cli fleet"
  "warren-cli messages"
  "warren-cli event_readers"
  "warren-providers sandbox"
  "warren-cli exec_over_http"
  "warren-cli start_up"
  "warren-providers docker"
  "warren-providers grep"
  "warren-providers open_workspaces"
)

page=docs/benchmarks.md
results=$(mktemp -d)
stop() {
  scripts/postgres.sh stop >/dev/null 2>&1 || true
  scripts/docker.sh stop >/dev/null 2>&1 || true
  rm -rf "$results"
}
trap stop EXIT

scripts/postgres.sh start
WARREN_TEST_POSTGRES=$(scripts/postgres.sh url)
export WARREN_TEST_POSTGRES
scripts/docker.sh start
WARREN_TEST_DOCKER=$(scripts/docker.sh url)
export WARREN_TEST_DOCKER

for bench in "${benches[@]}"; do
  read -r package target <<<"$bench"
  echo "bench: $package, $target" >&2
  cargo bench --locked --package "$package" --bench "$target" | tee "$results/$package-$target.md"
done

chapter() { # FILE TITLE
  if grep -q '^## ' "$1"; then
    cat "$1"
  elif grep -q '^|' "$1"; then
    printf '## %s\n\n' "$2" && cat "$1"
  else
    printf '## %s\n\n```text\n' "$2" && cat "$1" && printf '```\n'
  fi
}
version_of() { "$@" 2>/dev/null | head -n 1 || true; }
{
  echo "<!-- Written by \`make bench\`; edits are lost. -->"
  echo
  echo "# Benchmarks"
  echo
  echo "Ratios are what counts: Warren and its baseline ran on the same machine, in the same run. Absolute figures are"
  echo "for orientation."
  echo
  echo "| | |"
  echo "|---|---|"
  echo "| date | $(date -u +%Y-%m-%d) |"
  echo "| commit | $(git rev-parse --short HEAD)$(git diff --quiet HEAD -- crates || echo ', with changes') |"
  echo "| processor | $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores |"
  echo "| memory | $(awk '/MemTotal/ { printf "%.0f GB", $2 / 1000000 }' /proc/meminfo) |"
  echo "| kernel | $(uname -sr) |"
  echo "| compiler | $(version_of rustc --version) |"
  echo "| PostgreSQL | $(version_of psql --version) |"
  echo "| Docker | $(version_of dockerd --version), $(version_of runc --version) |"
  for bench in "${benches[@]}"; do
    read -r package target <<<"$bench"
    echo
    chapter "$results/$package-$target.md" "$package: $target"
  done
} >"$page"
echo "bench: wrote $page" >&2
