"""A stream of server-sent events, or the answer that came instead."""

import json

from .answer import ENDED, JSON_RPC, Answer


class Stream:
    def __init__(self, binding, response):
        self.binding = binding
        self.response = response
        self.refusal = None
        self._lines = response.aiter_lines()

    @classmethod
    async def of(cls, binding, response):
        stream = cls(binding, response)
        if "text/event-stream" not in response.headers.get("content-type", ""):
            await response.aread()
            stream.refusal = Answer.of(binding, response)
        return stream

    async def next_event(self):
        """The next event as it is on the wire, or nothing at the end."""
        assert self.refusal is None, f"no stream: {self.refusal}"
        async for line in self._lines:
            if line.startswith("data:"):
                return json.loads(line.removeprefix("data:"))
        return None

    async def next(self):
        """What the next event tells, without the envelope of JSON-RPC."""
        event = await self.next_event()
        if event is None or self.binding != JSON_RPC:
            return event
        assert "result" in event, f"an error within the stream: {event}"
        return event["result"]

    async def rest(self):
        """All that is told until the agent closes the stream."""
        told = []
        while (event := await self.next()) is not None:
            told.append(event)
        return told


def states(told):
    """The states that these events name, in their order."""
    holders = [event.get("statusUpdate") or event.get("task") or {} for event in told]
    return [holder["status"]["state"] for holder in holders if "status" in holder]


def text_of_artifacts(told):
    """The text of the one artifact that these events tell of, put together as they say."""
    text = ""
    for event in told:
        update = event.get("artifactUpdate", {})
        artifacts = event.get("task", {}).get("artifacts", [])
        for artifact in [update["artifact"]] if update else artifacts:
            piece = "".join(part.get("text", "") for part in artifact["parts"])
            text = text + piece if update.get("append") else piece
    return text


def ends(told):
    """The last event must tell that the task has ended."""
    assert told and states(told[-1:]) and states(told[-1:])[0] in ENDED, f"the last event ends no task: {told[-1:]}"
