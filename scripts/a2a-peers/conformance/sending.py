"""Messages that are sent: how they are answered, when, and in which context."""

from .answer import (
    CONTENT_TYPE_NOT_SUPPORTED,
    ENDED,
    EXTENSION_REQUIRED,
    PUSH_NOT_SUPPORTED,
    TASK_NOT_FOUND,
    UNSUPPORTED_OPERATION,
    fits,
)
from .client import fresh
from .requirement import may, must, needs


@must("CORE-SEND-001")
async def a_message_is_answered_by_a_task_or_a_message(client):
    """Whoever sends a message is given a task, or a message in return."""
    for text, kind in (("hello", "task"), ("message hi", "message")):
        answer = await client.send(text)
        fits(answer.result, "SendMessageResponse")
        assert list(answer.result) == [kind], answer


@must("CORE-SEND-002")
async def nothing_more_is_said_about_a_task_that_has_ended(client):
    """A message about a task that has ended is refused as an unsupported operation."""
    task = await client.completed()
    (await client.send("more", task=task["id"])).expect(UNSUPPORTED_OPERATION)


@must("CORE-SEND-003")
async def a_type_that_the_agent_does_not_take_is_refused(client):
    """A part of a media type that the agent does not know is refused for its type."""
    part = {"raw": "AP8=", "mediaType": "application/x-known-to-nobody"}
    (await client.send("parts", parts=[part])).expect(CONTENT_TYPE_NOT_SUPPORTED)


@must("CORE-EXECUTION-MODE-001")
async def an_answer_waits_until_the_task_rests(client):
    """Unless told otherwise, the answer comes when the task has ended or the agent needs something."""
    assert (await client.send("slowly", returnImmediately=False)).state in ENDED
    asked = await client.send("ask")
    assert asked.state == "TASK_STATE_INPUT_REQUIRED", asked
    assert (await client.send("the left one", task=asked.task["id"])).state in ENDED
    assert (await client.send("authorize")).state == "TASK_STATE_AUTH_REQUIRED"


@must("CORE-EXECUTION-MODE-002")
async def an_answer_is_given_at_once_if_that_is_asked(client):
    """With `returnImmediately` the answer does not wait for the work."""
    begun = await client.send("wait", returnImmediately=True)
    assert begun.state not in ENDED, begun
    await client.cancel(begun.task["id"])


@must("CORE-CAP-001")
async def without_push_notifications_their_calls_are_refused(client):
    """An agent whose card promises no push notifications refuses the calls for them."""
    needs(not client.peer.capabilities.get("pushNotifications"), "the agent has push notifications")
    config = {"id": fresh("config"), "url": "https://hooks.example/x"}
    (await client.create_push(fresh("task"), config)).expect(PUSH_NOT_SUPPORTED)


@must("CORE-CAP-002")
async def without_streaming_streams_are_refused(client):
    """An agent whose card promises no streams refuses to open one."""
    needs(not client.peer.capabilities.get("streaming"), "the agent streams")
    async with client.stream("hello") as stream:
        assert stream.refusal, "a stream was opened"
        stream.refusal.expect(UNSUPPORTED_OPERATION)


@must("CORE-CAP-003")
async def without_an_extended_card_it_is_refused(client):
    """An agent whose card promises no extended one refuses to show it."""
    needs(not client.peer.capabilities.get("extendedAgentCard"), "the agent has an extended card")
    (await client.extended_card()).expect(UNSUPPORTED_OPERATION)


@must("CORE-CAP-004")
async def a_required_extension_is_required(client):
    """Where the card requires an extension, a client that does not name it is refused."""
    extensions = client.peer.capabilities.get("extensions", [])
    needs(any(extension.get("required") for extension in extensions), "the agent requires no extension")
    (await client.send("hello")).expect(EXTENSION_REQUIRED)


@may("CORE-MULTI-001")
async def a_message_needs_no_context(client):
    """A message without a context is taken, and the agent may make one."""
    assert (await client.completed())["contextId"]


@must("CORE-MULTI-001a")
async def a_context_that_the_agent_made_is_told(client):
    """A context that the agent makes is named in its answer, be that a task or a message."""
    assert (await client.completed()).get("contextId")
    answer = await client.send("message hi")
    assert answer.result["message"].get("contextId"), answer


@may("CORE-MULTI-002")
async def a_clients_context_is_kept(client):
    """The agent may take a context that the client made, and then keeps its name."""
    context = fresh("context")
    assert (await client.completed(context=context)).get("contextId") == context


@must("CORE-MULTI-002a")
async def a_clients_context_is_never_replaced(client):
    """A context of the client's is taken or refused, but no other takes its place."""
    context = fresh("context")
    answer = await client.send("hello", context=context)
    assert answer.is_refusal or answer.task.get("contextId") == context, answer


@must("CORE-MULTI-003")
async def every_task_has_an_id_of_its_own(client):
    """The agent gives each new task an id that no other has, and tells it."""
    assert (await client.completed())["id"] != (await client.completed())["id"]


@must("CORE-MULTI-004")
async def a_message_about_an_unknown_task_is_refused(client):
    """A message about a task that does not exist is answered so."""
    (await client.send("hello", task=fresh("task"))).expect(TASK_NOT_FOUND)


@must("CORE-MULTI-005")
async def the_task_tells_the_context(client):
    """A message that names its task only belongs to that task's context."""
    task = await client.waiting()
    answer = await client.send("the left one", task=task["id"])
    assert (answer.task["id"], answer.task["contextId"]) == (task["id"], task["contextId"]), answer


@must("CORE-MULTI-006")
async def a_task_in_another_context_is_refused(client):
    """A message that names a task and a context other than the task's is refused, whether the task has ended or not."""
    for task in (await client.waiting(), await client.completed()):
        answer = await client.send("hello", task=task["id"], context=fresh("context"))
        assert answer.is_refusal, answer
