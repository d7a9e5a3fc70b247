import { digest } from "../definition/digest.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../definition/json.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { checkGate } from "../gate/check-gate.js";
import { checkEvidenceSafety } from "../gate/evidence-safety.js";
import type { Enforcement, Verdict } from "../gate/verdict.js";
import type { Payload } from "../ports/storage-adapter.js";
import type { EvidenceRef } from "../session/events.js";
import type { ResolvedOptions } from "./options.js";
import type { Pinned } from "./pinned.js";

/** Evidence as it was when it was handed in, with its JSON. */
export interface Submission {
  readonly evidence: JsonObject;
  readonly json: string;
}

/** A gate's word on a submission, ready to be decided on. */
export interface Evaluation {
  readonly verdict: Verdict;
  readonly evidence: EvidenceRef;
  readonly output?: JsonValue;
  readonly payloads: readonly Payload[];
}

/** Evidence with more characters of JSON than this is stored by its content, beside the log. */
const INLINE_MAX = 64 * 1024;

/**
 * Takes evidence over from the caller: checked for safety, and copied, so that what is verified is
 * what is stored, whatever the caller does with its object meanwhile.
 */
export function takeSubmission(value: unknown, options: ResolvedOptions): Submission {
  const { evidence } = checkEvidenceSafety(value, options.evidenceLimits);
  const json = JSON.stringify(evidence);
  return { evidence: parseObject(json), json };
}

/** A submission merged over an earlier one: what a retry without a reset asks for. */
export function mergeSubmission(earlier: JsonObject, later: Submission, options: ResolvedOptions): Submission {
  return takeSubmission({ ...earlier, ...later.evidence }, options);
}

/** Runs what a gate needs that is not pure, and asks the gate. */
export async function evaluate(
  { evidence, json }: Submission,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
  pinned: Pinned,
  enforcement: Enforcement,
): Promise<Evaluation> {
  const stored = storeEvidence(evidence, json);
  const schema = phase.gate.kind === "schema" ? await pinned.schema(structure, phase) : undefined;
  if (schema === undefined) return { verdict: checkGate(phase.gate, evidence, { enforcement }), ...stored };
  const schemaResult = await schema["~standard"].validate(evidence);
  const verdict = checkGate(phase.gate, evidence, { schemaResult });
  const output = schemaResult.issues === undefined ? outputOf(schemaResult.value, json, phase.number) : undefined;
  return { verdict, ...stored, ...(output === undefined ? {} : { output }) };
}

/** Evidence as the log holds it. */
export function storeEvidence(evidence: JsonObject, json: string): Pick<Evaluation, "evidence" | "payloads"> {
  if (json.length <= INLINE_MAX) return { evidence: { inline: evidence }, payloads: [] };
  const hash = digest(json);
  return { evidence: { payload: hash, characters: json.length }, payloads: [{ hash, body: json }] };
}

/** What a schema made of the evidence, where that is something else; it must be JSON to be kept. */
function outputOf(value: unknown, json: string, phase: number): JsonValue | undefined {
  const text: string | undefined = JSON.stringify(value);
  if (text === json) return undefined;
  if (text !== undefined && isSame(value, JSON.parse(text))) return JSON.parse(text);
  throw new PhasegateError("DEFINITION_INVALID", `the schema of phase ${phase} gives something that is not JSON`, {
    remedy: "Let the schema's output be plain JSON: no Date, Map, class or undefined in it.",
    details: { workflowType: "", diagnostics: [`phase ${phase}: the output of the evidence schema is not JSON`] },
  });
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
  return Object.entries(before).every(([key, value]) => value === undefined || isSame(value, after[key]));
}

function parseObject(json: string): JsonObject {
  const parsed: unknown = JSON.parse(json);
  if (isJsonObject(parsed)) return parsed;
  throw new Error("an object did not come back as one");
}
