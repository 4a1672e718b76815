import { defineConfig } from "vitest/config";

// Browser tests: a real Chromium against a real server, one file at a time so that two cores suffice.
export default defineConfig({
  test: {
    environment: "node",
    include: ["e2e/**/*.e2e.ts"],
    globalSetup: ["e2e/setup.ts"],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
