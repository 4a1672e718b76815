"""The tool loop that Warren is compared with: `create_agent`, its ToolNode, a SQLite checkpointer, an instant model.

Set up as its documentation recommends for durability: one checkpointer on WAL with synchronous FULL, `durability="sync"`,
a thread is resumed with `invoke(None)` after a crash and with `Command(resume=…)` after an interrupt.
"""

import hashlib
import os
import sqlite3
import time

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import interrupt

TOOLS = {}


def saver(path):
    """A checkpointer that loses nothing that was committed."""
    connection = sqlite3.connect(path, check_same_thread=False, timeout=30)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return SqliteSaver(connection)


def digest(messages):
    """Tells a conversation from every other, and from itself a turn later, as Warren's scripted model does."""
    text = repr([(type(one).__name__, one.content, getattr(one, "tool_call_id", "")) for one in messages])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def check(messages):
    """Refuses what real providers refuse: a call without its result, a result without its call."""
    waiting = set()
    for one in messages:
        if isinstance(one, ToolMessage):
            if one.tool_call_id not in waiting:
                raise ValueError(f"invalid_request: a result without its call: {one.tool_call_id}")
            waiting.discard(one.tool_call_id)
            continue
        if waiting:
            raise ValueError(f"invalid_request: calls without results: {sorted(waiting)}")
        if isinstance(one, AIMessage):
            waiting = {call["id"] for call in one.tool_calls}
    if waiting:
        raise ValueError(f"invalid_request: calls without results: {sorted(waiting)}")


class Scripted(BaseChatModel):
    """The same turns as Warren's script: a step of the message's kind, a step with one command, an answer."""

    steps: int = 2
    is_short: bool = False
    delay: float = 0.0

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        check(messages)
        if self.delay:
            time.sleep(self.delay)
        at = max((i for i, one in enumerate(messages) if isinstance(one, HumanMessage)), default=0)
        user, answers = messages[at].content, sum(isinstance(one, AIMessage) for one in messages[at:])
        word = digest(messages)

        def call(name, suffix):
            return {"name": name, "args": {"token": f"{word}-{suffix}"}, "id": f"call_{word}_{suffix}"}

        calls = []
        if answers == 0 and "[asked]" in user:
            calls = [call("append_asked", "asked"), call("append", "free")]
        elif answers == 0 and not self.is_short:
            calls = [call("append", "first"), call("append", "second")]
        elif answers < self.steps:
            calls = [call("append", "last")]
        text = "One step of several." if calls else "All of it is done."
        message = AIMessage(content=text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def agent(checkpointer, ledger, *, steps=2, is_short=False, pause=0.02, delay=0.02):
    def trace(token):
        time.sleep(pause)
        with open(ledger, "ab", buffering=0) as file:
            file.write(f"{token}\n".encode())
        time.sleep(pause)
        return token

    @tool
    def append(token: str) -> str:
        """Leave a trace."""
        return trace(token)

    @tool
    def append_asked(token: str) -> str:
        """Leave a trace, once a person has agreed."""
        answer = interrupt({"token": token})
        return trace(token) if answer == "yes" else "denied"

    @tool
    def instant(token: str) -> str:
        """Do nothing."""
        return "ok"

    model = Scripted(steps=steps, is_short=is_short, delay=delay)
    return create_agent(model, [append, append_asked, instant], checkpointer=checkpointer)
