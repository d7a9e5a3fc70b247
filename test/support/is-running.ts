import { readFileSync } from "node:fs";

/** Checks whether a process runs, on Linux. One that has ended, and that nobody has waited for, does not. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
