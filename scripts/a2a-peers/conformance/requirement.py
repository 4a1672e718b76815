"""A check is a coroutine function that stands for one requirement: its docstring says what is asked, it returns if that
holds, and raises if not. It is given a `Client`, once for each binding, or the `Peer` if it is about the card alone."""

import asyncio
from dataclasses import asdict, dataclass

from .answer import BINDINGS, HTTP_JSON, JSON_RPC

# Long enough for a machine that is busy with other things: a check that hangs is what this is for.
PATIENCE_SECONDS = 40

CARD = "card"
ON_CARD = (CARD,)
ON_BOTH = BINDINGS
ON_JSON_RPC = (JSON_RPC,)
ON_HTTP_JSON = (HTTP_JSON,)


class NotApplicable(Exception):
    """The agent does not offer what the requirement is about."""


@dataclass
class Check:
    id: str
    level: str
    bindings: tuple
    run: object

    @property
    def asked(self):
        return " ".join(self.run.__doc__.split())


@dataclass
class Verdict:
    id: str
    level: str
    binding: str
    asked: str
    outcome: str
    why: str = ""

    def as_json(self):
        return asdict(self)


HOLDS, FAILS, NOT_APPLICABLE = "holds", "fails", "not applicable"

CHECKS = []


def _level(name):
    def requirement(id, on=ON_BOTH):
        def register(function):
            if any(check.id == id for check in CHECKS):
                raise ValueError(f"two checks stand for {id}")
            CHECKS.append(Check(id, name, on, function))
            return function

        return register

    return requirement


must, should, may = _level("MUST"), _level("SHOULD"), _level("MAY")


def needs(condition, words):
    if not condition:
        raise NotApplicable(words)


async def verdict(check, binding, subject):
    def judged(outcome, why=""):
        return Verdict(check.id, check.level, binding, check.asked, outcome, why)

    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await check.run(subject)
    except NotApplicable as reason:
        return judged(NOT_APPLICABLE, str(reason))
    except TimeoutError:
        return judged(FAILS, f"not done after {PATIENCE_SECONDS} s")
    except AssertionError as broken:
        return judged(FAILS, str(broken))
    # An answer of an unforeseen shape ends a check in many ways, and each is a failure of the agent.
    except Exception as unforeseen:  # noqa: BLE001
        return judged(FAILS, repr(unforeseen))
    return judged(HOLDS)


async def verdicts(peer, only=()):
    """One after the other: some checks look at all tasks of the agent."""
    found = []
    for check in CHECKS:
        if only and check.id not in only:
            continue
        for binding in check.bindings:
            subject = peer if binding == CARD else peer.clients.get(binding)
            if subject is None:
                words = f"the card names no interface for {binding}"
                found.append(Verdict(check.id, check.level, binding, check.asked, NOT_APPLICABLE, words))
            else:
                found.append(await verdict(check, binding, subject))
    return found
