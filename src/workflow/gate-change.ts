/** How one version of a gate differs from another: in which ways it lets more evidence pass, and in which ways less. Pure. */
import type {
  ApprovalDefinition,
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  PlanGate,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "./gate-definition.js";
import { requiresNothing } from "./gate-definition.js";
import { canonicalJson } from "./json.js";
import { shown } from "./names.js";

/** One difference between two versions of a gate. */
export interface GateChange {
  /**
   * `weaker`: evidence may pass that was refused. `stricter`: evidence may be refused that passed. `changed`: both are possible, or
   * nobody can tell without the project.
   */
  readonly kind: "weaker" | "stricter" | "changed";
  /** In words: `the field "tests" is gone`. */
  readonly what: string;
}

const weaker = (what: string): GateChange => ({ kind: "weaker", what });
const stricter = (what: string): GateChange => ({ kind: "stricter", what });
const changed = (what: string): GateChange => ({ kind: "changed", what });

/**
 * Compares two versions of a gate. Texts for people and agents, such as descriptions and examples, do not count.
 *
 * A change of several parts is several changes: of a rule that is replaced by another one, the old one is gone (weaker), and the
 * new one is added (stricter).
 */
export function gateChanges(before: GateDefinition, after: GateDefinition): readonly GateChange[] {
  const override = flagChange(
    [before.allowOverride === true, after.allowOverride === true],
    weaker("the host may let a session pass without evidence"),
    stricter("the host may no longer let a session pass without evidence"),
  );
  return [...contentChanges(before, after), ...override];
}

function contentChanges(before: GateDefinition, after: GateDefinition): GateChange[] {
  if (before.kind === "open" || after.kind === "open") return openChanges(before, after);
  if (before.kind === "fields" && after.kind === "fields")
    return [...fieldsChanges(before, after), ...demands(before, after)];
  if (before.kind === "schema" && after.kind === "schema")
    return [...schemaChanges(before, after), ...demands(before, after)];
  if (before.kind === "plan" && after.kind === "plan")
    return [...planChanges(before, after), ...checks(before.verify, after.verify)];
  return [
    changed(`evidence is checked as ${KINDS[after.kind]}, and was as ${KINDS[before.kind]}`),
    ...demands(before, after),
  ];
}

const KINDS = { fields: "named fields", schema: "one schema", plan: "a phase of a plan", open: "any object" } as const;

function openChanges(before: GateDefinition, after: GateDefinition): GateChange[] {
  if (before.kind === after.kind) return [];
  if (after.kind === "open") return [weaker("the gate is open: any evidence passes")];
  const is = requiresNothing(after)
    ? "the gate has a form now, and still requires nothing"
    : "the gate is no longer open";
  return [requiresNothing(after) ? changed(is) : stricter(is)];
}

/** Two values of a flag: what is said if it is set now, and if it is no longer. */
function flagChange([before, after]: readonly [boolean, boolean], set: GateChange, unset: GateChange): GateChange[] {
  return before === after ? [] : [after ? set : unset];
}

function fieldsChanges(before: FieldGate, after: FieldGate): GateChange[] {
  const strict = flagChange(
    [before.strict, after.strict],
    stricter("strict is true: rules block"),
    weaker("strict is false: rules only warn"),
  );
  const now = new Map(after.fields.map((field) => [field.name, field]));
  const old = new Set(before.fields.map(({ name }) => name));
  const kept = before.fields.flatMap((field) => {
    const next = now.get(field.name);
    return next === undefined ? [weaker(`the field ${shown(field.name)} is gone`)] : fieldChanges(field, next);
  });
  // The value of an optional field is checked, too.
  const added = after.fields
    .filter(({ name }) => !old.has(name))
    .map(({ name, required }) => stricter(`the ${required ? "" : "optional "}field ${shown(name)} is new`));
  return [...strict, ...kept, ...added, ...ruleChanges("", before.rules, after.rules)];
}

function fieldChanges(before: FieldDefinition, after: FieldDefinition): GateChange[] {
  const name = shown(before.name);
  return [
    ...flagChange(
      [before.required, after.required],
      stricter(`the field ${name} is required`),
      weaker(`the field ${name} is optional`),
    ),
    ...typeChange(name, before.type, after.type),
    ...flagChange(
      [before.allowExample === true, after.allowExample === true],
      weaker(`the field ${name} may be a copy of its example`),
      stricter(`the field ${name} may no longer be a copy of its example`),
    ),
    ...waivableChange(`the field ${name}`, before, after),
    ...ruleChanges(` of the field ${name}`, before.rules, after.rules),
  ];
}

function typeChange(name: string, before: FieldType, after: FieldType): GateChange[] {
  if (before === after) return [];
  const what = `the field ${name} is of type ${after}, and was of type ${before}`;
  if (after === "any" || (before === "integer" && after === "number")) return [weaker(what)];
  return [before === "any" || (before === "number" && after === "integer") ? stricter(what) : changed(what)];
}

interface Waivable {
  readonly waivable?: false | undefined;
}

function waivableChange(what: string, before: Waivable, after: Waivable): GateChange[] {
  return flagChange(
    [before.waivable !== false, after.waivable !== false],
    weaker(`${what} may be waived`),
    stricter(`${what} may no longer be waived`),
  );
}

/** Rules are the same if the same is run with the same parameters. */
function ruleChanges(
  of: string,
  before: readonly RuleDefinition[] = [],
  after: readonly RuleDefinition[] = [],
): GateChange[] {
  const keyOf = ({ cel, params }: RuleDefinition) => canonicalJson({ cel, params: params ?? {} });
  const [gone, added] = differences(before, after, keyOf);
  return [
    ...gone.map(({ source }) => weaker(`the rule ${shown(source)}${of} is gone`)),
    ...added.map(({ source }) => stricter(`the rule ${shown(source)}${of} is new`)),
  ];
}

/** Returns the items that only one of two lists has, each as often as it has it more than the other. */
function differences<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (item: T) => string,
): [gone: T[], added: T[]] {
  const added = [...after];
  const gone = before.filter((item) => {
    const at = added.findIndex((other) => keyOf(other) === keyOf(item));
    if (at >= 0) added.splice(at, 1);
    return at < 0;
  });
  return [gone, added];
}

