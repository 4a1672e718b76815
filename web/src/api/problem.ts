// What went wrong, as one error type: the server's problem documents (RFC 9457), and the two failures that
// only a page can see: nobody answered, or somebody answered who is not Warren. Match on `code`.
import type { ProblemDocument } from "./types";

export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string | undefined;
  readonly remedy: string;
  readonly requestId: string | undefined;

  constructor(document: Omit<ProblemDocument, "type" | "request_id"> & { request_id?: string }) {
    super(document.title);
    this.name = "Problem";
    this.code = document.code;
    this.status = document.status;
    this.title = document.title;
    this.detail = document.detail ?? undefined;
    this.remedy = document.remedy;
    this.requestId = document.request_id;
  }
}

export function unreachable(): Problem {
  return new Problem({
    code: "server_unreachable",
    status: 0,
    title: "The server does not answer.",
    remedy: "Start it with `warren up`. This page goes on by itself when it is back.",
  });
}

/** Reads the problem document of an answer that is not a success. */
export async function problemOf(response: Response): Promise<Problem> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  try {
    const document: unknown = await response.json();
    if (isProblemDocument(document)) return new Problem(document);
  } catch {
    // Not JSON: something between the page and Warren answered; the sentence below says so.
  }
  return new Problem({
    code: "unexpected_answer",
    status: response.status,
    title: `The server answered ${response.status} without saying why.`,
    remedy: "Try again. If something stands between this page and Warren, look at its log.",
    request_id: requestId,
  });
}

/** Anything that was thrown, as a problem that can be shown. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem({
    code: "page_fault",
    status: 0,
    title: "Something went wrong in this page.",
    detail: thrown instanceof Error ? thrown.message : String(thrown),
    remedy: "Reload the page. What you typed is kept.",
  });
}

export function isSignedOut(thrown: unknown): boolean {
  return thrown instanceof Problem && thrown.status === 401;
}

export function isUnreachable(thrown: unknown): boolean {
  return thrown instanceof Problem && thrown.code === "server_unreachable";
}

/** Failures of the platform rather than of the request: they pass, and asking again may help. */
export function isPassing(thrown: unknown): boolean {
  if (!(thrown instanceof Problem)) return false;
  return ["server_unreachable", "platform_unavailable", "shutting_down", "too_many_requests"].includes(
    thrown.code,
  );
}

function isProblemDocument(value: unknown): value is ProblemDocument {
  if (typeof value !== "object" || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ["code", "title", "remedy"].every((name) => typeof fields[name] === "string");
}
