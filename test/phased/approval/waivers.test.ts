import { defineWorkflow, type EngineNotifications, type EngineOptions, MemoryContent, MemoryStorage } from "phasegate";
import { signApproval } from "phasegate/approval";
import type { Verifier } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { WaiveRequest } from "../../../src/phased/approval/requests.js";
import { makeAsking } from "../../support/approvals.js";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { makePlanned } from "../../support/planned.js";

const FILES = {
  "metadata.json": JSON.stringify({
    workflow_type: "release",
    name: "Release",
    description: "Builds and ships",
    version: "1.0.0",
    phases: [1, 2].map((phase_number) => ({ phase_number, phase_name: `Phase ${phase_number}` })),
  }),
  "phases/1/phase.md": "# Phase 1\n\nBuild.\n",
  "phases/1/gate-definition.yaml": `checkpoint: {strict: true, allow_override: false}
evidence_schema:
  built: {type: boolean, required: true}
  coverage: {type: integer, required: true, validator: positive, verify: measured}
  licensed: {type: boolean, required: true, waivable: false}
validators:
  positive: "value > 0"
verify: slow
`,
  "phases/2/phase.md": "# Phase 2\n\nShip.\n",
};

/** Starts a session whose agent can't measure its coverage; counts the runs of each verifier. */
async function makeRelease(options: Partial<EngineOptions> = {}) {
  const ran: string[] = [];
  const verifier = (name: string, ok: boolean): Verifier => ({
    verify: async () => {
      ran.push(name);
      return { ok, message: ok ? "as it should be" : "there is no coverage tool" };
    },
  });
  const content = new MemoryContent({ sources: { release: FILES } });
  const verifiers = { measured: verifier("measured", false), slow: verifier("slow", true) };
  const made = makeEngine({ content, verifiers, ...options });
  const { sessionId } = await made.engine.start({ workflowType: "release", target: "src" });
  const request = { phase: 1, fields: ["coverage"], reason: "no tool for this language" };
  const submit = (evidence: Record<string, unknown>) => made.engine.session(sessionId).completePhase(1, evidence);
  return { ...made, ran, sessionId, request, submit };
}

