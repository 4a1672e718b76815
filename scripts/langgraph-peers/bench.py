"""The loop that Warren's benchmark runs: an instant model, one tool call a step, every step on disk. Prints one JSON line.

bench.py FOLDER [STEPS] [STEPS_EACH] [THREADS]
"""

import json
import os
import sqlite3
import sys
import threading
import time
from importlib.metadata import version

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from agent import Scripted, saver

NOTES = "A line of notes that an agent reads.\n" * 14
TEXT = "This is one step of several: it reads a file, and goes on. " * 3


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return NOTES


class Instant(Scripted):
    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        answers = sum(isinstance(one, AIMessage) for one in messages)
        calls = []
        if answers < self.steps:
            calls = [{"name": "read_file", "args": {"path": "notes.txt"}, "id": f"call_{answers + 1}_0"}]
        message = AIMessage(content=TEXT if calls else "All of it is done.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def run(app, thread, steps):
    config = {"recursion_limit": 4 * steps + 10, "configurable": {"thread_id": thread}}
    started = time.perf_counter()
    app.invoke({"messages": [HumanMessage("Go.")]}, config, durability="sync")
    return time.perf_counter() - started


def main():
    folder = sys.argv[1]
    steps, each, threads = (
        int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((2, 300), (3, 20), (4, 64))
    )
    path = os.path.join(folder, "alone.db")
    # What is only done once is not measured.
    run(create_agent(Instant(steps=2), [read_file], checkpointer=saver(os.path.join(folder, "warm.db"))), "warm", 2)
    app = create_agent(Instant(steps=steps), [read_file], checkpointer=saver(path))
    alone = run(app, "alone", steps)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages, free, size = (
        connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
    )
    app = create_agent(Instant(steps=each), [read_file], checkpointer=saver(os.path.join(folder, "many.db")))
    workers = [threading.Thread(target=run, args=(app, f"t{number}", each)) for number in range(threads)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - started
    told = {
        "step_ms": alone / (steps + 1) * 1000,
        "steps_per_second": threads * (each + 1) / seconds,
        "bytes": (pages - free) * size,
        "versions": f"LangGraph {version('langgraph')}",
    }
    print(json.dumps(told))


main()
