import { formatDiagnostic } from "../../definition/diagnostic.js";
import type { ParsedSource } from "../../definition/folder/positions.js";
import { readYaml } from "../../definition/folder/read-yaml.js";
import { createReport } from "../../definition/folder/report.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";

/** A YAML file read as keys and values, or what is wrong with it, each with its line. */
export type Mapping =
  | { readonly value: JsonObject; readonly place: ParsedSource["place"] }
  | { readonly value?: undefined; readonly diagnostics: readonly string[] };

/** Reads YAML that must be one mapping: plain data, aliases bounded, nothing merged, no tags, one document. */
export async function readMapping(file: string, text: string): Promise<Mapping> {
  const report = createReport();
  const source = await readYaml(file, text, report);
  if (source !== undefined && isJsonObject(source.value)) return { value: source.value, place: source.place };
  if (source !== undefined) {
    const kind = Array.isArray(source.value) ? "a list" : source.value === null ? "empty" : "a single value";
    report.error("VALUE_WRONG", source.place([]), `the file is ${kind}`, "Write keys and values: 'name: …'.");
  }
  return { diagnostics: report.sorted().map(formatDiagnostic) };
}

/** The same text with other values in it: comments and order stay. The text itself where nothing changes. */
export async function replaceTexts(text: string, change: (value: string) => string): Promise<string> {
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  let changed = false;
  yaml.visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      const value = change(node.value);
      if (value === node.value) return;
      changed = true;
      node.value = value;
    },
  });
  return changed ? document.toString({ lineWidth: 0 }) : text;
}
