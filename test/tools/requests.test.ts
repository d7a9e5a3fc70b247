import { createWorkflowTool } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import { PhasegateError } from "../../src/errors.js";
import { takeAnswer } from "../../src/tools/person.js";
import {
  ACTION_NAMES,
  ACTIONS,
  type Action,
  exampleCall,
  inputSchema,
  isAction,
  isParameter,
  outputSchema,
  PARAMETERS,
  type Parameter,
  parametersOf,
  toolDescription,
  WORKFLOW_READING,
} from "../../src/tools/phased/actions.js";
import { expectedBy } from "../../src/tools/phased/refusals.js";
import { REQUESTS as ROUTED, type RoutedCall } from "../../src/tools/routed/requests.js";
import { fieldNames, isOptional, maxCharsFor, type ObjectSchema, publishedSchema } from "../../src/tools/schemas.js";
import {
  brief,
  compact,
  fits,
  givenFields,
  parseRequest,
  passThroughSchema,
  shrinkAnswer,
  unknownField,
} from "../../src/tools/wire.js";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";

/** The required parameters of each action, and the optional ones after a bar. */
const TAKES: Readonly<Record<Action, string>> = {
  list_workflows: "| workflow_type category cursor",
  start: "| workflow_type target_file options session_id item idempotency_key",
  get_phase: "session_id | phase cursor",
  get_task: "session_id phase task_number | cursor",
  get_document: "session_id path | cursor",
  complete_task: "session_id phase | task_number note outcome skipped idempotency_key",
  complete_phase: "session_id phase | evidence idempotency_key",
  request_waiver: "session_id phase fields reason | idempotency_key",
  get_state: "session_id | brief phase cursor",
  list_sessions: "| status cursor",
  get_session: "session_id | cursor",
  delete_session: "session_id | reason",
  pause: "session_id | checkpoint_note idempotency_key",
  resume: "session_id | idempotency_key",
  retry_phase: "session_id phase | reset_evidence idempotency_key",
  rollback: "session_id to_phase | idempotency_key",
  sync_plan: "session_id | preview cursor idempotency_key",
  get_errors: "session_id | cursor",
  get_history: "session_id | cursor",
  get_metrics: "|",
};

/** A value that each parameter may have. */
const VALUES: Readonly<Record<Parameter, unknown>> = {
  ...{ session_id: "s", workflow_type: "w", target_file: "a.ts", path: "core/a.md", category: "c", cursor: "c" },
  ...{ reason: "r", note: "n", checkpoint_note: "n", idempotency_key: "k", status: "paused", outcome: "done" },
  ...{ phase: 1, task_number: 1, item: 1, to_phase: 1, skipped: [2], fields: ["a"], options: {}, evidence: {} },
  ...{ reset_evidence: false, brief: true, preview: true },
};

/** Returns the properties of a published schema. */
function propertiesOf(schema: ObjectSchema): Readonly<Record<string, object>> {
  return z.record(z.string(), z.looseObject({})).parse(schema.properties ?? {});
}

/** Returns the fields of a request's faults, each with its kind. */
function faults(schema: z.core.$ZodObject, input: unknown): string[] {
  const parsed = parseRequest(schema, input);
  return parsed.ok ? [] : parsed.faults.map(({ field, kind }) => `${field} ${kind}`);
}

