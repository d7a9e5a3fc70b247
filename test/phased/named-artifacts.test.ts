import {
  createEngine,
  defineWorkflow,
  type JsonObject,
  MemoryContent,
  MemoryStorage,
  type PhaseInput,
} from "phasegate";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { gatedFiles } from "../support/verified.js";

const about = { type: "w", revision: "1", name: "W", description: "D", target: "none" } as const;
const part = (name: string, gate?: PhaseInput["gate"]): PhaseInput => ({ name, content: "", gate });
const ok = { fields: { ok: { type: "boolean" } } } as const;
const ruled = (...crossFieldValidation: string[]) => ({ ...ok, crossFieldValidation });

/** An engine on a workflow of these phases. */
function engineOn(phases: readonly PhaseInput[], more: { verifiers?: Record<string, Verifier> } = {}) {
  const workflow = defineWorkflow({ ...about, phases });
  const content = new MemoryContent({ workflows: [workflow] });
  return createEngine({ storage: new MemoryStorage(), content, ...more });
}

/** Passes the gates of the phases with this evidence, and returns the last result. */
async function passed(phases: readonly PhaseInput[], evidence: readonly JsonObject[]) {
  const engine = engineOn(phases);
  const session = engine.session((await engine.start({ workflowType: "w" })).sessionId);
  for (const [index, one] of evidence.slice(0, -1).entries()) {
    expect(await session.completePhase(index + 1, one)).toMatchObject({ passed: true });
  }
  return session.completePhase(evidence.length, evidence.at(-1) ?? {});
}

/** Returns why a workflow can't be started; "" if it can. */
const refused = (phases: readonly PhaseInput[]) =>
  engineOn(phases)
    .start({ workflowType: "w" })
    .then(
      () => "",
      (error: Error) => error.message,
    );

const threat = part("Threat model", { fields: { threats: { type: "integer" } } });

describe("a rule that names a phase", () => {
  it.each([
    "artifacts.threat_model.threats == 3",
    'artifacts["Threat model"].threats == 3',
    'artifacts["threat_model"].threats == 3',
    'artifacts["1"].threats == 3',
    "artifacts[1].threats == 3",
    "has(artifacts.threat_model.threats)",
    '"Threat model" in artifacts',
    "evidence.name in artifacts",
    "artifacts[evidence.name].threats == 3",
    // Each phase is counted once.
    "size(artifacts) == 1",
    'artifacts.all(key, key == "1")',
  ])("reads its evidence: %s", async (rule) => {
    const gate = { fields: { name: { type: "string" } }, crossFieldValidation: [rule] } as const;
    const evidence: JsonObject[] = [{ threats: 3 }, { name: "threat_model" }];
    expect(await passed([threat, part("Ship", gate)], evidence)).toMatchObject({ passed: true });
  });

  it("is refused by another value", async () => {
    const phases = [threat, part("Ship", ruled("artifacts.threat_model.threats == 3"))];
    expect(await passed(phases, [{ threats: 2 }, { ok: true }])).toMatchObject({ passed: false });
  });

  it("does not confuse a name of digits with a number", async () => {
    const phases = [part("2", ok), threat, part("Ship", ruled('artifacts["2"].threats == 3'))];
    expect(await passed(phases, [{ ok: true }, { threats: 3 }, { ok: true }])).toMatchObject({ passed: true });
  });

  it.each([
    [
      "artifacts.threatmodel.threats == 3",
      'artifacts has no phase "threatmodel": only phases before the rule\'s own have artifacts (Write one of the phases before: 1 (Threat model), 2 (Schema), ',
    ],
    ["artifacts.ship.ok", 'artifacts has no phase "ship"'],
    ["artifacts.later.ok", 'artifacts has no phase "later"'],
    ["artifacts.threat_model.threads == 3", 'the evidence of phase 1 has no field "threads"'],
    ["artifacts.schema.missing == 3", 'the evidence of phase 2 has no field "missing"'],
    ["artifacts.twice.ok", '"twice" is the name of 2 phases: 4 (Twice), 5 (twice)'],
  ])("can't be started if it can't be evaluated: %s", async (rule, why) => {
    const schema = part("Schema", { evidence: z.object({ there: z.int() }) });
    const loose = part("Loose", { evidence: z.looseObject({}) });
    const phases = [
      threat,
      schema,
      loose,
      part("Twice", ok),
      part("twice", ok),
      part("Ship", ruled(rule)),
      part("Later"),
    ];
    expect(await refused(phases)).toContain(why);
  });

  it.each([
    "artifacts.schema.there == 3",
    "artifacts.loose.anything == 3",
    "artifacts.changed.other == 3",
    'artifacts["Twice"].ok == true',
    'artifacts["5"].ok == true',
    "size(artifacts) == 5",
  ])("can be started: %s", async (rule) => {
    const schema = part("Schema", { evidence: z.object({ there: z.int() }) });
    const loose = part("Loose", { evidence: z.looseObject({}) });
    const changed = part("Changed", { evidence: z.object({ a: z.int() }).transform(({ a }) => ({ other: a })) });
    expect(
      await refused([changed, schema, loose, part("Twice", ok), part("twice", ok), part("Ship", ruled(rule))]),
    ).toBe("");
  });
});

describe("a check that names a phase", () => {
  const since = (given: string | { phase: string }) =>
    part("Ship", { ...ok, verify: [{ verifier: "compares", params: { since: given } }] });
  const compares: Verifier = {
    verify: async ({ params, snapshot }) => ({ ok: snapshot === 2, message: JSON.stringify(params) }),
    snapshot: async () => 0,
  };

  it("compares with the end of it, by a verifier of the host's own", async () => {
    let taken = 0;
    const verifiers = { compares: { ...compares, snapshot: async () => ++taken } };
    const engine = engineOn([part("First", ok), part("Test", ok), part("More", ok), since("Test")], { verifiers });
    const session = engine.session((await engine.start({ workflowType: "w" })).sessionId);
    await session.completePhase(1, { ok: true });
    expect(taken).toBe(0);
    await session.completePhase(2, { ok: true });
    expect(taken).toBe(1);
    await session.completePhase(3, { ok: true });
    expect(await session.completePhase(4, { ok: true })).toMatchObject({
      verification: [{ message: '{"since":{"phase":2}}' }],
    });
    expect(taken).toBe(1);
  });

  it("is refused at the start if its verifier compares with a snapshot, and there is no such phase", async () => {
    const engine = engineOn([part("Test", ok), since("Tset")], { verifiers: { compares } });
    await expect(engine.start({ workflowType: "w" })).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      message: expect.stringContaining('`since` names the phase "Tset", which does not exist'),
    });
  });

  it("is refused at once with an object that names no phase", () => {
    expect(() => engineOn([part("Test", ok), since({ phase: "Tset" })])).toThrow(
      '`since` names the phase "Tset", which does not exist. Write one of the phases before: 1 (Test)',
    );
  });

  it("keeps the revision of a folder, whether it names a phase by number or name", async () => {
    const fields = "evidence_schema: {done: {type: boolean}}\n";
    const revisionWith = async (given: string) => {
      const gate = `${fields}verify: {verifier: tests_kept, since: ${given}}\n`;
      const content = new MemoryContent({ sources: { w: gatedFiles("w", [fields, gate]) } });
      return (await content.definition("w"))?.structure.revision;
    };
    const revisions = await Promise.all(["{phase: 1}", "Phase 1", "phase_1", "{phase: phase_1}"].map(revisionWith));
    expect(new Set(revisions).size).toBe(1);
    expect(revisions[0]).toMatch(/./);
  });
});
