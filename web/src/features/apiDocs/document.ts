// The API's own description (OpenAPI), as what people look for: operations by subject, with what goes in and comes out.

export interface Field {
  name: string;
  type: string;
  isRequired: boolean;
  note: string;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  title: string;
  text: string;
  parameters: Field[];
  body: Field[] | undefined;
  /** What the body is called, where it has a name. */
  bodyName: string | undefined;
  answers: { status: string; note: string; type: string }[];
  isPublic: boolean;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  description?: string;
}

interface RawOperation {
  operationId?: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: Schema }> }>;
  security?: unknown[];
}

export interface Document {
  paths?: Record<string, Record<string, RawOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const raw = item[method];
      return raw ? [operationOf(document, method, path, raw)] : [];
    }),
  );
}

function operationOf(document: Document, method: string, path: string, raw: RawOperation): Operation {
  const body = raw.requestBody?.content;
  const json = body?.["application/json"]?.schema ?? Object.values(body ?? {})[0]?.schema;
  return {
    id: raw.operationId ?? `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    tag: raw.tags?.[0] ?? "other",
    title: raw.summary ?? raw.operationId ?? path,
    text: raw.description ?? "",
    parameters: (raw.parameters ?? []).map(({ name, required, description, schema }) => ({
      name,
      type: typeOf(schema),
      isRequired: required ?? false,
      note: description ?? "",
    })),
    body: json && fieldsOf(document, json),
    bodyName: json?.$ref?.split("/").at(-1),
    answers: Object.entries(raw.responses ?? {}).map(([status, { description, content }]) => ({
      status: status === "default" ? "otherwise" : status,
      note: description ?? "",
      type: typeOf(Object.values(content ?? {})[0]?.schema),
    })),
    isPublic: isOpen(raw.security),
  };
}

/** `security: [{}]` or an empty list: nobody is asked who they are. */
function isOpen(security: unknown[] | undefined): boolean {
  if (!security) return false;
  return security.every((one) => typeof one === "object" && one !== null && Object.keys(one).length === 0);
}

/** What an object holds; of something that is one of several, nothing is listed. */
function fieldsOf(document: Document, schema: Schema): Field[] {
  const known = resolve(document, schema);
  const all = [known, ...(known.allOf ?? []).map((one) => resolve(document, one))];
  return all.flatMap(({ properties, required }) =>
    Object.entries(properties ?? {}).map(([name, of]) => ({
      name,
      type: typeOf(of),
      isRequired: required?.includes(name) ?? false,
      note: of.description ?? of.oneOf?.find(({ description }) => description)?.description ?? "",
    })),
  );
}

function resolve(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return (name && document.components?.schemas?.[name]) || schema;
}

/** A type in a few letters, as somebody would say it. */
export function typeOf(schema: Schema | undefined): string {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.enum) return schema.enum.map(String).join(" | ");
  const choice = schema.oneOf ?? schema.anyOf;
  if (choice) return choice.map(typeOf).filter(Boolean).join(" | ");
  if (schema.allOf) return schema.allOf.map(typeOf).filter(Boolean).join(" & ");
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? "any"];
  return types.map((type) => (type === "array" ? `${typeOf(schema.items) || "any"}[]` : type)).join(" | ");
}

/** A call that can be pasted into a shell. */
export function curlOf({ method, path, body, isPublic }: Operation, origin: string): string {
  const lines = [`curl -X ${method} "${origin}${path.replaceAll(/\{(\w+)\}/g, "$${$1}")}"`];
  if (!isPublic) lines.push('-H "Authorization: Bearer $WARREN_TOKEN"');
  if (body && body.length > 0) {
    const needed = body.filter(({ isRequired }) => isRequired);
    const sample = Object.fromEntries((needed.length > 0 ? needed : body.slice(0, 1)).map(sampleOf));
    lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(sample)}'`);
  }
  return lines.join(" \\\n  ");
}

function sampleOf({ name, type }: Field): [string, unknown] {
  if (type.startsWith("integer") || type.startsWith("number")) return [name, 1];
  if (type.startsWith("boolean")) return [name, true];
  if (type.includes("[]")) return [name, []];
  if (type.includes(" | ") && !type.includes("null")) return [name, type.split(" | ")[0]];
  return [name, type.startsWith("string") ? "…" : {}];
}

export function found(operations: readonly Operation[], words: string): Operation[] {
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter(({ id, path, title, tag, method }) => {
    const text = [id, path, title, tag, method].join("\n").toLowerCase();
    return sought.every((word) => text.includes(word));
  });
}

/** By subject, in the order in which the document names them. */
export function byTag(operations: readonly Operation[]): [string, Operation[]][] {
  const groups = new Map<string, Operation[]>();
  for (const one of operations) {
    const group = groups.get(one.tag);
    if (group) group.push(one);
    else groups.set(one.tag, [one]);
  }
  return [...groups];
}