describe("an action of the workflow tool", () => {
  it.each(Object.entries(TAKES))("%s takes %s, and nothing else", (name, takes) => {
    if (!isAction(name)) throw new Error(name);
    const [required = [], optional = []] = takes.split("|").map((part) => part.split(" ").filter(isParameter));
    const { required: needed, all } = parametersOf(name);
    expect([...needed].sort()).toEqual(required.sort());
    expect([...all].sort()).toEqual([...required, ...optional].sort());
    const whole = Object.fromEntries(all.map((field) => [field, VALUES[field]]));
    expect(faults(ACTIONS[name].takes, whole)).toEqual([]);
    for (const field of all) {
      const { [field]: _, ...rest } = whole;
      expect(faults(ACTIONS[name].takes, rest)).toEqual(required.includes(field) ? [`${field} missing`] : []);
      expect(faults(ACTIONS[name].takes, { ...whole, [field]: () => 1 })).toEqual([
        `${field} ${field === "status" || field === "outcome" ? "value" : "type"}`,
      ]);
    }
    expect(faults(ACTIONS[name].takes, { ...whole, surprise: 1 })).toEqual(["surprise unknown"]);
  });

  it("is listed in the order of a session, and known by its own name only", () => {
    expect(ACTION_NAMES).toEqual(Object.keys(TAKES));
    expect(["start", "toString", "", undefined, ["start"]].map(isAction)).toEqual([true, false, false, false, false]);
    expect(["phase", "action", "toString"].map(isParameter)).toEqual([true, false, false]);
  });

  it("writes if a call may have a key; and a session is deleted once, without one", () => {
    const withKey = ACTION_NAMES.filter((action) => parametersOf(action).all.includes("idempotency_key"));
    const writing = ACTION_NAMES.filter((action) => !WORKFLOW_READING.has(action));
    expect(writing.toSorted()).toEqual([...withKey, "delete_session"].toSorted());
  });

  it.each(ACTION_NAMES)("%s has an example, in which no value is empty", (name) => {
    const { action, ...call } = exampleCall(name);
    expect(action).toBe(name);
    expect(faults(ACTIONS[name].takes, call)).toEqual([]);
    for (const value of Object.values(call)) expect(JSON.stringify(value)).not.toMatch(/""|\[\]|\{\}/);
  });

  it("has an example of a usual call: with a target to start, with the task that is done", () => {
    expect(exampleCall("start")).toEqual({
      ...{ action: "start", workflow_type: expect.any(String), target_file: expect.any(String) },
    });
    expect(exampleCall("complete_task")).toEqual({
      ...{ action: "complete_task", session_id: expect.any(String), phase: 1, task_number: 1 },
    });
    expect(Object.keys(exampleCall("get_state"))).toEqual(["action", "session_id"]);
  });
});

describe("what a parameter must be", () => {
  it("is a whole number only where no fraction is allowed", () => {
    expect(expectedBy(mini.int())).toBe("a whole number");
    expect(expectedBy(mini.number())).toBe("a number");
  });

  it("is said of every parameter", () => {
    const said = Object.values(PARAMETERS).map((schema) => expectedBy(schema).replace(/^one of .*/, "one of them"));
    expect(new Set(said)).toEqual(
      new Set(["a string", "an object", "a whole number", "one of them", "a list of strings", "true or false"]),
    );
  });
});

