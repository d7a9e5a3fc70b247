/**
 * Claims with a proof. Where the host wants them, a required boolean that neither a verifier nor an approval backs is
 * submitted as `{claim: true, proof: "where it can be seen"}`. The gate, its rules and later phases see the claim alone.
 */
import { isInvisible } from "../workflow/field-types.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import type { FieldGate, GateDefinition, SchemaGate } from "../workflow/structure.js";
import { checksOf } from "./check-gate.js";
import { ITEMS_FIELD, requiredItems } from "./plan-gate.js";
import { propertiesOf } from "./schema-hints.js";
import type { Problem } from "./verdict.js";

/** The format of a claim with its proof, as a JSON Schema. */
export const PROOF_FORMAT = {
  type: "object",
  properties: {
    claim: { const: true },
    proof: { type: "string", description: "where it can be seen: a file, a command, a line" },
  },
  required: ["claim", "proof"],
} as const satisfies JsonObject;

/** Where a claim can be seen, in the agent's words. */
export interface Proof {
  /** The field; in a plan's gate `validation_gate.<key>`. */
  field: string;
  /** A file, a command, a line. */
  proof: string;
}

/** Returns a gate that asks for a proof of every claim that nothing else backs. */
export function askForProofs(gate: GateDefinition): GateDefinition {
  if (gate.kind === "open") return gate;
  if (gate.kind === "plan") {
    return Object.keys(requiredItems(gate)).length === 0 ? gate : { ...gate, proofs: [ITEMS_FIELD] };
  }
  if (gate.approval !== undefined) return gate;
  const verified = checksOf(gate).map(({ field }) => field);
  const unverified = (names: readonly string[]) => names.filter((name) => !verified.includes(name));
  if (gate.kind === "fields") {
    const proofs = unverified(booleansIn(gate));
    return proofs.length === 0 ? gate : { ...gate, proofs };
  }
  const properties = propertiesOf(gate.jsonSchema);
  if (properties === undefined) return gate;
  const proofs = unverified(booleansBy(properties, gate.jsonSchema?.required));
  return proofs.length === 0 ? gate : { ...gate, proofs, jsonSchema: withProofFormat(gate, properties, proofs) };
}

/** Evidence whose claims were taken apart. */
interface ReadClaims {
  /** The evidence with plain booleans. */
  readonly evidence: JsonObject;
  readonly proofs: readonly Proof[];
  /** The claims without a proof. */
  readonly problems: readonly Problem[];
}

/** Takes claims and proofs apart, where the gate asks for proofs. */
export function readClaims(gate: GateDefinition, evidence: JsonObject): ReadClaims {
  const { proofs: names = [] } = gate.kind === "open" ? {} : gate;
  const proofs: Proof[] = [];
  const problems: Problem[] = [];
  const plain: Record<string, JsonValue> = { ...evidence };
  const read = (field: string, value: JsonValue): JsonValue => {
    const outcome = readClaim(field, value);
    if ("problem" in outcome) problems.push(outcome.problem);
    else if (outcome.proof !== undefined) proofs.push({ field, proof: outcome.proof });
    return outcome.claim;
  };
  for (const name of names) {
    const value = Object.hasOwn(evidence, name) ? evidence[name] : undefined;
    if (value === undefined) continue;
    if (gate.kind !== "plan") plain[name] = read(name, value);
    else if (isJsonObject(value)) {
      const items = Object.entries(value).map(([key, item]) => [key, read(`${name}.${key}`, item)]);
      plain[name] = Object.fromEntries(items);
    }
  }
  return names.length === 0 ? { evidence, proofs, problems } : { evidence: plain, proofs, problems };
}

/** The most places that one proof may name: each of them is looked up. */
const PLACES_MAX = 10;

/** A place in the project that a proof names. */
export interface NamedPlace {
  readonly path: string;
  /** The last line that it names. */
  readonly line?: number;
  /** True for a path without a file's ending: it may be a folder. */
  readonly mayBeFolder?: true;
}

/**
 * Returns the places that a proof names: words such as `docs/report.md`, `docs/report.md:12`, `report.md:12` or
 * `docs/report.md#L12`. A word such as `docs/report` may be a path as well as a figure of speech ("and/or"), so it counts only
 * if the proof names no place that is surely one.
 */
export function placesNamedIn(proof: string): NamedPlace[] {
  const places = proof.split(/\s/).flatMap((word) => placeOf(trimmed(word)) ?? []);
  const sure = places.filter(({ mayBeFolder }) => mayBeFolder !== true);
  const named = new Map((sure.length > 0 ? sure : places).map((place) => [`${place.line} ${place.path}`, place]));
  return [...named.values()];
}

/** A claim, with its proof if it has one. */
type ReadClaim = { readonly claim: JsonValue; readonly proof?: string } | { claim: JsonValue; problem: Problem };

