// @vitest-environment jsdom
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { OrgRole, User } from "../src/api/types";
import { FakeWarren, signedInAs } from "./fakeWarren";
import { openPage } from "./page";

function user(name: string, role: OrgRole, fields: Partial<User> = {}): User {
  return {
    id: name,
    name,
    display_name: `${name.charAt(0).toUpperCase()}${name.slice(1)} Person`,
    is_admin: false,
    role,
    since: "2026-01-01T00:00:00Z",
    ...fields,
  };
}

function warrenOf(role: OrgRole): FakeWarren {
  const warren = new FakeWarren();
  warren.me = signedInAs(role);
  warren.users = [
    { ...user("olga", "operator"), id: "operator", display_name: "Olga Operator" },
    user("vera", "viewer"),
  ];
  return warren;
}

const preview = {
  org: "default",
  role: "member",
  invited_by: "Olga Operator",
  expires_at: "2026-12-01T00:00:00Z",
  needs_provider: false,
};

// S40, F9
describe("who one is", () => {
  it("stands in the side bar with role and org, and there is nothing to switch with one org", async () => {
    openPage(warrenOf("member"));
    const who = await screen.findByRole("region", { name: "Who you are" });
    expect(who.textContent).toContain("Olga Operator");
    expect(who.textContent).toContain("Member in default");
    expect(within(who).queryByRole("combobox")).toBeNull();
  });

  it("another org is another page: everything is read again, and rights are those of there", async () => {
    const warren = warrenOf("operator");
    const first = { id: "org-1", name: "default", role: "operator" as const };
    const second = { id: "org-2", name: "second", role: "viewer" as const };
    warren.me = signedInAs("operator", { orgs: [first, second] });
    warren.add({ name: "den" });
    const { user: person } = openPage(warren, "/people");
    await screen.findByRole("button", { name: "Invite" });
    await person.selectOptions(screen.getByLabelText("Org in which you work"), "second");
    await screen.findByText("There is no workspace yet");
    expect(screen.getByRole("region", { name: "Who you are" }).textContent).toContain("Viewer in");
    expect(screen.queryByRole("button", { name: "New workspace" })).toBeNull();
    expect(screen.queryByText("den")).toBeNull();
    expect(window.location.pathname).toBe("/");
  });
});

// S40, X51
describe("the page of people", () => {
  it.each(["viewer", "member"] as const)(
    "shows a %s the list and nothing to change but their own name",
    async (role) => {
      const warren = warrenOf(role);
      openPage(warren, "/people");
      const list = await screen.findByRole("list", { name: "People of the org" });
      expect(within(list).getByText("Vera Person")).toBeTruthy();
      const buttons = within(list).getAllByRole("button");
      expect(buttons.map((one) => one.getAttribute("aria-label"))).toEqual([
        `Change ${warren.me.user?.display_name}`,
      ]);
      expect(screen.queryByRole("button", { name: "Invite" })).toBeNull();
      expect(screen.queryByText("Invitations")).toBeNull();
      expect(warren.calls.some((call) => call.includes("/invitations"))).toBe(false);
    },
  );

  it("lets an operator invite, shows the link once, and takes the invitation back", async () => {
    const warren = warrenOf("operator");
    const { user: person } = openPage(warren, "/people");
    await person.click(await screen.findByRole("button", { name: "Invite" }));
    await person.click(screen.getByRole("radio", { name: /^Viewer/ }));
    await person.click(screen.getByRole("button", { name: "Make the link" }));
    const link = await screen.findByLabelText<HTMLInputElement>("Link into default, as viewer");
    expect(link.value).toBe(`${window.location.origin}/#invitation=made-secret`);
    await person.click(screen.getByRole("button", { name: "Done" }));
    expect(screen.queryByDisplayValue(/made-secret/)).toBeNull();
    await person.click(await screen.findByRole("button", { name: "Take back the invitation as viewer" }));
    await screen.findByText("No invitation is open.");
  });

  it("asks before somebody is taken out, and says in words what the server refuses", async () => {
    const warren = warrenOf("operator");
    const { user: person } = openPage(warren, "/people");
    await person.click(await screen.findByRole("button", { name: "Take Vera Person out of default" }));
    expect(warren.users).toHaveLength(2);
    await person.click(screen.getByRole("button", { name: "Take out" }));
    await waitFor(() => expect(warren.users).toHaveLength(1));

    await person.click(screen.getByRole("button", { name: "Change Olga Operator" }));
    await person.click(screen.getByRole("radio", { name: /^Member/ }));
    await person.click(screen.getByRole("button", { name: "Save" }));
    expect((await screen.findByRole("alert")).textContent).toContain("last operator");
  });

  it("shows orgs to those who run this Warren alone", async () => {
    const warren = warrenOf("operator");
    warren.me = signedInAs("operator", { is_admin: true });
    warren.orgs = [{ id: "org-2", name: "second", created_at: "2026-01-01T00:00:00Z", quotas: {} }];
    openPage(warren, "/people");
    const orgs = await screen.findByRole("list", { name: "Orgs of this Warren" });
    expect(within(orgs).getByText("second")).toBeTruthy();
    expect(within(orgs).getByRole("button", { name: "Remove the org second" })).toBeTruthy();
  });
});