describe("a session whose agent can't meet a requirement", () => {
  it("continues without the field once a person has waived it, and every view shows the waiver", async () => {
    const { engine, sessionId, request, submit, ran } = await makeRelease();
    const asked = await engine.session(sessionId).requestWaiver(request.phase, request);
    expect(asked).toMatchObject({ phase: 1, fields: ["coverage"], reason: request.reason, replayed: false });
    expect(await engine.session(sessionId).state()).toMatchObject({
      waitsForWaiver: true,
      awaitingWaiver: { request: asked.request },
    });
    expect(await engine.waivers()).toMatchObject([{ sessionId, request: asked.request }]);
    expect(await engine.session(sessionId).waiver()).toMatchObject({
      target: "src",
      phaseName: "Phase 1",
      unsignedAllowed: false,
    });
    const granted = await engine.session(sessionId).waive({ by: "ann", request: asked.request, note: "until May" });
    expect(granted).toMatchObject({ granted: true, fields: ["coverage"], by: "ann", authenticated: false });
    const { phase, waived } = await engine.session(sessionId).phase();
    expect(waived).toMatchObject([{ fields: ["coverage"], by: "ann", note: "until May" }]);
    expect(phase.gate).toMatchObject({ fields: [{}, { name: "coverage", required: false }, {}] });
    const passed = await submit({ built: true, licensed: true });
    expect(passed).toMatchObject({ passed: true, attempt: 1, waived: [{ by: "ann", reason: request.reason }] });
    expect(ran).toEqual(["slow"]);
    expect(await engine.session(sessionId).state()).toMatchObject({ waivedPhases: [1], waitsForWaiver: false });
    expect((await engine.session(sessionId).state()).waived).toBeUndefined();
    expect(await engine.session(sessionId).history()).toMatchObject([
      { phase: 1, waived: [{ by: "ann" }] },
      { phase: 2 },
    ]);
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([
      {
        on: "waiver",
        phase: 1,
        by: "ann",
        authenticated: false,
        waived: [{ fields: ["coverage"], note: "until May" }],
      },
    ]);
  });

  it("must meet everything else, and every field that is excluded from waivers", async () => {
    const { engine, sessionId, request, submit } = await makeRelease();
    const { request: hash } = await engine.session(sessionId).requestWaiver(request.phase, request);
    await engine.session(sessionId).waive({ by: "ann", request: hash });
    expect(await submit({ licensed: true })).toMatchObject({ problems: [{ field: "built", problem: "missing" }] });
    const error = await failure(
      engine.session(sessionId).requestWaiver(request.phase, { ...request, fields: ["licensed"] }),
    );
    expect(error).toMatchObject({ code: "NOT_ALLOWED", message: 'the workflow allows no waiver of "licensed"' });
  });

  it.each([["coverage"], [[1]], [undefined]])("must give names: not %j", async (fields) => {
    const { engine, sessionId, request } = await makeRelease();
    // @ts-expect-error: plain JavaScript may pass anything.
    const error = await failure(engine.session(sessionId).requestWaiver(request.phase, { ...request, fields }));
    expect(error).toMatchObject({ code: "INVALID_INPUT", message: expect.stringContaining("must be a list of names") });
  });

  it("gets no decision with a note that is not a text, which would damage its log", async () => {
    const { engine, sessionId, request } = await makeRelease();
    const { request: hash } = await engine.session(sessionId).requestWaiver(request.phase, request);
    // @ts-expect-error: plain JavaScript may pass anything.
    const error = await failure(engine.session(sessionId).waive({ by: "ann", request: hash, note: 5 }));
    expect(error).toMatchObject({ code: "INVALID_INPUT", details: { field: "note" } });
    expect(await engine.session(sessionId).state()).toMatchObject({ waitsForWaiver: true });
  });

  it("shows what to do instead after a denial, which is not an attempt", async () => {
    const { engine, sessionId, request, submit } = await makeRelease();
    const { request: hash } = await engine.session(sessionId).requestWaiver(request.phase, request);
    await engine.session(sessionId).denyWaiver({ by: "ann", request: hash, note: "use c8" });
    const state = await engine.session(sessionId).state();
    expect(state).toMatchObject({ waitsForWaiver: false, head: { attempts: 0 } });
    expect(state.waiverDenied).toMatchObject({ fields: ["coverage"], by: "ann", note: "use c8" });
    expect(await submit({ built: true })).toMatchObject({ passed: false, attempt: 1, attemptsLeft: 2 });
    expect((await engine.session(sessionId).state()).waiverDenied).toBeUndefined();
  });

  it("answers a repeated request again, with or without a key; another request replaces it", async () => {
    const { engine, sessionId, request } = await makeRelease();
    const first = await engine.session(sessionId).requestWaiver(request.phase, { ...request, idempotencyKey: "k" });
    expect(await engine.session(sessionId).requestWaiver(request.phase, request)).toEqual({ ...first, replayed: true });
    expect(await engine.session(sessionId).requestWaiver(request.phase, { ...request, idempotencyKey: "k" })).toEqual({
      ...first,
      replayed: true,
    });
    const other = await engine.session(sessionId).requestWaiver(request.phase, { ...request, fields: ["built"] });
    expect(other.version).toBe(first.version + 1);
    const late = await failure(engine.session(sessionId).waive({ by: "ann", request: first.request }));
    expect(late).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "other_request" } });
    const answer = { by: "ann", request: other.request, idempotencyKey: "w" };
    const granted = await engine.session(sessionId).waive(answer);
    expect(await engine.session(sessionId).waive(answer)).toEqual({ ...granted, replayed: true });
    expect(
      (await failure(engine.session(sessionId).waive({ by: "ann", request: other.request }))).details,
    ).toMatchObject({
      reason: "not_waiting",
    });
  });

  it("does not run a check of the gate as a whole that is waived", async () => {
    const { engine, sessionId, request, submit, ran } = await makeRelease();
    const { request: hash } = await engine
      .session(sessionId)
      .requestWaiver(request.phase, { ...request, fields: ["coverage", "verified_by.1"] });
    await engine.session(sessionId).waive({ by: "ann", request: hash });
    expect(await submit({ built: true, licensed: true })).toMatchObject({ passed: true });
    expect(ran).toEqual([]);
  });

  it("lists in a refusal what can be waived", async () => {
    const { submit } = await makeRelease();
    expect(await submit({})).toMatchObject({ waivable: ["built", "coverage"] });
    expect(await submit({ built: true, coverage: 4, licensed: true })).toMatchObject({ waivable: ["coverage"] });
  });

  it.each([
    ["requestWaiver", 1, { fields: ["coverage"], reason: " \u200b" }],
    ["waive", { by: "", request: "x" }],
    ["waive", { by: "a".repeat(201), request: "x" }],
    ["denyWaiver", { by: "ann", request: "x", note: "" }],
  ] as const)("refuses %s with a blank text: %j", async (method, ...request) => {
    const { engine, sessionId } = await makeRelease();
    const session = engine.session(sessionId);
    const call: (...request: never[]) => Promise<unknown> = session[method].bind(session);
    expect(await failure(call(...(JSON.parse(JSON.stringify(request)) as never[])))).toMatchObject({
      code: "INVALID_INPUT",
    });
  });

  it("keeps a waiver across a restart, and loses it with a rollback", async () => {
    const storage = new MemoryStorage();
    const { sessionId, request, engine } = await makeRelease({ storage });
    const { request: hash } = await engine.session(sessionId).requestWaiver(request.phase, request);
    const again = await makeRelease({ storage });
    await again.engine.session(sessionId).waive({ by: "ann", request: hash });
    const third = (await makeRelease({ storage })).engine;
    const evidence = { built: true, licensed: true };
    expect(await third.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: true });
    await third.session(sessionId).rollback(1);
    expect(await third.session(sessionId).state()).toMatchObject({ waivedPhases: [] });
    expect(await third.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: false });
  });

  it("notifies the host of the request and of the answer", async () => {
    const { engine, sessionId, request } = await makeRelease();
    const heard: unknown[] = [];
    for (const name of ["waiverRequested", "waiverGranted", "waiverDenied"] satisfies (keyof EngineNotifications)[]) {
      engine.on(name, (payload) => void heard.push([name, payload]));
    }
    const first = await engine.session(sessionId).requestWaiver(request.phase, request);
    await engine.session(sessionId).denyWaiver({ by: "ann", request: first.request, note: "try" });
    const second = await engine.session(sessionId).requestWaiver(request.phase, request);
    await engine.session(sessionId).waive({ by: "ann", request: second.request });
    expect(heard).toMatchObject([
      ["waiverRequested", { sessionId, phase: 1, fields: ["coverage"], reason: request.reason }],
      ["waiverDenied", { by: "ann", note: "try", authenticated: false }],
      ["waiverRequested", {}],
      ["waiverGranted", { by: "ann", authenticated: false }],
    ]);
  });

  it("asks with evidence that says why a boolean is false, in gates of all kinds, also with proofs", async () => {
    const gate = {
      evidence: z
        .object({ tests: z.literal(true), lines: z.number() })
        .refine(({ tests, lines }) => tests && lines > 80, "too few lines"),
    };
    const phases = [{ number: 1, name: "Only", content: "# Only\n", gate }];
    const workflow = defineWorkflow({ type: "coded", revision: "1", name: "Coded", description: "Code", phases });
    const unclaimed = { value: false, why: "no tests yet" };
    for (const claims of ["plain", "backed"] as const) {
      const coded = makeEngine({ claims }, [workflow]).engine;
      const { sessionId } = await coded.start({ workflowType: "coded", target: "a" });
      const submit = (lines: number) => coded.session(sessionId).completePhase(1, { tests: unclaimed, lines });
      expect(await submit(90)).toMatchObject({
        ...{ passed: false, attemptsLeft: 3, waitsForWaiver: true },
        waiverAsked: { fields: ["tests"], reason: "no tests yet" },
      });
      const { request = "" } = (await coded.session(sessionId).waiver()) ?? {};
      await coded.session(sessionId).waive({ by: "ann", request });
      expect(await submit(3)).toMatchObject({ passed: false, problems: [{ message: "too few lines" }] });
      expect(await submit(90)).toMatchObject({ passed: true });

      const { engine, start, pass } = makePlanned({ engine: { claims } });
      const id = await start();
      await engine
        .session(id)
        .completePhase(0, { looked: claims === "backed" ? { claim: true, proof: "seen" } : true });
      const item = claims === "backed" ? { claim: true, proof: "npm test" } : true;
      const evidence = { tasks_completed: ["1.1", "1.2", "1.3"], validation_gate: { 1: item, 2: unclaimed } };
      expect(await pass(id, 1, evidence)).toMatchObject({
        ...{ passed: false, attemptsLeft: 3, problems: [{ field: "validation_gate.2" }] },
        waiverAsked: { fields: ["validation_gate.2"] },
      });
      await engine.session(id).waive({ by: "ann", request: (await engine.session(id).waiver())?.request ?? "" });
      expect(await pass(id, 1, evidence)).toMatchObject({ passed: true, waived: [{ fields: ["validation_gate.2"] }] });
    }
  });

  it("asks all the same if something else is wrong, which counts as a failed attempt", async () => {
    const { engine, sessionId, submit } = await makeRelease();
    const licensed = { value: false, why: "nobody has looked" };
    expect(await submit({ built: { value: false, why: "no compiler" }, coverage: 3, licensed })).toMatchObject({
      ...{ attemptsLeft: 2, waiverAsked: { fields: ["built"] } },
      problems: [{ field: "built" }, { field: "licensed", problem: "claimed_false" }],
    });
    const [first] = await engine.session(sessionId).errors();
    expect(first).toMatchObject({ problems: [{ field: "built" }, { field: "licensed" }] });
    // Whoever reads the log finds both in one commit, once.
    expect(await engine.waivers()).toHaveLength(1);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true, warnings: [] });
  });

  it("works with a schema in code; the metadata of a field may exclude it from waivers", async () => {
    const workflow = defineWorkflow({
      type: "coded",
      revision: "1",
      name: "Coded",
      description: "A gate with a schema",
      phases: [
        {
          number: 1,
          name: "Only",
          content: "# Only\n",
          gate: {
            evidence: z.object({
              tests: z.literal(true),
              lines: z.number().min(80),
              legal: z.literal(true).meta({ waivable: false }),
            }),
          },
        },
      ],
    });
    const { engine } = makeEngine({}, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "coded", target: "a" });
    const evidence = { tests: true, legal: true };
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({ waivable: ["lines"] });
    const request = { phase: 1, fields: ["lines"], reason: "none" };
    expect(
      await failure(engine.session(sessionId).requestWaiver(request.phase, { ...request, fields: ["legal"] })),
    ).toMatchObject({
      code: "NOT_ALLOWED",
    });
    const { request: hash } = await engine.session(sessionId).requestWaiver(request.phase, request);
    await engine.session(sessionId).waive({ by: "ann", request: hash });
    expect(await engine.session(sessionId).completePhase(1, { tests: true })).toMatchObject({
      passed: false,
    });
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({
      passed: true,
      nextPhase: null,
    });
  });
});

