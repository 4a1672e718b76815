// @vitest-environment jsdom
import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { Markdown } from "../src/components/Markdown";

afterEach(cleanup);

function shown(text: string): HTMLElement {
  return render(<Markdown text={text} />).container;
}

// S41
describe("markdown", () => {
  it("renders headings below the page's own, lists, tables, quotes and code", () => {
    const page = shown(
      "# Top\n\n1. one\n2. two\n\n- [x] done\n- [ ] open\n\n| a | b |\n|---|--:|\n| 1 | **2** |\n\n> said\n\n```ts\nlet a = `1`;\n```\n\nand *so* `on` ~~off~~",
    );
    expect(screen.getByRole("heading", { level: 3, name: "Top" })).toBeTruthy();
    expect(page.querySelectorAll("ol > li")).toHaveLength(2);
    expect(screen.getAllByRole("checkbox").map((box) => (box as HTMLInputElement).checked)).toEqual([
      true,
      false,
    ]);
    expect(within(screen.getByRole("table")).getByRole("cell", { name: "2" }).innerHTML).toBe(
      "<strong>2</strong>",
    );
    expect(page.querySelector("blockquote")?.textContent).toBe("said");
    expect(page.querySelector("pre")?.textContent).toBe("let a = `1`;");
    expect(page.querySelector(".markdown > p")?.innerHTML).toBe(
      "and <em>so</em> <code>on</code> <del>off</del>",
    );
  });

  it("makes no element of what an author wrote as HTML", () => {
    for (const text of [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "a <b onclick=x>b</b>",
      "`<i>`",
      "```\n<iframe src=x>\n```",
      "| <svg onload=x> |\n|---|\n| <u>x</u> |",
    ]) {
      const page = shown(text);
      expect(page.querySelector("script, img, b, i, iframe, svg, u"), text).toBeNull();
      cleanup();
    }
    expect(shown("`<i>` & <b>").textContent).toBe("<i> & <b>");
  });

  it("never hides where a link leads, and links nothing that runs", () => {
    const page = shown("[my bank](https://evil.example/x)");
    expect(page.textContent).toBe("my bank (https://evil.example/x)");
    const link = screen.getByRole("link");
    expect([link.getAttribute("href"), link.getAttribute("rel")]).toEqual([
      "https://evil.example/x",
      "noopener noreferrer nofollow",
    ]);
    cleanup();
    for (const text of [
      "[x](javascript:alert(1))",
      "[x](data:text/html,y)",
      "https://you:me@evil.example/",
      "[x](/workspaces)",
    ]) {
      const other = shown(text);
      expect(other.querySelector("a"), text).toBeNull();
      expect(other.textContent, text).toBe(text);
      cleanup();
    }
  });

  it("fetches no image, and says where it is", () => {
    const page = shown("![a cat](https://pictures.example/cat.png)");
    expect(page.querySelector("img")).toBeNull();
    expect(page.textContent).toBe("a cat (https://pictures.example/cat.png)");
  });

  it("keeps every character of what is no markup, and lines as they were typed", () => {
    for (const text of ["**", "a ** b", "`", "[", "[]()", "2 * 3 * 4", "a & b", "x < y"]) {
      expect(shown(text).textContent).toBe(text);
      cleanup();
    }
    expect(shown("one\ntwo").innerHTML).toContain("one<br>two");
  });

  it("that is very long is shown as it was written", () => {
    const text = "# no heading\n".repeat(20_000);
    expect(shown(text).querySelector("pre")?.textContent).toBe(text);
  });
});
