import { type AnyPhasegateError, isPhasegateError } from "phasegate";

/** What a promise rejects with, which must be one of our errors. */
export async function failure(promise: Promise<unknown>): Promise<AnyPhasegateError> {
  const error: unknown = await promise.then(
    () => new Error("it did not reject"),
    (reason: unknown) => reason,
  );
  if (isPhasegateError(error)) return error;
  throw error;
}