describe("an agent that asks again and again", () => {
  const asking = async () => {
    const made = await makeRelease();
    const ask = (reason: string, fields = ["coverage"]) =>
      made.engine.session(made.sessionId).requestWaiver(1, { fields, reason });
    return { ...made, ask };
  };

  it("may ask ten times in one visit to a phase, and is told the way out", async () => {
    const { engine, sessionId, ask, submit } = await asking();
    for (let time = 1; time <= 10; time += 1) await ask(`reason ${time}`);
    const { version } = await engine.session(sessionId).state();
    expect(await failure(ask("one more"))).toMatchObject({
      code: "NOT_ALLOWED",
      message: "10 waivers were asked for in phase 1, and none of the last was granted",
      remedy:
        "Do what can be done; or pause the session with a note that says what can't be done, and tell the person you work for.",
    });
    // The open request again is no new one, and stays open.
    expect(await ask("reason 10")).toMatchObject({ reason: "reason 10" });
    expect(await engine.session(sessionId).state()).toMatchObject({ version, waitsForWaiver: true });
    const refused = await submit({});
    expect(refused).toMatchObject({ passed: false, waivable: [] });
    await engine.session(sessionId).retryPhase(1, { as: "agent" });
    expect(await failure(ask("after a retry"))).toMatchObject({ code: "NOT_ALLOWED" });
    await engine.session(sessionId).migrate({ by: "host" });
    expect(await failure(ask("after a migration"))).toMatchObject({ code: "NOT_ALLOWED" });
    expect(await failure(engine.session(sessionId).resume())).toMatchObject({
      details: { allowed: expect.not.arrayContaining(["requestWaiver"]) },
    });
  });

  it("may ask again once a person has granted one, and in another visit", async () => {
    const { engine, sessionId, ask, submit } = await asking();
    for (let time = 1; time < 10; time += 1) await ask(`reason ${time}`);
    const { request } = await ask("reason 10");
    await engine.session(sessionId).denyWaiver({ by: "ann", request, note: "no" });
    expect(await failure(ask("after a denial"))).toMatchObject({ code: "NOT_ALLOWED" });
    const other = await asking();
    for (let time = 1; time < 10; time += 1) await other.ask(`reason ${time}`);
    const last = await other.ask("reason 10");
    await other.engine.session(other.sessionId).waive({ by: "ann", request: last.request });
    expect(await other.ask("another field", ["built"])).toMatchObject({ fields: ["built"] });
    expect(await other.submit({ built: true, licensed: true })).toMatchObject({ passed: true });
    await other.engine.session(other.sessionId).rollback(1);
    expect(await other.ask("again")).toMatchObject({ fields: ["coverage"] });
    expect(await submit({ built: true, licensed: true })).toMatchObject({ passed: false });
  });
});