describe("the schema of the workflow tool", () => {
  const { properties: _, ...schema } = inputSchema(ACTION_NAMES);
  const properties = propertiesOf(inputSchema(ACTION_NAMES));

  it("has one object for all actions, which only the action must be in", () => {
    expect(schema).toEqual({ type: "object", required: ["action"] });
    expect(properties.action).toEqual({ type: "string", enum: [...ACTION_NAMES] });
    expect(Object.keys(properties)).toEqual(["action", ...Object.keys(PARAMETERS)]);
    for (const property of Object.values(properties))
      expect(Object.keys(property).filter((key) => !["type", "enum", "items", "description"].includes(key))).toEqual(
        [],
      );
  });

  it("gives each parameter its type", () => {
    const types = Object.entries(properties).map(([name, property]) => [name, "type" in property ? property.type : ""]);
    const of = (type: string) => types.filter(([, one]) => one === type).map(([name]) => name);
    expect(of("integer")).toEqual(["phase", "task_number", "item", "to_phase"]);
    expect(of("boolean")).toEqual(["reset_evidence", "brief", "preview"]);
    expect(of("object")).toEqual(["options", "evidence"]);
    expect(properties.fields).toMatchObject({ type: "array", items: { type: "string" } });
    expect(properties.status).toMatchObject({ enum: ["active", "paused", "completed", "failed"] });
    expect(properties.outcome).toMatchObject({ enum: ["done", "given_up"] });
    expect(of("string")).toHaveLength(types.length - 11);
  });

  it("says what a parameter is, and which actions take it if they are few", () => {
    const said = (actions: readonly Action[], name: Parameter) => propertiesOf(inputSchema(actions))[name];
    expect(said(["list_workflows", "get_phase", "get_task"], "session_id")).toMatchObject({
      description: "from start; for get_phase, get_task",
    });
    expect(said(["get_metrics", "get_phase"], "session_id")).toMatchObject({
      description: "from start; for get_phase",
    });
    expect(said(["get_task", "get_phase"], "session_id")).toMatchObject({ description: "from start" });
    expect(said(["get_task", "get_phase"], "task_number")).toEqual({ type: "integer", description: "for get_task" });
    const takers = ["get_phase", "get_task", "complete_task", "complete_phase"] as const;
    expect(said(["start", ...takers.slice(0, 3)], "phase")).toMatchObject({
      description: "its number; for get_phase, get_task, complete_task",
    });
    expect(said(["start", ...takers], "phase")).toMatchObject({ description: "its number" });
    for (const actions of [ACTION_NAMES, ...ACTION_NAMES.map((action) => [action])]) {
      const { action: _, ...parameters } = propertiesOf(inputSchema(actions));
      const undescribed = Object.entries(parameters).filter(
        ([, schema]) => !("description" in schema && schema.description),
      );
      expect(undescribed, actions.join()).toEqual([]);
    }
    expect(said(["get_phase"], "task_number")).toBeUndefined();
    expect(said(["start", "pause", "resume", "rollback", "get_task"], "idempotency_key")).toMatchObject({
      description: "for retries",
    });
  });

  it("of its answers has a status, the action and the next call", () => {
    const answers = z.fromJSONSchema(outputSchema());
    const right = { status: "success", action: "start", next: { action: "get_phase", more: 1 }, more: 1 };
    for (const more of [{}, { next: null }, { next: undefined }, { status: "error", error: "e", remediation: "r" }])
      expect(answers.safeParse(JSON.parse(JSON.stringify({ ...right, ...more }))).success).toBe(true);
    for (const more of [{ status: "done" }, { action: 1 }, { next: "get_phase" }, { error: 1 }, { remediation: 1 }])
      expect(answers.safeParse({ ...right, ...more }).success).toBe(false);
    for (const field of ["status", "action"]) expect(outputSchema().required).toContain(field);
  });
});

describe("an object that a client sends as a text of JSON", () => {
  it("is read, with a note, and is refused if it is no object", async () => {
    const { engine } = makeEngine();
    const tool = createWorkflowTool(engine);
    const start = { action: "start", workflow_type: "two_phases", target_file: "src/a.ts", options: "{}" };
    const { session_id, ...started } = await tool.dispatch(start);
    expect(started).toMatchObject({ status: "success", sent_as_text: "options: was read; send an object instead" });
    const submit = { action: "complete_phase", session_id, phase: 1 };
    for (const wrong of ["[1]", "{", "done", "null"]) {
      const answer = await tool.dispatch({ ...submit, evidence: wrong });
      expect(answer).toMatchObject({ status: "error", error: expect.stringContaining("'evidence'") });
      expect(answer).not.toHaveProperty("sent_as_text");
    }
    const evidence = JSON.stringify(built);
    expect(await tool.dispatch({ ...submit, evidence })).toMatchObject({
      checkpoint_passed: true,
      sent_as_text: expect.any(String),
    });
    expect(await tool.dispatch({ action: "get_state", session_id, brief: true })).not.toHaveProperty("sent_as_text");
  });
});

describe("the description of the workflow tool", () => {
  it("names only the actions that there are", () => {
    const lines = toolDescription(ACTION_NAMES).split("\n");
    expect(lines[1]).toMatch(/^list_workflows → start → complete_task for each task → complete_phase;/);
    expect(lines[3]).toMatch(/^complete_task notes/);
    expect(lines[4]).toMatch(/^After a context loss: list_workflows, then its to_continue/);
    expect(lines).toHaveLength(5);
    expect(toolDescription(["start", "get_state"]).split("\n").slice(1)).toEqual([expect.stringMatching(/^An answer/)]);
    expect(toolDescription(["start", "get_task"]).split("\n")[1]).toMatch(/^start → get_task for each task;/);
  });
});

