import type { components } from "../src/api/schema";

export type Workspace = components["schemas"]["Workspace"];
export type WarrenEvent = components["schemas"]["Event"];
export type SignInLink = components["schemas"]["SignInLink"];
export type ChatMessage = components["schemas"]["ChatMessage"];
export type Claim = components["schemas"]["Claim"];
export type ConversationPage = components["schemas"]["ConversationPage"];
export type SessionPage = components["schemas"]["SessionPage"];
export type Session = components["schemas"]["Session"];