describe("a waiver for a host with approvers", () => {
  const asks = async (options: Partial<EngineOptions> = {}) => {
    const made = await makeAsking(options);
    const sessionId = await made.start();
    const request = { phase: 1, fields: ["tests_pass"], reason: "there are no tests" };
    const { request: hash } = await made.engine.session(sessionId).requestWaiver(request.phase, request);
    const question = await made.engine.session(sessionId).waiver();
    if (question === undefined) throw new Error("nothing waits");
    const sign = async (by: "ann" | "cat" | "eve", name: string = by, decision: "approve" | "deny" = "approve") => {
      const { privateKey } = made.keys[by];
      return { by: name, request: hash, signature: await signApproval(question, { decision, by: name, privateKey }) };
    };
    return { ...made, sessionId, hash, question, sign };
  };

  it("counts only with the signature of an approver whom the gate names", async () => {
    const { engine, sessionId, hash, sign, submit, signed } = await asks();
    const reason = async (word: WaiveRequest) => {
      const error = await failure(engine.session(sessionId).waive(word));
      return error.code === "APPROVAL_REFUSED" ? error.details.reason : error.code;
    };
    expect(await reason({ by: "ann", request: hash })).toBe("unsigned");
    expect(await reason(await sign("cat"))).toBe("not_an_approver");
    expect(await reason(await sign("eve", "ann"))).toBe("signature");
    expect(await reason(await sign("ann", "ann", "deny"))).toBe("signature");
    expect(await engine.session(sessionId).waive(await sign("ann"))).toMatchObject({ authenticated: true });
    const waiting = await engine.session(sessionId).completePhase(1, {});
    expect(waiting).toMatchObject({ passed: false, awaiting: { phase: 1 } });
    expect(await engine.session(sessionId).approve(await signed(sessionId))).toMatchObject({
      passed: true,
      waived: [{ by: "ann" }],
    });
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([
      { on: "approval", waived: [{ by: "ann" }] },
    ]);
    expect(await submit(sessionId, 2)).toMatchObject({ awaiting: { phase: 2 } });
  });

  it("is not a signature for an approval, and the other way round", async () => {
    const { engine, sessionId, sign, submit, question } = await asks();
    const { request: _, ...waiver } = await sign("ann");
    await submit(sessionId);
    const approval = await engine.session(sessionId).approval();
    const crossed = { ...waiver, evidenceHash: approval?.evidenceHash ?? "" };
    expect((await failure(engine.session(sessionId).approve(crossed))).details).toMatchObject({ reason: "signature" });
    expect(question.request).not.toBe(approval?.request);
  });

  it("must be signed even if the gate names no approvers", async () => {
    const made = await makeAsking();
    const sessionId = await made.start();
    await made.submit(sessionId);
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    const { request } = await made.engine
      .session(sessionId)
      .requestWaiver(2, { fields: ["tests_pass"], reason: "none" });
    expect((await failure(made.engine.session(sessionId).waive({ by: "ann", request }))).details).toMatchObject({
      reason: "unsigned",
    });
  });

  it("does not count for a host whose keys do not cover it, before and after the gate", async () => {
    const storage = new MemoryStorage();
    const content = new MemoryContent({ sources: { release: FILES } });
    const verifiers = {
      measured: { verify: async () => ({ ok: true, message: "" }) },
      slow: { verify: async () => ({ ok: true, message: "" }) },
    };
    const careless = makeEngine({ storage, content, verifiers }).engine;
    const careful = (await makeAsking({ storage, content, verifiers })).engine;
    const { sessionId } = await careless.start({ workflowType: "release", target: "src" });
    const { request } = await careless.session(sessionId).requestWaiver(1, { fields: ["coverage"], reason: "none" });
    await careless.session(sessionId).waive({ by: "ann", request });
    const evidence = { built: true, licensed: true };
    expect((await careful.session(sessionId).state()).waived).toBeUndefined();
    expect(await careful.session(sessionId).completePhase(1, evidence)).toMatchObject({
      problems: [{ field: "coverage" }],
    });
    expect(await careless.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: true });
    const state = await careful.session(sessionId).state();
    expect(state).toMatchObject({
      currentPhase: 1,
      unapproved: { phase: 1, by: "ann", on: "waiver", distrust: "unsigned" },
    });
    expect(state.unapproved?.message).toBe(
      "phase 1 was passed with a waiver by ann that this host does not accept (unsigned)",
    );
    expect(await failure(careful.session(sessionId).phase())).toMatchObject({ code: "APPROVAL_REFUSED" });
    expect((await careful.session(sessionId).audit()).approvals).toMatchObject([
      { distrust: "unsigned", on: "waiver" },
    ]);
    await careful.session(sessionId).rollback(1);
    expect(await careful.session(sessionId).state()).toMatchObject({ currentPhase: 1, waivedPhases: [] });
  });
});

