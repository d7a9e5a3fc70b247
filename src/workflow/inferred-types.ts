/**
 * The types that are inferred from a workflow in code: the numbers of its phases, and the evidence of each. And the keys of
 * a phase and its gate, which the compiler does not check by itself where it infers their types.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FieldType } from "./gate-definition.js";
import type { JsonObject, JsonValue } from "./json.js";
import type { ChildGateInput, FieldGateInput, FieldInput, GateInput, PhaseInput, Workflow } from "./workflow-input.js";

type Phases = readonly PhaseInput[];

/** The phases of a tuple at their places, from 1. */
type Places<P extends Phases> = readonly [never, ...P];

/** The places that a tuple has, from 0. */
type IndexOf<Tuple extends readonly unknown[]> =
  Exclude<keyof Tuple, keyof (readonly unknown[])> extends infer Index
    ? Index extends `${infer N extends number}`
      ? N
      : never
    : never;

/** The phase of a number: the one that has it, or the one at that place. */
type PhaseAt<P extends Phases, N extends number> = P[number] extends { readonly number: number }
  ? Extract<P[number], { readonly number: N }>
  : number extends P["length"]
    ? PhaseInput
    : Places<P>[N];

/** The phase numbers of a workflow, as a union of literals; `number` where the compiler does not know how many phases there are. */
export type PhaseNumberOf<W extends Workflow> = W["phases"][number] extends { readonly number: infer N extends number }
  ? N
  : number extends W["phases"]["length"]
    ? number
    : Exclude<IndexOf<Places<W["phases"]>>, 0>;

/** The evidence that a phase takes: the input of its schema, or its fields; any object if it has neither. */
export type EvidenceOf<W extends Workflow, N extends number> =
  PhaseAt<W["phases"], N> extends {
    readonly gate: infer Gate;
  }
    ? EvidenceFor<Gate>
    : JsonObject;

type EvidenceFor<Gate> = Gate extends { readonly evidence: infer S extends StandardSchemaV1 }
  ? StandardSchemaV1.InferInput<S>
  : Gate extends { readonly fields: infer Fields }
    ? string extends keyof Fields
      ? JsonObject
      : FieldValues<Fields>
    : JsonObject;

type FieldValues<Fields> = {
  [Name in keyof Fields as IsRequired<Fields[Name]> extends true ? Name : never]: FieldValue<Fields[Name]>;
} & {
  [Name in keyof Fields as IsRequired<Fields[Name]> extends true ? never : Name]?: FieldValue<Fields[Name]>;
} extends infer Both
  ? { [Name in keyof Both]: Both[Name] }
  : never;

/** A field whose `required` may be false may be left out. */
type IsRequired<Field> = Field extends { readonly required: infer Required }
  ? false extends Required
    ? false
    : true
  : true;

/** The values of field types. */
interface ValuesByType extends Record<FieldType, unknown> {
  readonly boolean: boolean;
  readonly integer: number;
  readonly number: number;
  readonly string: string;
  readonly object: JsonObject;
  readonly list: readonly JsonValue[];
  readonly any: JsonValue;
}

type FieldValue<Field> = Field extends { readonly type: infer Type extends FieldType } ? ValuesByType[Type] : JsonValue;

/** Refuses all other keys than the known ones, and those of other programs, which begin with `x-`. */
type Only<Given, Known> = Given & { readonly [Key in Exclude<keyof Given, keyof Known | `x-${string}`>]?: never };

type KnownGate<Gate> = KnownChecks<Gate> &
  (Gate extends { readonly fields: infer Fields }
    ? Only<Gate, FieldGateInput> & {
        readonly fields: { readonly [Name in keyof Fields]: Only<Fields[Name], FieldInput> };
      }
    : Gate extends { readonly workflow: unknown }
      ? Only<Gate, ChildGateInput>
      : Only<Gate, GateInput>);

type KnownChecks<Gate> = Gate extends { readonly verify: infer Checks }
  ? {
      readonly verify: {
        readonly [Index in keyof Checks]: Only<Checks[Index], NonNullable<GateInput["verify"]>[number]>;
      };
    }
  : unknown;

/** A phase without keys that are not known: a misspelt one could leave a gate open. */
export type KnownPhase<Phase> = Only<Phase, PhaseInput> &
  (Phase extends { readonly gate: infer Gate } ? { readonly gate: KnownGate<Gate> } : unknown);

/** Phases without keys that are not known, as far as the compiler knows how many there are. */
export type KnownPhases<P extends Phases> = number extends P["length"]
  ? unknown
  : { readonly [Index in keyof P]: KnownPhase<P[Index]> };
