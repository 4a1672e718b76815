"""Answers of an agent by either binding, and the errors that the protocol knows."""

import json
from dataclasses import dataclass
from typing import NamedTuple

from a2a.types import a2a_pb2
from google.protobuf import json_format

JSON_RPC, HTTP_JSON = "JSONRPC", "HTTP+JSON"
BINDINGS = (JSON_RPC, HTTP_JSON)

ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}


class Refusal(NamedTuple):
    """An error of the protocol: its code by JSON-RPC and its status by HTTP+JSON."""

    code: int
    status: int


TASK_NOT_FOUND = Refusal(-32001, 404)
TASK_NOT_CANCELABLE = Refusal(-32002, 400)
PUSH_NOT_SUPPORTED = Refusal(-32003, 400)
UNSUPPORTED_OPERATION = Refusal(-32004, 400)
CONTENT_TYPE_NOT_SUPPORTED = Refusal(-32005, 400)
EXTENSION_REQUIRED = Refusal(-32008, 400)
VERSION_NOT_SUPPORTED = Refusal(-32009, 400)


@dataclass
class Answer:
    binding: str
    status: int
    headers: dict
    body: object

    @classmethod
    def of(cls, binding, response):
        try:
            body = response.json() if response.content else {}
        except ValueError:
            body = response.text
        return cls(binding, response.status_code, response.headers, body)

    def __str__(self):
        return f"{self.status} {json.dumps(self.body)[:400]}"

    @property
    def is_refusal(self):
        no_result = self.binding == JSON_RPC and not (isinstance(self.body, dict) and "result" in self.body)
        return self.status >= 400 or no_result

    @property
    def error(self):
        assert self.is_refusal, f"an error is due: {self}"
        assert isinstance(self.body, dict) and isinstance(self.body.get("error"), dict), f"no error object: {self}"
        return self.body["error"]

    @property
    def result(self):
        assert not self.is_refusal, f"refused: {self}"
        return self.body["result"] if self.binding == JSON_RPC else self.body

    @property
    def task(self):
        """The task, as the answer of those calls that have nothing else or beside a message."""
        result = self.result
        task = result.get("task", result)
        assert task.get("id") and task.get("status"), f"no task: {self}"
        return task

    @property
    def state(self):
        return self.task["status"]["state"]

    def expect(self, refusal):
        """The error must be this one."""
        assert self.is_refusal, f"{refusal} is due: {self}"
        if self.binding == JSON_RPC:
            assert self.error.get("code") == refusal.code, f"{refusal} is due: {self}"
        else:
            assert self.status == refusal.status, f"{refusal} is due: {self}"


def fits(value, kind):
    """The value must be a message of this kind in the SDK's own definition of the protocol."""
    try:
        json_format.ParseDict(value, getattr(a2a_pb2, kind)())
    except json_format.ParseError as error:
        raise AssertionError(f"no {kind}: {error}: {json.dumps(value)[:400]}") from error


def has(value, *names):
    """The fields must be there, and not be empty."""
    missing = [name for name in names if value.get(name) in (None, "", [])]
    assert not missing, f"without {', '.join(missing)}: {json.dumps(value)[:400]}"
