import * as nodeFs from "node:fs/promises";
import type { FileSystem } from "../../../src/storage/files/disk.js";
import { systemError } from "./faulty-fs.js";
/** A file system of which the nth call waits for something else to be done, or from which on the process is dead. */
export interface PausingFs {
  readonly fs: FileSystem;
  /** Before the nth call from now, does something else. */
  pauseBefore(nth: number, meanwhile: () => Promise<void>): void;
  /** From the nth call on nothing is done any more. */
  dieBefore(nth: number): void;
  /** Lets all calls through again; says whether that call came. */
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
