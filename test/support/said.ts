import { failure } from "./failure.js";

/** Returns an answer, or a refusal, as JSON. */
export async function said(answer: unknown): Promise<unknown> {
  try {
    return JSON.parse(
      JSON.stringify((await answer) ?? null, (_, value) => (value instanceof Map ? [...value] : value)),
    );
  } catch (error) {
    const { code, message, remedy, details } = await failure(Promise.reject(error));
    return { error: { code, message, remedy, details } };
  }
}

/** Yields every value in an answer with its path and its object. */
export function* valuesIn(
  value: unknown,
  path = "",
): Generator<{ readonly path: string; readonly key: string; readonly value: unknown; readonly owner: object }> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inside] of Object.entries(value)) {
    yield { path: `${path}.${key}`, key, value: inside, owner: value };
    yield* valuesIn(inside, `${path}.${key}`);
  }
}

/** Returns the names of a class's own methods. */
export function methodsOf({ prototype }: { readonly prototype: object }): string[] {
  const names: string[] = [];
  for (let at: object = prototype; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    names.push(...Object.getOwnPropertyNames(at));
  }
  return names.filter((name) => name !== "constructor").sort();
}
