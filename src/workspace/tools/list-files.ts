import { posix } from "node:path";
import * as z from "zod";
import { defineTool } from "./define-tool.js";
import type { ToolSuccess } from "./workspace-tool.js";

/** What `list_files` has found. */
export interface FilesListed extends ToolSuccess {
  /** The folder, with its root. */
  readonly path: string;
  /** Names; those of folders end with `/`. */
  readonly entries: readonly string[];
  /** How many more there are, behind `after`. */
  readonly more?: number;
  readonly after?: string;
}

/** `list_files`: what lies in a folder. */
export const listFilesTool = defineTool({
  name: "list_files",
  title: "List files",
  description: "Lists the files and folders in a folder of the workspace; folders end with '/'.",
  readOnly: true,
  input: z.strictObject({
    path: z.string().default("{bundle-root}").describe("The folder, such as {bundle-root}/workflows or a session's id"),
    after: z.string().optional().describe("The last name of the page before"),
  }),
  async run({ path, after }, connection): Promise<FilesListed> {
    const { roots, limits } = connection;
    const folder = roots.resolve(path);
    const names = (await roots.list(folder))
      .map(({ path: entry, kind }) => `${posix.basename(entry)}${kind === "folder" ? "/" : ""}`)
      .sort();
    const rest = after === undefined ? names : names.filter((name) => name > after);
    const entries = rest.slice(0, limits.listEntries);
    const more = rest.length - entries.length;
    const last = entries.at(-1);
    await connection.record({ type: "listed", path: roots.show(folder), entries: entries.length });
    return {
      success: true,
      path: roots.show(folder),
      entries,
      ...(more === 0 || last === undefined ? {} : { more, after: last }),
    };
  },
});
