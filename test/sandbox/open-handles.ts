import { readdir, readlink } from "node:fs/promises";

/** Counts the open handles of the process below a folder; 0 if the system doesn't show them. */
export async function openHandles(folder: string): Promise<number> {
  if (process.platform !== "linux") return 0;
  const handles = (await readdir("/proc/self/fd")).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ""));
  return (await Promise.all(handles)).filter((path) => path.startsWith(folder)).length;
}