/** The longest proof, in characters. */
const PROOF_MAX = 1000;

function readClaim(field: string, value: JsonValue): ReadClaim {
  if (value === true) return { claim: value, problem: unproven(field, value, "it is claimed without a proof") };
  // Anything else that is no claim is the gate's to refuse.
  if (!isJsonObject(value)) return { claim: value };
  const { claim = null, proof } = value;
  if (typeof proof !== "string" || isInvisible(proof)) {
    return { claim, problem: unproven(field, value, "its proof says nothing") };
  }
  if (proof.length > PROOF_MAX) {
    return { claim, problem: unproven(field, value, `its proof is longer than ${PROOF_MAX} characters`) };
  }
  const places = placesNamedIn(proof);
  if (places.length > PLACES_MAX) {
    return { claim, problem: unproven(field, value, `its proof names more than ${PLACES_MAX} files`) };
  }
  const wrong = places.find(({ line = 1 }) => line < 1 || !Number.isSafeInteger(line));
  if (wrong === undefined) return { claim, proof };
  return { claim, problem: unproven(field, value, `its proof names line ${wrong.line}, which no file has`) };
}

function unproven(field: string, value: JsonValue, why: string): Problem {
  const message = `'${field}': ${why}. Submit {claim, proof}, and say in proof where it can be seen: a file, a command, a line`;
  return { field, problem: "invalid", message, got: shown(value), expected: "an object with claim and proof" };
}

function booleansIn({ fields }: FieldGate): string[] {
  return fields.filter(({ type, required }) => required && type === "boolean").map(({ name }) => name);
}

/** The schemas of an object's properties, by name. */
type Properties = ReadonlyMap<string, JsonObject>;

function booleansBy(properties: Properties, required: JsonValue | undefined): string[] {
  const names = Array.isArray(required) ? required : [];
  return [...properties].flatMap(([name, { type }]) => (names.includes(name) && type === "boolean" ? [name] : []));
}

function withProofFormat(gate: SchemaGate, properties: Properties, proofs: readonly string[]): JsonObject {
  const changed = [...properties].map(([name, schema]) => [name, proofs.includes(name) ? proofFormat(schema) : schema]);
  return { ...gate.jsonSchema, properties: Object.fromEntries(changed) };
}

/** Returns the format of a claim with its proof, with the description of the claim. */
export function proofFormat({ description }: JsonObject): JsonObject {
  return description === undefined ? PROOF_FORMAT : { ...PROOF_FORMAT, description };
}

const BEFORE = new Set([..."\"'`()[]{}<>,;!?"]);
/** A dot before a word belongs to it: `./docs/report.md`, `.github/ci.yml`. */
const AFTER = new Set([...BEFORE, "."]);

/** Removes quotes, brackets and punctuation around a word. */
function trimmed(word: string): string {
  let [from, to] = [0, word.length];
  while (BEFORE.has(word.charAt(from))) from += 1;
  while (AFTER.has(word.charAt(to - 1))) to -= 1;
  return word.slice(from, to);
}

/** A path, and what stands behind it: a line, a heading, a test. A drive is part of the path, so that it is refused. */
const PLACE = /^((?:[A-Za-z]:(?=[\\/]))?[^:#]*)(.*)$/s;
/** `:12`, `:12-15`, `:12:3`, `#L12`, `#L12-L15`. */
const LINES = /^(?::|#L?)(\d+)(?:-L?(\d+))?(?:[:C].*)?$/s;
/** The name of a file with an ending. */
const FILE_NAME = /^[\p{L}\p{N}\p{M}_@+-][\p{L}\p{N}\p{M}_@+.-]*\.[A-Za-z]\w*$/u;
/** Names that may be those of folders, with a letter in one of them. */
const PLAIN_PATH = /^(?=.*\p{L})[\p{L}\p{N}\p{M}_@+.~/-]+$/u;

/** Returns the place in a word; undefined if the word is none. */
function placeOf(word: string): NamedPlace | undefined {
  if (word.includes("://")) return undefined;
  const written = word.replace(PLACE, "$1");
  const rest = word.slice(written.length);
  const path = written.replaceAll(/\\+/g, "/");
  const [, first, last = first] = LINES.exec(rest) ?? [];
  const line = last === undefined ? {} : { line: Math.max(Number(first), Number(last)) };
  const isPlace = path.includes("/") || last !== undefined;
  if (isPlace && FILE_NAME.test(path.slice(path.lastIndexOf("/") + 1))) return { path, ...line };
  if (!path.includes("/") || !PLAIN_PATH.test(path)) return undefined;
  if (last !== undefined) return { path, ...line };
  return { path: path.replace(/(?<!\/)\/+$/, ""), mayBeFolder: true };
}
