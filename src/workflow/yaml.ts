/** Reads YAML 1.2 as plain data: no custom tags, no merge keys, bounded aliases. The parser is loaded on first use. */
import type { Document, ErrorCode, Pair, Range, YAMLMap } from "yaml";
import type { SourcePosition } from "../errors.js";
import { type DiagnosticCode, type KeyPath, linesOf, type ParsedSource } from "./diagnostic.js";
import type { Spot } from "./file-schema.js";
import { type JsonObject, type JsonValue, storedValueSchema } from "./json.js";
import { DEPTH_MAX } from "./json-source.js";
import { nearest, shown } from "./names.js";
import type { Report } from "./report.js";

/** Maximum number of tokens in one file: the parser takes time for each and can't be interrupted. */
const LEXEMES_MAX = 120_000;

/** Reads YAML. Returns undefined and reports errors if it is not plain data. An empty text is `null`. */
export async function readYaml(file: string, text: string, report: Report): Promise<ParsedSource | undefined> {
  const yaml = await import("yaml");
  const at = linesOf(file, text);
  const end = endOfRead(yaml, text);
  if (end !== undefined) {
    const hint = "Make it smaller, or split it.";
    report.error("DEFINITION_TOO_LARGE", at(end), `the file has more than ${LEXEMES_MAX} words and signs`, hint);
    return undefined;
  }
  // The parser's own check for duplicate keys takes quadratic time.
  const document = withoutStackTraces(() =>
    yaml.parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: "error" }),
  );
  const reading = { yaml, document, text, report, at };
  if (!isSound(reading) || !hasPlainKeys(reading) || !hasSoundAnchors(reading)) return undefined;
  const place = placesOf(reading);
  const value = plainValue(reading, place);
  return value === undefined ? undefined : { value, place };
}

interface SplitText {
  /** The front matter; `null` if it is empty, undefined if there is none or it can't be read. */
  readonly source?: ParsedSource;
  /** The text with an empty line for each line of the front matter, so that line numbers stay the same. */
  readonly body: string;
}

const FENCED = /^---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)??---[ \t]*(?:\r?\n|$)/;

/** Reads the front matter: YAML between two `---` at the very beginning of a text. */
export async function splitFrontMatter(file: string, text: string, report: Report): Promise<SplitText> {
  const found = FENCED.exec(text);
  if (found === null) return { body: text };
  const lines = found[0].split("\n").length - 1;
  const body = "\n".repeat(lines) + text.slice(found[0].length);
  // The line feed stands for the line of the first `---`, so that positions match the file.
  const source = await readYaml(file, `\n${found[1] ?? ""}`, report);
  return source === undefined ? { body } : { source, body };
}

/** Reports keys of front matter that are almost one of `keys`, or have no value: a misspelt gate must not be ignored. */
export function refuseMisspelt(entries: JsonObject, keys: readonly string[], spot: Spot): void {
  for (const [key, value] of Object.entries(entries)) {
    const meant = keys.includes(key) ? key : nearest(key, keys);
    if (meant === undefined) continue;
    if (meant !== key) {
      spot.report.error("KEY_UNKNOWN", spot.place(key), `the key ${shown(key)} has no meaning here`, `Write ${meant}.`);
    } else if (value === null) {
      spot.at(key).wrong(value, "given", "Write its value, or remove the key.");
    }
  }
}

/** Returns the path to the first part of a value that is not JSON, or too deep, as a circular one is. */
export function notJson(value: unknown, path: KeyPath = []): KeyPath | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : path;
  if (typeof value !== "object" || path.length >= DEPTH_MAX || !isPlain(value)) return path;
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const found = notJson(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

type Yaml = typeof import("yaml");

/** Returns the offset at which a text exceeds the maximum number of tokens; undefined if it doesn't. */
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

/** Runs the parser without stack traces: it makes an error for each fault, and they would take most of the time. */
function withoutStackTraces<T>(parse: () => T): T {
  const limit: unknown = Reflect.get(Error, "stackTraceLimit");
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return parse();
  } finally {
    Reflect.set(Error, "stackTraceLimit", limit);
  }
}

interface YamlReading {
  readonly yaml: Yaml;
  readonly document: Document.Parsed;
  readonly text: string;
  readonly report: Report;
  at(offset: number): SourcePosition;
}

function isSound({ document, text, report, at }: YamlReading): boolean {
  const faults = [...document.errors, ...document.warnings];
  for (const { code, message, pos } of faults) {
    const plain: Words = ["YAML_SYNTAX", `not YAML: ${message}`, HINTS[code] ?? CHECK];
    const [own, said, hint] = OWN_WORDS[code]?.(shown(text.slice(...pos))) ?? plain;
    report.error(own, at(pos[0]), said, hint);
  }
  const is11 = document.directives.yaml.version !== "1.2";
  if (is11) report.error("YAML_VERSION", at(0), "only YAML 1.2 is read", "Remove the line that begins with %YAML.");
  return faults.length === 0 && !is11;
}

/** How a fault is reported: its code, message and hint. */
type Words = readonly [code: DiagnosticCode, message: string, hint: string];

const TAG = (text: string): Words => ["YAML_TAG", `tags are not read: ${text}`, "Write the plain value, without '!'."];

