import { PhasegateError } from "../../errors.js";

/**
 * Bytes as text. Throws `INVALID_INPUT` for a binary file, which is told by a NUL, and for what isn't UTF-8. A byte order
 * mark stays.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  if (bytes.includes(0)) throw notText(name, "a binary file");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notText(name, "not valid UTF-8");
  }
}

function notText(name: string, what: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${name} is ${what}: only text can be read`, {
    remedy: "Go on without it, or ask the user for its content as text in UTF-8.",
    details: { field: "path", expected: "a text file in UTF-8" },
  });
}
