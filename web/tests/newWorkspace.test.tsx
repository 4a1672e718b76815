// @vitest-environment jsdom
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ServerInfo } from "../src/api/types";
import {
  emptyForm,
  firstProvider,
  inOrder,
  missing,
  requestOf,
  wordsOf,
} from "../src/features/workspaces/newWorkspace";
import { FakeWarren } from "./fakeWarren";
import { openPage } from "./page";

const provider = (kind: string, unavailable?: string) => ({
  kind,
  capabilities: [],
  note: "",
  ...(unavailable && { unavailable }),
});
const info = (...providers: ReturnType<typeof provider>[]) => ({ providers }) as unknown as ServerInfo;

// S41
describe("a new workspace", () => {
  it("is in a box unless there is none, and never where nothing works", () => {
    expect(firstProvider(info(provider("local"), provider("docker"), provider("sandbox")))).toBe("sandbox");
    expect(firstProvider(info(provider("local"), provider("docker"), provider("sandbox", "no bwrap")))).toBe(
      "docker",
    );
    expect(firstProvider(info(provider("memory"), provider("docker", "no daemon")))).toBe("memory");
    const said = { ...info(provider("docker"), provider("sandbox")), default_provider: "docker" };
    expect(firstProvider(said)).toBe("docker");
    expect(firstProvider({ ...said, default_provider: "gone" })).toBe("sandbox");
    const order = inOrder([provider("local"), provider("docker", "x"), provider("sandbox")] as never);
    expect(order.map(({ kind }) => kind)).toEqual(["sandbox", "local", "docker"]);
  });

  it("is asked for with what was said, and with nothing else", () => {
    const form = { ...emptyForm, name: "den", kind: "sandbox" };
    expect(requestOf(form)).toEqual({ name: "den", provider: { kind: "sandbox" } });
    expect(requestOf({ ...form, worker: "agent", agent: "scribe", memory_mb: "256", cpus: "0.5" })).toEqual({
      name: "den",
      provider: { kind: "sandbox", limits: { memory_mb: 256, cpus: 0.5 } },
      agent: "scribe",
    });
    expect(requestOf({ ...form, worker: "program", program: `sh -c "echo 'a b'"` })).toEqual({
      name: "den",
      provider: { kind: "sandbox" },
      runtime: "resident",
      command: ["sh", "-c", "echo 'a b'"],
    });
    // A template says the rest.
    expect(requestOf({ ...form, template: "team", worker: "program", program: "x" })).toEqual({
      name: "den",
      template: "team",
    });
    expect(requestOf({ ...form, kind: "memory", memory_mb: "5" })).toMatchObject({
      provider: { kind: "memory" },
    });
  });

  it("says what is missing", () => {
    const form = { ...emptyForm, name: "den", kind: "sandbox" };
    expect(missing(form)).toBeUndefined();
    expect(missing({ ...form, name: " " })).toContain("name");
    expect(missing({ ...form, worker: "program" })).toContain("program");
    expect(missing({ ...form, worker: "agent" })).toContain("agent");
    expect(missing({ ...form, worker: "agent", template: "t" })).toBeUndefined();
  });

  it("reads a command line as words", () => {
    expect(wordsOf("python3 agent.py --name 'a b' \"c d\"")).toEqual([
      "python3",
      "agent.py",
      "--name",
      "a b",
      "c d",
    ]);
    expect(wordsOf("a\\ b --x='y z'")).toEqual(["a b", "--x=y z"]);
    expect(wordsOf("   ")).toEqual([]);
  });

  it("gets a stored agent by the dialog, and what does not work here cannot be chosen", async () => {
    const warren = new FakeWarren();
    warren.agents = [{ name: "scribe", model: "scripted/echo" }];
    const { user } = openPage(warren);
    await user.click(await screen.findByRole("button", { name: "New workspace" }));
    const dialog = await screen.findByRole("dialog", { name: "New workspace" });
    const off = await within(dialog).findByRole<HTMLInputElement>("radio", { name: /docker/ });
    expect(off.disabled).toBe(true);
    expect(dialog.textContent).toContain("no Docker daemon answers");
    await user.type(within(dialog).getByLabelText("Name"), "den");
    await user.click(within(dialog).getByRole("radio", { name: /A stored agent/ }));
    await within(dialog).findByRole("option", { name: "scribe (scripted/echo)" });
    await user.click(within(dialog).getByRole("button", { name: "Create workspace" }));
    await waitFor(() => expect(warren.created).toMatchObject([{ name: "den", agent: "scribe" }]));
  });
});

// S41
it("Ctrl K and a few letters open a workspace", async () => {
  const warren = new FakeWarren();
  warren.add({ name: "den" });
  const second = warren.add({ name: "nest-a" });
  const third = warren.add({ name: "nest-b" });
  const { user } = openPage(warren);
  await screen.findByRole("link", { name: /nest-b/ });
  await user.keyboard("{Control>}k{/Control}nest{Enter}");
  await waitFor(() => expect(window.location.pathname).toContain(second.id));
  await user.keyboard("{Control>}k{/Control}nest{ArrowDown}{Enter}");
  await waitFor(() => expect(window.location.pathname).toContain(third.id));
  expect(screen.getByLabelText<HTMLInputElement>("Search workspaces").value).toBe("");
});