/** The faults that are reported in other words than the parser's, by the text at their place. */
const OWN_WORDS: Partial<Record<ErrorCode, (text: string) => Words>> = {
  RESOURCE_EXHAUSTION: () => ["NESTED_TOO_DEEPLY", "nested too deeply", "Make it flatter."],
  MULTIPLE_DOCS: () => [
    "YAML_SYNTAX",
    "a second document begins here, and only one is read",
    "Keep one document: remove the line that begins with '---', and the rest after it.",
  ],
  TAG_RESOLVE_FAILED: TAG,
  BAD_COLLECTION_TYPE: TAG,
  BAD_DIRECTIVE: () => [
    "YAML_VERSION",
    "only YAML 1.2 is read, and no other directive",
    "Remove the line that begins with '%'.",
  ],
};

const QUOTES = "Put the text into double quotes.";

const HINTS: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: QUOTES,
  BAD_DQ_ESCAPE: "Write a backslash in double quotes twice, or put the text into single quotes.",
  BAD_INDENT: "Indent what belongs together by the same number of spaces.",
  BAD_SCALAR_START: QUOTES,
  TAB_AS_INDENT: "Indent with spaces.",
};

const CHECK = "Check quotes, brackets and indentation; put a text that contains ':', '#' or '*' into double quotes.";

/** Checks that all keys are plain texts and unique, and that none is a merge key or reserved. */
function hasPlainKeys(reading: YamlReading): boolean {
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

function keyOf(yaml: Yaml, { key }: Pair): string | undefined {
  return yaml.isScalar(key) ? String(key.value) : undefined;
}

function keyProblem({ yaml }: YamlReading, pair: Pair, seen: Set<string>) {
  const key = keyOf(yaml, pair);
  if (key === undefined) {
    const hint = "Write one word before the colon, without '?', brackets or '*'.";
    return { code: "YAML_SYNTAX", message: "a key must be a plain text", hint } as const;
  }
  if (key === "__proto__") {
    const hint = "Give it another name.";
    return { code: "NAME_RESERVED", message: `no key may be ${shown(key)}`, hint } as const;
  }
  if (key === "<<") {
    const hint = "Repeat the keys in each object.";
    return { code: "YAML_MERGE", message: "merge keys ('<<') are not read", hint } as const;
  }
  if (!seen.has(key)) return void seen.add(key);
  const hint = "Remove one of the two.";
  return { code: "KEY_DUPLICATE", message: `the key ${shown(key)} appears twice`, hint } as const;
}

function startOf(yaml: Yaml, node: unknown): number {
  const range: Range | null | undefined = yaml.isNode(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}

/** The parser takes a no-break space for a part of an anchor, and can't write it again. */
const ODD_ANCHOR = /[\s\p{Cc}]/u;

/** Checks that every alias refers to an anchor before it, and that no anchor has an odd name. */
function hasSoundAnchors(reading: YamlReading): boolean {
  const { yaml, document, report, at } = reading;
  const anchors = new Set<string>();
  let sound = true;
  yaml.visit(document, {
    Node(_, node) {
      if (!yaml.isAlias(node)) {
        if (node.anchor === undefined) return;
        anchors.add(node.anchor);
        if (!ODD_ANCHOR.test(node.anchor)) return;
        sound = false;
        const message = `the anchor ${shown(node.anchor)} has a space or a control character in its name`;
        const hint = "Name it with letters and digits, or remove '&'.";
        report.error("YAML_SYNTAX", at(startOf(yaml, node)), message, hint);
      } else if (!anchors.has(node.source)) {
        sound = false;
        const hint = "Write the value itself, or in double quotes if it is a text that begins with '*'.";
        const message = `no anchor before it is called ${shown(node.source)}`;
        report.error("YAML_ALIASES", at(startOf(yaml, node)), message, hint);
      }
    },
  });
  return sound;
}

/** Returns a function that finds the position of a path, or of the nearest value around it. */
function placesOf({ yaml, document, at }: YamlReading): ParsedSource["place"] {
  const indexes = new Map<YAMLMap, Map<string, Pair>>();
  const pairOf = (map: YAMLMap, key: string | number) => {
    const index = indexes.get(map) ?? new Map(map.items.map((pair) => [keyOf(yaml, pair) ?? "", pair]));
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

/** Maximum number of values that aliases may expand to, multiplied. */
const ALIASES_MAX = 100;

/** Returns the document as plain data. Returns undefined and reports an error if it is more than that. */
function plainValue(reading: YamlReading, place: ParsedSource["place"]): JsonValue | undefined {
  const { document, report } = reading;
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch {
    // Only the number of aliases can fail here: anchors and depth were checked before.
    const message = `aliases expand to more than ${ALIASES_MAX} values`;
    const hint = "Write the values in place of the aliases ('*').";
    report.error("YAML_ALIASES", firstAlias(reading), message, hint);
    return undefined;
  }
  const fault = notJson(value);
  if (fault === undefined) return storedValueSchema.parse(value);
  const hint = "Write a finite number, or a flatter value that doesn't contain itself.";
  report.error("VALUE_NOT_JSON", place(fault), "a value is not finite, or nested too deeply to be JSON", hint);
  return undefined;
}

function firstAlias({ yaml, document, at }: YamlReading): SourcePosition {
  let first: SourcePosition | undefined;
  yaml.visit(document, {
    Alias(_, alias) {
      first = at(startOf(yaml, alias));
      return yaml.visit.BREAK;
    },
  });
  return first ?? at(0);
}

function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}
