// From the scripted agent to a real one: choose who runs the model, give its key once, begin a session.
import { type FormEvent, useId, useState } from "react";
import type { Workspace } from "../../api/types";
import { Button } from "../../components/Button";
import { useDraft } from "../../components/draft";
import { Icon } from "../../components/Icon";
import { useNotify } from "../../components/Notices";
import { Loading, ProblemPanel } from "../../components/States";
import { sessionPlace, useRouter } from "../../routes/router";
import { useBegin } from "../sessions/queries";
import { askAbout, keyedProviders, providerWord, suggestedModel } from "./definitions";
import { type ModelProvider, useModels, useSaveKey, useStoreAgent } from "./queries";

export function RealModelPanel({ workspace }: { workspace: Workspace }) {
  const titleId = useId();
  return (
    <section className="real-model" aria-labelledby={titleId}>
      <h3 id={titleId}>
        <Icon name="spark" /> Use a real model
      </h3>
      <RealModelForm workspace={workspace} />
    </section>
  );
}

export function RealModelForm({ workspace }: { workspace: Workspace }) {
  const models = useModels();
  const [chosen, setChosen] = useDraft("real-model.provider", "anthropic");
  if (models.isPending) return <Loading what="models" />;
  if (!models.data) return <ProblemPanel error={models.error} onRetry={() => void models.refetch()} />;
  const providers = keyedProviders(models.data.providers);
  const provider = providers.find(({ name }) => name === chosen) ?? providers[0];
  return (
    <>
      <fieldset className="field">
        <legend className="visually-hidden">Who runs the model</legend>
        <div className="segments">
          {providers.map(({ name }) => (
            <label key={name}>
              <input
                type="radio"
                name="model-provider"
                checked={name === provider?.name}
                onChange={() => setChosen(name)}
              />
              <span>{providerWord(name)}</span>
            </label>
          ))}
        </div>
      </fieldset>
      {provider && <WithKey key={provider.name} workspace={workspace} provider={provider} />}
    </>
  );
}

function WithKey({ workspace, provider }: { workspace: Workspace; provider: ModelProvider }) {
  const [isReplacing, setIsReplacing] = useState(false);
  return provider.has_key && !isReplacing ? (
    <StartForm workspace={workspace} provider={provider} onReplace={() => setIsReplacing(true)} />
  ) : (
    <KeyForm provider={provider} onSaved={() => setIsReplacing(false)} />
  );
}

/** The key is kept nowhere in the page: not as a draft, and not in its state once it is sent. */
function KeyForm({ provider, onSaved }: { provider: ModelProvider; onSaved: () => void }) {
  const [value, setValue] = useState("");
  const notify = useNotify();
  const name = provider.key_name ?? `${provider.name.toUpperCase()}_API_KEY`;
  const save = useSaveKey(() => {
    setValue("");
    notify("The key is stored");
    onSaved();
  });
  const keyId = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (value.trim()) save.mutate({ name, value: value.trim() });
  };
  return (
    <form className="real-model-form" onSubmit={submit}>
      <div className="field">
        <label htmlFor={keyId}>Key of {providerWord(provider.name)}</label>
        <input
          id={keyId}
          type="password"
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
        <p className="hint">
          It is sealed as the secret <code>{name}</code> and never shown again. Only Warren reads it: no
          workspace and no model sees it.
        </p>
      </div>
      {save.isError && <ProblemPanel error={save.error} what="The key was not stored." />}
      <Button type="submit" tone="primary" isBusy={save.isPending} disabled={!value.trim()}>
        Save the key
      </Button>
    </form>
  );
}

interface StartFormProps {
  workspace: Workspace;
  provider: ModelProvider;
  onReplace: () => void;
}

const AGENT = "assistant";

function StartForm({ workspace, provider, onReplace }: StartFormProps) {
  const [model, setModel] = useDraft(`real-model.${provider.name}`, suggestedModel(provider.name));
  const [text, setText, forget] = useDraft("real-model.text");
  const store = useStoreAgent();
  const begin = useBegin();
  const { navigate } = useRouter();
  const modelId = useId();
  const textId = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await store.mutateAsync({
        name: AGENT,
        model: `${provider.name}/${model.trim()}`,
        system:
          "You are an assistant with a workspace. Use its tools to do what you are asked, and say what you did.",
        policies: askAbout(["workspace_rm"]),
      });
      const session = await begin.mutateAsync({
        workspaceId: workspace.id,
        agent: AGENT,
        text: text.trim() || undefined,
        key: crypto.randomUUID(),
      });
      forget();
      navigate(sessionPlace(session.workspace_id, session.name));
    } catch {
      // Shown below.
    }
  };
  return (
    <form className="real-model-form" onSubmit={(event) => void submit(event)}>
      <p className="hint">
        A key of {providerWord(provider.name)} is stored.{" "}
        <button type="button" className="link-button" onClick={onReplace}>
          Replace it
        </button>
      </p>
      <div className="field">
        <label htmlFor={modelId}>Model</label>
        <input
          id={modelId}
          className="mono"
          required
          autoComplete="off"
          value={model}
          onChange={(event) => setModel(event.target.value)}
        />
      </div>
      <div className="field">
        <label htmlFor={textId}>What should it do? (optional)</label>
        <textarea
          id={textId}
          rows={2}
          value={text}
          placeholder="Write a small program that prints the first 20 primes, and run it."
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {store.isError && <ProblemPanel error={store.error} what="The agent was not stored." />}
      {begin.isError && <ProblemPanel error={begin.error} what="The session was not begun." />}
      <Button
        type="submit"
        tone="primary"
        icon="play"
        isBusy={store.isPending || begin.isPending}
        disabled={!model.trim()}
      >
        Start a session with it
      </Button>
    </form>
  );
}