function schemaChanges(before: SchemaGate, after: SchemaGate): GateChange[] {
  const isSame = canonicalJson(before.jsonSchema ?? null) === canonicalJson(after.jsonSchema ?? null);
  return [
    ...(isSame ? [] : [changed("the schema of the evidence is another one")]),
    ...flagChange(
      [before.allowExample === true, after.allowExample === true],
      weaker("the evidence may be a copy of the example"),
      stricter("the evidence may no longer be a copy of the example"),
    ),
  ];
}

function planChanges(before: PlanGate, after: PlanGate): GateChange[] {
  const [gone, added] = differences(before.items, after.items, (item) => item);
  const tasks = new Map(after.tasks.map((task) => [task.id, task]));
  const old = new Set(before.tasks.map(({ id }) => id));
  return [
    ...gone.map((item) => weaker(`the item ${shown(item)} is gone`)),
    ...added.map((item) => stricter(`the item ${shown(item)} is new`)),
    ...before.tasks.flatMap(({ id, optional }) => {
      const next = tasks.get(id);
      if (next === undefined) return [weaker(`the task ${shown(id)} is gone`)];
      const [is, was] = [weaker(`the task ${shown(id)} is optional`), stricter(`the task ${shown(id)} is required`)];
      return flagChange([optional, next.optional], is, was);
    }),
    ...after.tasks
      .filter(({ id }) => !old.has(id))
      .map(({ id, optional }) =>
        optional ? changed(`the optional task ${shown(id)} is new`) : stricter(`the task ${shown(id)} is new`),
      ),
  ];
}

/** Checks, approval, and how much agents see. */
function demands(before: GateDefinition, after: GateDefinition): GateChange[] {
  const partsOf = (gate: GateDefinition): Partial<Pick<FieldGate, "verify" | "approval" | "reveal">> =>
    gate.kind === "open" ? {} : gate;
  const [old, now] = [partsOf(before), partsOf(after)];
  const [was, is] = [old.reveal ?? "fields", now.reveal ?? "fields"];
  return [
    ...checks(old.verify, now.verify),
    ...approvalChanges(old.approval, now.approval),
    ...(was === is ? [] : [changed(`agents are shown ${shown(is)} of the gate, and were shown ${shown(was)}`)]),
  ];
}

/** A check with other parameters is another check by the same verifier: without the project nobody can tell which asks for more. */
function checks(before: readonly VerifyDefinition[] = [], after: readonly VerifyDefinition[] = []): GateChange[] {
  const placeOf = ({ verifier, field = "" }: VerifyDefinition) => canonicalJson([verifier, field]);
  const keyOf = (check: VerifyDefinition) => canonicalJson([placeOf(check), check.params, check.waivable !== false]);
  const [gone, added] = differences(before, after, keyOf);
  const found: GateChange[] = [];
  for (const check of gone) {
    const at = added.findIndex((other) => placeOf(other) === placeOf(check));
    const [next] = at < 0 ? [] : added.splice(at, 1);
    if (next === undefined) {
      found.push(weaker(`the check ${textOf(check)} is gone`));
      continue;
    }
    if (canonicalJson(check.params) !== canonicalJson(next.params)) {
      found.push(changed(`the check ${textOf(check)} is now ${textOf(next)}`));
    }
    found.push(...waivableChange(`the check ${textOf(next)}`, check, next));
  }
  return [...found, ...added.map((check) => stricter(`the check ${textOf(check)} is new`))];
}

function textOf({ verifier, params, field }: VerifyDefinition): string {
  const of = field === undefined ? "" : ` of the field ${shown(field)}`;
  const given = Object.keys(params).length === 0 ? "" : ` ${canonicalJson(params)}`;
  return `${verifier}${given}${of}`;
}

function approvalChanges(before: ApprovalDefinition | undefined, after: ApprovalDefinition | undefined): GateChange[] {
  if (after === undefined) return before === undefined ? [] : [weaker("nobody has to approve any more")];
  if (before === undefined) return [stricter("a person must approve")];
  const question =
    before.prompt === after.prompt
      ? []
      : [changed(`approvers are asked ${shown(after.prompt)}, and were asked ${shown(before.prompt)}`)];
  return [...question, ...approverChanges(before.approvers, after.approvers)];
}

/** Without a list, any approver may answer. */
function approverChanges(before: readonly string[] | undefined, after: readonly string[] | undefined): GateChange[] {
  if (before === undefined || after === undefined) {
    if (before === after) return [];
    return after === undefined
      ? [weaker("any approver may approve")]
      : [stricter(`only ${after.join(", ")} may approve`)];
  }
  const [gone, added] = differences(before, after, (name) => name);
  return [
    ...added.map((name) => weaker(`${shown(name)} may approve, too`)),
    ...gone.map((name) => stricter(`${shown(name)} may no longer approve`)),
  ];
}
