"""The official A2A client for Python, going through all that the protocol offers.

    python client.py URL BINDING [TOKEN]

Prints one JSON object: what each step saw, without ids and times, so that two agents can be compared. Run against an
agent and against Warren in front of it, it must print the same.
"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from google.protobuf import json_format, struct_pb2

url, binding, token = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
seen = {}


def name(state):
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower()


def ask(text, task=None, parts=(), context=None, metadata=None, **configuration):
    request = SendMessageRequest(
        message=Message(
            message_id=str(uuid.uuid4()),
            role=Role.ROLE_USER,
            parts=[Part(text=text), *parts],
            task_id=task.id if task else "",
            context_id=task.context_id if task else (context or ""),
        ),
        configuration=SendMessageConfiguration(**configuration),
    )
    if metadata:
        json_format.ParseDict(metadata, request.metadata)
    return request


def text_of(holder):
    return "".join(part.text for part in holder.parts)


def picture(task):
    return {
        "state": name(task.status.state),
        "said": text_of(task.status.message) if task.status.HasField("message") else None,
        "artifacts": [text_of(artifact) for artifact in task.artifacts],
        "user_said": [text_of(m) for m in task.history if m.role == Role.ROLE_USER],
    }


async def one(client, request):
    """The last answer of a call that does not stream."""
    answers = [answer async for answer in client.send_message(request)]
    last = answers[-1]
    return last.task if last.HasField("task") else last.message


async def stream(client, request):
    """What a stream tells: how it begins and ends, and what it carries."""
    kinds, text, state, task_id = [], "", None, None
    async for event in client.send_message(request):
        kind = event.WhichOneof("payload")
        kinds.append(kind)
        match kind:
            case "task":
                state, task_id = event.task.status.state, event.task.id
                text = "".join(text_of(artifact) for artifact in event.task.artifacts)
            case "status_update":
                state = event.status_update.status.state
            case "artifact_update":
                piece = text_of(event.artifact_update.artifact)
                text = text + piece if event.artifact_update.append else piece
            case "message":
                text = text_of(event.message)
    return {"first": kinds[0], "state": state and name(state), "text": text}, task_id


async def error_of(awaitable):
    try:
        await awaitable
        return None
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


async def first_of(events):
    async for event in events:
        return event


async def until_final(client, task_id):
    for _ in range(400):
        task = await client.get_task(GetTaskRequest(id=task_id))
        if task.status.state not in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING):
            return task
        await asyncio.sleep(0.05)
    raise TimeoutError(task_id)


async def plain(client):
    seen["echo"] = picture(await one(client, ask("hello")))
    message = await one(client, ask("message hi there"))
    seen["message"] = [type(message).__name__, text_of(message), Role.Name(message.role)]
    seen["fail"] = picture(await one(client, ask("fail")))
    seen["reject"] = picture(await one(client, ask("reject")))
    begun = await one(client, ask("hello later", return_immediately=True))
    seen["later"] = picture(await until_final(client, begun.id))

    waiting = await one(client, ask("ask"))
    again = await one(client, ask("the left one", task=waiting))
    seen["question"] = [picture(waiting), picture(again), waiting.id == again.id]
    short = await client.get_task(GetTaskRequest(id=again.id, history_length=1))
    none = await client.get_task(GetTaskRequest(id=again.id, history_length=0))
    seen["history"] = [len(short.history), len(none.history)]

    value = struct_pb2.Value()
    json_format.ParseDict({"deep": [1, {"null": None}], "text": "grüße"}, value)
    parts = [
        Part(raw=bytes(range(256)), filename="all.bin", media_type="application/octet-stream"),
        Part(data=value),
        Part(url="https://example.org/file.txt", filename="file.txt", media_type="text/plain"),
    ]
    whole = await one(client, ask("parts", parts=parts))
    artifact = whole.artifacts[0]
    seen["parts"] = [artifact.name, list(artifact.parts) == parts]
    told = await one(client, ask("context", metadata={"trace": "t1"}))
    seen["metadata"] = json_format.MessageToDict(told.artifacts[0].parts[0].data).get("request")

    context = str(uuid.uuid4())
    for text in ("one", "two"):
        await one(client, ask(text, context=context))
    page = await client.list_tasks(ListTasksRequest(context_id=context, page_size=1))
    rest = await client.list_tasks(ListTasksRequest(context_id=context, page_size=1, page_token=page.next_page_token))
    seen["list"] = [page.total_size, len(page.tasks), len(rest.tasks), rest.next_page_token]

    final = again
    seen["errors"] = {
        "unknown task": await error_of(client.get_task(GetTaskRequest(id=str(uuid.uuid4())))),
        "cancel unknown": await error_of(client.cancel_task(CancelTaskRequest(id=str(uuid.uuid4())))),
        "cancel final": await error_of(client.cancel_task(CancelTaskRequest(id=final.id))),
        "unknown continued": await error_of(one(client, ask("x", task=type(final)(id=str(uuid.uuid4()))))),
        "no parts": await error_of(one(client, SendMessageRequest(message=Message(message_id="m", role=Role.ROLE_USER)))),
        "bad history": await error_of(client.get_task(GetTaskRequest(id=final.id, history_length=-1))),
        "bad page": await error_of(client.list_tasks(ListTasksRequest(page_size=1000))),
        "other context": await error_of(
            one(client, ask("x", task=type(final)(id=(await one(client, ask("ask"))).id, context_id="other")))
        ),
    }


async def streaming(client):
    seen["stream echo"], _ = await stream(client, ask("hello"))
    seen["stream message"], _ = await stream(client, ask("message hi"))
    seen["stream ask"], asked = await stream(client, ask("ask"))
    seen["stream fail"], failed = await stream(client, ask("fail"))
    ended = client.subscribe(SubscribeToTaskRequest(id=failed))
    seen["subscribe final"] = await error_of(first_of(ended))
    first = await first_of(client.subscribe(SubscribeToTaskRequest(id=asked)))
    seen["subscribe waiting"] = [first.WhichOneof("payload"), name(first.task.status.state)]

    # Begun here, followed there, cancelled here.
    begun = await first_of(client.send_message(ask("wait")))
    task_id = begun.task.id
    states = []

    async def follow():
        async for event in client.subscribe(SubscribeToTaskRequest(id=task_id)):
            kind = event.WhichOneof("payload")
            if kind != "artifact_update":
                states.append(name(getattr(event, kind).status.state))

    following = asyncio.create_task(follow())
    while not states:
        await asyncio.sleep(0.02)
    cancelled = await client.cancel_task(CancelTaskRequest(id=task_id))
    await asyncio.wait_for(following, 20)
    seen["cancel"] = [name(cancelled.status.state), states[-1]]
    seen["cancel again"] = await error_of(client.cancel_task(CancelTaskRequest(id=task_id)))


async def pushes(client):
    told, done = [], asyncio.Event()

    async def receive(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        headers = {key.lower(): value for key, value in lines.items()}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        inner = next(iter(body.values()))
        told.append((headers.get("x-a2a-notification-token"), headers.get("authorization")))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        if inner.get("status", {}).get("state") == "TASK_STATE_COMPLETED":
            done.set()

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    hook = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    waiting = await one(client, ask("ask"))
    config = TaskPushNotificationConfig(task_id=waiting.id, id="mine", url=hook, token="t0ken")
    config.authentication.scheme, config.authentication.credentials = "Bearer", "cr3dential"
    made = await client.create_task_push_notification_config(config)
    named = {"task_id": waiting.id, "id": "mine"}
    got = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**named))
    many = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=waiting.id))
    await one(client, ask("go on", task=waiting))
    await asyncio.wait_for(done.wait(), 30)
    await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**named))
    none = await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id=waiting.id))
    missing = await error_of(client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**named)))
    server.close()
    seen["push"] = {
        "configs": [made.id, made.url == hook, got.id, got.url == hook, len(many.configs), len(none.configs)],
        "missing": missing,
        "proof": sorted(set(told)),
    }


async def main():
    headers = {"authorization": f"Bearer {token}"} if token else {}
    for streams in (False, True):
        config = ClientConfig(
            streaming=streams,
            supported_protocol_bindings=[binding],
            httpx_client=httpx.AsyncClient(headers=headers, timeout=60),
        )
        client = await ClientFactory(config).create_from_url(url)
        if streams:
            await streaming(client)
        else:
            await plain(client)
            await pushes(client)
        await config.httpx_client.aclose()
    print(json.dumps(seen, indent=1, sort_keys=True))


asyncio.run(asyncio.wait_for(main(), 100))
