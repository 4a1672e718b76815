import { describe, expect, it } from "vitest";
import { Problem } from "../src/api/problem";
import type { Invitation, Org, User, WarrenEvent } from "../src/api/types";
import { madeStale, nothingStale } from "../src/features/events/staleness";
import { principalName } from "../src/features/people/names";
import {
  fieldsOf,
  inOrder,
  invitationLine,
  invitationRefusal,
  isName,
  quotasOf,
  roleWord,
  suggestedName,
  usageRows,
} from "../src/features/people/words";
import { placeOf } from "../src/routes/router";

// F9, S40
describe("people in words", () => {
  it("roles say what somebody is, and who runs this Warren besides", () => {
    expect(roleWord("viewer", false)).toBe("Viewer");
    expect(roleWord("operator", true)).toBe("Operator, admin");
    expect(roleWord(null, true)).toBe("Admin");
    expect(roleWord(undefined, false)).toBe("Not in the org");
  });

  it("a person is called by name, and without one by the end of the id, never by all of it", () => {
    const id = "01a1ee2d-cf23-7cd6-aebc-91fe43ad6516";
    const known = new Map([[id, "Vera View"]]);
    expect(principalName({ kind: "user", id }, known)).toBe("Vera View");
    expect(principalName({ kind: "user", id, name: "Vera then" }, known)).toBe("Vera then");
    expect(principalName({ kind: "user", id }, new Map())).toBe("person ad6516");
    expect(principalName({ kind: "workspace", id }, known, new Map([[id, "den"]]))).toBe("den");
    expect(principalName({ kind: "workspace", id }, known)).toBe("workspace ad6516");
    expect(principalName({ kind: "system", id: "scheduler" }, known)).toBe("Warren");
  });

  it("those who left come last", () => {
    const user = (display_name: string, left_at?: string): User => ({
      id: display_name,
      name: display_name,
      display_name,
      is_admin: false,
      role: "member",
      since: null,
      left_at,
    });
    const listed = inOrder([user("Zoe"), user("Ada", "2026-01-01T00:00:00Z"), user("Bo")]);
    expect(listed.map(({ name }) => name)).toEqual(["Bo", "Zoe", "Ada"]);
  });

  it("a short name is suggested from the shown one, and is one that the server takes", () => {
    expect(suggestedName("Ada Lovelace")).toBe("ada-lovelace");
    expect(suggestedName("  Zoë Ñandú! ")).toBe("zoe-nandu");
    expect(suggestedName("日本")).toBe("");
    for (const name of ["ada", "a.b_c-d", "0", "a".repeat(63)]) expect(isName(name), name).toBe(true);
    for (const name of ["", "Ada", "-a", "a b", "a".repeat(64)]) expect(isName(name), name).toBe(false);
  });

  it("an invitation says how it stands", () => {
    const one = { state: "open", email: null, used_by: null } as unknown as Invitation;
    const nameOf = () => "Ada";
    expect(invitationLine(one, nameOf)).toBe("waits for whoever has the link");
    expect(invitationLine({ ...one, email: "a@b.example" }, nameOf)).toBe("waits for a@b.example");
    expect(invitationLine({ ...one, state: "used", used_by: { kind: "user", id: "1" } }, nameOf)).toBe(
      "taken by Ada",
    );
    expect(invitationLine({ ...one, state: "revoked" }, nameOf)).toBe("taken back");
  });

  it("each way in which an invitation can fail has words of its own", () => {
    const codes = ["used", "expired", "revoked", "for_another", "not_found"];
    const titles = codes.map((code) => {
      const problem = new Problem({ code: `invitation_${code}`, status: 410, title: "t", remedy: "r" });
      return invitationRefusal(problem).title;
    });
    expect(new Set(titles).size).toBe(codes.length);
    const other = new Problem({ code: "server_unreachable", status: 0, title: "Away", remedy: "Wait." });
    expect(invitationRefusal(other)).toEqual({ title: "Away", remedy: "Wait." });
  });
});

// F9
describe("quotas", () => {
  it("come back from the form as they went in, and what is empty has no limit", () => {
    const quotas = { max_workspaces: 3, monthly_spend_micros: 2_500_000, max_tier: "basic" as const };
    expect(quotasOf(fieldsOf(quotas))).toEqual(quotas);
    expect(quotasOf(fieldsOf({}))).toEqual({});
    expect(quotasOf({ ...fieldsOf({}), max_members: "0" })).toEqual({ max_members: 0 });
  });

  it("are shown beside what is used", () => {
    const usage = {
      workspaces: 2,
      members: 4,
      sessions_running: 0,
      month: "2026-11",
      spent_micros: 1_230_000,
    };
    const org = { quotas: { max_workspaces: 3, monthly_spend_micros: 5_000_000 }, usage } as Org;
    expect(usageRows(org)).toEqual([
      ["Workspaces", "2 of 3"],
      ["People", "4 of any number"],
      ["Sessions at work", "0 of any number"],
      ["Spent in 2026-11", "1.23 of 5.00"],
      ["Highest tier", "any"],
    ]);
  });
});

// S40
it("an event about people makes people stale, and nothing else", () => {
  const event = { kind: "identity.user.changed", workspace_id: null } as unknown as WarrenEvent;
  expect(madeStale(nothingStale, event)).toEqual({ ...nothingStale, people: true });
});

it("people have a place of their own", () => {
  expect(placeOf("/people", "")).toEqual({ page: "people" });
});
