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

/** How many words and signs are read of one file: the parser takes its time over each, and can't be stopped. */
const LEXEMES_MAX = 120_000;

/** Reads YAML; undefined, with diagnostics, if it can't be taken as plain data. An empty text is `null`. */
export async function readYaml(file: string, text: string, report: Report): Promise<ParsedSource | undefined> {
  const yaml = await import("yaml");
  const at = linesOf(file, text);
  const end = endOfRead(yaml, text);
  if (end !== undefined) {
    const hint = "Make it smaller: no file that people write has so many.";
    report.error("DEFINITION_TOO_LARGE", at(end), `the file has more than ${LEXEMES_MAX} words and signs`, hint);
    return undefined;
  }
  // Its own check for keys that are there twice takes quadratic time.
  const document = yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" });
  const reading = { yaml, document, text, report, at };
  if (!isSound(reading) || !hasPlainKeys(reading) || !hasKnownAliases(reading)) return undefined;
  const place = placesOf(reading);
  const value = plainValue(reading, place);
  return value === undefined ? undefined : { value, place };
}

/** Where a text has more words and signs than are read; undefined where it hasn't. They are counted one by one. */
function endOfRead(yaml: Yaml, text: string): number | undefined {
  if (text.length <= LEXEMES_MAX) return undefined;
  let count = 0;
  let offset = 0;
  for (const lexeme of new yaml.Lexer().lex(text)) {
    count += 1;
    if (count > LEXEMES_MAX) return offset;
    offset += lexeme.length;
  }
  return undefined;
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
