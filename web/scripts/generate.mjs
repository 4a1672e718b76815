// Writes src/api/schema.d.ts from openapi/v1.json; with --check, fails when the committed file is stale.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import openapiTypescript, { astToString } from "openapi-typescript";

const root = join(import.meta.dirname, "..");
const source = join(root, "..", "openapi", "v1.json");
const target = join(root, "src", "api", "schema.d.ts");
const header = "// Generated from openapi/v1.json by `npm run generate`. Do not edit.\n\n";

if (!existsSync(source)) {
  console.error("openapi/v1.json is missing; the server's build writes it.");
  process.exit(1);
}
const nodes = await openapiTypescript(pathToFileURL(source), { emptyObjectsUnknown: true });
const text = header + astToString(nodes);

if (!process.argv.includes("--check")) {
  writeFileSync(target, text);
  console.log("wrote src/api/schema.d.ts");
} else if (readFileSync(target, "utf8") !== text) {
  console.error("src/api/schema.d.ts is not what openapi/v1.json makes; run `npm run generate`.");
  process.exit(1);
} else {
  console.log("src/api/schema.d.ts is fresh");
}
