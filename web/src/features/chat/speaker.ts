import { useCallback } from "react";
import type { Author } from "../../api/types";
import { useSignInState } from "../signIn/signIn";
import { useWorkspaceNames } from "../workspaces/names";
import { type Speaker, speakerOf } from "./authors";

/** Names authors as they are called here and now. */
export function useSpeaker(): (author: Author) => Speaker {
  const me = useSignInState().data?.signIn?.principal.id;
  const names = useWorkspaceNames();
  return useCallback((author: Author) => speakerOf(author, me, (id) => names.get(id)), [me, names]);
}
