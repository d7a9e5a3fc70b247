/**
 * Booleans that an agent submits as objects. Where the host wants proofs, a required boolean that neither a verifier nor an
 * approval backs is `{claim: true, proof: "where it can be seen"}`. One that it can't claim is `{value: false, why: "…"}`: the
 * gate reads `false`, and where that can be waived, the submission asks for the waiver. The gate, its rules and later phases see
 * plain booleans.
 */
import { isInvisible } from "../workflow/field-types.js";
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import type { GateDefinition } from "../workflow/structure.js";
import { checksOf, proofsOf, waivedIn } from "./check-gate.js";
import { fieldsOf, propertiesOf } from "./fields.js";
import { proofFormat } from "./format.js";
import { ITEMS_FIELD, requiredItems } from "./plan-gate.js";
import type { Enforcement, Problem } from "./verdict.js";
import { waivable, waive } from "./waivers.js";

/** The place where a claim can be seen, in the agent's words. */
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
  const unbacked = fieldsOf(gate).filter(({ name, required, type }) => {
    return required && type === "boolean" && !verified.includes(name);
  });
  const proofs = unbacked.map(({ name }) => name);
  if (proofs.length === 0) return gate;
  if (gate.kind === "fields") return { ...gate, proofs };
  const properties = [...propertiesOf(gate.jsonSchema)].map(([name, schema]) => [
    name,
    proofs.includes(name) ? proofFormat(schema) : schema,
  ]);
  return { ...gate, proofs, jsonSchema: { ...gate.jsonSchema, properties: Object.fromEntries(properties) } };
}

interface ReadClaims {
  /** The evidence with plain booleans. */
  readonly evidence: JsonObject;
  readonly proofs: readonly Proof[];
  /** The claims without a proof. */
  readonly problems: readonly Problem[];
}

/** Takes claims and proofs apart, where the gate asks for proofs. */
export function readClaims(gate: GateDefinition, evidence: JsonObject): ReadClaims {
  const proofs: Proof[] = [];
  const problems: Problem[] = [];
  const plain = withClaims(gate, proofsOf(gate), evidence, (field, value) => {
    // The gate refuses anything else that is not a claim.
    if (value !== true && !isJsonObject(value)) return value;
    const { claim = null, proof } = value === true ? { claim: value } : value;
    const fault = value === true ? "it is claimed without a proof" : faultOf(proof);
    if (fault === undefined) proofs.push({ field, proof: String(proof) });
    else problems.push(unproven(field, value, fault));
    return claim;
  });
  return { evidence: plain, proofs, problems };
}

/** Returns evidence with what `read` makes of the claims in these fields; in a plan's gate, of each item's. */
function withClaims(
  gate: GateDefinition,
  names: readonly string[],
  evidence: JsonObject,
  read: (field: string, value: JsonValue) => JsonValue,
): JsonObject {
  const plain: JsonObject = { ...evidence };
  for (const name of names) {
    const value = ownValue(evidence, name);
    if (value === undefined) continue;
    if (gate.kind !== "plan") plain[name] = read(name, value);
    else if (isJsonObject(value)) {
      const items = Object.entries(value).map(([key, item]) => [key, read(`${name}.${key}`, item)]);
      plain[name] = Object.fromEntries(items);
    }
  }
  return plain;
}

/** Limits of a proof: its length in characters, and the places that it may name, as each of them is looked up. */
const PROOF_MAX = 1000;
const PLACES_MAX = 10;

/** Returns why a proof can't be looked up; undefined if it can. */
function faultOf(proof: JsonValue | undefined): string | undefined {
  if (typeof proof !== "string" || isInvisible(proof)) return "its proof says nothing";
  if (proof.length > PROOF_MAX) return `its proof is longer than ${PROOF_MAX} characters`;
  const places = placesNamedIn(proof);
  if (places.length > PLACES_MAX) return `its proof names more than ${PLACES_MAX} files`;
  const wrong = places.find(({ line = 1 }) => line < 1 || !Number.isSafeInteger(line));
  return wrong && `its proof names line ${wrong.line}, which no file has`;
}

