import { formatDiagnostic } from "../../definition/diagnostic.js";
import type { ParsedSource } from "../../definition/folder/positions.js";
import { readYaml } from "../../definition/folder/read-yaml.js";
import { createReport } from "../../definition/folder/report.js";
import { isJsonObject, type JsonObject } from "../../definition/json.js";
import { remember } from "./remember.js";

/** A YAML file read as keys and values, or what is wrong with it, each with its line. */
export type Mapping =
  | { readonly value: JsonObject; readonly place: ParsedSource["place"] }
  | { readonly value?: undefined; readonly diagnostics: readonly string[] };

/** Reads YAML that must be one mapping: plain data, aliases bounded, nothing merged, no tags, one document. */
export const readMapping = remember(async (file: string, text: string): Promise<Mapping> => {
  const report = createReport();
  const source = await readYaml(file, text, report);
  if (source !== undefined && isJsonObject(source.value)) return { value: source.value, place: source.place };
  if (source !== undefined) {
    const kind = Array.isArray(source.value) ? "a list" : source.value === null ? "empty" : "a single value";
    report.error("VALUE_WRONG", source.place([]), `the file is ${kind}`, "Write keys and values: 'name: …'.");
  }
  return { diagnostics: report.sorted().map(formatDiagnostic) };
});

/** The same text with other values in it: comments and order stay. The text itself where nothing changes. */
export async function replaceTexts(text: string, change: (value: string) => string): Promise<string> {
  const values = await textsOf(text);
  const others = values.map(change);
  return others.every((value, index) => value === values[index]) ? text : written(text, JSON.stringify(others));
}

/** The strings that are values of a document, in its order. */
const textsOf = remember(async (text: string): Promise<readonly string[]> => {
  const found: string[] = [];
  await visitTexts(text, (value) => {
    found.push(value);
    return value;
  });
  return found;
});

/** A document with its strings replaced, one by one. */
const written = remember(async (text: string, others: string): Promise<string> => {
  const values: unknown = JSON.parse(others);
  const left = (Array.isArray(values) ? values.map(String) : []).values();
  return (await visitTexts(text, (value) => left.next().value ?? value)).toString({ lineWidth: 0 });
});

async function visitTexts(text: string, change: (value: string) => string) {
  const yaml = await import("yaml");
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  yaml.visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      const value = change(node.value);
      if (value !== node.value) node.value = value;
    },
  });
  return document;
}
