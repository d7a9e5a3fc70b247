/**
 * `ObjectReader` reads an object of a definition key by key. A value of the wrong type is reported at its position and
 * treated as missing, so that one mistake doesn't hide the next. Keys that were never read are unknown. `Report` collects
 * everything that is wrong with a definition, so that it can be reported at once. It also limits the work per definition: at
 * most 1,000 diagnostics of each severity and 5,000 rules, and the event loop gets a turn every 20 ms.
 */
import type { SourcePosition } from "../errors.js";
import type { Diagnostic, DiagnosticCode, KeyPath, ParsedSource } from "./diagnostic.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { escapeHidden, meantOr, nearest, shown } from "./names.js";
import type { FieldDefinition } from "./structure.js";

/** A type of value. */
interface ValueKind<T extends JsonValue> {
  /** The text after "must be" in messages. */
  readonly expected: string;
  is(value: JsonValue): value is T;
  /** Returns the hint for a value of another type. Values are written as JSON, which YAML accepts too. */
  write(value: JsonValue): string;
}

const isText = (value: JsonValue): value is string => typeof value === "string";

const TEXT: ValueKind<string> = {
  expected: "a text in double quotes",
  is: isText,
  write: (value) => `Write ${isSimple(value) ? shown(String(value)) : 'a text in double quotes: "like this"'}.`,
};

/** A text, or a number that is meant as text: `"version": 2`. */
const LABEL: ValueKind<string | number> = {
  ...TEXT,
  is: (value): value is string | number => isText(value) || typeof value === "number",
};

const TEXTS: ValueKind<string[]> = {
  expected: "a list of texts",
  is: (value): value is string[] => isList(value) && value.every(isText),
  write: (value) => {
    const items = isList(value) ? value : [value];
    return `Write ${items.every(isSimple) ? shown(items.map(String)) : 'a list of texts: ["one", "two"]'}.`;
  },
};

const FLAG: ValueKind<boolean> = {
  expected: "true or false",
  is: (value): value is boolean => typeof value === "boolean",
  write: (value) => {
    const word = String(value).trim().toLowerCase();
    if (["true", "yes", "y", "on", "1"].includes(word)) return "Write true, without quotes.";
    if (["false", "no", "n", "off", "0"].includes(word)) return "Write false, without quotes.";
    return "Write true or false, without quotes.";
  },
};

/** A whole number, 0 or more. */
const WHOLE: ValueKind<number> = {
  expected: "a whole number, 0 or more",
  is: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  write: (value) => {
    const meant = isText(value) && /^\d{1,9}$/.test(value.trim());
    return meant
      ? `Write ${Number(value)}, without quotes.`
      : "Write a whole number, 0 or more, without quotes, such as 1.";
  },
};

const OBJECT: ValueKind<JsonObject> = {
  expected: "an object with keys",
  is: isJsonObject,
  write: () => 'Write keys and values in braces: {"key": "value"}.',
};

const isList = (value: JsonValue): value is JsonValue[] => Array.isArray(value);

/** A list, usually of objects. */
const LIST: ValueKind<JsonValue[]> = {
  expected: "a list of objects",
  is: isList,
  write: () => 'Write objects in brackets: [{"key": "value"}].',
};

/** Letters by which a misspelt key may differ from one that a gate depends on. */
const TYPO_MAX = 2;

/** Reads one object of a definition and reports what is wrong with it. */
export class ObjectReader {
  private readonly known = new Set<string>();

  private readonly source: ParsedSource;
  private readonly entries: JsonObject;
  private readonly path: KeyPath;
  private readonly report: Report;

  /** `fields` is the value at `path` in the source. */
  constructor(source: ParsedSource, fields: JsonObject, path: KeyPath, report: Report) {
    this.source = source;
    this.entries = fields;
    this.path = path;
    this.report = report;
  }

  /** Returns the position of a key, or of the object if no key is given. */
  place(...keys: KeyPath): SourcePosition {
    return this.source.place([...this.path, ...keys]);
  }

  /** Returns any value. `null` and a blank text count as missing. */
  value(key: string): JsonValue | undefined {
    this.known.add(key);
    const value = Object.hasOwn(this.entries, key) ? this.entries[key] : undefined;
    if (value === null || (typeof value === "string" && value.trim() === "")) return undefined;
    return value;
  }

  /** Returns any value, like `value`, but reports a blank text: a gate's requirement must not be ignored silently. */
  asked(key: string, hint: string): JsonValue | undefined {
    const value = this.value(key);
    const given = Object.hasOwn(this.entries, key) ? this.entries[key] : undefined;
    if (typeof given === "string" && value === undefined) this.wrong([key], given, "something", hint);
    return value;
  }

  /** Returns a text. */
  text(key: string): string | undefined {
    return this.typed(key, TEXT);
  }