function unproven(field: string, value: JsonValue, why: string): Problem {
  const message = `'${field}': ${why}. Submit {claim, proof}, and say in proof where it can be seen: a file, a command, a line`;
  return { field, problem: "invalid", message, got: shown(value), expected: "an object with claim and proof" };
}

/** A place in the project that a proof names. */
interface NamedPlace {
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
const PLACE = /((?:[A-Za-z]:(?=[\\/]))?[^:#]*)(.*)/s;
/** `:12`, `:12-15`, `:12:3`, `#L12`, `#L12-L15`. */
const LINES = /^(?::|#L?)(\d+)(?:-L?(\d+))?(?:[:C].*)?$/s;
/** The name of a file with an ending. */
const FILE_NAME = /^[\p{L}\p{N}\p{M}_@+-][\p{L}\p{N}\p{M}_@+.-]*\.[A-Za-z]\w*$/u;
/** Names that may be those of folders, with a letter in one of them. */
const PLAIN_PATH = /^(?=.*\p{L})[\p{L}\p{N}\p{M}_@+.~/-]+$/u;

/** Returns the place in a word; undefined if the word is not a place. */
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

/** Returns the names of the required booleans that an agent may ask to have waived, as a waiver has them. */
export function waivableBooleans(gate: GateDefinition): readonly string[] {
  const items =
    gate.kind === "plan" ? Object.keys(requiredItems(gate)).map((number) => `${ITEMS_FIELD}.${number}`) : [];
  const names = [...booleansIn(gate), ...items];
  return waivable(gate, waivedIn(gate)).names.filter((name) => names.includes(name));
}

/** A submission that says of booleans that they are false. */
interface SaidFalse {
  /** The evidence with plain booleans, and without those that can be waived. */
  readonly evidence: JsonObject;
  /** The gate without those that can be waived: it tells all other problems. */
  readonly gate: GateDefinition;
  /** The names of those that can be waived, with the reasons. */
  readonly unmet: ReadonlyMap<string, string>;
  readonly problems: readonly Problem[];
}

/** Reads the booleans that are said to be false. Returns undefined where no boolean is. */
export function readFalse(
  gate: GateDefinition,
  evidence: JsonObject,
  enforcement?: Enforcement,
): SaidFalse | undefined {
  const reasons = new Map<string, string>();
  const plain = withClaims(gate, gate.kind === "plan" ? [ITEMS_FIELD] : booleansIn(gate), evidence, (name, value) => {
    const why = isJsonObject(value) ? reasonIn(value) : undefined;
    if (why === undefined) return value;
    reasons.set(name, why);
    return false;
  });
  if (reasons.size === 0) return undefined;
  // Such a gate takes false, and warns.
  const isSoft = gate.kind === "fields" && !gate.strict && enforcement === "as-defined";
  const names = isSoft ? [] : waivableBooleans(gate);
  const unmet = new Map([...reasons].filter(([name]) => names.includes(name)));
  return {
    evidence: Object.fromEntries(Object.entries(plain).filter(([name]) => !unmet.has(name))),
    gate: waive(gate, [...waivedIn(gate), ...unmet.keys()]),
    unmet,
    problems: [...unmet.keys()].map((field): Problem => {
      const message = `'${field}' is said to be false: only a person can waive it`;
      return { field, problem: "claimed_false", message, got: "false", expected: "true" };
    }),
  };
}

/** The longest reason, in characters. */
const WHY_MAX = 1000;

function reasonIn({ value, why, ...others }: JsonObject): string | undefined {
  if (value !== false || typeof why !== "string" || Object.keys(others).length > 0) return undefined;
  return isInvisible(why) || why.length > WHY_MAX ? undefined : why.trim();
}

/** With proofs, a claim is an object. */
function booleansIn(gate: GateDefinition): readonly string[] {
  const booleans = fieldsOf(gate).filter(({ name, type }) => type === "boolean" || proofsOf(gate).includes(name));
  return booleans.map(({ name }) => name);
}
