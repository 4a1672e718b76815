import { describe, expect, it } from "vitest";
import type { ProviderInfo, SessionStep, StepContext } from "../src/api/types";
import { askAbout, guidedAgent, guidedProvider, keyedProviders } from "../src/features/agents/definitions";
import { contextParts } from "../src/features/sessions/contextParts";
import { barsOf } from "../src/features/sessions/timelineBars";
import {
  formatCost,
  forPeople,
  gistOf,
  raisedLimits,
  resultGist,
  whyOf,
} from "../src/features/sessions/words";
import { hasAgent } from "../src/features/workspaces/home";
import { hrefOf, placeOf, sessionPlace } from "../src/routes/router";

const provider = (kind: string, unavailable?: string): ProviderInfo => ({
  kind,
  capabilities: [],
  note: "",
  unavailable,
});

// S2
describe("the guided agent", () => {
  it("works in a sandbox, else in a container, and never on the host by itself", () => {
    const local = provider("local");
    expect(guidedProvider([local, provider("sandbox"), provider("docker")])).toBe("sandbox");
    expect(guidedProvider([local, provider("sandbox", "no bwrap"), provider("docker")])).toBe("docker");
    expect(
      guidedProvider([local, provider("sandbox", "no bwrap"), provider("docker", "none")]),
    ).toBeUndefined();
    expect(guidedProvider([local])).toBeUndefined();
  });

  it("needs no key and asks before it deletes", () => {
    expect(guidedAgent.model).toBe("scripted/tour");
    expect(guidedAgent.policies).toMatchObject([{ tool: "workspace_rm", decision: "ask" }]);
    expect(askAbout(["workspace_run*", "unheard-of"])).toEqual([
      { tool: "workspace_run*", decision: "ask", reason: "It runs a command." },
    ]);
  });
});

// S2
it("a key is asked for once, however many ways there are to speak to who wants it", () => {
  const one = (name: string, key_name: string | null) => ({ name, needs_key: key_name !== null, key_name });
  const all = [one("anthropic", "A"), one("openai", "O"), one("openai-chat", "O"), one("scripted", null)];
  expect(keyedProviders(all).map(({ name }) => name)).toEqual(["anthropic", "openai"]);
});

// S41
describe("a session in words", () => {
  it("says why it stands where it stands", () => {
    const base = { suspension: null, failure: null, finish: null };
    const by = (name: string) => ({ by: name, reason: "because" }) as never;
    expect(whyOf({ ...base, status: "suspended", suspension: by("approval") })).toBe("for an approval");
    expect(whyOf({ ...base, status: "suspended", suspension: by("new_kind") })).toBe("because");
    expect(whyOf({ ...base, status: "failed", failure: { kind: "model", message: "no" } })).toBe("no");
    expect(whyOf({ ...base, status: "completed", finish: "end_turn" })).toBeUndefined();
    expect(whyOf({ ...base, status: "completed", finish: "max_tokens" })).toContain("length limit");
    expect(forPeople("aborted by user:00000000-0000-7000-8000-000000000002")).toBe("aborted by a person");
  });

  it("raises only the limits that are used up", () => {
    const limits = { steps: 10, tool_calls: 500, tokens: null, cost_micros: null, seconds: null };
    const usage = { steps: 10, tool_calls: 3, tokens: 9, cost_micros: 0, active_ms: 1, context_tokens: 0 };
    const raised = raisedLimits({ limits, usage });
    expect(raised).toEqual({ steps: 20, tool_calls: 500, tokens: null, cost_micros: null, seconds: null });
  });

  it("puts calls and results into one line", () => {
    expect(gistOf({ argv: ["cat", "a b"] })).toBe("cat a b");
    expect(gistOf({ content: "x\ny", path: "a.txt" })).toBe("a.txt, content: x y");
    expect(gistOf("x".repeat(500), 10)).toBe(`${"x".repeat(9)}…`);
    expect(resultGist({ exit_code: 1, stdout: "", stderr: "no\n" })).toBe("exit code 1: no");
    expect([formatCost(0), formatCost(1_234), formatCost(2_500_000)]).toEqual(["$0", "$0.0012", "$2.50"]);
  });

  it("has an address of its own that leads back to it", () => {
    const place = sessionPlace("w", "first:1", "timeline");
    const [pathname, search] = hrefOf(place).split("?") as [string, string];
    expect(placeOf(pathname, `?${search}`)).toEqual({ ...place, path: "" });
  });

  it("is the way to talk to a hosted workspace that names neither an agent nor a model", () => {
    const agent = (fields: Record<string, unknown>) => ({
      runtime: "hosted" as const,
      agent: fields as never,
    });
    expect(hasAgent(agent({ model: null, prompts: {} }))).toBe(false);
    expect(hasAgent(agent({ model: "scripted/tour" }))).toBe(true);
    expect(hasAgent(agent({ name: "scribe" }))).toBe(true);
    expect(hasAgent({ runtime: "external" })).toBe(true);
  });
});

const usage = {
  input_tokens: 1_000,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 5,
  reasoning_tokens: 0,
};

function step(number: number, from: number, answered: number, calls: [number, number][] = []): SessionStep {
  const at = (second: number) => new Date(second * 1_000).toISOString();
  return {
    number,
    usage,
    started_at: at(from),
    answered_at: at(answered),
    calls: calls.map(([start, end], index) => ({
      id: `c${index}`,
      started_at: at(start),
      ended_at: at(end),
    })),
  } as unknown as SessionStep;
}

// S41, A19
describe("the timeline", () => {
  it("puts steps behind each other, and lets a night of waiting take little room", () => {
    const night = 8 * 3_600;
    const bars = barsOf([step(1, 0, 10, [[10 + night, 15 + night]]), step(2, 15 + night, 25 + night)]);
    const parts = bars.flatMap(({ parts: own }) => own);
    expect(parts.map(({ kind }) => kind)).toEqual(["model", "wait", "tool", "model"]);
    for (const [index, part] of parts.entries()) {
      expect(part.from + part.width).toBeLessThanOrEqual(1_000.001);
      if (index > 0) expect(part.from).toBeGreaterThanOrEqual((parts[index - 1]?.from ?? 0) - 0.001);
    }
    expect(parts[1]?.width).toBeLessThan(200);
  });

  it("shows something of a step that took no time at all", () => {
    expect(barsOf([step(1, 5, 5)])[0]?.parts[0]?.width).toBeGreaterThan(0);
    expect(barsOf([])).toEqual([]);
  });

  it("tells by origin what the model read, which is all of it", () => {
    const shares = [
      { origin: "system", bytes: 100, tokens: 500 },
      { origin: "results", bytes: 300, tokens: 1_500 },
    ];
    const parts = contextParts({ shares } as unknown as StepContext);
    expect(parts.map(({ word, tokens, share }) => [word, tokens, share])).toEqual([
      ["System prompt", 500, 0.25],
      ["Results of tools", 1_500, 0.75],
    ]);
    expect(contextParts({ shares: [] } as unknown as StepContext)).toEqual([]);
  });
});
