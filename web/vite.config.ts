import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// In development the page comes from vite and the API from a running Warren.
const target = process.env.WARREN_URL ?? "http://127.0.0.1:7878";
const proxy = Object.fromEntries(
  ["/api", "/healthz", "/readyz"].map((path) => [
    path,
    // The server checks Host and Origin; to it, the page must look like its own.
    { target, changeOrigin: true, ws: true, headers: { origin: target } },
  ]),
);

export default defineConfig({
  plugins: [react()],
  server: { proxy },
  build: {
    // `light-dark()` and native nesting stay as written in the style sheets.
    target: ["chrome123", "firefox121", "safari17.5"],
    // The server's content policy allows scripts from files only.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  test: {
    environment: "node",
    include: ["tests/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    testTimeout: 60_000,
  },
});
