"""Tasks: asked for, listed, cancelled, with their history, and waiting for somebody to prove who they are."""

from .answer import TASK_NOT_CANCELABLE, TASK_NOT_FOUND, fits
from .client import fresh
from .requirement import may, must, should

QUESTION, REPLY = "ask", "the left one"


async def after_two_turns(client):
    """The id of a task that has asked, was answered and is done."""
    task = await client.waiting()
    await client.completed(REPLY, task=task["id"])
    return task["id"]


async def said_by_the_user(client):
    history = (await client.get(await after_two_turns(client), historyLength=10)).task.get("history", [])
    spoken = [message for message in history if message["role"] == "ROLE_USER"]
    return ["".join(part.get("text", "") for part in message["parts"]) for message in spoken]


@must("CORE-GET-001")
async def a_task_can_be_asked_for(client):
    """A task is given as it is now, with its status and what was made."""
    task = await client.completed()
    answer = await client.get(task["id"])
    fits(answer.result, "Task")
    assert answer.task["id"] == task["id"] and answer.state == "TASK_STATE_COMPLETED", answer
    assert answer.task.get("artifacts"), answer


@must("CORE-GET-002")
async def an_unknown_task_is_not_found(client):
    """Who asks for a task that does not exist is told so."""
    (await client.get(fresh("task"))).expect(TASK_NOT_FOUND)


@must("CORE-LIST-001")
async def a_list_has_what_the_client_may_see(client):
    """A list has the tasks that its caller may see, and only those that were asked for."""
    context = fresh("context")
    task = await client.completed(context=context)
    await client.completed()
    answer = await client.list(contextId=context)
    fits(answer.result, "ListTasksResponse")
    assert [listed["id"] for listed in answer.result["tasks"]] == [task["id"]], answer


@must("CORE-LIST-002")
async def a_list_has_pages(client):
    """A page says where the next one begins, and no task is on two of them."""
    context = fresh("context")
    made = {(await client.completed(context=context))["id"] for _ in range(3)}
    first = await client.list(contextId=context, pageSize=2)
    second = await client.list(contextId=context, pageSize=2, pageToken=first.result["nextPageToken"])
    pages = [[task["id"] for task in page.result["tasks"]] for page in (first, second)]
    assert [len(page) for page in pages] == [2, 1] and {*pages[0], *pages[1]} == made, pages


@must("CORE-LIST-003")
async def the_latest_is_listed_first(client):
    """Tasks are listed by the time of their status, the latest first."""
    context = fresh("context")
    # One that is older by its beginning and younger by its status.
    asked = await client.waiting(context=context)
    other = await client.completed(context=context)
    await client.completed(REPLY, task=asked["id"])
    listed = (await client.list(contextId=context)).result["tasks"]
    assert [task["id"] for task in listed] == [asked["id"], other["id"]], listed
    times = [task["status"]["timestamp"] for task in (await client.list(pageSize=50)).result["tasks"]]
    assert times == sorted(times, reverse=True), times


@must("CORE-LIST-004")
async def the_last_page_says_so(client):
    """The field for the next page is always there, and empty on the last one."""
    context = fresh("context")
    await client.completed(context=context)
    for named in (context, fresh("context")):
        answer = await client.list(contextId=named, pageSize=100)
        assert answer.result.get("nextPageToken") == "", answer


@must("CORE-LIST-005")
async def artifacts_are_listed_on_demand(client):
    """A list is without artifacts, unless they were asked for."""
    context = fresh("context")
    await client.completed(context=context)
    for wishes in ({}, {"includeArtifacts": False}):
        (task,) = (await client.list(contextId=context, **wishes)).result["tasks"]
        assert "artifacts" not in task, task
    (task,) = (await client.list(contextId=context, includeArtifacts=True)).result["tasks"]
    assert task.get("artifacts"), task


@must("CORE-CANCEL-001")
async def a_task_can_be_cancelled(client):
    """Cancelling answers with the task as it is after that."""
    task = await client.waiting()
    answer = await client.cancel(task["id"])
    fits(answer.result, "Task")
    assert (answer.task["id"], answer.state) == (task["id"], "TASK_STATE_CANCELED"), answer


@must("CORE-CANCEL-002")
async def what_has_ended_is_not_cancelled(client):
    """A task that has ended cannot be cancelled any more."""
    (await client.cancel((await client.completed())["id"])).expect(TASK_NOT_CANCELABLE)


@must("CORE-CANCEL-003")
async def an_unknown_task_is_not_cancelled(client):
    """Who cancels a task that does not exist is told so."""
    (await client.cancel(fresh("task"))).expect(TASK_NOT_FOUND)


@should("CORE-HIST-001")
async def a_task_is_given_without_its_history(client):
    """With a history of length 0 the task comes without one."""
    answer = await client.get(await after_two_turns(client), historyLength=0)
    assert not answer.task.get("history"), answer


@must("CORE-HIST-002")
async def a_history_is_no_longer_than_asked(client):
    """No more messages are given than were asked for."""
    answer = await client.get(await after_two_turns(client), historyLength=1)
    assert len(answer.task.get("history", [])) <= 1, answer


@should("CORE-HIST-003")
async def a_message_is_answered_without_history(client):
    """A message that wants a history of length 0 is answered without one."""
    task = await client.waiting()
    answer = await client.send(REPLY, task=task["id"], historyLength=0)
    assert not answer.task.get("history"), answer


@may("CORE-HIST-004")
async def what_was_said_is_kept(client):
    """An agent may keep what was said about a task."""
    assert await said_by_the_user(client)


@should("CORE-HIST-005")
async def a_history_is_in_order(client):
    """What was said first comes first."""
    said = await said_by_the_user(client)
    assert said.index(QUESTION) < said.index(REPLY), said


@should("CORE-HIST-006")
async def a_history_has_the_words_that_were_said(client):
    """What is kept of a message is what it said."""
    said = await said_by_the_user(client)
    assert said == [QUESTION, REPLY], said


@must("AUTH-INTASK-001")
async def a_task_that_needs_a_proof_is_still_there(client):
    """An agent that needs to know who asks keeps a task for that."""
    task = (await client.send("authorize")).task
    again = await client.get(task["id"])
    assert again.task["id"] == task["id"], again


@must("AUTH-INTASK-002")
async def a_task_that_needs_a_proof_says_so(client):
    """While the agent needs to know who asks, the task has the state that is made for that."""
    task = (await client.send("authorize")).task
    answer = await client.get(task["id"])
    assert answer.state == "TASK_STATE_AUTH_REQUIRED", answer
