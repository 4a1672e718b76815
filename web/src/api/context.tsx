// Hands the client to the tree, so that tests can put another one in and nothing lives at module level.
import { createContext, type ReactNode, useContext } from "react";
import type { Client } from "./client";

const ApiContext = createContext<Client | undefined>(undefined);

export function ApiProvider({ client, children }: { client: Client; children: ReactNode }) {
  return <ApiContext value={client}>{children}</ApiContext>;
}

export function useApi(): Client {
  const client = useContext(ApiContext);
  if (!client) throw new Error("useApi needs an ApiProvider above it");
  return client;
}
