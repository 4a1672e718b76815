// People, invitations and orgs, through the query layer.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { answer } from "../../api/client";
import { useApi } from "../../api/context";
import { keys } from "../../api/keys";
import type { CreateInvitation, OrgQuotas, PatchUser, UseInvitation } from "../../api/types";
import { signedInAs } from "../signIn/signIn";

const SHOWN = 500;

/** The people of the org, with those who left it: what they said and did stays. */
export function useUsers() {
  const api = useApi();
  return useQuery({
    queryKey: keys.users,
    queryFn: async () => {
      const query = { past: true, limit: SHOWN };
      const page = await answer(api.GET("/api/v1/users", { params: { query } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** For operators. */
export function useInvitations() {
  const api = useApi();
  return useQuery({
    queryKey: keys.invitations,
    queryFn: async () => {
      const page = await answer(api.GET("/api/v1/invitations", { params: { query: { limit: SHOWN } } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** For who runs this Warren: all of them. */
export function useOrgs() {
  const api = useApi();
  return useQuery({
    queryKey: keys.orgs,
    queryFn: async () => {
      const page = await answer(api.GET("/api/v1/orgs", { params: { query: { limit: SHOWN } } }));
      return { items: page.items, isPartial: page.next_cursor != null };
    },
  });
}

/** A change after which everything about people is read again. */
function usePeopleChange<T, R>(change: (input: T) => Promise<R>, onDone?: (result: R) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (result) => onDone?.(result),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: keys.people });
      // Whoever changes themselves may do something else from now on.
      void queries.invalidateQueries({ queryKey: keys.signIn });
    },
  });
}

export function useInvite() {
  const api = useApi();
  return usePeopleChange((body: CreateInvitation) => answer(api.POST("/api/v1/invitations", { body })));
}

export function useRevokeInvitation(onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    async (id: string) => void (await api.DELETE("/api/v1/invitations/{id}", { params: { path: { id } } })),
    onDone,
  );
}

export function useChangeUser(user: string, onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    (body: PatchUser) => answer(api.PATCH("/api/v1/users/{user}", { params: { path: { user } }, body })),
    onDone,
  );
}

export function useTakeOut(user: string, onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    (keep: boolean) =>
      answer(api.DELETE("/api/v1/users/{user}", { params: { path: { user }, query: { keep } } })),
    onDone,
  );
}

export function useMakeLink(user: string) {
  const api = useApi();
  return useMutation({
    mutationFn: () => answer(api.POST("/api/v1/users/{user}/sign-in-links", { params: { path: { user } } })),
  });
}

export function useCreateOrg(onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    (body: { name: string; quotas: OrgQuotas }) => answer(api.POST("/api/v1/orgs", { body })),
    onDone,
  );
}

export function useChangeOrg(org: string, onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    (body: { name?: string; quotas?: OrgQuotas }) =>
      answer(api.PATCH("/api/v1/orgs/{org}", { params: { path: { org } }, body })),
    onDone,
  );
}

export function useRemoveOrg(org: string, onDone: () => void) {
  const api = useApi();
  return usePeopleChange(
    async () => void (await api.DELETE("/api/v1/orgs/{org}", { params: { path: { org } } })),
    onDone,
  );
}

/** What an invitation leads to; looking does not use it up. */
export function useInvitationPreview(secret: string) {
  const api = useApi();
  return useQuery({
    queryKey: keys.invitation(secret),
    queryFn: () => answer(api.POST("/api/v1/sign-in/invitation/preview", { body: { secret } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
}

/** Leads to the provider with the invitation in hand. The secret is sent, never put into an address. */
export function useProviderInvitation() {
  const api = useApi();
  return useMutation({
    mutationFn: (invitation: string) =>
      answer(api.POST("/api/v1/sign-in/provider", { body: { invitation } })),
    onSuccess: ({ url }) => window.location.assign(url),
    onError: () => undefined,
  });
}

export function useTakeInvitation(onTaken: () => void) {
  const api = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: UseInvitation) => answer(api.POST("/api/v1/sign-in/invitation", { body })),
    onSuccess: (now) => {
      signedInAs(queries, now);
      onTaken();
    },
    // A wrong name is said where it was typed; nobody is signed out by it.
    onError: () => undefined,
  });
}
