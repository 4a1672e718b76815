#!/usr/bin/env python3
"""Puts a mixed load on a server of its own, on this machine alone, and watches its memory.

    scripts/soak.py path/to/warren [SECONDS]

Requests of many kinds: lists, files, commands, messages, readers of events that come and go, wrong tokens, paths that do
not exist. Prints RssAnon every few seconds and, in the end, how much it grew in the second half, in KiB a minute and bytes a
request: what is kept for a request shows there. It says nothing by itself of what is too much.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

WORKERS = 8
LOOK_SECONDS = 5


def rss_anon(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


class Worker(threading.Thread):
    def __init__(self, ready, seed, deadline):
        super().__init__(daemon=True)
        self.address = ready["url"].removeprefix("http://")
        self.token, self.deadline = ready["token"], deadline
        self.chance = random.Random(seed)
        self.connection, self.count, self.statuses = None, 0, {}

    def ask(self, method, path, body=None, token=None):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json"}
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return None
        self.count += 1
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        return text if answer.status < 300 else None

    def follow_for_a_moment(self):
        reader = http.client.HTTPConnection(self.address, timeout=5)
        try:
            reader.request("GET", "/api/v1/events", None, {"Authorization": f"Bearer {self.token}"})
            reader.getresponse().read(64)
            self.count += 1
        except (OSError, http.client.HTTPException):
            pass
        reader.close()

    def run(self):
        made = self.ask("POST", "/api/v1/workspaces", json.dumps({
            "name": f"soak-{self.chance.getrandbits(40):x}", "provider": {"kind": "local"}}))
        base = f"/api/v1/workspaces/{json.loads(made)['id']}"
        while time.monotonic() < self.deadline:
            number, kind = self.chance.getrandbits(48), self.chance.randrange(20)
            if kind < 6:
                self.ask("GET", "/api/v1/workspaces?limit=5")
            elif kind < 9:
                self.ask("PUT", f"{base}/files?path=f/{number % 500}", f"{number}\n")
            elif kind < 11:
                self.ask("GET", f"{base}/files?path=f/{number % 500}")
            elif kind < 13:
                self.ask("GET", f"/api/v1/nowhere/{number:x}")
            elif kind < 15:
                self.ask("GET", "/api/v1/workspaces", token=f"wrn_user_{number:032x}")
            elif kind == 15:
                self.ask("POST", f"{base}/exec", json.dumps({"argv": ["true"]}))
            elif kind == 16:
                self.ask("POST", f"{base}/messages", json.dumps({"message": {"parts": [{"text": f"{number:x}"}]}}))
            elif kind == 17:
                self.ask("GET", f"/api/v1/workspaces/{number:032x}")
            elif kind == 18:
                self.ask("POST", f"{base}/tools/workspace_{number:x}", "{}")
            else:
                self.follow_for_a_moment()


def main():
    program, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 180.0
    with tempfile.TemporaryDirectory() as home:
        server = subprocess.Popen(
            [program, "up", "--json", "--listen", "127.0.0.1:0", "--data", os.path.join(home, "data")],
            env={"HOME": home, "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            soak(server, seconds)
        finally:
            server.terminate()
            server.wait()


def soak(server, seconds):
    ready = json.loads(server.stdout.readline())
    begun = time.monotonic()
    workers = [Worker(ready, seed, begun + seconds) for seed in range(WORKERS)]
    for worker in workers:
        worker.start()
    looks = []
    while time.monotonic() < begun + seconds:
        time.sleep(LOOK_SECONDS)
        looks.append((time.monotonic() - begun, sum(one.count for one in workers), rss_anon(server.pid)))
        print(f"{looks[-1][0]:6.0f} s  {looks[-1][1]:9d} requests  RssAnon {looks[-1][2]:7d} KiB", flush=True)
    for worker in workers:
        worker.join(60)
    statuses = {}
    for worker in workers:
        for status, count in worker.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    half = looks[len(looks) // 2:]
    (from_s, from_n, from_kib), (to_s, to_n, to_kib) = half[0], half[-1]
    print("answers by status:", dict(sorted(statuses.items())))
    print(f"second half: {(to_kib - from_kib) * 60 / max(to_s - from_s, 1):.0f} KiB a minute, "
          f"{(to_kib - from_kib) * 1024 / max(to_n - from_n, 1):.1f} bytes a request")


if __name__ == "__main__":
    main()
