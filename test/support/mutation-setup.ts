import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Given by Stryker: `static` if the mutant is to be active while modules are loaded. */
    mutantActivation: "static" | "runtime";
  }
}

// The thread goes on with the next mutant: the last one must not be active while the modules are loaded for it.
const stryker: unknown = Reflect.get(globalThis, "__stryker__");
if (typeof stryker === "object" && stryker !== null && inject("mutantActivation") !== "static") {
  Reflect.set(stryker, "activeMutant", undefined);
}
