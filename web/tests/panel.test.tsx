// @vitest-environment jsdom
import { act, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ExecFrame } from "../src/api/types";
import { base64, FakeWarren, finished } from "./fakeWarren";
import { openPage } from "./page";

const bytes = (text: string) => new TextEncoder().encode(text);

// S41
describe("the files tab", () => {
  it("shows, edits and saves a file, and keeps the draft over a reload", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.files.set("notes.md", bytes("one"));
    const first = openPage(warren, `/workspaces/${den.id}/files`);
    await first.user.click(await screen.findByRole("button", { name: /notes\.md/ }));
    await first.user.type(await screen.findByLabelText("Text of notes.md"), " two");
    first.page.unmount();

    const { user } = openPage(warren, `/workspaces/${den.id}/files?path=notes.md`);
    const text = await screen.findByLabelText<HTMLTextAreaElement>("Text of notes.md");
    expect(text.value).toBe("one two");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(new TextDecoder().decode(warren.files.get("notes.md"))).toBe("one two"));
    expect(await screen.findByText("No unsaved changes")).toBeTruthy();
  });

  it("says when the file changed underneath, and overwrites it only when told to", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.files.set("notes.md", bytes("one"));
    const { user } = openPage(warren, `/workspaces/${den.id}/files?path=notes.md`);
    await user.type(await screen.findByLabelText("Text of notes.md"), "!");
    await screen.findByText("Live");
    warren.files.set("notes.md", bytes("theirs"));
    warren.emit("workspace.file.changed", den.id, { operation: "write", path: "notes.md" });
    expect(await screen.findByText("This file changed since you began editing.")).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>("button", { name: "Save" }).disabled).toBe(true);
    await user.click(screen.getByRole("button", { name: "Keep mine" }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(new TextDecoder().decode(warren.files.get("notes.md"))).toBe("one!"));
  });

  it("says of files that cannot be read again that they are as last read", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.files.set("notes.md", bytes("one"));
    const { user } = openPage(warren, `/workspaces/${den.id}/files?path=notes.md`);
    await screen.findByLabelText("Text of notes.md");
    warren.refusal = {
      code: "workspace_not_ready",
      status: 409,
      title: "The workspace is not ready.",
      remedy: "Wait.",
    };
    await user.click(screen.getByRole("button", { name: "Read the files again" }));
    expect(await screen.findAllByText(/This is as last read. The workspace is not ready./)).toHaveLength(2);
    expect(screen.getByLabelText<HTMLTextAreaElement>("Text of notes.md").value).toBe("one");
  });

  it("does not replace a file that exists by a new one", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.files.set("notes.md", bytes("precious"));
    const { user } = openPage(warren, `/workspaces/${den.id}/files`);
    await user.click(await screen.findByRole("button", { name: "New file" }));
    await user.type(screen.getByLabelText("Path inside the workspace"), "notes.md");
    await user.click(screen.getByRole("button", { name: "Create file" }));
    expect((await screen.findByRole("alert")).textContent).toContain("file_exists");
    expect(new TextDecoder().decode(warren.files.get("notes.md"))).toBe("precious");
  });

  it("shows names and contents as text, whatever they look like", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "<b>den</b>", reason: "<img src=x onerror=alert(1)>" });
    warren.files.set("<img src=x onerror=alert(1)>", bytes("<script>alert(1)</script>"));
    const { user } = openPage(warren, `/workspaces/${den.id}/files`);
    await user.click(await screen.findByRole("button", { name: /onerror/ }));
    await screen.findByLabelText("Text of <img src=x onerror=alert(1)>");
    expect(document.querySelector("img, script, b")).toBeNull();
  });

  it("offers what is not text for download", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.files.set("a.bin", new Uint8Array([0, 1, 2]));
    openPage(warren, `/workspaces/${den.id}/files?path=a.bin`);
    expect(await screen.findByText("This file is not text")).toBeTruthy();
    const link = screen.getByRole("link", { name: "Download a.bin" });
    expect(link.getAttribute("href")).toBe(`/api/v1/workspaces/${den.id}/files?path=a.bin`);
  });
});

// S41
describe("the run tab", () => {
  it("shows output as it comes, then the exit code, and survives a change of tab", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    let send: (frame: ExecFrame) => void = () => undefined;
    warren.onExec = (to, body) => {
      expect(body).toEqual({ command: "make all" });
      send = to;
    };
    const { user } = openPage(warren, `/workspaces/${den.id}/run`);
    await user.type(await screen.findByLabelText("Command"), "make all{Enter}");
    await screen.findByRole("button", { name: "Stop" });
    // A character cut in two arrives whole.
    const [head, tail] = [bytes("grün").slice(0, 3), bytes("grün").slice(3)];
    await act(async () => send({ type: "stdout", base64: Buffer.from(head).toString("base64") }));
    await user.click(screen.getByRole("link", { name: "Health" }));
    await act(async () => send({ type: "stdout", base64: Buffer.from(tail).toString("base64") }));
    await act(async () => send({ type: "stderr", base64: base64("\nwarning") }));
    await user.click(screen.getByRole("link", { name: "Run" }));
    const output = await screen.findByRole("log", { name: "Output of make all" });
    await waitFor(() => expect(output.textContent).toBe("grün\nwarning"));
    await act(async () => send({ type: "finished", result: finished(3) }));
    expect(await screen.findByText("exit code 3")).toBeTruthy();
  });

  it("says when the connection broke before the command ended", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.onExec = (send) => send({ type: "stdout", base64: base64("half") });
    const { user } = openPage(warren, `/workspaces/${den.id}/run`);
    await user.type(await screen.findByLabelText("Command"), "make all{Enter}");
    await screen.findByText("half");
    warren.die();
    expect(await screen.findByText("end not seen")).toBeTruthy();
    expect(screen.getByText("half")).toBeTruthy();
  });

  it("stops a command when asked", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.onExec = () => undefined;
    const { user } = openPage(warren, `/workspaces/${den.id}/run`);
    await user.type(await screen.findByLabelText("Command"), "sleep 60{Enter}");
    await user.click(await screen.findByRole("button", { name: "Stop" }));
    expect(await screen.findByText("stopped")).toBeTruthy();
  });

  it("shows why a command was not run", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den" });
    warren.onExec = (send) =>
      send({
        type: "failed",
        problem: {
          type: "/docs/errors#program_not_found",
          code: "program_not_found",
          status: 422,
          title: "The program was not found.",
          remedy: "Name a program that exists.",
          request_id: "req-9",
        },
      });
    const { user } = openPage(warren, `/workspaces/${den.id}/run`);
    await user.type(await screen.findByLabelText("Command"), "nope{Enter}");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("The program was not found.");
    expect(alert.textContent).toContain("req-9");
  });

  it("is honest about a workspace without a shell", async () => {
    const warren = new FakeWarren();
    const den = warren.add({ name: "den", capabilities: ["fs"] });
    openPage(warren, `/workspaces/${den.id}/run`);
    expect(await screen.findByText("This workspace runs no commands")).toBeTruthy();
  });
});
