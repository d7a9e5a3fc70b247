import { asStorageFailure } from "./fs-failure.js";

/** Does something whose failures are told as those of an operation. */
export async function guarded<T>(operation: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asStorageFailure(operation, error);
  }
}

/** The same for each step of an iteration. */
export async function* guardedEach<T>(operation: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (;;) {
      const next = await guarded(operation, () => items.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await items.return(undefined);
  }
}