describe("several booleans that are said to be false", () => {
  const lots = (count: number) => {
    const names = Array.from({ length: count }, (_, index) => `claim_${index}`);
    const evidence = Object.fromEntries(names.map((name) => [name, { type: "boolean" as const, required: true }]));
    const gate = { fields: evidence };
    const phases = [{ number: 1, name: "Only", content: "# Only\n", gate }] as const;
    const workflow = defineWorkflow({ type: "lots", revision: "1", name: "Lots", description: "Claims", phases });
    return { names, workflow };
  };

  it("are one request, with each reason", async () => {
    const { names, workflow } = lots(2);
    const { engine } = makeEngine({ content: new MemoryContent({ workflows: [workflow] }) });
    const { sessionId } = await engine.start({ workflowType: "lots", target: "a" });
    const evidence = Object.fromEntries(names.map((name) => [name, { value: false, why: `no ${name}` }]));
    const { waiverAsked } = Object(await engine.session(sessionId).completePhase(1, evidence));
    expect(waiverAsked).toMatchObject({ fields: names });
    expect(await engine.session(sessionId).waiver()).toMatchObject({
      reason: "claim_0: no claim_0; claim_1: no claim_1",
    });
  });

  it("are none if a request can't name so many", async () => {
    const { names, workflow } = lots(51);
    const { engine } = makeEngine({ content: new MemoryContent({ workflows: [workflow] }) });
    const { sessionId } = await engine.start({ workflowType: "lots", target: "a" });
    const evidence = Object.fromEntries(names.map((name) => [name, { value: false, why: "no" }]));
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: false });
    expect(await engine.session(sessionId).waiver()).toBeUndefined();
  });
});
