/** Reads strict JSON with the position of every key and value: `JSON.parse` tells few, and accepts repeated keys. */

import { type KeyPath, linesOf, type ParsedSource } from "./diagnostic.js";
import { storedValueSchema } from "./json.js";
import { shown } from "./names.js";
import type { Report } from "./report.js";

/** Reads strict JSON. Returns undefined and reports an error if the text is not JSON. */
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

/** The position of a value and of the values in it. A member of an object has the position of its key. */
export interface JsonPlace {
  readonly offset: number;
  readonly entries: ReadonlyMap<string | number, JsonPlace>;
  /** The digits of a number; its value may be rounded. */
  readonly number?: string;
}

/** Maximum nesting depth: enough for every definition, and safe for recursive functions. */
export const DEPTH_MAX = 64;

export class JsonFailure extends Error {
  readonly reason: "syntax" | "depth";
  readonly offset: number;
  readonly hint: string;

  constructor(reason: "syntax" | "depth", offset: number, message: string, hint: string) {
    super(message);
    this.reason = reason;
    this.offset = offset;
    this.hint = hint;
  }
}

interface JsonScan {
  readonly root: JsonPlace;
  readonly duplicates: readonly { readonly key: string; readonly offset: number }[];
}

/** Scans a whole text. Throws a {@link JsonFailure} at the first position that is not JSON. */
export function scanJson(text: string): JsonScan {
  const scanner = new Scanner(text);
  const root = scanner.value(0, 0);
  scanner.end();
  return { root, duplicates: scanner.duplicates };
}

function reportKeys(scan: JsonScan, position: ReturnType<typeof linesOf>, report: Report): void {
  for (const { key, offset } of scan.duplicates) {
    report.error("KEY_DUPLICATE", position(offset), `the key ${shown(key)} appears twice`, "Remove one of the two.");
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

const SPACE = /[ \t\r\n]*/y;

const NONE: ReadonlyMap<string, JsonPlace> = new Map();

const LITERAL = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const STRICT = "JSON has double quotes only, no comments, and no comma before a closing bracket.";

class Scanner {
  readonly duplicates: { key: string; offset: number }[] = [];
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** Scans a value; `offset` is recorded as its position. */
  value(depth: number, offset: number): JsonPlace {
    this.match(SPACE);
    const first = this.text[this.at];
    if (first === "{") return { offset, entries: this.object(depth + 1) };
    if (first === "[") return { offset, entries: this.array(depth + 1) };
    if (first === '"') {
      this.string();
      return { offset, entries: NONE };
    }
    const literal = this.match(LITERAL);
    if (literal === "") this.fail("expected a value");
    return /[tfn]/.test(literal.charAt(0)) ? { offset, entries: NONE } : { offset, entries: NONE, number: literal };
  }

  end(): void {
    this.match(SPACE);
    if (this.at < this.text.length) this.fail("expected the end of the file");
  }

  private object(depth: number): Map<string, JsonPlace> {
    const entries = new Map<string, JsonPlace>();
    this.items(depth, "}", () => {
      const offset = this.at;
      if (this.text[offset] !== '"') this.fail("expected a key in double quotes");
      const key = this.string();
      if (entries.has(key)) this.duplicates.push({ key, offset });
      if (!this.take(":")) this.fail("expected ':' after the key");
      entries.set(key, this.value(depth, offset));
    });
    return entries;
  }

  private array(depth: number): Map<number, JsonPlace> {
    const entries = new Map<number, JsonPlace>();
    this.items(depth, "]", () => {
      entries.set(entries.size, this.value(depth, this.at));
    });
    return entries;
  }

  private items(depth: number, close: string, item: () => void): void {
    if (depth > DEPTH_MAX) this.fail(`nested more than ${DEPTH_MAX} levels deep`, "depth");
    this.at += 1;
    if (this.take(close)) return;
    do {
      this.match(SPACE);
      item();
    } while (this.take(","));
    if (!this.take(close)) this.fail(`expected ',' or '${close}'`);
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (let char = this.text[this.at]; char !== '"'; char = this.text[this.at]) {
      if (char === undefined || char < " ") this.fail("the text in double quotes does not end on its line");
      else if (char !== "\\") this.at += 1;
      else if (this.match(ESCAPE) === "") this.fail("no character can be escaped like this");
    }
    this.at += 1;
    return String(JSON.parse(this.text.slice(start, this.at)));
  }

  private take(char: string): boolean {
    this.match(SPACE);
    if (this.text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private fail(message: string, reason: JsonFailure["reason"] = "syntax"): never {
    throw new JsonFailure(reason, this.at, message, reason === "syntax" ? STRICT : "Make it flatter.");
  }
}
