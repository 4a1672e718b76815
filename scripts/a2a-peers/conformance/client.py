"""A small client for both bindings that hides nothing of the answers, and can say what no proper client would."""

import uuid
from contextlib import asynccontextmanager

import httpx

from .answer import BINDINGS, HTTP_JSON, JSON_RPC, Answer
from .stream import Stream


def fresh(what):
    """An id that nobody has used."""
    return f"{what}-{uuid.uuid4()}"


def message(text, task=None, context=None, parts=()):
    """A message to the agent, about a task or in a context if these are named by their ids."""
    named = {"taskId": task, "contextId": context}
    return {
        "messageId": fresh("message"),
        "role": "ROLE_USER",
        "parts": [{"text": text}, *parts],
        **{key: value for key, value in named.items() if value is not None},
    }


class Peer:
    """The agent that is tried: its card, and a client for each binding that the card names."""

    def __init__(self, card_response):
        self.card_answer = Answer.of(HTTP_JSON, card_response)
        self.card = self.card_answer.result
        self.clients = {}

    @property
    def capabilities(self):
        return self.card.get("capabilities", {})


def calling(headers):
    """What makes the calls, with a connection for each: a server that refuses a request before it has read all of it may
    close the connection, and the next request must not be lost on that."""
    limits = httpx.Limits(max_keepalive_connections=0)
    return httpx.AsyncClient(headers=headers, timeout=60, follow_redirects=True, limits=limits)


@asynccontextmanager
async def connect(url, token=None):
    url = url.rstrip("/")
    async with calling({"authorization": f"Bearer {token}"} if token else {}) as http:
        peer = Peer(await http.get(f"{url}/.well-known/agent-card.json"))
        for interface in peer.card["supportedInterfaces"]:
            binding = interface["protocolBinding"]
            if binding in BINDINGS and binding not in peer.clients:
                peer.clients[binding] = Client(peer, binding, interface["url"], http)
        yield peer


class Client:
    """Calls by one binding. Each operation is named once for JSON-RPC and once for HTTP+JSON."""

    def __init__(self, peer, binding, url, http):
        self.peer = peer
        self.binding = binding
        self.url = url if binding == JSON_RPC else url.rstrip("/")
        self.http = http
        self.calls = 0

    def request(self, verb, path="", headers=None, **content):
        """Any request at all."""
        headers = {"A2A-Version": "1.0", **(headers or {})}
        return self.http.build_request(verb, self.url + path, headers=headers, **content)

    async def answer(self, request):
        return Answer.of(self.binding, await self.http.send(request))

    def envelope(self, method, params):
        self.calls += 1
        return {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}

    def rpc_request(self, method, params, headers=None):
        return self.request("POST", headers=headers, json=self.envelope(method, params))

    async def rpc(self, method, params, headers=None):
        return await self.answer(self.rpc_request(method, params, headers))

    async def http_call(self, verb, path, headers=None, **content):
        return await self.answer(self.request(verb, path, headers, **content))

    async def send_request(self, body, headers=None):
        """SendMessage with the whole request as it is."""
        if self.binding == JSON_RPC:
            return await self.rpc("SendMessage", body, headers)
        return await self.http_call("POST", "/message:send", headers, json=body)

    async def send(self, text, task=None, context=None, parts=(), headers=None, **configuration):
        body = {"message": message(text, task, context, parts)}
        if configuration:
            body["configuration"] = configuration
        return await self.send_request(body, headers)

    async def completed(self, text="hello", **where):
        """A task that has been done."""
        answer = await self.send(text, **where)
        assert answer.state == "TASK_STATE_COMPLETED", f"not completed: {answer}"
        return answer.task

    async def waiting(self, **where):
        """A task that waits for input."""
        answer = await self.send("ask", **where)
        assert answer.state == "TASK_STATE_INPUT_REQUIRED", f"does not ask: {answer}"
        return answer.task

    async def get(self, task, **options):
        if self.binding == JSON_RPC:
            return await self.rpc("GetTask", {"id": task, **options})
        return await self.http_call("GET", f"/tasks/{task}", params=options)

    async def list(self, **options):
        if self.binding == JSON_RPC:
            return await self.rpc("ListTasks", options)
        texts = {key: str(value).lower() if isinstance(value, bool) else value for key, value in options.items()}
        return await self.http_call("GET", "/tasks", params=texts)

    async def cancel(self, task):
        if self.binding == JSON_RPC:
            return await self.rpc("CancelTask", {"id": task})
        return await self.http_call("POST", f"/tasks/{task}:cancel", json={})

    async def extended_card(self):
        if self.binding == JSON_RPC:
            return await self.rpc("GetExtendedAgentCard", {})
        return await self.http_call("GET", "/extendedAgentCard")

    async def create_push(self, task, config):
        if self.binding == JSON_RPC:
            return await self.rpc("CreateTaskPushNotificationConfig", {"taskId": task, **config})
        return await self.http_call("POST", f"/tasks/{task}/pushNotificationConfigs", json=config)

    async def get_push(self, task, config):
        if self.binding == JSON_RPC:
            return await self.rpc("GetTaskPushNotificationConfig", {"taskId": task, "id": config})
        return await self.http_call("GET", f"/tasks/{task}/pushNotificationConfigs/{config}")

    async def list_push(self, task):
        if self.binding == JSON_RPC:
            return await self.rpc("ListTaskPushNotificationConfigs", {"taskId": task})
        return await self.http_call("GET", f"/tasks/{task}/pushNotificationConfigs")

    async def delete_push(self, task, config):
        if self.binding == JSON_RPC:
            return await self.rpc("DeleteTaskPushNotificationConfig", {"taskId": task, "id": config})
        return await self.http_call("DELETE", f"/tasks/{task}/pushNotificationConfigs/{config}")

    def stream(self, text, **where):
        """SendStreamingMessage, to be entered with `async with`."""
        body = {"message": message(text, **where)}
        if self.binding == JSON_RPC:
            return self._opened(self.rpc_request("SendStreamingMessage", body))
        return self._opened(self.request("POST", "/message:stream", json=body))

    def subscribe(self, task):
        """SubscribeToTask, to be entered with `async with`."""
        if self.binding == JSON_RPC:
            return self._opened(self.rpc_request("SubscribeToTask", {"id": task}))
        return self._opened(self.request("POST", f"/tasks/{task}:subscribe"))

    @asynccontextmanager
    async def _opened(self, request):
        request.headers["accept"] = "text/event-stream"
        response = await self.http.send(request, stream=True)
        try:
            yield await Stream.of(self.binding, response)
        finally:
            await response.aclose()
