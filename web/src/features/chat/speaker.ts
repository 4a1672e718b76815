import { useCallback } from "react";
import type { Author } from "../../api/types";
import { usePeopleNames } from "../people/names";
import { useMe } from "../signIn/me";
import { useWorkspaceNames } from "../workspaces/names";
import { type Speaker, speakerOf } from "./authors";

/** Names authors as they are called here and now. */
export function useSpeaker(): (author: Author) => Speaker {
  const me = useMe().principal.id;
  const people = usePeopleNames();
  const names = useWorkspaceNames();
  return useCallback(
    (author: Author) =>
      speakerOf(author, me, (id) => (author.kind === "user" ? people.get(id) : names.get(id))),
    [me, names, people],
  );
}
