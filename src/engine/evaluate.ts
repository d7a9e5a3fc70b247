import { digest } from "../definition/digest.js";
import { isJsonObject, type JsonValue } from "../definition/json.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { checkGate } from "../gate/check-gate.js";
import type { SafeEvidence } from "../gate/evidence-safety.js";
import type { Enforcement, Verdict } from "../gate/verdict.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { EvidenceRef, OutputRef } from "../session/events.js";
import type { Pinned } from "./pinned.js";

/** A gate's word on a submission, ready to be decided on. */
export interface Evaluation {
  readonly verdict: Verdict;
  readonly evidence: EvidenceRef;
  readonly output?: OutputRef;
  readonly payloads: readonly Payload[];
}

/** Evidence with more characters of JSON than this is stored by its content, beside the log. */
const INLINE_MAX = 64 * 1024;
/** How many names of such evidence stand in the log. */
const NAMES_MAX = 100;

/** Runs what a gate needs that is not pure, and asks the gate. */
export async function evaluate(
  submission: SafeEvidence,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  pinned: Pinned,
  enforcement: Enforcement,
): Promise<Evaluation> {
  const { evidence } = submission;
  const stored = store(evidence, submission.characters);
  const schema = phase.gate.kind === "schema" ? await pinned.schema(structure, phase) : undefined;
  if (schema === undefined) {
    const verdict = checkGate(phase.gate, evidence, { enforcement });
    return { verdict, evidence: stored.ref, payloads: stored.payloads };
  }
  const schemaResult = await schema["~standard"].validate(evidence);
  const verdict = checkGate(phase.gate, evidence, { schemaResult });
  const value = schemaResult.issues ? undefined : outputOf(schemaResult.value, submission, structure);
  if (value === undefined) return { verdict, evidence: stored.ref, payloads: stored.payloads };
  const output = store(value);
  const payloads = [...stored.payloads, ...output.payloads];
  return { verdict, evidence: stored.ref, output: output.ref, payloads };
}

/** A value as the log holds it: there as it is, or by its digest where it is long. */
function store<T extends JsonValue>(value: T, characters = JSON.stringify(value).length) {
  if (characters <= INLINE_MAX) return { ref: { inline: value }, payloads: [] };
  const body = JSON.stringify(value);
  const hash = digest(body);
  const names = isJsonObject(value) ? Object.keys(value).slice(0, NAMES_MAX) : [];
  return { ref: { payload: hash, characters: body.length, names }, payloads: [{ hash, body }] };
}

/** What a schema made of the evidence, where that is something else; it must be JSON to be kept. */
function outputOf(value: unknown, { evidence }: SafeEvidence, structure: WorkflowStructure): JsonValue | undefined {
  if (isSame(value, evidence)) return undefined;
  const output = throughJson(value);
  if (output !== undefined && isSame(value, output)) return output;
  throw new PhasegateError("DEFINITION_INVALID", `a schema of ${structure.type} gives something that is not JSON`, {
    remedy: "Let the output of evidence schemas be plain JSON: no Date, Map, class or undefined in it.",
    details: { workflowType: structure.type, diagnostics: ["the output of the evidence schema is not JSON"] },
  });
}

/** A value as JSON gives it back; undefined if JSON can't hold it at all. */
function throughJson(value: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value came through JSON as it was. Keys with undefined are as good as left out. */
function isSame(before: unknown, after: unknown): boolean {
  if (typeof before !== "object" || before === null) return Object.is(before, after);
  if (Array.isArray(before)) {
    return Array.isArray(after) && before.length === after.length && before.every((v, i) => isSame(v, after[i]));
  }
  if (!isJsonObject(after)) return false;
  const prototype: unknown = Object.getPrototypeOf(before);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const keys = Object.keys(before).filter((key) => Reflect.get(before, key) !== undefined);
  if (keys.length !== Object.keys(after).length) return false;
  return keys.every((key) => isSame(Reflect.get(before, key), after[key]));
}
