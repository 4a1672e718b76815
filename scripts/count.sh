#!/usr/bin/env bash
# Reads a test runner's report and prints `PASSED FAILED LAYER`, one line per layer.
#   scripts/count.sh nextest | libtest | vitest | docs  LAYER EXIT_CODE <REPORT
#
# The sums are made to agree with the exit code: a runner that breaks down without naming a failed test, or that finds
# no test at all, counts as one failed. (No doctest at all is fine: not every crate has one.)
set -euo pipefail
kind=$1 layer=$2 code=$3

# One line per test: `PASS [ 0.005s] ( 7/55) warren-store-sql::it contract::name`. Failures are told twice. The layer
# is where the test lives; property and contract tests say so in their path.
nextest() {
  awk '
    function layer(binary, test) {
      if (test ~ /propert/) return "property"
      if (test ~ /contract/) return "contract"
      if (binary ~ /^xtask/) return "house rules"
      if (binary ~ /^warren-cli::it/) return "end to end"
      if (binary ~ /^warren-(server|testkit|api)::it/) return "HTTP"
      if (binary ~ /::it$/) return "integration"
      return "unit"
    }
    match($0, /^ +[A-Z][A-Z0-9 -]* \[[ >]*[0-9.]+s\] (\( *[0-9]+\/[0-9]+\) )?/) {
      status = $1
      test = substr($0, RLENGTH + 1)
      # A failed try of a test that has another is no verdict yet: its place in the row is drawn as dashes, `(────)`.
      if (index($0, "(─") > 0) next
      if (status == "TRY") { if ($2 == 1 && $3 != "PASS") next; status = $3 }
      if (status == "SLOW" || status == "TERMINATING" || test in seen) next
      seen[test] = 1
      split(test, part, " ")
      room = layer(part[1], part[2])
      rooms[room] = 1
      if (status == "PASS" || status == "LEAK") good[room]++; else bad[room]++
    }
    END { for (room in rooms) print good[room] + 0, bad[room] + 0, room }'
}

# `test result: ok. 3 passed; 0 failed; …`, once per binary.
libtest() { awk '/^test result:/ { good += $4; bad += $6 } END { print good + 0, bad + 0 }'; }

# `      Tests  1 failed | 11 passed (12)`
vitest() {
  awk '$1 == "Tests" {
      for (i = 2; i < NF; i++) { if ($(i + 1) == "passed") good += $i; if ($(i + 1) == "failed") bad += $i }
    }
    END { print good + 0, bad + 0 }'
}

# `docs' commands: 12 passed, 0 failed`
docs() { awk '/^docs. commands:/ { good = $3; bad = $5 } END { print good + 0, bad + 0 }'; }

"$kind" | awk -v layer="$layer" -v code="$code" '
  { good += $1; bad += $2; name = $3; for (i = 4; i <= NF; i++) name = name " " $i; print $1, $2, name == "" ? layer : name }
  END { if (bad == 0 && (code != 0 || (good == 0 && layer != "doc"))) print 0, 1, layer }' | awk '$1 + $2 > 0'
