import { PythonFault } from "./python-tokens.js";

/** A constant as the language writes it. Throws `PythonFault` for a text that is no Unicode. */
export function constantToCel(value: string | number | bigint | boolean | null, at = 0): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : `${value}`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new PythonFault(at, "a text that is no Unicode");
  return JSON.stringify(value);
}
