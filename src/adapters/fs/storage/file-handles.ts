import { isMissing } from "./fs-failure.js";

/** A folder that is open for a sync. */
export interface OpenFolder {
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Uses something that is open, and closes it whatever comes. */
export async function closing<T>(handle: { close(): Promise<void> }, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    await handle.close();
  }
}

/** What a call gives; undefined if the file or the folder isn't there. */
export async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** For failures that do no harm. */
export function ignore(): void {}
