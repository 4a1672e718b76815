// Paths inside a workspace: relative to its root, which is the empty path.

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

export function join(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name;
}

/** The folders on the way to a path, outermost first, without the root and without the path itself. */
export function ancestorsOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
