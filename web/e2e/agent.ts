// An agent that runs elsewhere: it registers with a workspace, comes and asks for messages, and answers when the test
// says so.
import type { Warren } from "./warren";
import type { ChatMessage, Claim, Workspace } from "./wire";

export type Claimed = NonNullable<Claim["claimed"]>;

export class Agent {
  private constructor(
    readonly workspace: Workspace,
    private readonly url: string,
    private readonly token: string,
  ) {}

  /** Makes a workspace that nobody works in, and goes to work in it. */
  static async join(warren: Warren, name: string, fields: Record<string, unknown> = {}): Promise<Agent> {
    const made = { name, runtime: "external", provider: { kind: "local" }, ...fields };
    const workspace = await warren.api<Workspace>("POST", "/workspaces", made);
    const wish = { kind: "join", name: `${name} joins`, workspace_id: workspace.id };
    const { secret } = await warren.api<{ secret: string }>("POST", "/tokens", wish);
    const register = new Agent(workspace, warren.url, secret);
    const { token } = await register.call<{ token: string }>("/registry/register", { heartbeat: {} });
    return new Agent(workspace, warren.url, token);
  }

  /** The next message, waited for. */
  async claim(): Promise<Claimed> {
    for (;;) {
      const { claimed } = await this.call<Claim>(`${this.base}/queue/claim`, { wait_ms: 20_000 });
      if (claimed) return claimed;
    }
  }

  async progress({ queue_id, attempt }: Claimed, text: string): Promise<void> {
    await this.call(`${this.base}/queue/${queue_id}/progress`, { attempt, message: said(text) });
  }

  async answer(claimed: Claimed, text: string, fields: Record<string, unknown> = {}): Promise<void> {
    await this.end(claimed, { outcome: "answered", message: said(text), ...fields });
  }

  async fail(claimed: Claimed, text: string): Promise<void> {
    await this.end(claimed, { outcome: "failed", message: said(text) });
  }

  async notify(text: string, paths: string[] = []): Promise<ChatMessage> {
    const attachments = paths.map((path) => ({ path }));
    return this.call(`${this.base}/notify`, { text, attachments });
  }

  /** Says something to another workspace, in one of its conversations. */
  async tell(to: Workspace, text: string, conversation: string): Promise<void> {
    await this.call(`/workspaces/${to.id}/messages`, { message: said(text), context_id: conversation });
  }

  async ask(action: string, reason: string, context: Record<string, unknown> = {}): Promise<{ id: string }> {
    return this.call(`${this.base}/approvals`, { action, reason, context });
  }

  private async end({ queue_id, attempt }: Claimed, fields: Record<string, unknown>): Promise<void> {
    await this.call(`${this.base}/queue/${queue_id}/answer`, { attempt, ...fields });
  }

  private get base(): string {
    return `/workspaces/${this.workspace.id}`;
  }

  private async call<T>(path: string, body: unknown): Promise<T> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }
}

function said(text: string) {
  return { parts: [{ text }] };
}
