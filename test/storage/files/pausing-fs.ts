import * as nodeFs from "node:fs/promises";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { systemError } from "./faulty-fs.js";

/** A file system on which the nth call waits for another action, or on which every call from the nth on fails. */
export interface PausingFs {
  readonly fs: FileSystem;
  /** Runs the action before the nth call from now. */
  pauseBefore(nth: number, meanwhile: () => Promise<void>): void;
  /** Fails every call from the nth one on. */
  dieBefore(nth: number): void;
  /** Lets all calls through again; returns true if that call was reached. */
  disarm(): boolean;
}

export function createPausingFs(base: FileSystem = nodeFs): PausingFs {
  let left = Number.POSITIVE_INFINITY;
  let meanwhile: () => Promise<void> = async () => {};
  let isMortal = false;

  async function before(): Promise<void> {
    left -= 1;
    if (left <= 0 && isMortal) throw systemError("EIO");
    if (left === 0) await meanwhile();
  }

  const arm = (nth: number, mortal: boolean) => {
    left = nth;
    isMortal = mortal;
  };
  const fs = new Proxy(base, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        await before();
        return value.apply(target, args);
      };
    },
  });
  return {
    fs,
    pauseBefore(nth, action) {
      meanwhile = action;
      arm(nth, false);
    },
    dieBefore: (nth) => arm(nth, true),
    disarm() {
      const reached = left <= 0;
      left = Number.POSITIVE_INFINITY;
      return reached;
    },
  };
}
