import type { SourcePosition } from "../../errors.js";
import { isJsonObject, type JsonValue } from "../json.js";
import type { ObjectReader } from "./object-reader.js";
import type { KeyPath } from "./positions.js";

/** A rule as it stands in a file. */
export interface WrittenRule {
  readonly text: string;
  readonly place: SourcePosition;
  /** What is said where it doesn't hold. */
  readonly message?: string;
}

/** A rule as a text, or as an object with a message. */
function writtenRule(item: JsonValue, keys: KeyPath, reader: ObjectReader): WrittenRule | undefined {
  const place = reader.place(...keys);
  if (typeof item === "string" && item.trim() !== "") return { text: item, place };
  if (!isJsonObject(item) || typeof item.rule !== "string" || item.rule.trim() === "") return undefined;
  const rule = reader.at(keys, item);
  for (const key of ["rule", "error_message"]) rule.value(key);
  rule.refuseRest();
  const message = item.error_message;
  return { text: item.rule, place, ...(typeof message === "string" ? { message } : {}) };
}

/** Reads `validators`: rules by the names that fields call them by. */
export function readValidatorTable(reader: ObjectReader): (readonly [string, WrittenRule])[] {
  const value = reader.asked("validators", 'Write name: "value > 0" below it, say, or remove the line.');
  if (value === false || (Array.isArray(value) && value.length === 0)) return [];
  return Object.entries(reader.fields("validators") ?? {}).flatMap(([name, item]) => {
    const rule = writtenRule(item, ["validators", name], reader);
    if (rule !== undefined) return [[name, rule] as const];
    const hint = `Write ${name}: "value > 0", say, or ${name}: {rule: "value > 0", error_message: "…"}.`;
    reader.wrong(["validators", name], item, "a rule, or an object with one", hint);
    return [];
  });
}

const CROSS_HINT = 'Write {rule: "evidence.passed == evidence.total", error_message: "what is wrong then"}.';

/** Reads `cross_field_validation`: rules about the evidence as a whole. */
export function readCrossRules(reader: ObjectReader): WrittenRule[] {
  const value = reader.asked("cross_field_validation", CROSS_HINT);
  if (value === undefined || value === false || (isJsonObject(value) && Object.keys(value).length === 0)) return [];
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item, index) => {
    const keys = Array.isArray(value) ? ["cross_field_validation", index] : ["cross_field_validation"];
    const rule = writtenRule(item, keys, reader);
    if (rule !== undefined) return [rule];
    reader.wrong(keys, item, "a rule, or an object with one", CROSS_HINT);
    return [];
  });
}
