"""What is particular to JSON-RPC and to HTTP+JSON: envelopes, paths, types, errors, and who may call at all."""

import json

from .answer import CONTENT_TYPE_NOT_SUPPORTED, ENDED, JSON_RPC, TASK_NOT_FOUND, Answer, fits
from .client import calling, fresh, message
from .requirement import ON_CARD, ON_HTTP_JSON, ON_JSON_RPC, must, needs, should
from .streaming import needs_streaming

METHODS = (
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
)
METHOD_NOT_FOUND = -32601
EXTENSIONS = {"A2A-Extensions": "https://extensions.example/one,https://extensions.example/two"}


def info_of(details, reason):
    """The details of an error must say its reason in the words of the protocol."""
    found = [entry for entry in details or [] if entry.get("@type", "").endswith("google.rpc.ErrorInfo")]
    assert found, f"no ErrorInfo: {details}"
    assert (found[0].get("reason"), found[0].get("domain")) == (reason, "a2a-protocol.org"), found


async def sent_as_text(client):
    """The answer to a message whose content is said to be plain text."""
    body = {"message": message("hello")}
    path = "/message:send"
    if client.binding == JSON_RPC:
        body, path = client.envelope("SendMessage", body), ""
    plain = {"Content-Type": "text/plain"}
    return await client.answer(client.request("POST", path, plain, content=json.dumps(body).encode()))


async def events_fit(client):
    needs_streaming(client)
    async with client.stream("hello") as stream:
        assert stream.refusal is None, stream.refusal
        events = []
        while (event := await stream.next_event()) is not None:
            events.append(event)
    assert events
    for event in events:
        if client.binding == JSON_RPC:
            assert (event.get("jsonrpc"), event.get("id")) == ("2.0", client.calls), event
        fits(event["result"] if client.binding == JSON_RPC else event, "StreamResponse")


@must("CORE-ERR-001")
async def an_error_says_what_is_wrong(client):
    """What cannot be done is answered with an error that has a code and words."""
    error = (await client.get(fresh("task"))).error
    assert error.get("code") and error.get("message"), error
    if client.binding == JSON_RPC:
        error = (await client.rpc("NoSuchMethod", {})).error
        assert error.get("code") == METHOD_NOT_FOUND and error.get("message"), error


@must("CORE-ERR-002")
async def a_request_is_checked_first(client):
    """A request that lacks what it needs is refused before anything is done."""
    answer = await client.send_request({})
    assert answer.is_refusal and answer.error, answer


@must("AUTH-SERVER-002")
async def every_call_is_authenticated(client):
    """Where the card names a way to prove who calls, a call without that is refused."""
    needs(client.peer.card.get("securitySchemes"), "the card names no security schemes")
    body = {"message": message("hello")}
    url = client.url if client.binding == JSON_RPC else f"{client.url}/message:send"
    content = client.envelope("SendMessage", body) if client.binding == JSON_RPC else body
    async with calling({"A2A-Version": "1.0"}) as stranger:
        for proof in ({}, {"authorization": "Bearer nobody"}):
            response = await stranger.post(url, json=content, headers=proof)
            assert response.status_code in (401, 403), Answer.of(client.binding, response)


@must("BIND-EQUIV-002", on=ON_CARD)
async def the_bindings_say_the_same(peer):
    """The same message has the same kind of answer by every binding."""
    needs(len(peer.clients) > 1, "the card names one binding only")
    tasks = [await client.completed() for client in peer.clients.values()]
    shapes = [(sorted(task), sorted(task["status"]), task["artifacts"][0]["parts"]) for task in tasks]
    assert all(shape == shapes[0] for shape in shapes), shapes
    missing = [(await client.get(fresh("task"))).error for client in peer.clients.values()]
    assert len({error["message"].split(":")[0] for error in missing}) == 1, missing


@must("JSONRPC-FMT-001", on=ON_JSON_RPC)
async def an_answer_is_in_the_envelope_of_its_request(client):
    """An answer by JSON-RPC says its version and the id of the request."""
    answer = await client.send("hello")
    assert (answer.body.get("jsonrpc"), answer.body.get("id")) == ("2.0", client.calls), answer
    fits(answer.result, "SendMessageResponse")


@must("JSONRPC-FMT-002", on=ON_JSON_RPC)
async def an_answer_by_json_rpc_is_json(client):
    """An answer by JSON-RPC is of the type for JSON."""
    answer = await client.send("hello")
    assert answer.headers["content-type"].startswith("application/json"), answer.headers


@must("JSONRPC-SVC-001", on=ON_JSON_RPC)
async def all_methods_are_known(client):
    """Every operation of the protocol is a method, by the protocol's name for it."""
    answers = {method: await client.rpc(method, {}) for method in METHODS}
    unknown = [m for m, answer in answers.items() if answer.is_refusal and answer.error.get("code") == METHOD_NOT_FOUND]
    assert not unknown, unknown


@must("JSONRPC-SVC-002", on=ON_JSON_RPC)
async def a_client_by_json_rpc_may_name_extensions(client):
    """By JSON-RPC, the extensions that a client knows are named in a header of the request."""
    assert (await client.send("hello", headers=EXTENSIONS)).state in ENDED


@must("JSONRPC-ERR-001", on=ON_JSON_RPC)
async def an_error_by_json_rpc_has_its_shape(client):
    """An error by JSON-RPC has a number and words, and at most data beside them."""
    error = (await client.get(fresh("task"))).error
    assert isinstance(error.get("code"), int) and isinstance(error.get("message"), str), error
    assert set(error) <= {"code", "message", "data"}, error


