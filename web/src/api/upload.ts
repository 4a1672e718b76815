// Files as a form, with how far they are. `fetch` tells nothing about what it has sent, so this is the page's one use of
// the older way.
import { problemOf, unreachable } from "./problem";
import type { Uploaded } from "./types";

export interface Progress {
  sent: number;
  total: number;
}

/** Uploads files to a workspace: all of them arrive, or none. The parts of the answer stand in the order of the files. */
export function uploadFiles(
  workspaceId: string,
  files: readonly File[],
  onProgress: (progress: Progress) => void,
): Promise<Uploaded> {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name || "file");
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", `/api/v1/workspaces/${encodeURIComponent(workspaceId)}/uploads`);
    call.setRequestHeader("x-warren-csrf", "1");
    call.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total });
    call.onerror = () => reject(unreachable());
    call.onload = () => {
      if (call.status >= 200 && call.status < 300) resolve(JSON.parse(call.responseText) as Uploaded);
      else problemOf(new Response(call.responseText, { status: call.status })).then(reject, reject);
    };
    call.send(form);
  });
}
