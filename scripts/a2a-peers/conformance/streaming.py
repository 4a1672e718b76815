"""Streams: of a message that is sent, of a task that is subscribed to, and several of one task."""

import asyncio

from .answer import TASK_NOT_FOUND, UNSUPPORTED_OPERATION, fits
from .client import fresh
from .requirement import must, needs
from .stream import ends, states, text_of_artifacts

# How far a task has come. It never goes back.
STAGES = [
    {"TASK_STATE_SUBMITTED"},
    {"TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"},
    {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"},
]


def needs_streaming(client):
    needs(client.peer.capabilities.get("streaming"), "the agent does not stream")


async def streamed(client, text):
    needs_streaming(client)
    async with client.stream(text) as stream:
        return await stream.rest()


async def refusal_of(client, task):
    needs_streaming(client)
    async with client.subscribe(task) as stream:
        assert stream.refusal, "a stream was opened"
        return stream.refusal


async def heard_by_two(client):
    """What two subscribers hear of a task that waits for input until it is done, the task itself first."""
    needs_streaming(client)
    task = (await client.waiting())["id"]
    async with client.subscribe(task) as one, client.subscribe(task) as two:
        # A subscriber that has heard of the task hears what becomes of it.
        first = [await one.next(), await two.next()]
        listening = asyncio.gather(one.rest(), two.rest())
        await client.completed("the left one", task=task)
        rest = await listening
    return [[begin, *more] for begin, more in zip(first, rest)]


@must("CORE-STREAM-001")
async def a_message_opens_a_stream(client):
    """A message can be sent so that its answer is a stream of what happens."""
    told = await streamed(client, "hello")
    assert told
    for event in told:
        fits(event, "StreamResponse")
    assert text_of_artifacts(told) == "echo: hello", told


@must("CORE-STREAM-002")
async def a_message_in_return_is_the_whole_stream(client):
    """Where the agent answers with a message, this is the only event."""
    told = await streamed(client, "message hi")
    assert [list(event) for event in told] == [["message"]], told


@must("CORE-STREAM-003")
async def a_stream_has_its_task_first_and_ends_with_it(client):
    """Where the agent makes a task, the stream begins with it and closes when it has ended."""
    told = await streamed(client, "hello")
    assert told and list(told[0]) == ["task"], told[:1]
    ends(told)


@must("STREAM-SUB-001")
async def a_subscriber_hears_of_the_task_first(client):
    """Who subscribes to a task is told first how it stands."""
    needs_streaming(client)
    task = (await client.waiting())["id"]
    async with client.subscribe(task) as stream:
        first = await stream.next()
    fits(first, "StreamResponse")
    assert first.get("task", {}).get("id") == task, first


@must("STREAM-SUB-002")
async def a_subscription_ends_with_its_task(client):
    """A subscription lasts until the task has ended, and tells that."""
    needs_streaming(client)
    task = (await client.waiting())["id"]
    async with client.subscribe(task) as stream:
        first = await stream.next()
        reading = asyncio.ensure_future(stream.rest())
        await client.completed("the left one", task=task)
        ends([first, *await reading])


@must("STREAM-SUB-003")
async def what_has_ended_is_not_subscribed_to(client):
    """To subscribe to a task that has ended is an unsupported operation."""
    (await refusal_of(client, (await client.completed())["id"])).expect(UNSUPPORTED_OPERATION)


@must("STREAM-SUB-004")
async def an_unknown_task_is_not_subscribed_to(client):
    """Who subscribes to a task that does not exist is told so."""
    (await refusal_of(client, fresh("task"))).expect(TASK_NOT_FOUND)


@must("STREAM-ORDER-001")
async def events_come_as_they_happened(client):
    """Events are told in the order in which they happened."""
    told = await streamed(client, "hello")
    seen = states(told)
    stages = [next(number for number, stage in enumerate(STAGES) if state in stage) for state in seen]
    assert stages and stages == sorted(stages), seen
    ends(told)
    assert text_of_artifacts(told) == "echo: hello", told


@must("STREAM-ORDER-002")
async def a_task_has_many_streams(client):
    """A task can be followed by several streams at once."""
    for told in await heard_by_two(client):
        assert len(told) >= 2, told
        ends(told)


@must("STREAM-ORDER-003")
async def all_streams_tell_the_same(client):
    """Every stream of a task tells the same events in the same order."""
    one, two = await heard_by_two(client)
    assert len(one) >= 2 and one == two, f"{one} and {two}"


@must("STREAM-ORDER-004")
async def a_stream_that_closes_closes_no_other(client):
    """That one stream is closed changes nothing for the others of the task."""
    needs_streaming(client)
    task = (await client.waiting())["id"]
    async with client.subscribe(task) as stays:
        async with client.subscribe(task) as leaves:
            first = await stays.next()
            assert await leaves.next()
        reading = asyncio.ensure_future(stays.rest())
        await client.completed("the left one", task=task)
        told = [first, *await reading]
    assert len(told) >= 2, told
    ends(told)
