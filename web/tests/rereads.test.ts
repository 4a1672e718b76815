import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";
import { Rereads } from "../src/features/events/rereads";

/** A query whose answers the test gives, one by one. */
function watched() {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const asked: ((answer: string) => void)[] = [];
  const queryFn = () => new Promise<string>((resolve) => asked.push(resolve));
  const observer = new QueryObserver(queries, { queryKey: ["x", "y"], queryFn });
  observer.subscribe(() => undefined);
  return { queries, asked, shown: () => queries.getQueryData(["x", "y"]) };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 5));

// X30
describe("what is read again", () => {
  it("is read once more after a flood, and never cut short by it", async () => {
    const { queries, asked, shown } = watched();
    asked[0]?.("first");
    await soon();
    const rereads = new Rereads(queries);
    for (let count = 0; count < 100; count += 1) rereads.again(["x"]);
    await soon();
    expect(asked).toHaveLength(2);
    asked[1]?.("second");
    await soon();
    expect(shown()).toBe("second");
    expect(asked).toHaveLength(3);
    asked[2]?.("third");
    await soon();
    expect([shown(), asked.length]).toEqual(["third", 3]);
  });

  it("is read once more when the first reading began before the event", async () => {
    const { queries, asked, shown } = watched();
    new Rereads(queries).again(["x"]);
    asked[0]?.("read before the event");
    await soon();
    expect(asked).toHaveLength(2);
    asked[1]?.("read after it");
    await soon();
    expect(shown()).toBe("read after it");
  });
});
