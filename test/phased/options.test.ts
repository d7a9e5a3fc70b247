import { defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import type { Verifier, VerifyRequest } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { makeEngine } from "../support/make-engine.js";
import { makePlanned } from "../support/planned.js";

const OPTIONS = z.strictObject({
  docs: z.array(z.string()).optional(),
  depth: z.int().default(2),
  audience: z.enum(["dev", "ops"]),
});

/** The same in code, which is not filled in. */
const CODE = "$".concat("{options.depth}");

/** Returns a workflow in code whose first and last phases depend on its options. */
function report(parts: { revision?: string; options?: typeof OPTIONS | undefined; rule?: string } = {}) {
  return defineWorkflow({
    ...{ type: "report", revision: parts.revision ?? "1", name: "Report", description: "Writes", target: "none" },
    ...("options" in parts ? {} : { options: OPTIONS }),
    phases: [
      {
        ...{ number: 1, name: "Read", content: "Read {options.docs}.", skippable: true },
        ...{ skipWhen: parts.rule ?? "!has(options.docs)", skipCondition: "there are no documents" },
      },
      {
        number: 2,
        name: "Write",
        content: `For {options.audience}: {{options.depth}} is {options.depth}, ${CODE}.`,
      },
      { number: 3, name: "Deploy", content: "Deploy {options.nothing}.", skipWhen: 'options.audience == "dev"' },
    ],
  });
}

it.each([
  ["agentSync", "keep-gates", "keeps-gates or any"],
  ["claims", "backd", "plain or backed"],
  ["enforcement", "as_defined", "strict or as-defined"],
])("an engine refuses a misspelt option: %s", (field, given, expected) => {
  expect(() => makeEngine({ [field]: given })).toThrow(
    expect.objectContaining({
      ...{ code: "INVALID_INPUT", message: `createEngine: ${field} must be ${expected}` },
      details: { field, expected },
    }),
  );
});

describe("a workflow in code", () => {
  it("takes the options of its schema, with defaults, and skips by them", async () => {
    const { engine } = makeEngine({}, [report()]);
    const started = await engine.start({ workflowType: "report", options: { audience: "dev" } });
    expect(started.options).toEqual({ audience: "dev", depth: 2 });
    expect(started.skipped).toEqual([{ phase: 1, name: "Read", reason: "there are no documents" }]);
    expect(started.phase.content.text).toBe(`For dev: {options.depth} is 2, ${CODE}.`);
    expect(started.phase.contentChanged).toBe(false);
    const { sessionId } = started;
    expect(await engine.session(sessionId).completePhase(2, {})).toMatchObject({
      passed: true,
      nextPhase: null,
      skipped: [{ phase: 3, name: "Deploy", reason: 'skipWhen holds: options.audience == "dev"' }],
    });
    expect(await engine.session(sessionId).fullState()).toMatchObject({
      ...{ status: "completed", completedPhases: [2], skippedPhases: [1, 3] },
      skips: [
        { phase: 1, reason: "there are no documents", by: "skip_when" },
        { phase: 3, by: "skip_when" },
      ],
    });
    expect((await engine.session(sessionId).phase(3)).content.text).toBe("Deploy {options.nothing}.");
  });

  it("refuses wrong options with everything that is wrong", async () => {
    const { engine, storage } = makeEngine({}, [report()]);
    const refused = engine.start({ workflowType: "report", options: { audiance: "dev", depth: "deep" } });
    await expect(refused).rejects.toMatchObject({
      code: "INVALID_INPUT",
      details: { field: "options" },
      message: expect.stringMatching(
        /^report can't be started so: there is no option "audiance"; did you mean "audience"\?; the option "audience" is missing: "dev" \| "ops", required; options\.depth: expected/,
      ),
      remedy: expect.stringContaining('docs (list of string); depth (integer, default 2); audience ("dev" | "ops"'),
    });
    expect((await storage.list({})).items).toEqual([]);
  });

  it("may check its options with any Standard Schema, also an asynchronous one", async () => {
    const upper = z.object({ name: z.string() }).transform(async ({ name }) => ({ name: name.toUpperCase() }));
    const phases = [{ number: 1, name: "One", content: "{options.name}" }];
    const about = { revision: "1", name: "N", description: "D", target: "none", phases } as const;
    const dated = z.object({}).transform(() => ({ at: new Date(0) }));
    const workflows = [
      defineWorkflow({ type: "upper", options: upper, ...about }),
      defineWorkflow({ type: "dated", options: dated, ...about }),
    ];
    const { engine } = makeEngine({}, workflows);
    const started = await engine.start({ workflowType: "upper", options: { name: "ann" } });
    expect(started.phase.content.text).toBe("ANN");
    expect(await engine.session(started.sessionId).options()).toEqual({ name: "ANN" });
    await expect(engine.start({ workflowType: "upper" })).rejects.toMatchObject({
      message: expect.stringContaining("is missing"),
    });
    await expect(engine.start({ workflowType: "dated" })).rejects.toMatchObject({ code: "DEFINITION_INVALID" });
  });

  it("is checked when it is defined, and its rules when it is started or migrated to", async () => {
    const phase = { number: 1, name: "One", content: "" };
    const about = { type: "wrong", revision: "1", name: "N", description: "D" };
    const define =
      (parts: object, more: object = {}) =>
      () =>
        defineWorkflow({ ...about, ...more, phases: [{ ...phase, ...parts }] });
    expect(define({ skipWhen: " " })).toThrow("skipWhen must be a rule over the options");
    expect(define({ skipCondition: "never" })).toThrow("write skipWhen too");
    expect(define({ skip_when: "true" })).toThrow("did you mean skipWhen?");
    expect(define({}, { options: {} })).toThrow("the workflow.options must be a Standard Schema, not {}");
    const storage = new MemoryStorage();
    const broken = makeEngine({ storage }, [report({ rule: "!has(options.doc)" })]);
    await expect(broken.engine.start({ workflowType: "report", options: { audience: "dev" } })).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      details: { diagnostics: [expect.stringMatching(/phase 1, skipWhen: .*Did you mean "docs"/)] },
    });
    const sound = makeEngine({ storage }, [report()]);
    const { sessionId } = await sound.engine.start({ workflowType: "report", options: { audience: "dev" } });
    const next = makeEngine({ storage }, [report(), report({ revision: "2", rule: "options.docs ==" })]);
    await expect(next.engine.session(sessionId).migrate({ by: "ann" })).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
    });
  });
});

