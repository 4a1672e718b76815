import { useId, useMemo } from "react";
import { asTree } from "./order";
import { useWorkspaces } from "./queries";

interface ParentSelectProps {
  value: string;
  onChange: (id: string) => void;
  /** This one and everything beneath it cannot be chosen: a workspace is not its own ancestor. */
  except?: string;
}

export function ParentSelect({ value, onChange, except }: ParentSelectProps) {
  const { data } = useWorkspaces();
  const id = useId();
  const options = useMemo(() => outside(asTree(data ?? []), except), [data, except]);
  return (
    <div className="field">
      <label htmlFor={id}>Parent</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">None: it stands by itself</option>
        {options.map(({ workspace, depth }) => (
          <option key={workspace.id} value={workspace.id}>
            {"\u2003".repeat(depth) + workspace.name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Drops a branch and what hangs on it: in tree order, that is it and all deeper ones that follow at once. */
export function outside<T extends { workspace: { id: string }; depth: number }>(
  branches: readonly T[],
  except: string | undefined,
): T[] {
  const start = branches.findIndex(({ workspace }) => workspace.id === except);
  const first = branches[start];
  if (!first) return [...branches];
  const next = branches.findIndex(({ depth }, index) => index > start && depth <= first.depth);
  return [...branches.slice(0, start), ...(next < 0 ? [] : branches.slice(next))];
}
