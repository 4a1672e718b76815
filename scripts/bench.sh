#!/usr/bin/env bash
# Runs the benchmarks and writes docs/benchmarks.md. Each benchmark prints its chapter on standard output (stderr is for
# talk), in Markdown or as plain text, with Warren and the baseline measured in the same run.
#
#   scripts/bench.sh            all of them: some 15 minutes, after an optimised build
#   scripts/bench.sh sandbox …  these alone; the other chapters stay as they are
#
# WARREN_BENCH_PROFILE  another profile of cargo's; one that is quicker to build serves to try the script, not to measure
# WARREN_BENCH_PAGE     another file to write, for the same purpose
set -euo pipefail
cd "$(dirname "$0")/.."

# One row per benchmark: the package and its bench target, in the order of the page. No two targets have the same name.
benches=(
  "warren-store-sql commits"
  "warren-cli fleet"
  "warren-providers sandbox"
  "warren-cli exec_over_http"
  "warren-cli file_operations"
  "warren-cli model_door"
  "warren-cli messages"
  "warren-cli event_readers"
  "warren-cli sessions"
  "warren-cli start_up"
  "warren-providers docker"
  "warren-providers grep"
  "warren-providers open_workspaces"
)
# Always together, so that what they have in common is built once and with the same features.
packages=(--package warren-store-sql --package warren-cli --package warren-providers)

profile=${WARREN_BENCH_PROFILE:-bench}
page=${WARREN_BENCH_PAGE:-docs/benchmarks.md}

known() { printf '%s\n' "${benches[@]}" | cut -d' ' -f2; }
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || mapfile -t wanted < <(known)
for target in "${wanted[@]}"; do
  if ! known | grep -qxF -- "$target"; then
    echo "bench: there is no benchmark \`$target\`; there are: $(known | paste -sd' ')" >&2
    exit 2
  fi
done
is_wanted() { printf '%s\n' "${wanted[@]}" | grep -qxF -- "$1"; }

results=$(mktemp -d)
started=()
stop() {
  for service in "${started[@]}"; do "scripts/$service.sh" stop >/dev/null 2>&1 || true; done
  rm -rf "$results"
}
trap stop EXIT

# What runs already is somebody's, and stays.
serve() { # SERVICE VARIABLE
  if ! "scripts/$1.sh" url >/dev/null 2>&1; then
    started+=("$1")
    "scripts/$1.sh" start >/dev/null
  fi
  local url
  url=$("scripts/$1.sh" url)
  export "$2=$url"
}
! { is_wanted commits || is_wanted fleet; } || serve postgres WARREN_TEST_POSTGRES
! is_wanted docker || serve docker WARREN_TEST_DOCKER

# All of it before the first is measured: what does not build is told at once.
targets=()
for target in "${wanted[@]}"; do targets+=(--bench "$target"); done
cargo bench --locked --profile "$profile" "${packages[@]}" "${targets[@]}" --no-run

commit="$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- crates || echo ', with changes')"
today=$(date -u +%Y-%m-%d)

# The chapter that a benchmark printed.
chapter() { # FILE TITLE
  if grep -q '^## ' "$1"; then
    cat "$1"
  elif grep -q '^|' "$1"; then
    printf '## %s\n\n' "$2" && cat "$1"
  else
    printf '## %s\n\n```text\n' "$2" && cat "$1" && printf '```\n'
  fi
  printf '\nMeasured on %s at commit %s%s.\n' "$today" "$commit" \
    "$([ "$profile" = bench ] || echo ", with the profile \`$profile\`")"
}
# The chapter that the page has, from its mark to the next; nothing if it has none.
kept() { # TARGET
  local text=
  [ ! -f "$page" ] || text=$(awk -v mark="<!-- bench: $1 -->" '/^<!-- bench: /{ inside = ($0 == mark); next } inside' "$page")
  [ -z "$text" ] || printf '%s\n' "$text"
}

for bench in "${benches[@]}"; do
  read -r package target <<<"$bench"
  if ! is_wanted "$target"; then
    kept "$target" >"$results/$target.md"
    continue
  fi
  echo "bench: $package, $target" >&2
  SECONDS=0
  # A benchmark that fails ends this script, by `pipefail`, and leaves the page as it was.
  cargo bench --locked --quiet --profile "$profile" "${packages[@]}" --bench "$target" | tee "$results/$target.txt"
  [ -s "$results/$target.txt" ] || { echo "bench: $target printed nothing" >&2; exit 1; }
  chapter "$results/$target.txt" "$package: $target" >"$results/$target.md"
  echo "bench: $target took $SECONDS s" >&2
done

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
  echo "| processor | $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores |"
  echo "| memory | $(awk '/MemTotal/ { printf "%.0f GB", $2 / 1000000 }' /proc/meminfo) |"
  echo "| kernel | $(uname -sr) |"
  echo "| compiler | $(version_of rustc --version) |"
  echo "| PostgreSQL | $(version_of psql --version) |"
  echo "| Docker | $(version_of dockerd --version), $(version_of runc --version) |"
  for bench in "${benches[@]}"; do
    read -r _ target <<<"$bench"
    [ -s "$results/$target.md" ] || continue
    printf '\n<!-- bench: %s -->\n' "$target"
    cat "$results/$target.md"
  done
} >"$results/page"
cp "$results/page" "$page"
echo "bench: wrote $page" >&2
