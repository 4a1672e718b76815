// What is looked for in the list of workspaces. The list, the box above it and the tiles of the overview share it.
import { createContext, type ReactNode, useContext, useMemo, useState } from "react";
import type { Workspace } from "../../api/types";
import { asTree, type Branch, matches } from "./order";
import { useWorkspaces } from "./queries";

interface Search {
  words: string;
  setWords(words: string): void;
  /** Which of those found Enter opens. */
  chosen: Workspace | undefined;
  /** Goes on to another one of them. */
  move(steps: number): void;
  branches: readonly Branch[];
  found: readonly Branch[];
}

const SearchContext = createContext<Search | undefined>(undefined);

export function SearchProvider({ children }: { children: ReactNode }) {
  const { data } = useWorkspaces();
  const [words, setSought] = useState("");
  const [at, setAt] = useState(0);
  const branches = useMemo(() => asTree(data ?? []), [data]);
  const search = useMemo<Search>(() => {
    const found = words ? branches.filter(({ workspace }) => matches(workspace, words)) : branches;
    const last = found.length - 1;
    return {
      words,
      setWords: (next) => {
        setSought(next);
        setAt(0);
      },
      chosen: words ? found[Math.min(at, last)]?.workspace : undefined,
      move: (steps) => setAt((now) => Math.max(0, Math.min(last, Math.min(now, last) + steps))),
      branches,
      found,
    };
  }, [branches, words, at]);
  return <SearchContext value={search}>{children}</SearchContext>;
}

export function useSearch(): Search {
  const search = useContext(SearchContext);
  if (!search) throw new Error("useSearch needs a SearchProvider above it");
  return search;
}