describe("a request to a routed workflow", () => {
  const report = { status: "success" };
  const instance_id = "garden_1-a";
  /** The required fields of each call, and the optional ones. */
  const WHOLE: Readonly<Record<RoutedCall, readonly [required: object, optional: object]>> = {
    list: [{}, {}],
    start: [{ workflow_name: "GARDEN" }, { context: { bed: 1 }, idempotency_key: "k" }],
    advance: [
      { instance_id, report },
      { context_updates: { bed: 1 }, idempotency_key: "k" },
    ],
    resume: [
      { instance_id, assumed_current_step_name: "Dig", report },
      { context_updates: {}, idempotency_key: "k" },
    ],
    status: [{ instance_id }, {}],
    suspend: [{ instance_id }, { reason: "", idempotency_key: "k" }],
    cancel: [{ instance_id }, { reason: "rain", idempotency_key: "k" }],
    retry: [{ instance_id }, { idempotency_key: "k" }],
    history: [{ instance_id }, { cursor: "c" }],
  };

  it.each(Object.entries(WHOLE))("to %s has its fields, and no others", (call, [required, optional]) => {
    const schema = Object.entries(ROUTED).find(([name]) => name === call)?.[1];
    if (schema === undefined) throw new Error(call);
    const whole: Record<string, unknown> = { ...required, ...optional };
    expect(faults(schema, whole)).toEqual([]);
    expect(faults(schema, required)).toEqual([]);
    expect(fieldNames(schema).sort()).toEqual(Object.keys(whole).sort());
    for (const field of Object.keys(whole)) {
      const { [field]: _, ...rest } = whole;
      expect(faults(schema, rest)).toEqual(field in required ? [`${field} missing`] : []);
      expect(faults(schema, { ...whole, [field]: 7 })).toEqual([`${field} type`]);
      expect(isOptional(schema, field)).toBe(!(field in required));
    }
    expect(faults(schema, { ...whole, surprise: 1 })).toEqual(["surprise unknown"]);
    expect(faults(schema, null)).toEqual([" no object"]);
  });

  it("has texts of limited length, and names of a known form", () => {
    const { start, resume, suspend, history, status } = ROUTED;
    const limits = (schema: z.ZodObject, field: string, least: number, most: number, rest = {}) => {
      const at = (length: number) => faults(schema, { ...rest, [field]: "x".repeat(length) });
      expect([at(least), at(most)]).toEqual([[], []]);
      expect(at(most + 1)).toEqual([`${field} value`]);
      if (least > 0) expect(at(least - 1)).toEqual([`${field} value`]);
    };
    limits(start, "workflow_name", 1, 200);
    limits(start, "idempotency_key", 1, 200, { workflow_name: "G" });
    limits(resume, "assumed_current_step_name", 1, 200, { instance_id, report });
    limits(suspend, "reason", 0, 2000, { instance_id });
    limits(history, "cursor", 0, 1000, { instance_id });
    limits(status, "instance_id", 1, 128);
    for (const id of ["-a", "_a", "A", "a.b", "a b", " a", "a\n"])
      expect(faults(status, { instance_id: id })).toEqual(["instance_id value"]);
    expect(faults(status, { instance_id: "0a-_9" })).toEqual([]);
  });

  it("passes a report on as it is, if its known keys fit", () => {
    const advance = (given: unknown) => parseRequest(ROUTED.advance, { instance_id, report: given });
    const details = JSON.parse('{"__proto__": {"a": 1}}');
    const given = { status: "x", details, message: null, error: "e", step_id: null, more: [1] };
    const parsed = advance(given);
    expect(parsed.ok && parsed.params.report).toBe(given);
    const found = (wrong: object) => faults(ROUTED.advance, { instance_id, report: { status: "x", ...wrong } });
    expect(found({ details: null, step_id: "Dig" })).toEqual([]);
    expect(found({ status: "" })).toEqual(["report.status value"]);
    for (const field of ["status", "details", "message", "error", "step_id"])
      expect(found({ [field]: 7 })).toEqual([`report.${field} type`]);
    expect(found({ details: [] })).toEqual(["report.details type"]);
    expect(found({ message: 1, error: 2 })).toEqual(["report.message type", "report.error type"]);
    const context = JSON.parse('{"__proto__": {"a": 1}}');
    const started = parseRequest(ROUTED.start, { workflow_name: "G", context });
    expect(started.ok && started.params.context).toBe(context);
  });

  it("is published with the shape of its report", () => {
    const properties = propertiesOf(publishedSchema(ROUTED.advance));
    expect(properties.report).toMatchObject({
      ...{ type: "object", required: ["status"], description: expect.any(String) },
      properties: { details: { type: "object" }, step_id: { type: ["string", "null"] } },
    });
    expect(properties.context_updates).toMatchObject({ type: "object" });
    const closed = z.fromJSONSchema(publishedSchema(ROUTED.advance, { closed: true }));
    const call = { instance_id, report: { ...report, details: { bed: 1 }, more: 1 }, context_updates: { bed: 1 } };
    expect(closed.safeParse(call).success).toBe(true);
    for (const wrong of [{ more: 1 }, { report: { ...report, details: 1 } }, { context_updates: 1 }])
      expect(closed.safeParse({ ...call, ...wrong }).success).toBe(false);
    expect(publishedSchema(ROUTED.advance)).not.toHaveProperty("additionalProperties");
    const text = JSON.stringify(publishedSchema(ROUTED.start, { closed: true }));
    expect(text).not.toMatch(/"(?:additionalProperties":(?:true|\{)|\$schema|minLength|maxLength|pattern)/);
  });
});

