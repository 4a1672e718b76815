"""The data model: what tasks, messages and artifacts are made of, and how they are written as JSON."""

import re

from .answer import ENDED, fits, has
from .client import message
from .requirement import must, should

STATES = ENDED | {f"TASK_STATE_{name}" for name in ("SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED")}
ROLES = {"ROLE_USER", "ROLE_AGENT"}
KINDS_OF_PART = {"text", "raw", "url", "data"}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")

FILE = {"filename": "note.txt", "mediaType": "text/plain"}
PARTS = [{"raw": "AP8=", **FILE}, {"url": "https://files.example/note.txt", **FILE}, {"data": {"deep": [1, {"a": None}]}}]


async def tasks(client):
    """Tasks that show all that a task can have: one that is done, one that asks, one that failed."""
    return [(await client.send(text)).task for text in ("hello", "ask", "fail")]


async def messages(client):
    """Messages of both sides, in a task and instead of one."""
    instead = (await client.send("message hi")).result["message"]
    found = [instead]
    for task in await tasks(client):
        found += task.get("history", [])
        if "message" in task["status"]:
            found.append(task["status"]["message"])
    return found


def fields(value):
    """Every field within, as name and value; what clients and agents put into data and metadata is theirs."""
    if isinstance(value, list):
        for entry in value:
            yield from fields(entry)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            if name not in ("data", "metadata"):
                yield from fields(inner)


@must("DM-TASK-001")
async def a_task_has_its_id_and_status(client):
    """A task has an id and a status."""
    for task in await tasks(client):
        fits(task, "Task")
        has(task, "id", "status")


@must("DM-TASK-002")
async def a_task_is_in_a_known_state(client):
    """The state of a task is one of those that the protocol knows."""
    seen = {task["status"]["state"] for task in await tasks(client)}
    assert len(seen) == 3 and seen <= STATES, seen


@must("DM-STATUS-001")
async def a_status_has_its_state(client):
    """A status says the state, whatever else it says."""
    for task in await tasks(client):
        fits(task["status"], "TaskStatus")
        has(task["status"], "state")


@must("DM-MSG-001")
async def a_message_is_complete(client):
    """A message has an id, a role and parts."""
    answer = await client.send("message hi there")
    assert answer.result["message"]["parts"][0]["text"] == "hi there", answer
    for found in await messages(client):
        fits(found, "Message")
        has(found, "messageId", "role", "parts")


@must("DM-MSG-002")
async def a_message_is_of_one_of_two_sides(client):
    """The role of a message is the user's or the agent's."""
    seen = {found["role"] for found in await messages(client)}
    assert seen == ROLES, seen


@must("DM-PART-001")
async def a_part_is_of_one_kind(client):
    """A part is a text, bytes, an address or data, and nothing of the other kinds; it arrives as it was sent."""
    made = (await client.completed("parts", parts=PARTS))["artifacts"][0]["parts"]
    assert made == PARTS, made
    made += (await client.completed())["artifacts"][0]["parts"]
    for part in made:
        assert len(KINDS_OF_PART & set(part)) == 1, part


@must("DM-ART-001")
async def an_artifact_is_complete(client):
    """An artifact has an id and parts."""
    for text, parts in (("hello", ()), ("parts", PARTS)):
        for artifact in (await client.completed(text, parts=parts))["artifacts"]:
            fits(artifact, "Artifact")
            has(artifact, "artifactId", "parts")


@must("DM-SERIAL-001")
async def names_are_in_camel_case(client):
    """Names of fields are written in camel case."""
    names = {name for task in await tasks(client) for name, _ in fields(task)}
    assert names and not [name for name in names if "_" in name], names


@must("DM-SERIAL-002")
async def values_of_a_set_are_written_by_name(client):
    """States and roles are written by the names that the protocol's definition has for them."""
    seen = [value for task in await tasks(client) for name, value in fields(task) if name in ("state", "role")]
    assert seen and all(value in STATES | ROLES for value in seen), seen


@must("DM-SERIAL-003")
async def times_are_in_utc(client):
    """Times are written as ISO 8601 has them, in UTC and with a Z."""
    times = [value for task in await tasks(client) for name, value in fields(task) if name == "timestamp"]
    assert times and all(TIMESTAMP.fullmatch(time) for time in times), times


@must("DM-SERIAL-004")
async def what_is_required_is_there(client):
    """What the protocol's definition requires is there, and a list that it requires is not empty."""
    for text in ("hello", "message hi"):
        fits((await client.send(text)).result, "SendMessageResponse")
    for task in await tasks(client):
        has(task, "id", "status")
        for artifact in task.get("artifacts", []):
            has(artifact, "artifactId", "parts")
    for found in await messages(client):
        has(found, "messageId", "role", "parts")


@should("DM-SERIAL-005")
async def unknown_fields_do_no_harm(client):
    """Fields that the agent does not know are passed over."""
    body = {"message": {**message("hello"), "ofTomorrow": "x"}, "ofTomorrow": 42}
    assert (await client.send_request(body)).state in ENDED
