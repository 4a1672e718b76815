import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { Loading, ProblemPanel, WithCode } from "../../components/States";
import { sessionPlace, useRouter } from "../../routes/router";
import { useMay } from "../signIn/me";
import { useServerInfo } from "../workspaces/queries";
import { guidedProvider } from "./definitions";
import { useGuided } from "./guided";

interface GuidedButtonProps {
  /** Where it is to work; absent: in a box of its own. */
  workspace?: Workspace;
  tone?: "primary" | "plain";
}

/** One press: a box, an agent, a session and the first message (S2). */
export function GuidedButton({ workspace, tone = "primary" }: GuidedButtonProps) {
  const { navigate } = useRouter();
  const info = useServerInfo();
  const { start, doing } = useGuided((session) => navigate(sessionPlace(session.workspace_id, session.name)));
  const mayWrite = useMay("workspaces:write");
  if (!mayWrite) return null;
  if (info.isPending) return <Loading what="providers" />;
  if (!info.data) return <ProblemPanel error={info.error} onRetry={() => void info.refetch()} />;
  const { providers } = info.data;
  const provider = workspace ? workspace.provider.kind : guidedProvider(providers);
  return (
    <div className="guided">
      <Button
        tone={tone}
        icon="spark"
        isBusy={start.isPending}
        // Without a box it works with files only: nothing of an agent runs as the user who runs Warren.
        onClick={() => start.mutate({ workspace, provider: provider ?? "memory" })}
      >
        {provider ? "Start the guided agent" : "Start the guided agent without commands"}
      </Button>
      <p className="hint" role="status">
        {doing}
      </p>
      {!provider && (
        <div className="guided-why">
          <p className="hint">
            No box for commands can be opened here, so it works with files in memory only:
          </p>
          <ul>
            {providers
              .filter(({ kind }) => kind === "sandbox" || kind === "docker")
              .map(({ kind, unavailable }) => (
                <li key={kind} className="hint">
                  <strong>{kind}</strong>: <WithCode text={unavailable ?? "not offered by this server"} />
                </li>
              ))}
          </ul>
        </div>
      )}
      {start.isError && <ProblemPanel error={start.error} what="The guided agent was not started." />}
    </div>
  );
}
