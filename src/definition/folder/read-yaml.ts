/**
 * YAML of the core schema, and nothing that would turn a text into more than data: no custom tags, no
 * merge keys, no YAML 1.1, no expansion without bound. The parser is loaded when it is first needed.
 */
import type { Pair, YAMLMap } from "yaml";
import { linesOf, type ParsedSource } from "./positions.js";
import type { Report } from "./report.js";
import { hasKnownAliases, plainValue } from "./yaml-aliases.js";
import { hasPlainKeys } from "./yaml-keys.js";
import { startOf, type Yaml, type YamlReading } from "./yaml-reading.js";
import { isSound } from "./yaml-syntax.js";

/** Reads YAML; undefined, with diagnostics, if it can't be taken as plain data. An empty text is `null`. */
export async function readYaml(file: string, text: string, report: Report): Promise<ParsedSource | undefined> {
  const yaml = await import("yaml");
  // Its own check for keys that are there twice takes quadratic time.
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  const reading = { yaml, document, text, report, at: linesOf(file, text) };
  if (!isSound(reading) || !hasPlainKeys(reading) || !hasKnownAliases(reading)) return undefined;
  const place = placesOf(reading);
  const value = plainValue(reading, place);
  return value === undefined ? undefined : { value, place };
}

/** Finds where the key, or the element, at a path stands; the nearest one around it if there is none. */
function placesOf({ yaml, document, at }: YamlReading): ParsedSource["place"] {
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
