/** The faults that zod finds, in English words. Apart from json.ts, which engines load at once: they need no such words. */
import type * as z from "zod/mini";
import en from "zod/v4/locales/en.js";

/** The texts of problems that zod finds, in English: `zod/mini` comes without any. Pass it to `parse` and `safeParse`. */
export const ENGLISH = { error: en().localeError };

/** Returns what is wrong with the alternative that comes closest to a value: right down to the deepest key. */
export function innermostIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const found = issue.errors.flatMap(([first]) => (first === undefined ? [] : [innermostIssue(first)]));
  const [closest] = found.toSorted((one, other) => other.path.length - one.path.length);
  if (closest === undefined) return issue;
  const types = found.flatMap((one) => (one.code === "invalid_type" && one.path.length === 0 ? [one.expected] : []));
  const [first] = types;
  const isNone = types.length === found.length && first !== undefined;
  const message = isNone ? closest.message.replace(first, [...new Set(types)].join(" or ")) : closest.message;
  return { ...closest, message, path: [...issue.path, ...closest.path] };
}
