"""Tries an agent.

    python -m conformance URL [TOKEN] [--only ID …] [--json]

Prints what does not hold and a table of counts, and exits with 1 if a MUST does not hold. With --json it prints every
verdict for a program that judges for itself, and exits with 0.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter

# The checks register themselves, in this order.
from . import card, sending, tasks, content, streaming, push, bindings, versioning  # noqa: F401
from .client import connect
from .requirement import CHECKS, FAILS, HOLDS, NOT_APPLICABLE, verdicts

LEVELS, OUTCOMES = ("MUST", "SHOULD", "MAY"), (HOLDS, FAILS, NOT_APPLICABLE)


def by_requirement(found):
    """The level and the outcome of each requirement: what fails by one binding fails, what holds by one was tried."""
    rank = {FAILS: 2, HOLDS: 1, NOT_APPLICABLE: 0}
    outcomes = {}
    for verdict in found:
        before = outcomes.get(verdict.id, (verdict.level, NOT_APPLICABLE))[1]
        outcomes[verdict.id] = (verdict.level, max(before, verdict.outcome, key=rank.get))
    return outcomes


def report(found):
    for verdict in found:
        if verdict.outcome != HOLDS:
            print(f"{verdict.outcome}: {verdict.level} {verdict.id} ({verdict.binding}): {verdict.asked}")
            print(f"    {verdict.why}")
    counts = Counter(by_requirement(found).values())
    print("\n| | " + " | ".join(LEVELS) + " |\n|---|" + "---|" * len(LEVELS))
    for outcome in OUTCOMES:
        print(f"| {outcome} | " + " | ".join(str(counts[level, outcome]) for level in LEVELS) + " |")


async def main():
    parser = argparse.ArgumentParser(prog="conformance", description="Tries an A2A agent.")
    parser.add_argument("url", help="the agent's address, beneath which its card is")
    parser.add_argument("token", nargs="?", help="a bearer token")
    parser.add_argument("--only", nargs="+", default=(), metavar="ID", help="only these requirements")
    parser.add_argument("--json", action="store_true", help="print every verdict, for a program")
    options = parser.parse_args()
    if unknown := set(options.only) - {check.id for check in CHECKS}:
        parser.error(f"no such requirement: {', '.join(sorted(unknown))}")
    async with connect(options.url, options.token) as peer:
        found = await verdicts(peer, options.only)
    if options.json:
        print(json.dumps([verdict.as_json() for verdict in found]))
        return 0
    report(found)
    return int(any(verdict.level == "MUST" and verdict.outcome == FAILS for verdict in found))


sys.exit(asyncio.run(main()))
