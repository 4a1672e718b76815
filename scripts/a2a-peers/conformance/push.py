"""Push notifications: their configs, and that they come."""

import asyncio
import json
from contextlib import asynccontextmanager

from .answer import fits
from .client import fresh
from .requirement import must, needs

CREDENTIAL = "pr00f"


class Receiver:
    """What an address on this machine was told."""

    def __init__(self):
        self.told = asyncio.Queue()
        self.url = None

    async def receive(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = (line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        headers = {key.lower(): value for key, value in lines}
        body = await reader.readexactly(int(headers["content-length"]))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        await self.told.put((headers, json.loads(body)))


@asynccontextmanager
async def receiver():
    opened = Receiver()
    server = await asyncio.start_server(opened.receive, "127.0.0.1", 0)
    opened.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/told"
    try:
        yield opened
    finally:
        # Not waited for: an agent may go on telling what nobody hears any more.
        server.close()


def needs_push(client):
    needs(client.peer.capabilities.get("pushNotifications"), "the agent has no push notifications")


async def configured(client):
    """A task and the config that was made for it. Nobody listens at its address."""
    needs_push(client)
    task = (await client.completed())["id"]
    config = {"id": fresh("config"), "url": "http://127.0.0.1:9/told"}
    return task, config, await client.create_push(task, config)


async def first_told(client):
    """The first notification about a task that came with its config, was asked about and is done."""
    needs_push(client)
    async with receiver() as listener:
        proof = {"scheme": "Bearer", "credentials": CREDENTIAL}
        config = {"id": fresh("config"), "url": listener.url, "authentication": proof}
        task = (await client.send("ask", taskPushNotificationConfig=config)).task["id"]
        await client.completed("the left one", task=task)
        return task, *await listener.told.get()


@must("PUSH-CREATE-001")
async def a_config_can_be_made(client):
    """A client can ask to be notified about a task, and is told the config."""
    _, config, made = await configured(client)
    fits(made.result, "TaskPushNotificationConfig")
    assert (made.result["id"], made.result["url"]) == (config["id"], config["url"]), made


@must("PUSH-CREATE-002")
async def a_config_is_kept(client):
    """A config that was made stays with its task."""
    task, config, _ = await configured(client)
    assert (await client.get_push(task, config["id"])).result["id"] == config["id"]


@must("PUSH-GET-001")
async def a_config_is_given_as_it_was_made(client):
    """A config that is asked for has the address that it was made with."""
    task, config, _ = await configured(client)
    answer = await client.get_push(task, config["id"])
    fits(answer.result, "TaskPushNotificationConfig")
    assert answer.result["url"] == config["url"], answer


@must("PUSH-GET-002")
async def an_unknown_config_is_an_error(client):
    """Who asks for a config that does not exist gets an error."""
    needs_push(client)
    answer = await client.get_push((await client.completed())["id"], fresh("config"))
    assert answer.is_refusal, answer


@must("PUSH-LIST-001")
async def all_configs_of_a_task_are_listed(client):
    """A task's configs can be listed."""
    task, config, _ = await configured(client)
    other = {**config, "id": fresh("config")}
    await client.create_push(task, other)
    answer = await client.list_push(task)
    fits(answer.result, "ListTaskPushNotificationConfigsResponse")
    listed = {entry["id"] for entry in answer.result["configs"]}
    assert listed == {config["id"], other["id"]}, answer


@must("PUSH-DEL-001")
async def a_config_can_be_deleted(client):
    """A config that was deleted is gone."""
    task, config, _ = await configured(client)
    deleted = await client.delete_push(task, config["id"])
    assert not deleted.is_refusal, deleted
    answer = await client.get_push(task, config["id"])
    assert answer.is_refusal, answer


@must("PUSH-DEL-002")
async def a_config_can_be_deleted_twice(client):
    """To delete a config again is no error."""
    task, config, _ = await configured(client)
    for _ in range(2):
        deleted = await client.delete_push(task, config["id"])
        assert not deleted.is_refusal, deleted


@must("PUSH-DELIVER-001")
async def a_notification_proves_who_sends_it(client):
    """A notification carries the credential that its config asks for."""
    _, headers, _ = await first_told(client)
    assert headers.get("authorization") == f"Bearer {CREDENTIAL}", headers


@must("PUSH-DELIVER-002")
async def a_change_is_notified(client):
    """What becomes of a task is told to the address of its config."""
    task, _, body = await first_told(client)
    (told,) = body.values()
    assert task in (told.get("id"), told.get("taskId")), body


@must("PUSH-DELIVER-003")
async def a_notification_is_an_event(client):
    """A notification says what an event of a stream would."""
    _, _, body = await first_told(client)
    fits(body, "StreamResponse")
