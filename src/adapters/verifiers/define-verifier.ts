import type * as z from "zod";
import type { JsonValue } from "../../definition/json.js";
import { isPhasegateError } from "../../errors.js";
import { checkPlaceholders } from "../../gate/fill-params.js";
import type { Verifier, VerifyRequest, VerifyResult } from "../../ports/verifier.js";
import { parseParams } from "./parse-params.js";

/** What a request is before there is evidence. */
export type SnapshotRequest = Parameters<NonNullable<Verifier["snapshot"]>>[0];

/** A verifier whose params have a schema. */
export interface VerifierSpec<S extends z.ZodObject> {
  readonly name: string;
  readonly params: S;
  /** Params in which no placeholder is filled in. */
  readonly verbatim?: readonly string[];
  /** Throws `INVALID_INPUT` for what the schema can't say; texts may still have placeholders in them. */
  checkParams?(params: z.infer<S>): void;
  snapshot?(params: z.infer<S>, request: SnapshotRequest): Promise<JsonValue>;
  verify(params: z.infer<S>, request: VerifyRequest, signal: AbortSignal): Promise<VerifyResult>;
}

/** What an agent can mend: a path that leads out, a file that is missing, too large or not text. */
const MENDABLE = ["PATH_REFUSED", "FILE_NOT_FOUND", "TOO_LARGE", "INVALID_INPUT"] as const;

/** Makes a verifier that checks its params, when a definition is loaded and before it runs. */
export function defineVerifier<S extends z.ZodObject>(spec: VerifierSpec<S>): Verifier {
  const { name, verbatim = [], snapshot } = spec;
  const read = (params: unknown) => parseParams(name, spec.params, params);
  return {
    verbatim,
    check(params) {
      checkPlaceholders(params, { verbatim });
      spec.checkParams?.(read(params));
    },
    ...(snapshot === undefined ? {} : { snapshot: async (request) => snapshot(read(request.params), request) }),
    async verify(request, { signal }) {
      signal.throwIfAborted();
      try {
        const params = read(request.params);
        spec.checkParams?.(params);
        return await spec.verify(params, request, signal);
      } catch (error) {
        if (!isPhasegateError(error) || !MENDABLE.some((code) => code === error.code)) throw error;
        return { ok: false, message: `${error.message}. ${error.remedy}` };
      }
    },
  };
}
