// The client that `openapi-typescript` types and `openapi-fetch` calls. That it compiles is half of the test.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const [url = "", token = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
const TEXT = new Uint8Array([255, 0, 32, 98, 121, 116, 101, 115, 10]);

function known<T>(answer: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const body: components["schemas"]["CreateWorkspace"] = {
  name: "by-openapi-typescript",
  provider: { kind: "local", max_file_mb: null },
};
const made = known(await client.POST("/api/v1/workspaces", { body }));
const path = { id: made.id };
for (let turn = 0; ; turn++) {
  const { status } = known(await client.GET("/api/v1/workspaces/{id}", { params: { path } }));
  if (status === "online") break;
  if (turn > 400) throw new Error("the workspace does not come online");
  await new Promise((wake) => setTimeout(wake, 50));
}
const query = { path: "a/b.bin" };
const written = known(
  await client.PUT("/api/v1/workspaces/{id}/files", {
    params: { path, query },
    headers: { "content-type": "application/octet-stream" },
    body: "",
    bodySerializer: () => TEXT,
  }),
);
const argv = ["wc", "-c", "a/b.bin"];
const ran = known(await client.POST("/api/v1/workspaces/{id}/exec", { params: { path }, body: { argv } }));
const read = known(
  await client.GET("/api/v1/workspaces/{id}/files", { params: { path, query }, parseAs: "arrayBuffer" }),
);
const listed = known(
  await client.GET("/api/v1/workspaces/{id}/files/directory", { params: { path, query: { path: "a" } } }),
);
const missing = await client.GET("/api/v1/workspaces/{id}/files", { params: { path, query: { path: "none" } } });
const removed = await client.DELETE("/api/v1/workspaces/{id}", { params: { path } });
const seen = {
  provider: made.provider.kind,
  written: written.bytes,
  stdout: "stdout" in ran ? ran.stdout : "",
  read: Buffer.from(read).equals(TEXT),
  listed: listed.entries.map((entry) => entry.path),
  missing: missing.error?.code,
  removed: removed.response.ok,
};
console.log(JSON.stringify(seen));
