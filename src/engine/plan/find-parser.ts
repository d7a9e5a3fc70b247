import { nearest } from "../../definition/nearest.js";
import type { DynamicDefinition, WorkflowStructure } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import { builtInParsers } from "../../plan/source-parsers.js";
import type { SourceParser } from "../../ports/source-parser.js";
import type { ResolvedOptions } from "../options.js";
import { checkedParser } from "./checked-parser.js";

/**
 * The parser of a workflow's plans: the host's own of that name, with its results checked, else the one that comes with the
 * library, which is loaded when it is first needed. Throws `DEFINITION_INVALID` if there is none.
 */
export async function findParser(
  { parsers }: ResolvedOptions,
  { type }: WorkflowStructure,
  { parser: name }: DynamicDefinition,
): Promise<SourceParser> {
  const own = Object.hasOwn(parsers, name) ? parsers[name] : undefined;
  if (own !== undefined) return checkedParser(name, own);
  const found = Object.hasOwn(builtInParsers, name) ? builtInParsers[name] : undefined;
  if (found !== undefined) return found;
  const known = [...new Set([...Object.keys(parsers), ...Object.keys(builtInParsers)])].sort();
  const similar = nearest(name, known);
  const problem = `there is no source parser '${name}': known are ${known.join(", ") || "none"}`;
  throw new PhasegateError("DEFINITION_INVALID", `the workflow ${type} can't be used: ${problem}`, {
    remedy:
      similar === undefined
        ? "Write one of them in dynamic_config.parser, or let the host register that one: createEngine({ parsers })."
        : `Did you mean '${similar}'? Write it in dynamic_config.parser.`,
    details: { workflowType: type, diagnostics: [problem] },
  });
}
