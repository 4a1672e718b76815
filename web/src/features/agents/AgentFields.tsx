// The few fields that make an agent. Everything else that an agent can have is written in a file (`warren agent`).
import { useId } from "react";
import { ASKABLE, askAbout, type Definition } from "./definitions";
import { useModels } from "./queries";

export interface AgentDraft {
  name: string;
  model: string;
  system: string;
  /** Patterns of tools that it asks about first. */
  asks: string[];
}

export const emptyAgent: AgentDraft = {
  name: "",
  model: "scripted/tour",
  system: "",
  asks: ["workspace_rm"],
};

export function definitionOf({ name, model, system, asks }: AgentDraft): Definition {
  return { name: name.trim(), model: model.trim(), system, policies: askAbout(asks) };
}

interface AgentFieldsProps {
  draft: AgentDraft;
  /** There is an agent of this name. */
  isKnownName: boolean;
  onChange: (draft: AgentDraft) => void;
}

export function AgentFields({ draft, isKnownName, onChange }: AgentFieldsProps) {
  const models = useModels();
  const id = useId();
  const set = (fields: Partial<AgentDraft>) => onChange({ ...draft, ...fields });
  return (
    <>
      <div className="field">
        <label htmlFor={`${id}name`}>Name of the agent</label>
        <input
          id={`${id}name`}
          required
          autoComplete="off"
          maxLength={64}
          pattern="[a-z0-9]([a-z0-9._\-]*[a-z0-9])?"
          title="1 to 64 of a-z, 0-9, . _ -, beginning and ending with a letter or digit"
          placeholder="helper"
          value={draft.name}
          onChange={(event) => set({ name: event.target.value })}
        />
        {isKnownName && (
          <p className="hint" role="status">
            There is an agent of this name. This becomes its new version; sessions that it has keep theirs.
          </p>
        )}
      </div>
      <div className="field">
        <label htmlFor={`${id}model`}>Model</label>
        <input
          id={`${id}model`}
          className="mono"
          required
          autoComplete="off"
          list={`${id}models`}
          pattern="[^/]+/.+"
          title="provider/name"
          value={draft.model}
          onChange={(event) => set({ model: event.target.value })}
        />
        <datalist id={`${id}models`}>
          {models.data?.scripts.map((name) => (
            <option key={name} value={`scripted/${name}`} />
          ))}
        </datalist>
        <p className="hint">
          Written <code>provider/name</code>. Models of <code>scripted</code> need no key.
        </p>
      </div>
      <div className="field">
        <label htmlFor={`${id}system`}>What it is told to be (optional)</label>
        <textarea
          id={`${id}system`}
          rows={3}
          value={draft.system}
          placeholder="You help with the files of this workspace."
          onChange={(event) => set({ system: event.target.value })}
        />
      </div>
      <fieldset className="field">
        <legend>Ask a person before</legend>
        {ASKABLE.map(({ tool, word }) => (
          <label key={tool} className="check">
            <input
              type="checkbox"
              checked={draft.asks.includes(tool)}
              onChange={(event) =>
                set({
                  asks: event.target.checked
                    ? [...draft.asks, tool]
                    : draft.asks.filter((one) => one !== tool),
                })
              }
            />
            {word}
          </label>
        ))}
      </fieldset>
    </>
  );
}
