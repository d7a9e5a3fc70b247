import type { Alias } from "yaml";
import { type JsonValue, storedValueSchema } from "../json.js";
import { shown } from "../names.js";
import { notJson } from "./plain-json.js";
import type { ParsedSource } from "./positions.js";
import { startOf, type YamlReading } from "./yaml-reading.js";

/** How often aliases may stand for what they name, multiplied through. */
const ALIASES_MAX = 100;

/** Whether all aliases name what stands before them. */
export function hasKnownAliases(reading: YamlReading): boolean {
  const anchors = new Set<string>();
  let known = true;
  reading.yaml.visit(reading.document, {
    Node(_, node) {
      if (!reading.yaml.isAlias(node)) {
        if (node.anchor !== undefined) anchors.add(node.anchor);
      } else if (!anchors.has(node.source)) {
        known = false;
        const hint = "Write the value itself, or in double quotes if it is a text that begins with '*'.";
        reportAlias(reading, node, `nothing before it is called ${shown(node.source)}`, hint);
      }
    },
  });
  return known;
}

/** What the document says, as plain data; undefined, with an error, if it is more than that. */
export function plainValue(reading: YamlReading, place: ParsedSource["place"]): JsonValue | undefined {
  const value = expanded(reading);
  if (value === undefined) return undefined;
  const fault = notJson(value);
  if (fault === undefined) return storedValueSchema.parse(value);
  const hint = "Write a finite number, or a flatter value that doesn't hold itself.";
  reading.report.error("VALUE_NOT_JSON", place(fault), "a value is not finite, or nested too deeply to be JSON", hint);
  return undefined;
}

/** All aliases replaced by what they name; undefined, with an error at the first of them, if that is too much. */
function expanded(reading: YamlReading): unknown {
  try {
    return reading.document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch {
    // No other fault is left here: what the aliases name is known, and how deep values go is bounded.
    const message = `aliases stand for more than ${ALIASES_MAX} values, multiplied through`;
    reportAlias(reading, firstAlias(reading), message, "Write the values out in place of the aliases ('*').");
    return undefined;
  }
}

function firstAlias({ yaml, document }: YamlReading): Alias | undefined {
  let first: Alias | undefined;
  yaml.visit(document, {
    Alias(_, alias) {
      first = alias;
      return yaml.visit.BREAK;
    },
  });
  return first;
}

function reportAlias({ yaml, report, at }: YamlReading, alias: Alias | undefined, message: string, hint: string) {
  report.error("YAML_ALIASES", at(startOf(yaml, alias)), message, hint);
}