@must("JSONRPC-ERR-002", on=ON_JSON_RPC)
async def errors_of_the_protocol_have_their_numbers(client):
    """Errors that the protocol adds have the numbers that are set aside for them."""
    code = (await client.get(fresh("task"))).error["code"]
    assert -32099 <= code <= -32001, code


@must("JSONRPC-ERR-003", on=ON_JSON_RPC)
async def an_error_by_json_rpc_tells_its_reason(client):
    """The data of an error by JSON-RPC is a list that tells the reason and whose it is."""
    info_of((await client.get(fresh("task"))).error.get("data"), "TASK_NOT_FOUND")


@must("JSONRPC-SSE-001", on=ON_JSON_RPC)
async def every_event_by_json_rpc_is_an_answer(client):
    """Each event of a stream by JSON-RPC is an answer to the request that opened it."""
    await events_fit(client)


@must("JSONRPC-SSE-002", on=ON_JSON_RPC)
async def errors_by_json_rpc_have_their_codes(client):
    """By JSON-RPC each error of the protocol has its own code."""
    (await client.get(fresh("task"))).expect(TASK_NOT_FOUND)
    (await client.cancel(fresh("task"))).expect(TASK_NOT_FOUND)
    answer = await sent_as_text(client)
    if answer.is_refusal:
        answer.expect(CONTENT_TYPE_NOT_SUPPORTED)


@must("HTTP_JSON-ERR-001", on=ON_HTTP_JSON)
async def an_error_by_http_has_its_shape(client):
    """An error by HTTP+JSON is JSON, with the status and words within."""
    answer = await client.get(fresh("task"))
    assert answer.headers["content-type"].startswith("application/json"), answer.headers
    assert answer.error.get("code") == answer.status and isinstance(answer.error.get("message"), str), answer


@must("HTTP_JSON-ERR-002", on=ON_HTTP_JSON)
async def an_error_by_http_tells_its_reason(client):
    """The details of an error by HTTP+JSON tell the reason and whose it is."""
    info_of((await client.get(fresh("task"))).error.get("details"), "TASK_NOT_FOUND")


@must("HTTP_JSON-STATUS-001", on=ON_HTTP_JSON)
async def errors_by_http_have_their_status(client):
    """By HTTP+JSON each error of the protocol has its own status."""
    (await client.get(fresh("task"))).expect(TASK_NOT_FOUND)
    (await client.cancel(fresh("task"))).expect(TASK_NOT_FOUND)
    answer = await sent_as_text(client)
    if answer.is_refusal:
        answer.expect(CONTENT_TYPE_NOT_SUPPORTED)


@should("HTTP_JSON-SVC-001", on=ON_HTTP_JSON)
async def the_protocols_own_type_is_spoken(client):
    """By HTTP+JSON, content is of the protocol's own type, in both directions."""
    own = "application/a2a+json"
    content = json.dumps({"message": message("hello")}).encode()
    answer = await client.answer(client.request("POST", "/message:send", {"Content-Type": own}, content=content))
    assert answer.state in ENDED and answer.headers["content-type"].startswith(own), (answer.headers, answer)


@must("HTTP_JSON-SVC-002", on=ON_HTTP_JSON)
async def a_client_by_http_may_name_extensions(client):
    """By HTTP+JSON, the extensions that a client knows are named in a header of the request."""
    assert (await client.send("hello", headers=EXTENSIONS)).state in ENDED


@must("HTTP_JSON-URL-001", on=ON_HTTP_JSON)
async def every_path_is_there(client):
    """Every operation of the protocol has its path."""
    task = f"/tasks/{fresh('task')}"
    calls = [
        ("GET", "/tasks"),
        ("GET", "/extendedAgentCard"),
        ("GET", task),
        ("POST", f"{task}:cancel"),
        ("POST", f"{task}:subscribe"),
        ("GET", f"{task}:subscribe"),
        ("GET", f"{task}/pushNotificationConfigs"),
    ]
    for verb, path in calls:
        answer = await client.http_call(verb, path, **({"json": {}} if verb == "POST" else {}))
        assert answer.status != 405, f"{verb} {path}: {answer}"
        # A path that is there says what is missing; one that is not says nothing of tasks.
        assert answer.status != 404 or "TASK_NOT_FOUND" in json.dumps(answer.body), f"{verb} {path}: {answer}"


@must("HTTP_JSON-QP-001", on=ON_HTTP_JSON)
async def options_are_in_the_query(client):
    """The options of a request without content are in its query, by their names in camel case."""
    context = fresh("context")
    task = await client.completed(context=context)
    options = {"contextId": context, "pageSize": 1, "includeArtifacts": True, "historyLength": 1}
    options |= {"status": "TASK_STATE_COMPLETED", "statusTimestampAfter": "2020-01-01T00:00:00Z"}
    (listed,) = (await client.list(**options)).result["tasks"]
    assert listed["id"] == task["id"] and listed["artifacts"], listed
    assert len(listed.get("history", [])) <= 1, listed
    none = await client.list(**{**options, "status": "TASK_STATE_FAILED"})
    assert not none.result.get("tasks"), none


@must("HTTP_JSON-SSE-001", on=ON_HTTP_JSON)
async def every_event_by_http_is_told_plainly(client):
    """Each event of a stream by HTTP+JSON is the event itself."""
    await events_fit(client)
