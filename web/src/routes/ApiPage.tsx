// The API for people (S20): what there is, what goes in and comes out, and a call to paste. Made from the server's own description.
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { request } from "../api/client";
import { Code } from "../components/Markdown";
import { Empty, Loading, ProblemPanel, WithCode } from "../components/States";
import {
  byTag,
  curlOf,
  type Document,
  type Field,
  found,
  type Operation,
  operationsOf,
} from "../features/apiDocs/document";
import { Link } from "./router";

export default function ApiPage() {
  const query = useQuery({
    queryKey: ["openapi"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => operationsOf((await (await request("/api/v1/openapi.json")).json()) as Document),
  });
  const [words, setWords] = useState("");
  const groups = useMemo(() => byTag(found(query.data ?? [], words)), [query.data, words]);
  return (
    <div className="page api-page">
      <header className="page-head">
        <h1>API</h1>
        <Link to={{ page: "overview" }}>To Warren</Link>
        <a href="/api/v1/openapi.json">OpenAPI document</a>
      </header>
      <p>
        Everything that this page and the command line do goes through this API, at{" "}
        <code>{window.location.origin}/api/v1</code>. Send a token with each call, as{" "}
        <code>Authorization: Bearer</code>; Settings makes one, and so does <code>warren token create</code>.
        Refusals are problem documents (RFC 9457) with a stable <code>code</code> and a <code>remedy</code>.
        Lists are in pages: give <code>next_cursor</code> back as <code>cursor</code>.
      </p>
      <input
        type="search"
        className="api-search"
        aria-label="Search operations"
        placeholder="Search: schedules, POST, workspaces/{id}/files …"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      {query.isPending ? (
        <Loading what="the description" />
      ) : !query.data ? (
        <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />
      ) : groups.length === 0 ? (
        <Empty icon="search" title={`Nothing matches “${words}”`} />
      ) : (
        groups.map(([tag, operations]) => (
          <section key={tag} className="api-group" aria-labelledby={`tag-${tag}`}>
            <h2 id={`tag-${tag}`}>{tag}</h2>
            {operations.map((operation) => (
              <OperationRow key={operation.id} operation={operation} />
            ))}
          </section>
        ))
      )}
    </div>
  );
}

function OperationRow({ operation }: { operation: Operation }) {
  const { id, method, path, title } = operation;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details id={id} className="api-operation" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <span className="api-method" data-method={method}>
          {method}
        </span>
        <code>{path.replace("/api/v1", "")}</code>
        <span className="hint">
          <WithCode text={title} />
        </span>
      </summary>
      {isOpen && <OperationBody operation={operation} />}
    </details>
  );
}

function OperationBody({ operation }: { operation: Operation }) {
  const { text, parameters, body, bodyName, answers, isPublic } = operation;
  return (
    <div className="api-body">
      {text && (
        <p>
          <WithCode text={text} />
        </p>
      )}
      {isPublic && <p className="hint">Needs no token.</p>}
      {parameters.length > 0 && <Fields title="Parameters" fields={parameters} />}
      {body && body.length > 0 && <Fields title={bodyName ? `Body: ${bodyName}` : "Body"} fields={body} />}
      <h3>Answers</h3>
      <ul className="plain-list">
        {answers.map(({ status, note, type }) => (
          <li key={status}>
            <code>{status}</code> {type && <code className="api-type">{type}</code>} {note}
          </li>
        ))}
      </ul>
      <Code text={curlOf(operation, window.location.origin)} language="shell" />
    </div>
  );
}

function Fields({ title, fields }: { title: string; fields: readonly Field[] }) {
  return (
    <>
      <h3>{title}</h3>
      <dl className="api-fields">
        {fields.map(({ name, type, isRequired, note }) => (
          <div key={name}>
            <dt>
              <code>{name}</code> {isRequired && <span className="tag">needed</span>}
            </dt>
            <dd>
              <code className="api-type">{type}</code> <WithCode text={note} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
