// The first agent (S2): a box for it, the agent itself, a session, and the first message. Each part can be done again
// after a failure without being done twice.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, type Client } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import { Problem } from "../../api/problem";
import type { CreateWorkspace, Session, Workspace } from "../../api/types";
import { readDraft, writeDraft } from "../../components/draft";
import { begin } from "../sessions/queries";
import { GUIDED_MESSAGE, GUIDED_NAME, guidedAgent } from "./definitions";
import { storeAgent } from "./queries";

const LOOK_MS = 250;
const LONGEST_MS = 120_000;
const TRY_KEY = "guided.try";

export interface GuidedStart {
  /** Where it is to work; absent: in a box of its own. */
  workspace: Workspace | undefined;
  /** The kind of box, where one is made. */
  provider: string;
}

export function useGuided(onBegun: (session: Session) => void) {
  const api = useApi();
  const queries = useQueryClient();
  const [doing, setDoing] = useState<string>();
  const start = useMutation({
    mutationFn: async ({ workspace, provider }: GuidedStart) => {
      setDoing("Making a box for it…");
      const place = await ready(api, workspace ?? (await guidedWorkspace(api, provider)));
      setDoing("Storing the agent…");
      await storeAgent(api, guidedAgent);
      setDoing("Beginning the session…");
      return begin(api, {
        workspaceId: place.id,
        agent: GUIDED_NAME,
        text: GUIDED_MESSAGE,
        key: tryKey(place.id),
      });
    },
    onSuccess: (session) => {
      writeDraft(TRY_KEY, undefined);
      onBegun(session);
    },
    onSettled: () => {
      setDoing(undefined);
      void queries.invalidateQueries({ queryKey: keys.agents });
      void queries.invalidateQueries({ queryKey: keys.workspaces });
      void queries.invalidateQueries({ queryKey: ["sessions"] });
    },
  });
  return { start, doing };
}

/** The same as long as it was not answered: a second try finds what the first one began. */
function tryKey(workspaceId: string): string {
  const kept = readDraft(TRY_KEY);
  if (kept?.startsWith(workspaceId)) return kept;
  const made = `${workspaceId}-${crypto.randomUUID()}`;
  writeDraft(TRY_KEY, made);
  return made;
}

/** The box that was made for it before, or a new one. */
async function guidedWorkspace(api: Client, kind: string): Promise<Workspace> {
  const { items } = await answer(api.GET("/api/v1/workspaces", { params: { query: { limit: 500 } } }));
  const known = items.find(
    (one) => one.name === GUIDED_NAME && one.desired === "running" && one.provider.kind === kind,
  );
  if (known) return known;
  const isTaken = items.some(({ name }) => name === GUIDED_NAME);
  const name = isTaken ? `${GUIDED_NAME}-${crypto.randomUUID().slice(0, 6)}` : GUIDED_NAME;
  const provider = { kind } as CreateWorkspace["provider"];
  return answer(api.POST("/api/v1/workspaces", { body: { name, provider } }));
}

async function ready(api: Client, workspace: Workspace): Promise<Workspace> {
  const deadline = Date.now() + LONGEST_MS;
  let now = workspace;
  while (now.status !== "online") {
    if (now.status !== "provisioning" || Date.now() > deadline) throw notReady(now);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const params = { path: { id: workspace.id } };
    now = await answer(api.GET("/api/v1/workspaces/{id}", { params }));
  }
  return now;
}

function notReady({ name, status, reason }: Workspace): Problem {
  return new Problem({
    code: "workspace_not_online",
    status: 409,
    title: `The workspace ${name} is ${status.replaceAll("_", " ")}.`,
    detail: reason ?? undefined,
    remedy: "Open the workspace and see its Health tab, or choose another one.",
  });
}
