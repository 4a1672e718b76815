"""What the A2A protocol asks of an agent, tried one requirement after the other by JSON-RPC and by HTTP+JSON.

The ids are those of the protocol's public compatibility kit; the checks are our own. The agent that is tried must do what
`agent.py` does: the first word of a message tells it how to answer.

    requirement.py   what a check is, and how one is run
    client.py        the two bindings
    stream.py        events as they come
    card.py, sending.py, tasks.py, streaming.py, push.py, content.py, bindings.py, versioning.py
                     the checks, a chapter each
"""