describe("a published schema", () => {
  it("leaves out what only validates", () => {
    const schema = z.object({
      count: z.number().int().min(1).max(9),
      above: z.number().gt(0),
      list: z.array(z.string().min(1).max(2).regex(/^a/)).max(3),
      keyed: z.record(z.string().regex(/^a/), z.number()),
      made: z.string().transform(Number),
      odd: z.custom(),
    });
    const properties = {
      ...{ count: { type: "integer" }, above: { type: "number" }, list: { type: "array", items: { type: "string" } } },
      ...{ keyed: { type: "object" }, made: { type: "string" }, odd: {} },
    };
    const required = ["count", "above", "list", "keyed", "made", "odd"];
    expect(publishedSchema(schema)).toEqual({ type: "object", properties, required });
  });

  it("can be passed on by a library that does not check calls by it", () => {
    const { "~standard": standard } = passThroughSchema({ type: "object", required: ["a"] });
    expect(standard).toMatchObject({ version: 1, vendor: "phasegate" });
    expect(standard.validate(3)).toEqual({ value: 3 });
    expect(standard.jsonSchema.input()).toEqual({ type: "object", required: ["a"] });
    expect(standard.jsonSchema.output()).toEqual({ type: "object", required: ["a"] });
  });
});

describe("the parts of an answer", () => {
  it("have no undefined keys", () => {
    expect(compact({ a: null, b: 0 })).toEqual({ a: null, b: 0 });
    expect(compact({ a: 1, b: undefined })).toEqual({ a: 1 });
  });

  it("are cut with a mark", () => {
    expect([brief("abc", 3), brief("abcd", 3)]).toEqual(["abc", "ab…"]);
  });

  it("have four characters a token, and at least a thousand tokens", () => {
    expect([maxCharsFor(), maxCharsFor(2000), maxCharsFor(3)]).toEqual([24_000, 8000, 4000]);
  });

  it.each<[string, unknown]>([
    ["a text", "x".repeat(95)],
    ["escapes", "\u0000".repeat(17)],
    ["quotes", '"'.repeat(48)],
    ["a list", Array.from({ length: 49 }, () => 1)],
    ["keys", Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`k${at + 10}`, null]))],
    ["lists in lists", Array.from({ length: 20 }, (_, at) => [at + 10])],
    ["a list of texts", Array.from({ length: 12 }, () => "texts")],
    ["nothing", undefined],
  ])("fit if their JSON does, to the character: %s", (_, value) => {
    const length = JSON.stringify(value)?.length ?? 0;
    expect([fits(value, length), fits(value, length + 1), fits(value, length - 1)]).toEqual([true, true, false]);
    expect(fits(value, 100_000)).toBe(true);
  });
});

