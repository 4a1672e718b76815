"""An A2A agent made with the official SDK. It does what the first word of a message says.

    python agent.py [--no-streaming]

Prints its URL when it listens, and ends when stdin closes.
"""

import asyncio
import logging
import socket
import sys

import uvicorn
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Role,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf import json_format, struct_pb2
import httpx
from starlette.applications import Starlette


def text_of(message):
    return "".join(part.text for part in message.parts)


class Obedient(AgentExecutor):
    async def execute(self, context, queue):
        message = context.message
        verb, _, rest = text_of(message).partition(" ")
        if verb == "message":
            await queue.enqueue_event(
                new_text_message(rest, role=Role.ROLE_AGENT, context_id=context.context_id)
            )
            return
        if context.current_task is None:
            await queue.enqueue_event(
                Task(
                    id=context.task_id,
                    context_id=context.context_id,
                    status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                    history=[message],
                )
            )
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        await updater.start_work()
        say = lambda text: updater.new_agent_message([Part(text=text)])
        match verb:
            case "ask":
                await updater.requires_input(say("which one?"))
            case "authorize":
                await updater.requires_auth(say("who asks?"))
            case "slowly":
                await asyncio.sleep(0.5)
                await updater.complete(say("done"))
            case "fail":
                await updater.failed(say("it broke"))
            case "reject":
                await updater.reject(say("not that"))
            case "wait":
                await updater.add_artifact([Part(text="begun")], artifact_id="a1")
                await asyncio.sleep(60)
                await updater.complete()
            case "parts":
                parts = [part for part in message.parts if not part.HasField("text")]
                await updater.add_artifact(parts, artifact_id="a1", name="as it came")
                await updater.complete()
            case "context":
                value = struct_pb2.Value()
                seen = {
                    "message": json_format.MessageToDict(message.metadata),
                    "request": context.metadata,
                }
                json_format.ParseDict(seen, value)
                await updater.add_artifact([Part(data=value)], artifact_id="a1")
                await updater.complete()
            case _:
                await updater.add_artifact([Part(text="echo: ")], artifact_id="a1", append=False, last_chunk=False)
                await updater.add_artifact(
                    [Part(text=text_of(message))], artifact_id="a1", append=True, last_chunk=True
                )
                await updater.complete(say("done"))

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


def card(url, streams):
    interface = lambda binding: AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")
    return AgentCard(
        name="agent",
        description="Does as it is told",
        version="1.0.0",
        supported_interfaces=[interface("JSONRPC"), interface("HTTP+JSON")],
        capabilities=AgentCapabilities(streaming=streams, push_notifications=True),
        default_input_modes=["text/plain", "application/json", "application/octet-stream"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="obey", name="Obey", description="Does as it is told", tags=["test"])],
    )


async def main():
    # With the protocol named, asyncio sends without delay: 40 ms less for every answer.
    sock = socket.socket(proto=socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    agent_card = card(url, "--no-streaming" not in sys.argv)
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Obedient(),
        task_store=InMemoryTaskStore(),
        agent_card=agent_card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    routes = [
        *create_agent_card_routes(agent_card),
        *create_jsonrpc_routes(handler, rpc_url="/"),
        *create_rest_routes(handler),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(url, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Tasks that nobody ended are no news at the end.
    logging.disable()
    server.should_exit = True
    await serving


asyncio.run(main())
