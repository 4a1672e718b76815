import { describe, expect, it } from "vitest";
import { hrefOf, type Place, placeOf } from "../src/routes/router";

// S41
describe("the addresses of the page", () => {
  const places: [string, Place][] = [
    ["/", { page: "overview" }],
    ["/map", { page: "map" }],
    ["/events", { page: "events" }],
    ["/approvals", { page: "approvals" }],
    ["/settings", { page: "settings" }],
    ["/audit", { page: "audit" }],
    ["/docs/api", { page: "api" }],
    ["/workspaces/w1/files", { page: "workspace", id: "w1", tab: "files", path: "" }],
    [
      "/workspaces/w1/files?path=a+b%2Fc%26d.md",
      { page: "workspace", id: "w1", tab: "files", path: "a b/c&d.md" },
    ],
    [
      "/workspaces/w1/chat?conversation=c1",
      { page: "workspace", id: "w1", tab: "chat", path: "", conversation: "c1" },
    ],
    ["/workspaces/w1/terminal", { page: "workspace", id: "w1", tab: "terminal", path: "" }],
    ["/workspaces/w1/health", { page: "workspace", id: "w1", tab: "health", path: "" }],
  ];

  it("lead to their places and back", () => {
    for (const [href, place] of places) {
      const url = new URL(href, "http://page");
      expect(placeOf(url.pathname, url.search)).toEqual(place);
      expect(hrefOf(place)).toBe(href);
    }
  });

  it("leave it to the workspace where it opens when no tab is named", () => {
    const place = placeOf("/workspaces/w1", "");
    expect(place).toEqual({ page: "workspace", id: "w1", tab: undefined, path: "" });
    expect(hrefOf(place)).toBe("/workspaces/w1");
  });

  it("say of anything else that it is unknown", () => {
    for (const path of ["/nowhere", "/workspaces", "/workspaces/w1/rockets", "/map/x", "/%E0%A4%A"]) {
      expect(placeOf(path, "").page).toBe("unknown");
    }
  });
});