  /** Returns a text, or a number as text: `"version": 2`. */
  label(key: string): string | undefined {
    const value = this.typed(key, LABEL);
    return value === undefined ? undefined : String(value);
  }

  /** Returns a list of texts. */
  texts(key: string): string[] | undefined {
    return this.typed(key, TEXTS);
  }

  /** Returns true or false. */
  flag(key: string): boolean | undefined {
    return this.typed(key, FLAG);
  }

  /** Returns a whole number, 0 or more. */
  whole(key: string): number | undefined {
    return this.typed(key, WHOLE);
  }

  /** Returns an object unread, to be kept as it is. */
  fields(key: string): JsonObject | undefined {
    return this.typed(key, OBJECT);
  }

  /** Checks whether a key has this text. A key with anything else stays unknown. */
  hasText(key: string, text: string): boolean {
    if (this.entries[key] !== text) return false;
    this.known.add(key);
    return true;
  }

  /** Returns a reader for an object. */
  object(key: string): ObjectReader | undefined {
    const fields = this.typed(key, OBJECT);
    return fields === undefined ? undefined : this.inner(fields, [key]);
  }

  /** Returns a reader for an object below this one, by its path. */
  at(keys: KeyPath, fields: JsonObject): ObjectReader {
    return this.inner(fields, keys);
  }

  /** Returns readers for a list of objects. Other elements are reported and left out. */
  objects(key: string): ObjectReader[] | undefined {
    const list = this.typed(key, LIST);
    return list?.flatMap((item, index) => {
      if (isJsonObject(item)) return [this.inner(item, [key, index])];
      this.wrong([key, index], item, OBJECT.expected, OBJECT.write(item));
      return [];
    });
  }

  /**
   * Returns readers for an object whose keys are names. Members that are not objects are reported and left out; `write`
   * makes the hint for them.
   */
  members(key: string, write: (name: string, item: JsonValue) => string): (readonly [string, ObjectReader])[] {
    return Object.entries(this.typed(key, OBJECT) ?? {}).flatMap(([name, item]) => {
      if (isJsonObject(item)) return [[name, this.inner(item, [key, name])] as const];
      this.wrong([key, name], item, OBJECT.expected, write(name, item));
      return [];
    });
  }

  /** Reports an error if the key is missing. `write` is what to write. Returns `value`. */
  required<T>(key: string, value: T | undefined, write: string): T | undefined {
    if (this.value(key) === undefined)
      this.report.error("KEY_MISSING", this.place(), `the key ${shown(key)} is missing`, `Write ${write}.`);
    return value;
  }

  /** Reports a warning if the key is missing. `write` is what to write. Returns `value`. */
  wanted<T>(key: string, value: T | undefined, write: string): T | undefined {
    if (this.value(key) === undefined)
      this.report.warn("KEY_MISSING", this.place(), `the key ${shown(key)} is missing`, `Write ${write}.`);
    return value;
  }

  /** Reports a wrong value. */
  wrong(keys: KeyPath, value: unknown, expected: string, hint: string): void {
    const name = shown(String(keys.at(-1)));
    this.report.error("VALUE_WRONG", this.place(...keys), `${name} must be ${expected}, not ${shown(value)}`, hint);
  }

  /**
   * Returns the unknown keys and reports each with a warning; undefined if there are none. A key that is one or two letters
   * away from one of `gated` is an error: ignoring it would open a gate.
   */
  rest(gated: readonly string[] = []): JsonObject | undefined {
    const unknown = Object.entries(this.entries).filter(([key]) => !this.known.has(key));
    for (const [key] of unknown) {
      const severity = nearest(key, gated, TYPO_MAX) === undefined ? "warn" : "error";
      this.unknown(severity, key, "Check its spelling, or remove it: it is ignored.");
    }
    return unknown.length === 0 ? undefined : Object.fromEntries(unknown);
  }

  /**
   * Reports the unknown keys of a gate as errors: `aproval:` would open a gate without the approval. Keys that begin
   * with `x-` are for other programs.
   */
  refuseRest(): void {
    const hint = "Check its spelling, or remove it; if it is for another program, begin it with x-.";
    for (const key of Object.keys(this.entries)) {
      if (!this.known.has(key) && !key.startsWith("x-")) this.unknown("error", key, hint);
    }
  }

  private unknown(severity: "error" | "warn", key: string, otherwise: string): void {
    this.report[severity]("KEY_UNKNOWN", this.place(key), `the key ${shown(key)} has no meaning here`, () =>
      meantOr(key, this.known, otherwise, shown),
    );
  }

  private typed<T extends JsonValue>(key: string, kind: ValueKind<T>): T | undefined {
    const value = this.value(key);
    if (value === undefined || kind.is(value)) return value;
    this.wrong([key], value, kind.expected, kind.write(value));
    return undefined;
  }

  private inner(fields: JsonObject, keys: KeyPath): ObjectReader {
    return new ObjectReader(this.source, fields, [...this.path, ...keys], this.report);
  }
}

