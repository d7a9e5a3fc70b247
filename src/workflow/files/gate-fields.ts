/**
 * Makes fields, checks, `approval` and `reveal` of a gate out of what is written, and reports what its schema can't say.
 */
import type { SourcePosition } from "../../errors.js";
import { TYPE_WORDS } from "../field-types.js";
import type { Spot } from "../file-schema.js";
import { type ApprovalDefinition, type GatePlace, sinceFault, withSinceNumber } from "../gate-definition.js";
import { isJsonObject, type JsonObject, storedObjectSchema } from "../json.js";
import { RESERVED, shown } from "../names.js";
import type { FieldDefinition, FieldGate, VerifyDefinition } from "../structure.js";
import { keptOfField, keptOfGate, type WrittenCheck, type WrittenDemands, type WrittenField } from "./gate-schema.js";

/** A field whose rules are not read yet. */
export interface FieldSeed {
  readonly definition: FieldDefinition;
  /** The position of its validators. */
  readonly place: SourcePosition;
  /** The position of the author's example. Examples in a text are checked when the text is read. */
  readonly examplePlace?: SourcePosition;
  /** Names of validators, or rules. */
  readonly validators: readonly string[];
  readonly params: JsonObject;
  readonly verify: readonly VerifyDefinition[];
}

export function fieldSeed(name: string, field: WrittenField, spot: Spot, gate: GatePlace): FieldSeed {
  if (isReserved(name)) refuseName(name, spot, spot.place());
  const { required = true, validator = [], validator_params: params = {} } = field;
  const validators = [validator].flat();
  if (validators.length === 0 && Object.keys(params).length > 0) {
    const message = "these parameters are ignored: the field names no validator";
    spot.report.warn("VALIDATOR_UNUSED", spot.place("validator_params"), message, "Write validator: and its name.");
  }
  const type = TYPE_WORDS.get(field.type ?? "any") ?? "any";
  const definition = { name, type, required, ...keptOfField(field) };
  return {
    ...{ definition, validators, params },
    verify: checksOf(field.verify, spot.at("verify"), gate).map((check) => ({ ...check, field: name })),
    ...{ place: spot.place("validator"), examplePlace: spot.place("example") },
  };
}

export function isReserved(name: string): boolean {
  return name.trim() === "" || RESERVED.has(name);
}

export function refuseName(name: string, { report }: Pick<Spot, "report">, place: SourcePosition): void {
  report.error("NAME_RESERVED", place, `no field may be called ${shown(name)}`, "Give it another name.");
}

/** The keys of a gate besides its fields, as they are written in one place. */
export interface GatePart {
  readonly written: WrittenDemands;
  readonly spot: Spot;
}

/** Returns `verify`, `approval`, and what is pinned as it is written, from the top of a gate or from its checkpoint. */
export function demandsOf(parts: readonly GatePart[], gate: GatePlace) {
  for (const key of ["approval", "reveal"] as const) {
    const [, second] = parts.filter(({ written }) => (written[key] ?? false) !== false);
    const hint = "Write it once, at the top of the gate or in its checkpoint.";
    second?.spot.at(key).wrong(second.written[key], "written once, and it is at the top of the gate too", hint);
  }
  // Where a key is written twice, which was reported, the first one counts.
  let kept: Partial<FieldGate> = {};
  for (const { written } of parts) kept = { ...keptOfGate(written), ...kept };
  const [approval] = parts.flatMap(({ written }) => approvalOf(written.approval) ?? []);
  return {
    ...kept,
    verify: parts.flatMap(({ written, spot }) => checksOf(written.verify, spot.at("verify"), gate)),
    approval,
  };
}

/** Returns the checks of `verify`: a verifier's name, an object with it and its parameters, or a list of these. */
export function checksOf(verify: WrittenDemands["verify"], spot: Spot, gate: GatePlace): VerifyDefinition[] {
  if (Array.isArray(verify))
    return verify.flatMap((item, index) => (item === undefined ? [] : checkOf(item, spot.at(index), gate)));
  return verify === undefined || verify === false ? [] : [checkOf(verify, spot, gate)];
}

function checkOf(item: WrittenCheck, spot: Spot, gate: GatePlace): VerifyDefinition {
  if (typeof item === "string") return { verifier: item.trim(), params: {} };
  const { verifier, description, waivable, ...params } = item;
  const check = {
    ...{ verifier: verifier.trim(), params: storedObjectSchema.parse(params), description: description?.trim() },
    waivable: waivable === false ? waivable : undefined,
  };
  checkParams(check, spot, gate);
  return { ...check, params: withSinceNumber(check.params, gate.phases) };
}

/** Reports parameters that can't be right in this gate, whichever host runs it. */
function checkParams(check: VerifyDefinition, spot: Spot, gate: GatePlace): void {
  const fault = sinceFault(check, gate);
  if (fault !== undefined) {
    const place = spot.place("since", ...(isJsonObject(check.params.since) ? ["phase"] : []));
    spot.report.error("SINCE_WRONG", place, `${shown(check.verifier)}: ${fault.message}`, fault.hint);
  }
  const { exit = 0, output } = check.params;
  if (check.verifier !== "command" || exit === 0 || output !== undefined) return;
  const message = `"command" must end with exit code ${shown(exit)} here, for whatever reason: a syntax error is enough`;
  const hint =
    'Say what its output must show: output: {pattern: "1 failed"}. See docs/verifiers.md, "Fails for the right reason".';
  spot.report.warn("FAILURE_UNEXPLAINED", spot.place("exit"), message, hint);
}

function approvalOf(written: WrittenDemands["approval"]): ApprovalDefinition | undefined {
  if (written === undefined || written === false) return undefined;
  if (typeof written === "string") return { prompt: written };
  const { prompt, ...rest } = written;
  return prompt === undefined ? undefined : { ...rest, prompt };
}
