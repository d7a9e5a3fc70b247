import { JsonFailure, type JsonPlace, scanJson } from "../../definition/folder/scan-json.js";
import { type JsonValue, storedValueSchema } from "../../definition/json.js";
import { shown } from "../../definition/names.js";
import { PhasegateError } from "../../errors.js";
import { shownPath } from "./shown-text.js";

/** What a JSON file says, and where. */
export interface JsonText {
  readonly value: JsonValue;
  readonly place: JsonPlace;
}

/**
 * Reads a JSON file's text. Throws `INVALID_INPUT` for what isn't JSON, nests too deep, or has a key twice:
 * readers differ in which of the two they take.
 */
export function readJsonText(path: string, text: string): JsonText {
  const { duplicates, root } = scanned(path, text);
  const [twice] = duplicates;
  if (twice !== undefined) throw notJson(path, `the key ${shown(twice.key)} is there twice`);
  return { value: storedValueSchema.parse(JSON.parse(text)), place: root };
}

function scanned(path: string, text: string) {
  try {
    return scanJson(text);
  } catch (error) {
    if (!(error instanceof JsonFailure)) throw error;
    const line = text.slice(0, error.offset).split("\n").length;
    throw notJson(path, `line ${line}: ${error.message}`);
  }
}

function notJson(path: string, reason: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${shownPath(path)} can't be read as JSON: ${reason}`, {
    remedy: "Let the tool write the file again, as strict JSON.",
    details: { field: path, expected: "JSON" },
  });
}
