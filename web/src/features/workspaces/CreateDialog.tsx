import { type FormEvent, useId } from "react";
import type { CreateWorkspace, ProviderInfo } from "../../api/types";
import { Button } from "../../components/Button";
import { Dialog } from "../../components/Dialog";
import { useDraft } from "../../components/draft";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel, WithCode } from "../../components/States";
import { useRouter, workspacePlace } from "../../routes/router";
import { homeTab } from "./home";
import { ParentSelect } from "./ParentSelect";
import { useCreateWorkspace, useServerInfo } from "./queries";

const NAME_LENGTH = 100;

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const info = useServerInfo();
  return (
    <Dialog title="New workspace" onClose={onClose}>
      {info.isPending ? (
        <Loading what="providers" />
      ) : info.data ? (
        <CreateForm providers={info.data.providers} onClose={onClose} />
      ) : (
        <ProblemPanel error={info.error} onRetry={() => void info.refetch()} />
      )}
    </Dialog>
  );
}

function CreateForm({ providers, onClose }: { providers: readonly ProviderInfo[]; onClose: () => void }) {
  const [name, setName, forgetName] = useDraft("create.name");
  const [kind, setKind, forgetKind] = useDraft("create.provider", firstChoice(providers));
  const [parent, setParent, forgetParent] = useDraft("create.parent");
  const create = useCreateWorkspace();
  const notify = useNotify();
  const { navigate } = useRouter();
  const nameId = useId();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The kind is one that the server itself offered; it may know more kinds than this page was built with.
    const provider = { kind } as CreateWorkspace["provider"];
    create.mutate(
      { name, provider, parent_id: parent || undefined },
      {
        onSuccess: (workspace) => {
          forgetName();
          forgetKind();
          forgetParent();
          notify(`Created ${workspace.name}`);
          onClose();
          navigate(workspacePlace(workspace.id, homeTab(workspace)));
        },
      },
    );
  };

  return (
    <form onSubmit={submit} className="form">
      <div className="field">
        <label htmlFor={nameId}>Name</label>
        <input
          id={nameId}
          data-autofocus
          autoComplete="off"
          maxLength={NAME_LENGTH}
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          placeholder="research-assistant"
        />
      </div>
      <fieldset className="field choices">
        <legend>Provider</legend>
        {providers.map((provider) => (
          <label key={provider.kind} className="choice">
            <input
              type="radio"
              name="provider"
              value={provider.kind}
              checked={kind === provider.kind}
              onChange={() => setKind(provider.kind)}
            />
            <span>
              <strong>{provider.kind}</strong>
              <span className="choice-tags">
                {provider.capabilities.map((capability) => (
                  <span key={capability} className="tag">
                    {capability}
                  </span>
                ))}
              </span>
              <span className="choice-note">
                <WithCode text={provider.note} />
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      <ParentSelect value={parent} onChange={setParent} />
      {create.isError && <ProblemPanel error={create.error} />}
      <footer className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" tone="primary" isBusy={create.isPending} disabled={!name.trim() || !kind}>
          Create workspace
        </Button>
      </footer>
    </form>
  );
}

/** The first steps end with a command, so a provider that runs some comes first; its note says what that means. */
function firstChoice(providers: readonly ProviderInfo[]): string {
  const withShell = providers.find((provider) => provider.capabilities.includes("shell"));
  return (withShell ?? providers[0])?.kind ?? "";
}
