// Sessions, their steps and what is done to them, through the query layer.
import {
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { Problem } from "../../api/problem";
import type {
  BusyMode,
  PendingWork,
  RememberDecision,
  RunLimits,
  SessionStatus,
  SessionStep,
  SessionStepPage,
} from "../../api/types";
import { Rereads } from "../events/rereads";
import { signedOut, useSignInState } from "../signIn/signIn";
import type { Snapshot } from "./conversation";
import { SessionStream, type StreamState } from "./stream";
import type { ShownMessage } from "./transcript";

const PAGE = 50;
const STEP_PAGE = 500;

export interface FullSnapshot extends Snapshot {
  pending: PendingWork;
}

export function useSessions(workspaceId: string, status: SessionStatus | undefined) {
  const api = useApi();
  return useInfiniteQuery({
    queryKey: keys.sessionList(workspaceId, status ?? "all"),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => {
      const query = { workspace_id: workspaceId, status, cursor, limit: PAGE };
      return answer(api.GET("/api/v1/sessions", { params: { query } }));
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}

/** The session's row, then its steps and what it waits for, which are thus at least as new as the row. */
export function useSnapshot(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  const queryKey = keys.session(workspaceId, session);
  return useQuery({
    queryKey,
    queryFn: () => readSnapshot(api, session, queries.getQueryData<FullSnapshot>(queryKey)),
  });
}

async function readSnapshot(api: Client, name: string, known?: FullSnapshot): Promise<FullSnapshot> {
  const params = { path: { session: name } };
  const session = await answer(api.GET("/api/v1/sessions/{session}", { params }));
  // What is closed does not change; only a rewind, which begins a generation, takes it away.
  const isSame = known?.session.id === session.id && known.session.generation === session.generation;
  const kept = isSame ? closedSteps(known.steps) : [];
  const [steps, pending] = await Promise.all([
    readSteps(api, name, kept),
    answer(api.GET("/api/v1/sessions/{session}/pending", { params })),
  ]);
  return { session, steps, pending };
}

/** The closed steps up to the first that is not. */
function closedSteps(steps: readonly SessionStep[]): SessionStep[] {
  const open = steps.findIndex(({ phase }) => phase !== "closed");
  return open < 0 ? [...steps] : steps.slice(0, open);
}

async function readSteps(api: Client, session: string, kept: SessionStep[]): Promise<SessionStep[]> {
  const steps = [...kept];
  let after: number | undefined = kept.at(-1)?.number ?? 0;
  while (after !== undefined) {
    const page: SessionStepPage = await answer(
      api.GET("/api/v1/sessions/{session}/steps", {
        params: { path: { session }, query: { after, limit: STEP_PAGE } },
      }),
    );
    steps.push(...page.items);
    after = page.next_after ?? undefined;
  }
  return steps;
}

/** Follows a session as long as somebody looks at it. */
export function useStream(workspaceId: string, session: string): StreamState & { tryNow: () => void } {
  const queries = useQueryClient();
  const [stream] = useState(() => {
    const rereads = new Rereads(queries);
    return new SessionStream(session, {
      onChanged: () => rereads.again(keys.session(workspaceId, session)),
      onSignedOut: () => signedOut(queries),
    });
  });
  useEffect(() => stream.start(), [stream]);
  const isSignedIn = Boolean(useSignInState().data?.signIn);
  useEffect(() => {
    // After signing in again it goes on where it was; before that, asking would be refused.
    if (isSignedIn) stream.tryNow();
  }, [stream, isSignedIn]);
  const state = useSyncExternalStore(stream.subscribe, stream.snapshot);
  return { ...state, tryNow: stream.tryNow };
}

/** Messages that the stream does not tell, because they were said in a session that this one was branched from. */
export function useEarlierMessages(
  wanted: [session: string, id: string][],
): ReadonlyMap<string, ShownMessage> {
  const api = useApi();
  return useQueries({
    queries: wanted.map(([session, message]) => ({
      queryKey: keys.oldMessage(session, message),
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: () =>
        answer(
          api.GET("/api/v1/sessions/{session}/messages/{message}", {
            params: { path: { session, message } },
          }),
        ),
    })),
    combine: (answers) =>
      new Map(
        answers.flatMap(({ data }): [string, ShownMessage][] =>
          data
            ? [
                [
                  data.id,
                  {
                    kind: "message",
                    id: data.id,
                    step: data.step ?? 0,
                    parts: data.parts,
                    at: data.created_at,
                  },
                ],
              ]
            : [],
        ),
      ),
  });
}

export function useStepContext(workspaceId: string, session: string, step: number) {
  const api = useApi();
  return useQuery({
    queryKey: keys.stepContext(workspaceId, session, step),
    queryFn: () =>
      answer(
        api.GET("/api/v1/sessions/{session}/steps/{step}/context", {
          params: { path: { session, step } },
        }),
      ),
  });
}

export interface Saying {
  /** The same again is the same message, however often it is sent. */
  key: string;
  text: string;
  mode: BusyMode | null;
}

export function useSay(workspaceId: string, session: string, onSaid: (saying: Saying) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ key, text, mode }: Saying) =>
      answer(
        api.POST("/api/v1/sessions/{session}/messages", {
          params: { path: { session }, header: { "Idempotency-Key": key } },
          body: said(text, mode),
        }),
      ),
    onSuccess: (_, saying) => onSaid(saying),
    onSettled: () => void reread(queries, workspaceId),
  });
}

