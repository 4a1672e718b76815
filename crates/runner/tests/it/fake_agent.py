"""An agent that speaks the Agent Client Protocol and does what its prompt says. The first argument is its folder."""

import json
import os
import signal
import subprocess
import sys
import time

folder, flags = sys.argv[1], sys.argv[2:]
pending = {}
last_id = 0
sessions = {}


def path(name):
    return os.path.join(folder, name)


def note(kind, value):
    with open(path("log.jsonl"), "a") as log:
        log.write(json.dumps({kind: value}) + "\n")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    note("heard", message)
    return message


def update(session, what, **fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": what, **fields}}})


def say(session, text):
    update(session, "agent_message_chunk", content={"type": "text", "text": text})


def is_first(name):
    try:
        os.close(os.open(path(name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def ask(method, params):
    """A request of the agent; what comes before its answer is kept for later."""
    global last_id
    last_id += 1
    send({"id": f"a{last_id}", "method": method, "params": params})
    while True:
        message = read()
        if message.get("id") == f"a{last_id}" and "method" not in message:
            return message
        if message.get("method") == "session/cancel":
            sessions[message["params"]["sessionId"]] = "cancelled"


def permission(session, title, options=None, **fields):
    call = {"toolCallId": "call-1", "title": title, "kind": "execute", "status": "pending", **fields}
    update(session, "tool_call", **call)
    if options is None:
        options = [
            {"optionId": "ever", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
    answer = ask("session/request_permission", {"sessionId": session, "toolCall": {"toolCallId": "call-1"}, "options": options})
    return answer["result"]["outcome"]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def work(session, text):
    """Returns the reason for the stop."""
    word, _, rest = text.partition(" ")
    if word == "say":
        say(session, rest)
    elif word == "count":
        sessions[session] = sessions.get(session, 0) + 1
        say(session, f"{session} {sessions[session]}")
    elif word == "permit":
        outcome = permission(session, "run it", rawInput={"command": rest})
        if outcome["outcome"] == "cancelled":
            return "cancelled"
        say(session, f"decided {outcome['optionId']}")
    elif word == "permit-nothing":
        say(session, permission(session, "run it", options=[])["outcome"])
    elif word == "permit-and-die":
        if is_first("died"):
            global last_id
            last_id += 1
            call = {"toolCallId": "c", "title": "rm -rf build", "rawInput": {"command": "rm"}}
            options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
            send({"id": "x1", "method": "session/request_permission", "params": {"sessionId": session, "toolCall": call, "options": options}})
            while not os.path.exists(path("die-now")):
                time.sleep(0.02)
            die()
        say(session, f"done in {session}")
    elif word == "die":
        sys.stderr.write("out of cheese\n")
        sys.stderr.flush()
        die()
    elif word == "hang":
        while True:
            time.sleep(1)
    elif word == "wait":
        while sessions.get(session) != "cancelled":
            message = read()
            if message.get("method") == "session/cancel":
                return "cancelled"
    elif word == "think":
        update(session, "agent_thought_chunk", content={"type": "text", "text": "let me see"})
        update(session, "plan", entries=[{"content": "look", "status": "in_progress", "priority": "high"}])
        time.sleep(float(rest))
        say(session, "seen")
    elif word == "flood":
        for _ in range(5000):
            sys.stderr.write("noise " * 200 + "\n")
        say(session, "still here")
    elif word == "garbage":
        sys.stdout.write("Welcome!\n{\"jsonrpc\": \n\x00\x01\xff\n[1, 2]\n\"text\"\n{}\n")
        sys.stdout.flush()
        say(session, "still here")
    elif word == "unknown":
        update(session, "hologram", shape="cube")
        send({"method": "craft/notice", "params": {}})
        answer = ask("craft/drainMidTurnQueue", {"sessionId": session})
        say(session, f"told {answer['error']['code']}")
    elif word == "huge-update":
        update(session, "tool_call_update", toolCallId="c", rawOutput="x" * (50 << 20))
        say(session, "still here")
    elif word == "huge-answer":
        send({"id": "x", "result": "x" * (50 << 20)})
        time.sleep(30)
    elif word == "daemon":
        subprocess.Popen(["setsid", "sleep", "20"])
        if is_first("daemon"):
            os._exit(3)
        say(session, "left one behind")
    elif word == "stop":
        say(session, "so far")
        return rest
    elif word == "files":
        where = os.path.join(os.getcwd(), "made", "by-client.txt")
        wrote = ask("fs/write_text_file", {"sessionId": session, "path": where, "content": "one\ntwo\n"})
        got = ask("fs/read_text_file", {"sessionId": session, "path": where, "line": 2})
        out = ask("fs/read_text_file", {"sessionId": session, "path": "/etc/passwd"})
        say(session, json.dumps([wrote["result"], got["result"]["content"], out["error"]["message"]]))
        link = {"type": "resource_link", "uri": "file://" + where, "name": "by-client.txt"}
        update(session, "agent_message_chunk", content=link)
    elif word == "terminal":
        made = ask("terminal/create", {"sessionId": session, "command": "sh", "args": ["-c", "echo hi; exit 4"]})
        which = {"sessionId": session, "terminalId": made["result"]["terminalId"]}
        ended = ask("terminal/wait_for_exit", which)["result"]
        told = ask("terminal/output", which)["result"]
        ask("terminal/release", which)
        say(session, json.dumps([ended["exitCode"], told["output"]]))
    elif word == "mode":
        update(session, "current_mode_update", currentModeId="yolo")
        while True:
            message = read()
            if message.get("method") == "session/set_mode":
                say(session, "put back into " + message["params"]["modeId"])
                break
    return "end_turn"


def modes():
    if "--modes" not in flags:
        return {}
    all_modes = [{"id": "yolo", "name": "Yolo"}, {"id": "default", "name": "Ask"}]
    return {"modes": {"currentModeId": "yolo", "availableModes": all_modes}}


def answer(message):
    method, params, sent = message["method"], message.get("params", {}), message.get("id")
    if method == "initialize":
        if "--silent" in flags:
            time.sleep(600)
        abilities = {"loadSession": "--load" in flags, "promptCapabilities": {"image": True}}
        if "--no-resume" not in flags and "--load" not in flags:
            abilities["sessionCapabilities"] = {"resume": {}}
        version = 2 if "--future" in flags else 1
        send({"id": sent, "result": {"protocolVersion": version, "agentCapabilities": abilities}})
    elif method == "session/new":
        if "--auth" in flags:
            send({"id": sent, "error": {"code": -32000, "message": "Authentication required", "data": {"details": "run agent login"}}})
            return
        number = len([name for name in os.listdir(folder) if name.startswith("session-")]) + 1
        name = f"session-{number}"
        open(path(name), "w").close()
        sessions[name] = 0
        send({"id": sent, "result": {"sessionId": name, **modes()}})
    elif method in ("session/resume", "session/load"):
        if not os.path.exists(path(params["sessionId"])):
            send({"id": sent, "error": {"code": -32002, "message": "Resource not found"}})
            return
        if method == "session/load":
            say(params["sessionId"], "this was said before")
        send({"id": sent, "result": modes()})
    elif method == "session/prompt":
        text = "\n".join(block.get("text", block["type"]) for block in params["prompt"])
        reason = work(params["sessionId"], text)
        send({"id": sent, "result": {"stopReason": reason}})
    elif sent is not None:
        send({"id": sent, "result": {}})


signal.signal(signal.SIGTERM, signal.SIG_IGN)
note("started", os.getpid())
if "--exit" in flags:
    sys.stderr.write("no licence\n")
    sys.exit(7)
while True:
    answer(read())
