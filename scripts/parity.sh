#!/usr/bin/env bash
# The parity suite as a matrix: every scenario of a session on every store, from nextest's report on standard input
# (A5, Q5). Fails if a scenario ran on one store and not on the other, or if none ran.
#
#   cargo nextest run -p warren-agent --status-level pass -E 'test(parity)' 2>&1 | scripts/parity.sh
#   scripts/parity.sh --of FILE   the report is in a file
set -euo pipefail
if [ "${1:-}" = --of ]; then exec <"$2"; fi

awk '
  # Of several tries the last one counts.
  match($0, /parity::(sqlite|postgres)::[a-z0-9_]+/) {
    split(substr($0, RSTART, RLENGTH), name, "::")
    word = $1 == "PASS" || ($1 == "TRY" && $3 == "PASS") ? "passed" : ($1 ~ /^(FAIL|TIMEOUT|SIG|ABORT|TRY)/ ? "failed" : "")
    if (word == "") next
    scenarios[name[3]] = 1
    result[name[3], name[2]] = word
  }
  END {
    printf "%-84s %-8s %-8s\n", "scenario", "sqlite", "postgres"
    for (scenario in scenarios) {
      count++
      line = sprintf("%-84s", scenario)
      for (i = 1; i <= 2; i++) {
        store = i == 1 ? "sqlite" : "postgres"
        word = (scenario, store) in result ? result[scenario, store] : "missing"
        if (word != "passed") bad++
        line = line sprintf(" %-8s", word)
      }
      print line | "sort"
    }
    close("sort")
    printf "%d scenarios on 2 stores, %d not passed\n", count, bad
    exit count == 0 || bad > 0
  }
'
