// @vitest-environment jsdom
import { cleanup, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { secretOf } from "../src/features/signIn/signIn";
import { FakeWarren } from "./fakeWarren";
import { openPage } from "./page";

function signedOutWarren(): FakeWarren {
  const warren = new FakeWarren();
  warren.isSignedIn = false;
  return warren;
}

// F31
describe("signing in", () => {
  it("by a link opens the page and leaves no secret in the address bar", async () => {
    const warren = signedOutWarren();
    openPage(warren, "/map#sign-in=good-link");
    expect(await screen.findByRole("link", { name: "Events" })).toBeTruthy();
    expect(window.location.href).not.toContain("good-link");
    expect(window.location.pathname).toBe("/map");
    expect(warren.calls.filter((call) => call === "POST /api/v1/sign-in")).toHaveLength(1);
  });

  it("by a link that was used says so and how to get another", async () => {
    openPage(signedOutWarren(), "/#sign-in=used-link");
    expect(await screen.findByRole("heading", { name: "This link no longer works" })).toBeTruthy();
    expect(screen.getByText("warren token link")).toBeTruthy();
    expect(screen.getByText("token_expired")).toBeTruthy();
  });

  it("by a used link changes nothing for somebody who is signed in already", async () => {
    openPage(new FakeWarren(), "/#sign-in=used-link");
    expect(await screen.findByRole("link", { name: "Events" })).toBeTruthy();
  });

  it("without a link asks for one, and takes a pasted one", async () => {
    const { user } = openPage(signedOutWarren(), "/events");
    const field = await screen.findByLabelText("Or paste a sign-in link here");
    await user.type(field, "http://127.0.0.1:7878/#sign-in=good-link");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByRole("heading", { name: "Events" })).toBeTruthy();
    expect(window.location.pathname).toBe("/events");
  });

  it("again after the session ended goes on in the same place with what was typed", async () => {
    const warren = new FakeWarren();
    const workspace = warren.add({ name: "den" });
    const { user } = openPage(warren, `/workspaces/${workspace.id}/run`);
    await user.type(await screen.findByLabelText("Command"), "make all");
    warren.isSignedIn = false;
    await user.click(screen.getByRole("button", { name: "Pause" }));
    expect(await screen.findByRole("heading", { name: "Your session has ended" })).toBeTruthy();
    await user.type(screen.getByLabelText("Or paste a sign-in link here"), "good-link");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByRole("link", { name: "Run" })).toBeTruthy();
    expect(screen.queryByRole("heading", { name: "Your session has ended" })).toBeNull();
    expect(screen.getByLabelText<HTMLTextAreaElement>("Command").value).toBe("make all");
  });

  // F38
  it("by the organisation's provider is a button where there is one, and the way there", async () => {
    const warren = signedOutWarren();
    openPage(warren);
    expect(await screen.findByRole("heading", { name: "Sign in to Warren" })).toBeTruthy();
    expect(screen.queryByRole("link", { name: /^Sign in with/ })).toBeNull();
    cleanup();
    warren.provider = { name: "Example", path: "/api/v1/sign-in/provider" };
    openPage(warren);
    const button = await screen.findByRole("link", { name: "Sign in with Example" });
    expect(button.getAttribute("href")).toBe("/api/v1/sign-in/provider");
  });

  // F38
  it("by a provider that failed says why, what to do, and nothing that a stranger put into the link", async () => {
    const warren = signedOutWarren();
    openPage(warren, "/#sign-in-failed=sign_in_clock&request=req-7");
    expect(await screen.findByRole("heading", { name: "The clocks disagree" })).toBeTruthy();
    expect(screen.getByText("sign_in_clock")).toBeTruthy();
    expect(screen.getByText("req-7")).toBeTruthy();
    expect(window.location.hash).toBe("");
    cleanup();
    openPage(warren, "/#sign-in-failed=a_code_of_tomorrow&request=%3Cb%3E");
    expect(await screen.findByRole("heading", { name: "The sign-in did not succeed" })).toBeTruthy();
    expect(screen.queryByText("<b>")).toBeNull();
    cleanup();
    openPage(warren, "/#sign-in-failed=Call%20555");
    expect(await screen.findByRole("heading", { name: "Sign in to Warren" })).toBeTruthy();
    cleanup();
    openPage(new FakeWarren(), "/#sign-in-failed=sign_in_denied");
    expect(await screen.findByRole("link", { name: "Events" })).toBeTruthy();
  });

  it("takes the secret out of a link or takes it as it is", () => {
    expect(secretOf(" http://h:1/#sign-in=wrn_login_a%2Bb \n")).toBe("wrn_login_a+b");
    expect(secretOf("wrn_login_ab")).toBe("wrn_login_ab");
  });
});
