import { expect, describe as group, it } from "vitest";
import type { WarrenEvent } from "../src/api/types";
import { formatAgo, formatBytes, formatDuration } from "../src/components/format";
import { describe } from "../src/features/events/describe";

function sentence(kind: string, data: Record<string, unknown>): string {
  const principal = { kind: "user" as const, id: "operator" };
  return describe({ seq: 1, at: "2026-01-01T00:00:00Z", kind, principal, data } as unknown as WarrenEvent)
    .text;
}

// S42
group("events in words", () => {
  it("say what happened", () => {
    expect(sentence("workspace.status.changed", { to: "online" })).toBe("is online");
    expect(sentence("workspace.status.changed", { to: "failed", reason: "no space" })).toBe(
      "failed: no space",
    );
    expect(sentence("workspace.file.changed", { operation: "write", path: "a.txt", bytes: 1_500 })).toBe(
      "wrote a.txt (1.5 kB)",
    );
    expect(sentence("workspace.command.finished", { program: "ls", exit_code: 0, duration_ms: 12 })).toBe(
      "ran ls: exit code 0 in 12 ms",
    );
    expect(
      sentence("workspace.command.finished", { program: "ls", exit_code: null, signal: 9, duration_ms: 1 }),
    ).toBe("ran ls: ended by signal 9 in 1 ms");
    expect(sentence("workspace.tool.refused", { tool: "run", count: 3 })).toBe(
      "refused the tool run 3 times",
    );
  });

  it("of a kind this page does not know are shown by their name", () => {
    expect(sentence("galaxy.star.exploded", {})).toBe("galaxy.star.exploded");
  });

  it("survive data of the wrong shape", () => {
    expect(sentence("workspace.file.changed", { operation: 1, path: null })).toBe("changed a file");
    expect(sentence("workspace.spec.changed", { fields: "name" })).toBe("was changed");
  });
});

// S42
group("numbers and times in words", () => {
  it("are short", () => {
    expect([0, 999, 1_000, 9_950, 12_345, 999_900, 5_000_000_000].map(formatBytes)).toEqual([
      "0 B",
      "999 B",
      "1.0 kB",
      "9.9 kB",
      "12 kB",
      "1.0 MB",
      "5.0 GB",
    ]);
    expect([12, 1_430, 61_000, 3_720_000].map(formatDuration)).toEqual([
      "12 ms",
      "1.4 s",
      "1 min 1 s",
      "1 h 2 min",
    ]);
    const now = Date.parse("2026-01-01T12:00:00Z");
    expect(formatAgo("2026-01-01T11:59:58Z", now)).toBe("now");
    expect(formatAgo("2026-01-01T11:15:00Z", now)).toBe("45 min ago");
    expect(formatAgo("2025-12-30T12:00:00Z", now)).toBe("2 d ago");
    expect(formatAgo("nonsense", now)).toBe("nonsense");
  });
});
