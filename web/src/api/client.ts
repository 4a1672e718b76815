// The one door to the server. Every answer that is not a success is thrown as a `Problem`.
import createClient from "openapi-fetch";
import { Problem, problemOf, unreachable } from "./problem";
import type { paths } from "./schema";

export type Client = ReturnType<typeof createApi>;

/** `fetch` with the page's own header, which no other site can send, and with problems thrown. */
export async function request(input: Request | string, init?: RequestInit): Promise<Response> {
  const target = typeof input === "string" ? new URL(input, window.location.href) : input;
  const call = new Request(target, init);
  call.headers.set("x-warren-csrf", "1");
  let response: Response;
  try {
    response = await fetch(call);
  } catch (thrown) {
    if (call.signal.aborted) throw thrown;
    throw unreachable();
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** The typed client. A success without a body has no `data`: await the call. Use `answer` for all others. */
export function createApi(baseUrl = window.location.origin) {
  return createClient<paths>({ baseUrl, fetch: request });
}

export async function answer<T>(call: Promise<{ data?: T }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) {
    throw new Problem({
      code: "unexpected_answer",
      status: 200,
      title: "The server's answer was empty where content was expected.",
      remedy: "Reload the page; it may be older than the server.",
    });
  }
  return data;
}
