// Who said something, in words. Only a person is ever shown as one: the kind is the server's and decides alone,
// whichever side of the conversation a message stands on and whatever an author is called.
import type { Author } from "../../api/types";

export interface Speaker {
  name: string;
  /** What kind of author this is, as a word beside the name. */
  kind: string;
  /** How it is drawn: as a person, or as what it is. */
  look: "me" | "person" | "agent" | "schedule" | "channel" | "warren" | "unknown";
}

export function speakerOf(
  author: Author,
  me: string | undefined,
  nameOf: (id: string) => string | undefined,
): Speaker {
  const short = author.id.slice(-6);
  switch (author.kind) {
    case "user":
      return author.id === me
        ? { name: "You", kind: "person", look: "me" }
        : { name: author.name ?? nameOf(author.id) ?? `person ${short}`, kind: "person", look: "person" };
    case "workspace":
      return { name: nameOf(author.id) ?? `workspace ${short}`, kind: "agent", look: "agent" };
    case "schedule":
      return { name: nameOf(author.id) ?? `schedule ${short}`, kind: "schedule", look: "schedule" };
    case "channel":
      return { name: author.id, kind: "channel", look: "channel" };
    case "system":
      return { name: "Warren", kind: "system", look: "warren" };
    default:
      return { name: author.id, kind: author.kind, look: "unknown" };
  }
}
