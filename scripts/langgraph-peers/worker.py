"""The process that is killed: many threads of conversation at once, resumed from what the one before left. In one of four,
a person speaks to a conversation that was cut instead of resuming it."""

import json
import os
import sys
import threading

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from agent import agent, saver

PEOPLE = 8


def live(number, app, place, closing):
    """Uses one conversation after the other. What was sent is written down before, what was taken after."""
    config = {"recursion_limit": 50, "configurable": {}}
    at = number
    while True:
        thread = f"p{number}-{at}"
        config["configurable"]["thread_id"] = thread
        ended = os.path.join(place, "ended", thread)
        if not os.path.exists(ended):
            how = "done"
            try:
                use(app, config, thread, at, place)
            except ValueError as error:
                # The model refuses what is stored, now and whenever it is asked.
                how = repr(error)
            with open(ended, "w") as file:
                file.write(how)
            if os.path.exists(closing):
                return
        at += PEOPLE


def use(app, config, thread, at, place):
    kind = "[asked]" if at % 3 == 1 else "[work]"
    texts = [f"{kind} {thread}-1"] + ([f"[work] {thread}-2"] if at % 2 else [])
    for index, text in enumerate(texts):
        state = app.get_state(config)
        said = [one.content for one in state.values.get("messages", []) if isinstance(one, HumanMessage)]
        # One that is stored is not sent again; a run that was cut is resumed with `None`.
        answer = None if text in said else {"messages": [HumanMessage(text)]}
        while True:
            state = app.get_state(config)
            asked = [one for task in state.tasks for one in task.interrupts]
            if asked and answer is None:
                answer = Command(resume="yes" if (at + index) % 2 else "no")
            elif at % 4 == 3 and answer is None and state.next and len(said) < 3:
                # Somebody who does not know of the crash says something more, as people do while an agent is busy.
                answer = {"messages": [HumanMessage(f"[work] {thread} more {len(said)}")]}
            if answer is None and not state.next and text in said:
                break
            app.invoke(answer, config, durability="sync")
            said.append(text)
            # The caller was told that its message was taken.
            with open(os.path.join(place, "accepted", f"{thread}-{index + 1}"), "w") as file:
                file.write(text)
            answer = None


def main():
    place = sys.argv[1]
    app = agent(saver(os.path.join(place, "checkpoints.db")), os.path.join(place, "ledger"))
    closing = os.path.join(place, "closing")
    failures = []

    def run(number):
        try:
            live(number, app, place, closing)
        except Exception as error:  # a conversation that cannot go on
            failures.append(repr(error))
            print(json.dumps({"person": number, "error": repr(error)[:300]}), flush=True)

    people = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(PEOPLE)]
    print("ready", flush=True)
    for one in people:
        one.start()
    for one in people:
        one.join()
    print("over", flush=True)


main()
