import { PhasegateError } from "../../errors.js";

/** Variables by name, such as `process.env`. */
export type GeminiEnvironment = Readonly<Record<string, string | undefined>>;

interface Known {
  readonly apiKey?: string;
  readonly model?: string;
  readonly timeoutMs?: number;
}

/** Reads what an environment says of Gemini; what is known already need not stand there. Throws `INVALID_INPUT`. */
export function readGeminiEnvironment(env: GeminiEnvironment, known: Known) {
  const value = (name: string) => env[name]?.trim() || undefined;
  const apiKey = known.apiKey ?? value("GEMINI_API_KEY");
  if (apiKey === undefined) throw badVariable("GEMINI_API_KEY", "is not set", "a key of the Gemini API");
  const model = value("GEMINI_MODEL_NAME");
  const seconds = known.timeoutMs === undefined ? value("GEMINI_REQUEST_TIMEOUT_SECONDS") : undefined;
  return {
    apiKey,
    ...(model === undefined ? {} : { model }),
    ...(seconds === undefined ? {} : { timeoutMs: milliseconds(seconds) }),
  };
}

function milliseconds(seconds: string): number {
  const number = /^\d+(?:\.\d+)?$/.test(seconds) ? Number(seconds) : Number.NaN;
  if (number >= 0.001 && number <= 3600) return Math.round(number * 1000);
  throw badVariable("GEMINI_REQUEST_TIMEOUT_SECONDS", "can't be read", "a number of seconds from 0.001 to 3600");
}

/** What the variable holds isn't shown: it may be a key in the wrong place. */
function badVariable(field: string, what: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the environment variable ${field} ${what}`, {
    remedy: `Set ${field} to ${expected}, or use a decider that needs no key: LinearDecider, SamplingDecider.`,
    details: { field, expected },
  });
}
