import type { FileHandle } from "node:fs/promises";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { directFs } from "./direct-fs.js";

/** A file system on which one call can be made to fail. */
export interface FaultyFs {
  readonly fs: FileSystem;
  /** Makes the nth call from now fail, instead of being done or after it was done. */
  arm(nth: number, code: string, when: "before" | "after"): void;
  /** Lets all calls through again; returns the name of the call that failed, if one did. */
  disarm(): string | undefined;
}

/** Returns the error of a failed system call, with a path in its message, as Node has it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: failed, open '/secret/path'`), { code });
}

export function createFaultyFs(): FaultyFs {
  let left = Number.POSITIVE_INFINITY;
  let fault = { code: "EIO", when: "before" };
  let failed: string | undefined;

  async function attempt<T>(name: string, call: () => Promise<T>): Promise<T> {
    left -= 1;
    if (left !== 0) return call();
    failed = name;
    // The handle is closed in any case, as with a real close that fails.
    if (fault.when === "after" || name === "handle.close") {
      const result = await call();
      if (isHandle(result)) await result.close();
    }
    throw systemError(fault.code);
  }

  function wrapped<T extends object>(target: T, prefix: string): T {
    return new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key, object);
        if (typeof value !== "function" || typeof key !== "string") return value;
        return (...args: unknown[]) =>
          attempt(`${prefix}${key}`, async () => {
            const result: unknown = await value.apply(object, args);
            return key === "open" && isHandle(result) ? wrapped(result, "handle.") : result;
          });
      },
    });
  }

  return {
    fs: wrapped({ ...directFs }, ""),
    arm(nth, code, when) {
      left = nth;
      fault = { code, when };
      failed = undefined;
    },
    disarm() {
      left = Number.POSITIVE_INFINITY;
      return failed;
    },
  };
}

function isHandle(value: unknown): value is FileHandle {
  return typeof value === "object" && value !== null && "sync" in value;
}
