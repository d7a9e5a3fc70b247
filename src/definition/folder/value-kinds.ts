import { isJsonObject, type JsonObject, type JsonValue } from "../json.js";
import { shown } from "../names.js";

/** A kind of value that a key may ask for. */
export interface ValueKind<T extends JsonValue> {
  /** As it stands after "must be". */
  readonly expected: string;
  is(value: JsonValue): value is T;
  /** What to write in place of a value of another kind; as JSON, which YAML takes, too. */
  write(value: JsonValue): string;
}

const isText = (value: JsonValue): value is string => typeof value === "string";
const isList = (value: JsonValue): value is JsonValue[] => Array.isArray(value);
const isSimple = (value: JsonValue): value is string | number | boolean => typeof value !== "object";

/** A text. */
export const TEXT: ValueKind<string> = {
  expected: "a text in double quotes",
  is: isText,
  write: (value) => `Write ${isSimple(value) ? shown(String(value)) : 'a text in double quotes: "like this"'}.`,
};

/** A text, or a number that was meant as one. */
export const LABEL: ValueKind<string | number> = {
  ...TEXT,
  is: (value): value is string | number => isText(value) || typeof value === "number",
};

/** A list of texts. */
export const TEXTS: ValueKind<string[]> = {
  expected: "a list of texts",
  is: (value): value is string[] => isList(value) && value.every(isText),
  write: (value) => {
    const items = isList(value) ? value : [value];
    return `Write ${items.every(isSimple) ? shown(items.map(String)) : 'a list of texts: ["one", "two"]'}.`;
  },
};

/** True or false. */
export const FLAG: ValueKind<boolean> = {
  expected: "true or false",
  is: (value): value is boolean => typeof value === "boolean",
  write: (value) => {
    const word = String(value).trim().toLowerCase();
    if (["true", "yes", "y", "on", "1"].includes(word)) return "Write true, without quotes.";
    if (["false", "no", "n", "off", "0"].includes(word)) return "Write false, without quotes.";
    return "Write true or false, without quotes.";
  },
};

/** A whole number from 0 on. */
export const WHOLE: ValueKind<number> = {
  expected: "a whole number, 0 or more",
  is: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0,
  write: (value) => {
    const meant = isText(value) && /^\d{1,9}$/.test(value.trim());
    return meant
      ? `Write ${Number(value)}, without quotes.`
      : "Write a whole number from 0 on, without quotes: 1, say.";
  },
};

/** An object. */
export const OBJECT: ValueKind<JsonObject> = {
  expected: "an object with keys",
  is: isJsonObject,
  write: () => 'Write keys and values in braces: {"key": "value"}.',
};

/** A list, of objects as a rule. */
export const LIST: ValueKind<JsonValue[]> = {
  expected: "a list of objects",
  is: isList,
  write: () => 'Write objects in brackets: [{"key": "value"}].',
};
