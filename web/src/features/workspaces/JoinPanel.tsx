// A workspace whose agent runs elsewhere and has not come yet: the token with which it registers, and how.
import { useState } from "react";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Code } from "../../components/Markdown";
import { ProblemPanel } from "../../components/States";
import { useCreateToken } from "../settings/queries";
import { NotAllowed, useMay } from "../signIn/me";

export function JoinPanel({ workspace }: { workspace: Workspace }) {
  const create = useCreateToken();
  const mayMake = useMay("tokens:write");
  const [isHidden, setIsHidden] = useState(false);
  const secret = create.data?.secret;
  const isAwaited = workspace.runtime === "external" && workspace.status === "awaiting_agent";
  // What is shown once stays until it was read, whatever becomes of the workspace meanwhile.
  if (isHidden || !(isAwaited || secret)) return null;
  return (
    <section className="card join-panel" aria-labelledby="join-title">
      <h2 id="join-title">Its agent runs elsewhere and has not come yet</h2>
      {secret ? (
        <>
          <p>Where the program runs, with the command line of Warren:</p>
          <Code
            language="shell"
            text={[
              `mkdir -m 700 ${folderOf(workspace.name)}`,
              `echo ${secret} > ${folderOf(workspace.name)}/join-token`,
              `WARREN_URL=${window.location.origin} warren runner --credentials ${folderOf(workspace.name)} -- ./my-agent`,
            ].join("\n")}
          />
          <p className="hint">The token works once, is shown once, and is stored nowhere.</p>
          <Button onClick={() => setIsHidden(true)}>Done</Button>
        </>
      ) : mayMake ? (
        <>
          <p className="hint">It registers with a join token, which works once.</p>
          <Button
            tone="primary"
            icon="key"
            isBusy={create.isPending}
            onClick={() => create.mutate({ kind: "join", name: "page", workspace_id: workspace.id })}
          >
            Make a join token
          </Button>
        </>
      ) : (
        <NotAllowed what="making a join token" />
      )}
      {create.isError && <ProblemPanel error={create.error} what="There is no token." />}
    </section>
  );
}

/** A name of a folder that needs no quotes in a shell. */
function folderOf(name: string): string {
  return name.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "agent";
}
