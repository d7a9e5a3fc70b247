import { fileURLToPath } from "node:url";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Given by Stryker: `static` if the mutant is to be active while modules are loaded. */
    mutantActivation: "static" | "runtime";
  }
}

/** A module as Vitest's runner keeps it. */
interface LoadedModule {
  promise: unknown;
  exports: unknown;
  evaluated: boolean;
  readonly importers: Set<string>;
}

interface Worker {
  readonly evaluatedModules: { readonly idToModuleMap: ReadonlyMap<string, LoadedModule> };
}

const activation = inject("mutantActivation");

// The thread goes on with the next mutant: the last one must not be active while the modules are loaded for it.
const stryker: unknown = Reflect.get(globalThis, "__stryker__");
if (typeof stryker === "object" && stryker !== null && activation !== "static") {
  Reflect.set(stryker, "activeMutant", undefined);
}

// A mutant that is not active while modules are loaded needs no instances of its own, if the sources remember nothing: to load
// them again for each test file can take most of the time. The test file must be loaded, or it would have no tests.
if (process.env.PHASEGATE_MUTATION_KEEPS_SOURCES === "true" && activation === "runtime") {
  const sources = fileURLToPath(new URL("../../src/", import.meta.url));
  const { evaluatedModules }: Worker = Reflect.get(globalThis, "__vitest_worker__");
  for (const [path, loaded] of evaluatedModules.idToModuleMap) {
    const isTools = /\/vitest\/dist\/|vitest-virtual|@vitest\/|mutation-setup|stryker-setup/.test(path);
    if (isTools || path.startsWith(sources)) continue;
    loaded.promise = undefined;
    loaded.exports = undefined;
    loaded.evaluated = false;
    loaded.importers.clear();
  }
}
