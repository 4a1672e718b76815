// The wire's nouns under short names. All of them come from the generated schema.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Workspace = Schemas["Workspace"];
export type Status = Schemas["Status"];
export type CreateWorkspace = Schemas["CreateWorkspace"];
export type PatchWorkspace = Schemas["PatchWorkspace"];
export type WorkspaceHealth = Schemas["WorkspaceHealth"];
export type ServerInfo = Schemas["ServerInfo"];
export type ProviderInfo = Schemas["ProviderInfo"];
export type SignIn = Schemas["SignIn"];
export type WarrenEvent = Schemas["Event"];
/** The data of the events of one kind. */
export type EventData<K extends WarrenEvent["kind"]> = Extract<WarrenEvent, { kind: K }>["data"];
export type EventPage = Schemas["EventPage"];
export type EventFrame = Schemas["EventFrame"];
export type Entry = Schemas["Entry"];
export type Listing = Schemas["Listing"];
export type FileWritten = Schemas["FileWritten"];
export type ExecRequest = Schemas["ExecRequest"];
export type ExecResult = Schemas["ExecResult"];
export type ExecFrame = Schemas["ExecFrame"];
export type Process = Schemas["Process"];
export type TerminalFrame = Schemas["TerminalFrame"];
export type TerminalRequest = Schemas["TerminalRequest"];
export type Author = Schemas["Author"];
export type Conversation = Schemas["Conversation"];
export type ChatMessage = Schemas["ChatMessage"];
export type MessagePart = Schemas["MessagePart"];
export type Uploaded = Schemas["Uploaded"];
export type PostedMessage = Schemas["PostedMessage"];
export type Task = Schemas["Task"];
export type QueuedMessage = Schemas["QueuedMessage"];
export type FeedLine = Schemas["FeedLine"];
export type Approval = Schemas["Approval"];
export type Schedule = Schemas["Schedule"];
export type ScheduleRun = Schemas["ScheduleRun"];
export type ProblemDocument = Schemas["Problem"];
