import { type AnyPhasegateError, isPhasegateError } from "phasegate";

/** Returns the error of a promise, which must be one of the library's. */
export async function failure(promise: Promise<unknown>): Promise<AnyPhasegateError> {
  const error: unknown = await promise.then(
    () => new Error("it did not reject"),
    (reason: unknown) => reason,
  );
  if (isPhasegateError(error)) return error;
  throw error;
}
