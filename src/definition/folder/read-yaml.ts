/**
 * YAML of the core schema, and nothing that would turn a text into more than data: no custom tags, no
 * merge keys, no YAML 1.1, no expansion without bound. The parser is loaded when it is first needed.
 */
import type { Document, Pair, Range, YAMLMap } from "yaml";
import type { SourcePosition } from "../../errors.js";
import { type JsonValue, storedValueSchema } from "../json.js";
import { shown } from "../names.js";
import { notJson } from "./plain-json.js";
import { linesOf, type ParsedSource } from "./positions.js";
import type { Report } from "./report.js";

/** How often aliases may stand for what they name, multiplied through. */
const ALIASES_MAX = 100;

type Yaml = typeof import("yaml");
interface Reading {
  readonly yaml: Yaml;
  readonly document: Document.Parsed;
  readonly report: Report;
  at(offset: number): SourcePosition;
}

/** Reads YAML; undefined, with diagnostics, if it can't be taken as plain data. An empty text is `null`. */
export async function readYaml(file: string, text: string, report: Report): Promise<ParsedSource | undefined> {
  const yaml = await import("yaml");
  // Its own check for keys that are there twice takes quadratic time.
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  const reading = { yaml, document, report, at: linesOf(file, text) };
  if (!isSound(reading) || !hasPlainKeys(reading) || !hasKnownAliases(reading)) return undefined;
  const place = placesOf(reading);
  const value = plainValue(reading, place);
  return value === undefined ? undefined : { value, place };
}

function isSound({ document, report, at }: Reading): boolean {
  for (const { code, message, pos } of document.errors) {
    if (code === "RESOURCE_EXHAUSTION") report.error("NESTED_TOO_DEEPLY", at(pos[0]), "nested too deeply");
    else report.error("YAML_SYNTAX", at(pos[0]), `not YAML: ${message}`);
  }
  for (const { message, pos } of document.warnings) {
    report.error("YAML_TAG", at(pos[0]), `${message}: tags are not read`, "Write the plain value, without '!'.");
  }
  const is11 = document.directives.yaml.version !== "1.2";
  if (is11) report.error("YAML_VERSION", at(0), "only YAML 1.2 is read", "Remove the line that begins with %YAML.");
  return document.errors.length === 0 && document.warnings.length === 0 && !is11;
}

function hasPlainKeys(reading: Reading): boolean {
  const { yaml, document, report } = reading;
  let plain = true;
  yaml.visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const pair of map.items) {
        const problem = keyProblem(reading, pair, seen);
        if (problem === undefined) continue;
        plain = false;
        report.error(problem.code, reading.at(startOf(yaml, pair.key)), problem.message, problem.hint);
      }
    },
  });
  return plain;
}

function keyProblem({ yaml }: Reading, pair: Pair, seen: Set<string>) {
  const key = yaml.isScalar(pair.key) ? String(pair.key.value) : undefined;
  if (key === undefined) return { code: "YAML_SYNTAX", message: "a key must be a plain text" } as const;
  if (key === "__proto__") return { code: "NAME_RESERVED", message: `no key may be ${shown(key)}` } as const;
  if (key === "<<") {
    const hint = "Write the keys out where they are wanted.";
    return { code: "YAML_MERGE", message: "merge keys ('<<') are not read", hint } as const;
  }
  if (!seen.has(key)) return void seen.add(key);
  const hint = "Remove one of the two.";
  return { code: "KEY_DUPLICATE", message: `the key ${shown(key)} is there twice`, hint } as const;
}

/** An alias may only name what stands before it. */
function hasKnownAliases({ yaml, document, report, at }: Reading): boolean {
  const anchors = new Set<string>();
  let known = true;
  yaml.visit(document, {
    Node(_, node) {
      if (!yaml.isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source)) {
        known = false;
        report.error("YAML_ALIASES", at(startOf(yaml, node)), `nothing before it is called ${shown(node.source)}`);
      }
    },
  });
  return known;
}

function plainValue({ document, report, at }: Reading, place: ParsedSource["place"]): JsonValue | undefined {
  try {
    const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
    const fault = notJson(value);
    if (fault === undefined) return storedValueSchema.parse(value);
    report.error("VALUE_NOT_JSON", place(fault), "a value is not finite, or nested too deeply to be JSON");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    report.error("YAML_ALIASES", at(0), `aliases can't be expanded: ${reason}`, "Write the values out.");
  }
  return undefined;
}

/** Finds where the key, or the element, at a path stands; the nearest one around it if there is none. */
function placesOf({ yaml, document, at }: Reading): ParsedSource["place"] {
  const indexes = new Map<YAMLMap, Map<string, Pair>>();
  const pairOf = (map: YAMLMap, key: string | number) => {
    const index = indexes.get(map) ?? new Map(map.items.map((pair) => [keyOf(yaml, pair), pair]));
    indexes.set(map, index);
    return index.get(String(key));
  };
  return (path) => {
    let node: unknown = document.contents;
    let offset = startOf(yaml, node);
    for (const key of path) {
      const whole = yaml.isAlias(node) ? node.resolve(document) : node;
      const pair = yaml.isMap(whole) ? pairOf(whole, key) : undefined;
      const item: unknown = yaml.isSeq(whole) && typeof key === "number" ? whole.items[key] : undefined;
      if (pair === undefined && item === undefined) break;
      offset = startOf(yaml, pair === undefined ? item : pair.key);
      node = pair === undefined ? item : pair.value;
    }
    return at(offset);
  };
}

function keyOf(yaml: Yaml, pair: Pair): string {
  return yaml.isScalar(pair.key) ? String(pair.key.value) : "";
}

function startOf(yaml: Yaml, node: unknown): number {
  const range: Range | null | undefined = yaml.isNode(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}
