// How long to wait before trying again.

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

/** Doubles up to a ceiling; the upper half is random, so that many pages do not come back at the same moment. */
export function backoffMs(attempt: number, random: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}
