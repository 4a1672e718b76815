// Where somebody dragged nodes to, kept in this browser.
import type { Point } from "./layout";

const KEY = "warren.map";

export function readMoved(): Record<string, Point> {
  try {
    const stored: unknown = JSON.parse(window.localStorage.getItem(KEY) ?? "{}");
    if (typeof stored !== "object" || stored === null) return {};
    return Object.fromEntries(Object.entries(stored).filter(([, point]) => isPoint(point)));
  } catch {
    return {};
  }
}

export function writeMoved(moved: Record<string, Point>): void {
  try {
    window.localStorage.setItem(KEY, JSON.stringify(moved));
  } catch {
    // Without storage the places last as long as the page.
  }
}

function isPoint(value: unknown): value is Point {
  if (typeof value !== "object" || value === null) return false;
  const { x, y } = value as Record<string, unknown>;
  return Number.isFinite(x) && Number.isFinite(y);
}