describe("a rule that can't be evaluated", () => {
  it("skips nothing", async () => {
    const { engine } = makeEngine({}, [report({ options: undefined, rule: "options.fast == true" })]);
    expect((await engine.start({ workflowType: "report" })).phase.phase.number).toBe(1);
    const fast = await engine.start({ workflowType: "report", options: { fast: true } });
    expect(fast.phase.phase.number).toBe(2);
  });
});

describe("skipped phases", () => {
  it("may be all of them: the workflow is completed at the start", async () => {
    const phases = [{ number: 4, name: "Only", content: "Nothing", skipWhen: "true" }];
    const about = { type: "none", revision: "1", name: "N", description: "D", target: "none", phases } as const;
    const { engine } = makeEngine({}, [defineWorkflow(about)]);
    const started = await engine.start({ workflowType: "none", idempotencyKey: "k" });
    expect(started).toMatchObject({ phase: { status: "completed", currentPhase: 4 }, skipped: [{ phase: 4 }] });
    expect(await engine.start({ workflowType: "none", idempotencyKey: "k" })).toMatchObject({
      ...{ sessionId: started.sessionId, replayed: true, skipped: [{ phase: 4 }] },
    });
  });

  it("stay skipped and are skipped ahead after a migration", async () => {
    const storage = new MemoryStorage();
    const old = makeEngine({ storage }, [report()]);
    const { sessionId } = await old.engine.start({ workflowType: "report", options: { audience: "ops" } });
    const newer = defineWorkflow({
      ...{ type: "report", revision: "2", name: "Report", description: "Writes", target: "none" },
      phases: [
        { number: 1, name: "Read", content: "" },
        { number: 2, name: "Write", content: "" },
        { number: 3, name: "Deploy", content: "" },
        { number: 4, name: "Tell", content: "", skipWhen: 'options.audience == "ops"' },
      ],
    });
    const { engine } = makeEngine({ storage }, [report(), newer]);
    expect(await engine.session(sessionId).migrate({ by: "ann" })).toMatchObject({
      currentPhase: 2,
      skippedPhases: [1],
    });
    await engine.session(sessionId).completePhase(2, {});
    expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({
      ...{ passed: true, nextPhase: null, skipped: [{ phase: 4 }] },
    });
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("are migrated once per key, also when a newer revision has come since", async () => {
    const storage = new MemoryStorage();
    const { sessionId } = await makeEngine({ storage }, [report()]).engine.start({
      ...{ workflowType: "report", options: { audience: "ops" } },
    });
    const by = { by: "ann", idempotencyKey: "k" };
    const second = makeEngine({ storage }, [report(), report({ revision: "2" })]).engine;
    expect(await second.session(sessionId).migrate(by)).toMatchObject({ head: { revision: "2" } });
    const third = makeEngine({ storage }, [report(), report({ revision: "2" }), report({ revision: "3" })]).engine;
    expect(await third.session(sessionId).migrate(by)).toMatchObject({ head: { revision: "2" } });
    await expect(third.session(sessionId).migrate({ ...by, by: "bob" })).rejects.toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
  });

  it("stay skipped after a plan sync, and templates have the options", async () => {
    const metadata = {
      ...{ workflow_type: "spec", name: "Spec", description: "Plans", version: "1.0.0", dynamic_phases: true },
      dynamic_config: { source_path_key: "spec_path" },
      options_schema: { properties: { who: { type: "string", default: "Ann" } }, additionalProperties: false },
      phases: [{ phase_number: 0, phase_name: "Static", skip_when: 'options.who == "Ann"' }],
    };
    const template = "# Phase [PHASE_NUMBER] of {options.who}\n";
    const files = { "metadata.json": JSON.stringify(metadata), "phases/dynamic/phase-template.md": template };
    const { engine, edit } = makePlanned({ files });
    const options = { spec_path: "specs/one" };
    const started = await engine.start({ workflowType: "spec", target: "src", options });
    expect(started).toMatchObject({ options: { ...options, who: "Ann" }, skipped: [{ phase: 0 }], plan: { shift: 0 } });
    expect(started.phase.content.text).toBe("# Phase 1 of Ann\n");
    const { sessionId } = started;
    edit((text) => text.replace("Write the docs", "Write all the docs"));
    await engine.session(sessionId).syncPlan();
    const evidence = { tasks_completed: ["1.1", "1.2", "1.3"], validation_gate: { 1: true, 2: true } };
    await engine.session(sessionId).completePhase(1, evidence);
    expect(await engine.session(sessionId).state()).toMatchObject({
      currentPhase: 2,
      skippedPhases: [0],
      completedPhases: [1],
    });
    await engine.session(sessionId).rollback(0);
    expect(await engine.session(sessionId).state()).toMatchObject({
      currentPhase: 1,
      skippedPhases: [0],
      completedPhases: [],
    });
    const bob = await engine.start({ workflowType: "spec", target: "src", options: { ...options, who: "Bob" } });
    expect(bob.phase.currentPhase).toBe(0);
    await engine.session(bob.sessionId).completePhase(0, {});
    expect((await engine.session(bob.sessionId).phase()).content.text).toBe("# Phase 1 of Bob\n");
  });

  it("leave the snapshot to the phase that is entered, at the start and after each gate", async () => {
    const taken: unknown[] = [];
    const seen: VerifyRequest[] = [];
    const snap: Verifier = {
      snapshot: async ({ session, params }) => {
        taken.push([session.phase, params.of, session.options]);
        return session.phase;
      },
      verify: async (request) => {
        seen.push(request);
        return { ok: request.snapshot === request.session.phase, message: "compared" };
      },
    };
    const verify = [{ verifier: "snap", params: { of: "{options.who}" } }];
    const gate = { evidence: z.object({}), verify };
    const phases = [1, 2, 3, 4].map((number) => {
      const skip = number % 2 === 1 ? { skipWhen: 'options.who == "Ann"' } : {};
      return { number, name: `Phase ${number}`, content: "", gate, ...skip };
    });
    const about = { type: "snaps", revision: "1", name: "N", description: "D", target: "none", phases } as const;
    const { engine } = makeEngine({ verifiers: { snap } }, [defineWorkflow(about)]);
    const options = { who: "Ann" };
    const { sessionId } = await engine.start({ workflowType: "snaps", options });
    expect(await engine.session(sessionId).completePhase(2, {})).toMatchObject({ passed: true });
    await engine.session(sessionId).rollback(1);
    expect(await engine.session(sessionId).completePhase(2, {})).toMatchObject({ passed: true });
    expect(await engine.session(sessionId).completePhase(4, {})).toMatchObject({
      passed: true,
      nextPhase: null,
    });
    expect(taken).toEqual([2, 4, 2, 4].map((phase) => [phase, "Ann", options]));
    expect(seen[0]).toMatchObject({ params: { of: "Ann" }, session: { options } });
  });
});

describe("options in the rules of a gate", () => {
  const files = (rule: string) => ({
    "metadata.json": JSON.stringify({
      ...{ workflow_type: "ruled", name: "Ruled", description: "Rules", version: "1.0.0", target: "none" },
      phases: [{ phase_number: 1, phase_name: "One" }],
    }),
    "phases/1/phase.md": "# Phase 1\n",
    "phases/1/gate-definition.yaml": `evidence_schema: {pages: {type: integer}}\ncross_field_validation: ["${rule}"]\n`,
  });

  it("are compared with evidence; a missing one keeps the gate shut unless the rule allows it", async () => {
    const engineOf = (rule: string) =>
      makeEngine({ content: new MemoryContent({ sources: { ruled: files(rule) } }) }).engine;
    const bare = engineOf("evidence.pages >= options.pages");
    const limited = await bare.start({ workflowType: "ruled", options: { pages: 3 } });
    const submit = (sessionId: string, pages: number, engine = bare) =>
      engine.session(sessionId).completePhase(1, { pages });
    expect(await submit(limited.sessionId, 2)).toMatchObject({ passed: false });
    expect(await submit(limited.sessionId, 3)).toMatchObject({ passed: true });
    const free = await bare.start({ workflowType: "ruled" });
    expect(await submit(free.sessionId, 9)).toMatchObject({
      ...{ passed: false, problems: [{ message: expect.stringContaining('there is no key "pages"') }] },
    });
    const guarded = engineOf("!has(options.pages) || evidence.pages >= options.pages");
    const { sessionId } = await guarded.start({ workflowType: "ruled" });
    expect(await submit(sessionId, 1, guarded)).toMatchObject({ passed: true });
  });
});
