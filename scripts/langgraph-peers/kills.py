"""Kills the worker with -9 at random moments, starts it again, and counts what went wrong by reading what is left."""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent import agent, check, saver


def start(place, log):
    worker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
    process = subprocess.Popen(
        [sys.executable, "-B", worker, place], stdout=subprocess.PIPE, stderr=log, text=True
    )
    assert process.stdout.readline() == "ready\n", "the worker did not start"
    return process


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        for folder in ("ended", "accepted"):
            os.mkdir(os.path.join(place, folder))
        log = open(os.path.join(place, "log"), "w")
        process = start(place, log)
        for _ in range(kills):
            time.sleep(0.06 + dice.random() * 0.64)
            process.kill()
            process.wait()
            process = start(place, log)
        open(os.path.join(place, "closing"), "w").close()
        try:
            told, _ = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()
        count(place, kills, seed, told)


def count(place, kills, seed, told):
    app = agent(saver(os.path.join(place, "checkpoints.db")), os.devnull)
    traces = collections.Counter(open(os.path.join(place, "ledger")).read().split())
    threads = sorted({row[0] for row in app.checkpointer.conn.execute("SELECT DISTINCT thread_id FROM checkpoints")})
    done = denied = repeated = orphans = stuck = lost = messages = 0
    known = set()
    for thread in threads:
        state = app.get_state({"configurable": {"thread_id": thread}})
        history = state.values.get("messages", [])
        ended = os.path.join(place, "ended", thread)
        how = open(ended).read() if os.path.exists(ended) else "open"
        stuck += how != "done"
        try:
            check(history)
        except ValueError:
            orphans += 1
        results = {one.tool_call_id: one for one in history if isinstance(one, ToolMessage)}
        for one in history:
            for call in one.tool_calls if isinstance(one, AIMessage) else []:
                token = call["args"]["token"]
                known.add(token)
                result = results.get(call["id"])
                if result is not None and result.content == token:
                    done += 1
                elif result is not None:
                    denied += 1
                repeated += traces[token] > 1
        said = [one.content for one in history if isinstance(one, HumanMessage)]
        for name in os.listdir(os.path.join(place, "accepted")):
            if name.rsplit("-", 1)[0] == thread:
                messages += 1
                text = open(os.path.join(place, "accepted", name)).read()
                # A file that was cut while it was written was not acknowledged.
                lost += bool(text) and said.count(text) != 1
    strays = sum(1 for token in traces if token not in known)
    errors = [line for line in told.splitlines() if line.startswith("{")]
    print(
        f"{kills} kills (seed {seed}): {len(threads)} threads, {messages} messages accepted, {done} calls done, "
        f"{denied} denied, {len(traces)} tokens traced; {repeated} calls repeated "
        f"({sum(times - 1 for times in traces.values())} side effects too many), {strays} traces of calls that no history "
        f"has, {lost} messages lost or doubled, {orphans} histories that a model refuses (orphan calls), {stuck} stuck"
    )
    for line in errors[:5]:
        print(f"  {json.loads(line)}")


main()
