import { storedValueSchema } from "../json.js";
import { shown } from "../names.js";
import { type KeyPath, linesOf, type ParsedSource } from "./positions.js";
import type { Report } from "./report.js";
import { JsonFailure, type JsonPlace, type JsonScan, scanJson } from "./scan-json.js";

/** Reads strict JSON; undefined, with a diagnostic, if it isn't. */
export function readJson(file: string, text: string, report: Report): ParsedSource | undefined {
  const position = linesOf(file, text);
  try {
    const scan = scanJson(text);
    reportKeys(scan, position, report);
    const value = storedValueSchema.parse(JSON.parse(text));
    return { value, place: (path) => position(find(scan.root, path).offset) };
  } catch (error) {
    if (!(error instanceof JsonFailure)) throw error;
    const code = error.reason === "depth" ? "NESTED_TOO_DEEPLY" : "JSON_SYNTAX";
    report.error(code, position(error.offset), error.message, error.hint);
    return undefined;
  }
}

function reportKeys(scan: JsonScan, position: ReturnType<typeof linesOf>, report: Report): void {
  for (const { key, offset } of scan.duplicates) {
    report.error("KEY_DUPLICATE", position(offset), `the key ${shown(key)} is there twice`, "Remove one of the two.");
  }
  const places = [scan.root];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    for (const [key, inner] of place.entries) {
      if (key === "__proto__") {
        report.error("NAME_RESERVED", position(inner.offset), `no key may be ${shown(key)}`, "Give it another name.");
      }
      places.push(inner);
    }
  }
}

function find(root: JsonPlace, path: KeyPath): JsonPlace {
  let place = root;
  for (const key of path) {
    const inner = place.entries.get(key);
    if (inner === undefined) return place;
    place = inner;
  }
  return place;
}
