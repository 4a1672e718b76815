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

// X30
describe("what is read again", () => {
  it("is read once more after a flood, and never cut short by it", async () => {
    const { queries, asked, shown } = watched();
    asked[0]?.("first");
    await expect.poll(shown).toBe("first");
    const rereads = new Rereads(queries);
    for (let count = 0; count < 100; count += 1) rereads.again(["x"]);
    expect(asked).toHaveLength(2);
    asked[1]?.("second");
    await expect.poll(() => asked.length).toBe(3);
    expect(shown()).toBe("second");
    asked[2]?.("third");
    await expect.poll(shown).toBe("third");
    expect(asked).toHaveLength(3);
  });

  it("is read once more when the first reading began before the event", async () => {
    const { queries, asked, shown } = watched();
    new Rereads(queries).again(["x"]);
    asked[0]?.("read before the event");
    await expect.poll(() => asked.length).toBe(2);
    asked[1]?.("read after it");
    await expect.poll(shown).toBe("read after it");
  });
});
