import { fileURLToPath } from "node:url";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Given by Stryker: `static` if the mutant is to be active while modules are loaded; undefined in the first run. */
    mutantActivation: "static" | "runtime" | undefined;
    activeMutant: string;
  }
}

/** A module as Vitest's runner keeps it. */
interface LoadedModule {
  promise: unknown;
  exports: unknown;
  evaluated: boolean;
  readonly importers: Set<string>;
}

/** Where the thread keeps for which mutant the changed sources were loaded. */
const LOADED_FOR = "__phasegate_loaded_for__";

interface Worker {
  readonly evaluatedModules: { readonly idToModuleMap: ReadonlyMap<string, LoadedModule> };
}

const activation = inject("mutantActivation");
/** The mutant that must be active while the changed sources are loaded, if it is one of code that runs then. */
const wanted = activation === "static" ? inject("activeMutant") : undefined;

// The thread goes on with the next mutant: the last one must not be active while the modules are loaded for it, nor what it has
// reached count.
const stryker: unknown = Reflect.get(globalThis, "__stryker__");
if (typeof stryker === "object" && stryker !== null) {
  Reflect.set(stryker, "hitCount", undefined);
  if (activation !== "static") Reflect.set(stryker, "activeMutant", undefined);
}

// To load all sources again for each test file can take most of the time. Only what must be is loaded anew.
if (activation !== undefined) {
  const { evaluatedModules }: Worker = Reflect.get(globalThis, "__vitest_worker__");
  for (const loaded of loadedAnew(evaluatedModules.idToModuleMap)) {
    loaded.promise = undefined;
    loaded.exports = undefined;
    loaded.evaluated = false;
    loaded.importers.clear();
  }
  Reflect.set(globalThis, LOADED_FOR, wanted);
}

/**
 * Returns the modules that are loaded anew for each test file: the tests, sources that remember something, sources of other
 * modules that use what is changed (they may remember its results), and all that import one of these. The changed sources
 * are, if they were loaded for another mutant.
 */
function loadedAnew(modules: ReadonlyMap<string, LoadedModule>): LoadedModule[] {
  const folder = fileURLToPath(new URL("../../", import.meta.url));
  const paths = (list = "") => list.split(" ").map((path) => `${folder}${path}`);
  const changed = paths(process.env.PHASEGATE_MUTATION_SOURCES);
  const users = [...withImporters(changed, modules)].filter((path) => !changed.includes(path));
  const own = fileURLToPath(import.meta.url);
  const tests = [...modules.keys()].filter((path) => path.startsWith(`${folder}test/`) && path !== own);
  const isOther = Reflect.get(globalThis, LOADED_FOR) !== wanted;
  const remembering = isOther ? changed : paths(process.env.PHASEGATE_MUTATION_REMEMBERING);
  const anew = withImporters([...remembering, ...users, ...tests], modules);
  return [...anew].flatMap((path) => modules.get(path) ?? []);
}

/** Returns modules, and all that import one of them, directly or not. */
function withImporters(paths: readonly string[], modules: ReadonlyMap<string, LoadedModule>): Set<string> {
  const found = new Set(paths);
  // What is added on the way is visited, too.
  for (const path of found) for (const importer of modules.get(path)?.importers ?? []) found.add(importer);
  return found;
}
