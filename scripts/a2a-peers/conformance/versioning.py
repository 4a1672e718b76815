"""Versions of the protocol."""

from .answer import ENDED, VERSION_NOT_SUPPORTED
from .requirement import ON_JSON_RPC, must


@must("VER-SERVER-001")
async def the_version_of_the_card_is_spoken(client):
    """What is sent with a version that the card names is taken."""
    assert (await client.send("hello", headers={"A2A-Version": "1.0"})).state in ENDED


@must("VER-SERVER-002")
async def a_version_that_is_not_spoken_is_refused(client):
    """What is sent with a version that the agent does not speak is refused for that."""
    (await client.send("hello", headers={"A2A-Version": "99.0"})).expect(VERSION_NOT_SUPPORTED)


@must("VER-SERVER-003", on=ON_JSON_RPC)
async def no_version_is_the_first_one(client):
    """An empty version is 0.3: it is spoken, or refused as one that is not."""
    answer = await client.send("hello", headers={"A2A-Version": ""})
    if answer.is_refusal:
        # One that speaks 0.3 knows no method of this name.
        assert answer.error["code"] in (VERSION_NOT_SUPPORTED.code, -32601), answer


@must("VER-CLIENT-002")
async def the_third_number_does_not_count(client):
    """A version is told by its first two numbers, whatever the third is."""
    assert (await client.send("hello", headers={"A2A-Version": "1.0.7"})).state in ENDED
