// What the form for a new workspace has, and the request that it becomes. Plain functions over what was typed.
import type { CreateWorkspace, ProviderInfo, ServerInfo } from "../../api/types";

/** Who works in it. */
export type Worker = "none" | "agent" | "program" | "elsewhere";

export interface NewWorkspaceForm {
  name: string;
  /** Empty: none. */
  template: string;
  kind: string;
  parent: string;
  worker: Worker;
  agent: string;
  program: string;
  role: string;
  memory_mb: string;
  cpus: string;
  disk_mb: string;
  image: string;
}

export const emptyForm: NewWorkspaceForm = {
  name: "",
  template: "",
  kind: "",
  parent: "",
  worker: "none",
  agent: "",
  program: "",
  role: "",
  memory_mb: "",
  cpus: "",
  disk_mb: "",
  image: "",
};

/** The order in which places are offered where the server does not say: boxes first, and the host itself last. */
const SAFE_FIRST = ["sandbox", "docker"];

/** The place that is chosen until somebody chooses: one that works here, and a box if there is one. */
export function firstProvider({
  providers,
  default_provider,
}: ServerInfo & { default_provider?: string | null }): string {
  const usable = providers.filter(({ unavailable }) => !unavailable);
  const isUsable = (kind: string) => usable.some((one) => one.kind === kind);
  if (default_provider && isUsable(default_provider)) return default_provider;
  return SAFE_FIRST.find(isUsable) ?? usable[0]?.kind ?? "";
}

/** Boxes first, what does not work here last. */
export function inOrder(providers: readonly ProviderInfo[]): ProviderInfo[] {
  const rank = ({ kind, unavailable }: ProviderInfo) =>
    (unavailable ? 10 : 0) + (SAFE_FIRST.includes(kind) ? SAFE_FIRST.indexOf(kind) : SAFE_FIRST.length);
  return [...providers].sort((a, b) => rank(a) - rank(b));
}

export function hasLimits(kind: string): boolean {
  return kind === "sandbox" || kind === "docker";
}

/** A command line as words: quotes hold words together, as in a shell, and nothing is expanded. */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  for (const found of line.matchAll(/(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|((?:[^\s"'\\]|\\.)+))(\s*)/g)) {
    const [, double, single, plain] = found;
    const word = double ?? single ?? plain ?? "";
    const text = single !== undefined ? word : word.replace(/\\(.)/g, "$1");
    const before = line[found.index - 1];
    const isJoined = found.index > 0 && before !== undefined && !/\s/.test(before);
    if (isJoined) words[words.length - 1] += text;
    else words.push(text);
  }
  return words;
}

/** What is missing before it can be sent, in words. */
export function missing(form: NewWorkspaceForm): string | undefined {
  if (!form.name.trim()) return "It needs a name.";
  if (!form.template && !form.kind) return "Choose where it is.";
  if (form.template) return undefined;
  if (form.worker === "agent" && !form.agent) return "Choose the agent.";
  if (form.worker === "program" && wordsOf(form.program).length === 0)
    return "Say which program is its agent.";
  return undefined;
}

/** Only what was said: everything else has the server's defaults, or the template's. */
export function requestOf(form: NewWorkspaceForm): CreateWorkspace {
  const body: CreateWorkspace = { name: form.name };
  if (form.parent) body.parent_id = form.parent;
  if (form.role.trim()) body.role = form.role.trim();
  if (form.template) {
    body.template = form.template;
    return body;
  }
  const provider: Record<string, unknown> = { kind: form.kind };
  if (hasLimits(form.kind)) {
    const limits: Record<string, number> = {};
    for (const name of ["memory_mb", "cpus", "disk_mb"] as const) {
      const value = Number(form[name]);
      if (form[name].trim() && value > 0) limits[name] = value;
    }
    if (Object.keys(limits).length > 0) provider.limits = limits;
  }
  if (form.kind === "docker" && form.image.trim()) provider.image = form.image.trim();
  // The kind is one that the server itself offered; it may know more kinds than this page was built with.
  body.provider = provider as CreateWorkspace["provider"];
  switch (form.worker) {
    case "agent":
      body.agent = form.agent;
      break;
    case "program":
      body.runtime = "resident";
      body.command = wordsOf(form.program);
      break;
    case "elsewhere":
      body.runtime = "external";
      break;
    case "none":
      break;
  }
  return body;
}
