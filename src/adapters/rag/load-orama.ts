import { PhasegateError } from "../../errors.js";

/** The module, loaded. */
export type OramaModule = typeof import("@orama/orama");

/** Loads Orama, which hosts with a retriever of their own need not have. Throws `INTERNAL` where it is not installed. */
export async function loadOrama(): Promise<OramaModule> {
  try {
    return await import("@orama/orama");
  } catch (error) {
    throw new PhasegateError("INTERNAL", "the search index needs @orama/orama, which can't be loaded", {
      remedy: "Install it beside phasegate: npm install @orama/orama@3.1.18",
      details: { cause: "@orama/orama" },
      cause: error,
    });
  }
}