export function useTakeBack(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (message: string) =>
      answer(
        api.DELETE("/api/v1/sessions/{session}/messages/{message}", {
          params: { path: { session, message } },
        }),
      ),
    onSettled: () => void reread(queries, workspaceId),
  });
}

export interface DecidedCall {
  approvalId: string;
  decision: "approve" | "deny";
  note: string;
  /** Other arguments than the model proposed. */
  edited?: Record<string, unknown>;
  /** Where such calls are allowed from now on. */
  remember?: RememberDecision;
}

export function useDecideCall(workspaceId: string, session: string, onDecided: (of: DecidedCall) => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ approvalId, decision, note, edited, remember }: DecidedCall) =>
      answer(
        api.POST("/api/v1/sessions/{session}/approvals", {
          params: { path: { session } },
          body: { approval_id: approvalId, decision, note: note || null, arguments: edited, remember },
        }),
      ),
    onSuccess: (_, of) => onDecided(of),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.approvals });
      void reread(queries, workspaceId);
    },
  });
}

/** Somebody else was quicker, or nobody decided in time. */
export function isOver(error: unknown): boolean {
  return error instanceof Problem && ["approval_over", "approval_not_found"].includes(error.code);
}

export function useHandIn(workspaceId: string, session: string, onDone: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { call_id: string; output?: unknown; error?: string }) =>
      answer(api.POST("/api/v1/sessions/{session}/tool-results", { params: { path: { session } }, body })),
    onSuccess: onDone,
    onSettled: () => void reread(queries, workspaceId),
  });
}

export function useStop(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ how, run }: { how: "interrupt" | "abort"; run: number }) => {
      const call = { params: { path: { session } }, body: { run } };
      return answer(
        how === "interrupt"
          ? api.POST("/api/v1/sessions/{session}/interrupt", call)
          : api.POST("/api/v1/sessions/{session}/abort", call),
      );
    },
    onSettled: () => void reread(queries, workspaceId),
  });
}

export function useResume(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (limits: RunLimits | undefined) =>
      answer(
        api.POST("/api/v1/sessions/{session}/resume", {
          params: { path: { session } },
          body: { limits: limits ?? null },
        }),
      ),
    onSettled: () => void reread(queries, workspaceId),
  });
}

export function useRewind(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (step: number) =>
      answer(
        api.POST("/api/v1/sessions/{session}/rewind", { params: { path: { session } }, body: { step } }),
      ),
    onSettled: () => void reread(queries, workspaceId),
  });
}

export function useBranch(workspaceId: string, session: string) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ step, name }: { step: number; name: string | null }) =>
      answer(
        api.POST("/api/v1/sessions/{session}/branch", {
          params: { path: { session } },
          body: { step, name },
        }),
      ),
    onSettled: () => void reread(queries, workspaceId),
  });
}

export interface Beginning {
  workspaceId: string;
  agent: string;
  name?: string;
  /** Said at once; absent: it waits for the first message. */
  text?: string;
  /** The same again is the same session. */
  key: string;
}

export function useBegin() {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (beginning: Beginning) => begin(api, beginning),
    onSettled: (_data, _error, { workspaceId }) => void reread(queries, workspaceId),
  });
}

export async function begin(api: Client, { workspaceId, agent, name, text, key }: Beginning) {
  const session = await answer(
    api.POST("/api/v1/sessions", {
      params: { header: { "Idempotency-Key": key } },
      body: { workspace_id: workspaceId, agent, name },
    }),
  );
  if (text) {
    await answer(
      api.POST("/api/v1/sessions/{session}/messages", {
        params: { path: { session: session.id }, header: { "Idempotency-Key": `${key}-first` } },
        body: said(text),
      }),
    );
  }
  return session;
}

function said(text: string, mode: BusyMode | null = null) {
  return { text, parts: null, mode, client_id: null };
}

function reread(queries: QueryClient, workspaceId: string): Promise<void> {
  return queries.invalidateQueries({ queryKey: keys.sessions(workspaceId) });
}

/** The rows of all pages that were read. */
export function useRows<T>(pages: readonly { items: T[] }[] | undefined): T[] {
  return useMemo(() => pages?.flatMap(({ items }) => items) ?? [], [pages]);
}
