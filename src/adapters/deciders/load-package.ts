import { PhasegateError } from "../../errors.js";

/** Loads a client that hosts with another decider need not have. Throws `DECIDER_FAILED` where it isn't installed. */
export async function loadPackage<T>(name: string, version: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new PhasegateError("DECIDER_FAILED", `this decider needs ${name}, which can't be loaded`, {
      remedy: `Install it beside phasegate: npm install ${name}@${version}. The report is kept: retry goes on with it.`,
      details: { reason: "unavailable", retryable: false, requests: 0 },
      cause: error,
    });
  }
}