describe("an answer that is too long", () => {
  const rules = {
    kept: new Set(["status"]),
    next: (_: object, leftOut: readonly string[]) => ({ show: leftOut.length }),
  };
  const answer = { status: "success", short: "s", long: "l".repeat(500), longer: "m".repeat(600), odd: undefined };

  it("loses its longest parts, and says which", () => {
    expect(shrinkAnswer(answer, 800, rules)).toEqual({
      ...{ status: "success", short: "s", long: answer.long, left_out: ["longer"], next: { show: 1 } },
    });
    expect(shrinkAnswer(answer, 150, rules)).toEqual({
      ...{ status: "success", short: "s", left_out: ["longer", "long"], next: { show: 2 } },
    });
  });

  it("loses at least one part, and keeps what it must have", () => {
    expect(shrinkAnswer(answer, 9999, rules)).toMatchObject({ long: answer.long, left_out: ["longer"] });
    expect(shrinkAnswer({ status: "x".repeat(99) }, 10, rules)).toEqual({
      ...{ status: "x".repeat(99), left_out: [], next: { show: 0 } },
    });
  });

  it("has its texts cut, if that is asked for", () => {
    const list = Array.from({ length: 200 }, () => "list");
    expect(shrinkAnswer({ ...answer, list }, 150, { ...rules, textMax: 4 })).toEqual({
      ...{ status: "success", short: "s", long: "lll…", longer: "mmm…" },
      ...{ left_out: ["list", "longer", "long"], next: { show: 3 } },
    });
  });

  it("loses its last part, if nothing else helps", () => {
    const last = ({ status, ...rest }: { [key: string]: unknown }) => ({
      name: "status",
      answer: { ...rest, status: `${status}`.slice(0, 3) },
    });
    const long = { status: "x".repeat(999), short: "s" };
    expect(shrinkAnswer(long, 100, { ...rules, last })).toEqual({
      ...{ status: "xxx", left_out: ["short", "status"], next: { show: 2 } },
    });
    expect(shrinkAnswer(answer, 150, { ...rules, last })).toMatchObject({ status: "success", short: "s" });
    expect(shrinkAnswer(long, 100, { ...rules, last: () => undefined })).toMatchObject({ left_out: ["short"] });
  });
});

describe("the fields of a request", () => {
  it("are those that are given: neither null nor undefined", () => {
    expect(givenFields({ a: 0, b: null, c: undefined, d: "" })).toStrictEqual({ a: 0, d: "" });
    expect(unknownField("phas", ["phase", "path"])).toBe("\"phas\" is unknown: did you mean 'phase'?");
    expect(unknownField("zzz", ["phase"])).toBe('"zzz" is unknown');
  });

  it("are read with defaults, and each fault has its place", () => {
    const schema = z.strictObject({
      deep: z.object({ list: z.array(z.number()) }),
      size: z.number().max(3).default(2),
      custom: z.custom((value) => value === 1).optional(),
    });
    expect(parseRequest(schema, { deep: { list: [] } })).toEqual({ ok: true, params: { deep: { list: [] }, size: 2 } });
    expect(faults(schema, { deep: { list: [1, "2"] }, size: 4, custom: 2, x: 1, y: 2 })).toEqual([
      ...["deep.list.1 type", "size value", "custom type", "x unknown", "y unknown"],
    ]);
    expect(faults(schema, { deep: {} })).toEqual(["deep.list missing"]);
    expect(faults(schema, { deep: null })).toEqual(["deep type"]);
    expect(faults(schema, {})).toEqual(["deep missing"]);
    expect(faults(schema, [])).toEqual([" no object"]);
    expect([isOptional(schema, "size"), isOptional(schema, "deep"), isOptional(schema, "none")]).toEqual([
      ...[true, false, false],
    ]);
    const parsed = parseRequest(schema, "text");
    expect(parsed.ok ? [] : parsed.faults).toEqual([{ field: "", kind: "no object", message: expect.any(String) }]);
  });
});

describe("a decision that the caller may not make", () => {
  it("is left to others; any other failure is the caller's", async () => {
    const answer = { decision: "approve", by: "ann" } as const;
    const decided = (code?: "NOT_ALLOWED" | "UNSUPPORTED") => {
      const approve = async () => {
        if (code === undefined) return "done";
        throw new PhasegateError(code, "no", { remedy: "Ask.", details: { operation: "approve" } });
      };
      return takeAnswer(Promise.resolve(answer), { approve, deny: async () => "denied" });
    };
    expect(await decided()).toBe("done");
    expect(await decided("NOT_ALLOWED")).toBeUndefined();
    await expect(decided("UNSUPPORTED")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});
