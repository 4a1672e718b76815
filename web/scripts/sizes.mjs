// Prints what a first visit loads, compressed, and fails past the budget of S45.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 300_000;
const dist = join(import.meta.dirname, "..", "dist");
const html = readFileSync(join(dist, "index.html"), "utf8");
const gzipped = (path) => gzipSync(readFileSync(path), { level: 9 }).length;
const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

let first = gzipped(join(dist, "index.html"));
for (const name of readdirSync(join(dist, "assets")).sort()) {
  const bytes = gzipped(join(dist, "assets", name));
  const isFirst = html.includes(name);
  if (isFirst) first += bytes;
  console.log(
    `${isFirst ? "first load" : "on demand "}  ${kilobytes(bytes).padStart(9)} gzip  assets/${name}`,
  );
}
console.log(`first load in all: ${kilobytes(first)} gzip of ${kilobytes(BUDGET_BYTES)} allowed`);
if (first > BUDGET_BYTES) {
  console.error("The first load is over its budget; load something on demand.");
  process.exit(1);
}