const isSimple = (value: JsonValue): value is string | number | boolean => typeof value !== "object";

/** The hint: what to write instead. A function is only called for diagnostics that are kept. */
export type Hint = string | (() => string);

/** Reports one problem. */
type Add = (code: DiagnosticCode, place: SourcePosition, message: string, hint: Hint) => void;

/** A requirement that was read from the text of a phase, for people to review. */
export interface InferredRequirement extends SourcePosition {
  readonly phase: number;
  readonly name: string;
  readonly type: FieldDefinition["type"];
  readonly required: boolean;
  readonly validators: readonly string[];
  /** The form in which the text states it. */
  readonly from: "table" | "checkbox" | "sentence";
  /** `sure` if the form is unambiguous, `guess` if words were interpreted. */
  readonly certainty: "sure" | "guess";
}

/** Collects the diagnostics of one definition, each with a hint. */
export interface Report {
  readonly error: Add;
  readonly warn: Add;
  /** Reports that a reader has thrown, which is a bug of the reader, as an error of the definition. */
  failed(place: SourcePosition, error: unknown): void;
  /** Records a requirement that was read from the text of a phase. */
  infer(requirement: InferredRequirement): void;
  /** Returns the diagnostics by file, line and column, then the number of those that were left out. */
  sorted(): Diagnostic[];
  /** Returns the recorded requirements, in order. */
  inferred(): readonly InferredRequirement[];
  /**
   * Counts rules of the definition, and lets other tasks run if reading has taken a while. Returns false, and reports
   * an error the first time, if the definition has too many rules.
   */
  spendRules(count: number, place: SourcePosition): Promise<boolean>;
}

/** Maximum number of errors, and of warnings, that are kept: a file can have a fault in each line. */
const KEPT_MAX = 1000;

/** Creates a report that begins with the given diagnostics. `takeTurns` lets other work run, if it is time. */
export function createReport(
  found: readonly Diagnostic[] = [],
  takeTurns: () => Promise<void> = async () => {},
): Report {
  const diagnostics = [...found];
  const inferred: InferredRequirement[] = [];
  const counts = { error: 0, warning: 0 };
  let left: Diagnostic | undefined;
  let leftOut = 0;
  const add = (severity: Diagnostic["severity"]): Add => {
    return (code, place, message, hint) => {
      counts[severity] += 1;
      if (counts[severity] <= KEPT_MAX) {
        // A parser's message can hold parts of the text.
        const say = singleLine(typeof hint === "string" ? hint : hint());
        diagnostics.push({ ...place, severity, code, message: singleLine(message), hint: say });
        return;
      }
      leftOut += 1;
      if (left === undefined || (severity === "error" && left.severity === "warning")) left = more(place, severity);
    };
  };
  const error = add("error");
  const spend = spending(error);
  return {
    error,
    warn: add("warning"),
    failed(place, thrown) {
      const hint = "Correct or simplify this place. If it looks right, report this with the file.";
      error("DEFINITION_UNREADABLE", place, `reading this has failed: ${shortened(String(thrown))}`, hint);
    },
    infer: (requirement) => void inferred.push(requirement),
    sorted() {
      const sorted = [...diagnostics].sort(byPlace);
      return left === undefined ? sorted : [...sorted, { ...left, message: `${leftOut} more are not listed` }];
    },
    inferred: () => inferred,
    async spendRules(count, place) {
      const isWithinLimit = spend(count, place);
      await takeTurns();
      return isWithinLimit;
    },
  };
}

/** Returns a text as one line: line feeds and tabs become spaces, hidden characters become escapes. */
export function singleLine(text: string): string {
  return escapeHidden(text.replace(/(?:\r?\n|\t)+/g, " "));
}

/** Returns the diagnostic for all that are left out. It is an error if one of them is. */
function more({ file }: SourcePosition, severity: Diagnostic["severity"]): Diagnostic {
  const hint = "Correct the listed problems, then check again.";
  return { file, severity, code: "DIAGNOSTICS_MORE" satisfies DiagnosticCode, message: "", hint };
}

/** Maximum number of rules in one definition: each is compiled and tried on values. */
const RULES_MAX = 5000;

function spending(error: Add) {
  let left = RULES_MAX;
  let isReported = false;
  return (count: number, place: SourcePosition): boolean => {
    left -= count;
    if (left >= 0) return true;
    const hint = "Require less at each gate, or split the workflow.";
    const message = `the definition has more than ${RULES_MAX} rules and validators`;
    if (!isReported) error("DEFINITION_TOO_LARGE", place, message, hint);
    isReported = true;
    return false;
  };
}

/** Maximum number of characters that are repeated of an error's message. */
const MESSAGE_MAX = 300;

function shortened(text: string): string {
  return text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX)}…`;
}

function byPlace(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
