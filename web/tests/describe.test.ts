import { expect, it, describe as suite } from "vitest";
import type { Schedule, ScheduleRun, WarrenEvent } from "../src/api/types";
import { describe } from "../src/features/events/describe";
import { nextOf, runOf, timesOf } from "../src/features/schedules/words";

function told(kind: string, data: Record<string, unknown> = {}) {
  return describe({
    seq: 1,
    at: "",
    kind,
    workspace_id: "a",
    principal: { kind: "user", id: "x" },
    data,
  } as unknown as WarrenEvent);
}

// S42
suite("an event as a sentence", () => {
  it("tells of work and its end, of questions and of schedules", () => {
    expect(told("exchange.task.changed", { to: "input_required" })).toEqual({
      text: "asks back before it goes on",
      tone: "warn",
    });
    expect(told("exchange.task.changed", { to: "failed", reason: "lease_lost" })).toEqual({
      text: "could not do its work: lease lost",
      tone: "bad",
    });
    expect(told("exchange.approval.requested", { action: "deploy" }).text).toBe(
      "asks for a decision: deploy",
    );
    expect(told("exchange.schedule.skipped", { name: "pulse", reason: "overlap" }).text).toBe(
      "was not told by its schedule pulse: overlap",
    );
  });

  it("is the kind itself where this page does not know it, and never fails for what is missing", () => {
    expect(told("exchange.future.thing").text).toBe("exchange.future.thing");
    for (const kind of ["exchange.task.changed", "exchange.schedule.fired", "chat.conversation.removed"]) {
      expect(told(kind).text).toContain("?");
    }
  });
});

// X40
suite("a schedule in words", () => {
  it("tells when it fires", () => {
    const times = (fields: Partial<Schedule>) => timesOf(fields as Schedule);
    expect(times({ cron: "0 9 * * *", time_zone: "Europe/Zurich" })).toBe("0 9 * * * (Europe/Zurich)");
    expect(times({ every_seconds: 3_600 })).toBe("every hour");
    expect(times({ every_seconds: 5_400 })).toBe("every 90 minutes");
    expect(times({ every_seconds: 61 })).toBe("every 61 seconds");
    expect(nextOf({ is_paused: true } as Schedule)).toBe("Paused");
    expect(nextOf({ is_paused: false, next_at: null } as Schedule)).toBe("Fires no more");
  });

  it("tells what became of its slots, with the reason", () => {
    const run = (fields: Partial<ScheduleRun>) =>
      runOf({ slots: 1, cause: "slot", ...fields } as ScheduleRun);
    expect(run({ state: "fired" })).toBe("was sent");
    expect(run({ state: "skipped", slots: 7, reason: "catch_up_limit" })).toBe(
      "7 slots were skipped: catch up limit",
    );
    expect(run({ state: "failed", reason: "queue_full" })).toBe("could not be sent: queue full");
  });
});
