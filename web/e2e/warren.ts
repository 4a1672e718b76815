// A real Warren in a temporary folder: started, killed, started again on the same data and port, and cleared away.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { SignInLink, WarrenEvent, Workspace } from "./wire";

const READY_MS = 30_000;

export class Warren {
  url = "";
  token = "";
  private readonly data = mkdtempSync(join(tmpdir(), "warren-e2e-"));
  private child: ChildProcessByStdio<null, Readable, Readable> | undefined;
  private complaints = "";

  /** `scripts` are further scripted models, in YAML by their name. */
  static async start(scripts: Record<string, string> = {}): Promise<Warren> {
    const warren = new Warren();
    warren.keepScripts(scripts);
    await warren.launch("127.0.0.1:0");
    return warren;
  }

  private keepScripts(scripts: Record<string, string>): void {
    if (Object.keys(scripts).length === 0) return;
    const folder = join(this.data, "scripts");
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, `${name}.yaml`), text);
    writeFileSync(join(this.data, "warren.toml"), `[models]\nscripts_folder = ${JSON.stringify(folder)}\n`);
  }

  /** As a power cut would: nothing is closed, nothing is said. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  async startAgain(): Promise<void> {
    await this.launch(new URL(this.url).host);
  }

  async stop(): Promise<void> {
    await this.end("SIGTERM");
    rmSync(this.data, { recursive: true, force: true });
  }

  /** A fresh sign-in link, whole. */
  async link(): Promise<string> {
    const { path } = await this.api<SignInLink>("POST", "/sign-in/links");
    return this.url + path;
  }

  async create(name: string, fields: Record<string, unknown> = {}): Promise<Workspace> {
    const made = await this.api<Workspace>("POST", "/workspaces", {
      name,
      provider: { kind: "local" },
      ...fields,
    });
    for (;;) {
      const now = await this.api<Workspace>("GET", `/workspaces/${made.id}`);
      if (now.status === "online") return now;
      if (now.status === "failed") throw new Error(`${name} failed: ${now.reason}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async write(workspace: Workspace, path: string, text: string): Promise<void> {
    const query = new URLSearchParams({ path });
    await this.api("PUT", `/workspaces/${workspace.id}/files?${query}`, text);
  }

  async read(workspace: Workspace, path: string): Promise<string> {
    const query = new URLSearchParams({ path });
    const response = await this.call("GET", `/workspaces/${workspace.id}/files?${query}`);
    return response.text();
  }

  async events(): Promise<WarrenEvent[]> {
    const page = await this.api<{ items: WarrenEvent[] }>("GET", "/events?after=0&limit=500");
    return page.items;
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.call(method, path, body);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  private async call(method: string, path: string, body?: unknown): Promise<Response> {
    const isText = typeof body === "string";
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: "application/json",
        ...(body === undefined
          ? {}
          : { "content-type": isText ? "application/octet-stream" : "application/json" }),
      },
      body: body === undefined || isText ? body : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }

  private async launch(listen: string): Promise<void> {
    const binary = process.env.WARREN_BIN ?? "";
    const child = spawn(binary, ["up", "--data", this.data, "--listen", listen, "--json"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    child.stderr.on("data", (piece: Buffer) => {
      this.complaints = (this.complaints + piece.toString()).slice(-4_000);
    });
    const first = await Promise.race([firstLine(child.stdout), exited(child), late()]);
    if (first === undefined) throw new Error(`warren up did not become ready. It said:\n${this.complaints}`);
    ({ url: this.url, token: this.token } = JSON.parse(first) as { url: string; token: string });
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = exited(child);
    child.kill(signal);
    await gone;
  }
}

async function firstLine(stream: Readable): Promise<string | undefined> {
  for await (const line of createInterface({ input: stream })) return line;
  return undefined;
}

function exited(child: ChildProcessByStdio<null, Readable, Readable>): Promise<undefined> {
  return new Promise((resolve) => child.once("exit", () => resolve(undefined)));
}

function late(): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), READY_MS).unref());
}
