import type { Pair } from "yaml";
import { shown } from "../names.js";
import { startOf, type YamlReading } from "./yaml-reading.js";

/** Whether all keys are texts, each there once, and none does more than to name a value. */
export function hasPlainKeys(reading: YamlReading): boolean {
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

function keyProblem({ yaml }: YamlReading, pair: Pair, seen: Set<string>) {
  const key = yaml.isScalar(pair.key) ? String(pair.key.value) : undefined;
  if (key === undefined) {
    const hint = "Write one word before the colon, without '?', brackets or '*'.";
    return { code: "YAML_SYNTAX", message: "a key must be a plain text", hint } as const;
  }
  if (key === "__proto__") {
    const hint = "Give it another name.";
    return { code: "NAME_RESERVED", message: `no key may be ${shown(key)}`, hint } as const;
  }
  if (key === "<<") {
    const hint = "Write the keys out where they are wanted.";
    return { code: "YAML_MERGE", message: "merge keys ('<<') are not read", hint } as const;
  }
  if (!seen.has(key)) return void seen.add(key);
  const hint = "Remove one of the two.";
  return { code: "KEY_DUPLICATE", message: `the key ${shown(key)} is there twice`, hint } as const;
}
