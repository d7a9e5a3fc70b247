/** A place in a workspace, named by its root and never by where that lies on the disk. */
export interface Location {
  /** The name of a root, as it stands between braces: `bundle-root`. */
  readonly root: string;
  /** Relative to the root, with `/`; `.` is the root itself. */
  readonly path: string;
}

/** A place as it is written in answers, and as it can be given back: `{bundle-root}/workflows/x/workflow.yaml`. */
export function showLocation({ root, path }: Location): string {
  return path === "." ? `{${root}}` : `{${root}}/${path}`;
}