// S40
describe("an invitation", () => {
  function invited(): FakeWarren {
    const warren = warrenOf("member");
    warren.isSignedIn = false;
    warren.previews.set("good", preview);
    return warren;
  }

  it("says where it leads, takes a name, signs in, and leaves no secret in the address bar", async () => {
    const warren = invited();
    const { user: person } = openPage(warren, "/#invitation=good");
    expect(await screen.findByRole("heading", { name: "Join default" })).toBeTruthy();
    expect(screen.getByText(/invites you as/).textContent).toContain("Olga Operator");
    expect(window.location.href).not.toContain("good");
    await person.type(screen.getByLabelText("Name to be shown"), "Ada Lovelace");
    await person.click(screen.getByRole("button", { name: "Join" }));
    await screen.findByRole("link", { name: "People" });
    expect(warren.bodies).toEqual([{ secret: "good", name: "ada-lovelace", display_name: "Ada Lovelace" }]);
  });

  it("with a name that is taken says so and keeps what was typed", async () => {
    const warren = invited();
    warren.taken.add("ada");
    const { user: person } = openPage(warren, "/#invitation=good");
    await person.type(await screen.findByLabelText("Name to be shown"), "Ada");
    await person.click(screen.getByRole("button", { name: "Join" }));
    expect((await screen.findByRole("alert")).textContent).toContain("looks like it");
    expect(screen.getByLabelText<HTMLInputElement>("Short name").value).toBe("ada");
  });

  it.each([
    ["invitation_used", "This invitation was used already"],
    ["invitation_expired", "This invitation has expired"],
    ["invitation_revoked", "This invitation was taken back"],
    ["invitation_for_another", "This invitation is for somebody else"],
  ])("that fails with %s says why", async (code, title) => {
    const warren = invited();
    warren.previews.set("bad", { code, status: 410, title: "x", remedy: "y" });
    openPage(warren, "/#invitation=bad");
    expect(await screen.findByRole("heading", { name: title })).toBeTruthy();
  });

  it("made for an address leads to the provider with it", async () => {
    const warren = invited();
    warren.provider = { name: "Example", path: "/api/v1/sign-in/provider" };
    warren.previews.set("mine", { ...preview, needs_provider: true });
    const { user: person } = openPage(warren, "/#invitation=mine");
    await person.click(await screen.findByRole("button", { name: "Sign in with Example" }));
    // The secret is sent, and stands in no address.
    await waitFor(() => expect(warren.bodies).toEqual([{ invitation: "mine" }]));
    expect(warren.calls.filter((call) => call.includes("mine"))).toEqual([]);
    await waitFor(() => expect(window.location.hash).toBe("#at-the-provider"));
  });

  it("is joined by somebody who is signed in as who they are", async () => {
    const warren = invited();
    warren.isSignedIn = true;
    const { user: person } = openPage(warren, "/#invitation=good");
    await person.click(await screen.findByRole("button", { name: "Join as Olga Operator" }));
    await screen.findByRole("link", { name: "People" });
    expect(warren.bodies).toEqual([{ secret: "good" }]);
  });
});

// X51
describe("a viewer's page offers nothing that changes things", () => {
  const CHANGING = /^(new |create|delete|edit|pause|restart|run|save|rename|send|upload|start|approve|deny)/i;

  it.each(["", "/files?path=notes.txt", "/run", "/terminal", "/health"])(
    "in the workspace%s",
    async (tab) => {
      const warren = warrenOf("viewer");
      const den = warren.add({ name: "den" });
      warren.files.set("notes.txt", new TextEncoder().encode("text"));
      openPage(warren, tab ? `/workspaces/${den.id}${tab}` : "/");
      await screen.findByRole("heading", { level: 1 });
      if (tab.startsWith("/files")) {
        const text = await screen.findByLabelText<HTMLTextAreaElement>("Text of notes.txt");
        expect(text.readOnly).toBe(true);
      }
      const names = screen
        .getAllByRole("button")
        .map((one) => one.getAttribute("aria-label") ?? one.textContent);
      expect(names.filter((name) => CHANGING.test(name ?? ""))).toEqual([]);
    },
  );

  it("and says why where something would be", async () => {
    const warren = warrenOf("viewer");
    const den = warren.add({ name: "den" });
    openPage(warren, `/workspaces/${den.id}/run`);
    expect((await screen.findByRole("note")).textContent).toContain("You are a viewer in default");
  });
});
