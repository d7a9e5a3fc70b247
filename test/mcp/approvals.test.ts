import type { Client, ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/ports/clock.js";
import { run } from "../cli/run-cli.js";
import { connectToServe } from "../cli/serve-client.js";
import { waitingSession } from "../cli/waiting-session.js";
import { makeAsking } from "../support/approvals.js";
import { startVerified } from "../support/verified.js";
import { connectInMemory } from "./connect-in-memory.js";

type Asked = ElicitRequest["params"];

/** Returns a client whose user gives the answer, and the list of what the user was asked. */
function user(answer: (asked: Asked) => ElicitResult | Promise<ElicitResult>) {
  const asked: Asked[] = [];
  const prepare = (client: Client) => {
    client.registerCapabilities({ elicitation: {} });
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params);
      return answer(params);
    });
  };
  return { asked, prepare };
}

const yes = () => ({ action: "accept", content: { decision: "approve" } }) as const;

/** Connects an agent to a session at its second gate, which names no approvers. */
async function atOpenGate(options: Parameters<typeof makeAsking>[0], prepare?: (client: Client) => void) {
  const made = await makeAsking(options);
  const { sessionId } = await made.waiting();
  await made.engine.session(sessionId).approve(await made.signed(sessionId));
  const connected = await connectInMemory(made.engine, {}, prepare);
  const submit = { action: "complete_phase", session_id: sessionId, phase: 2, evidence: { tests_pass: true } };
  return { ...made, ...connected, sessionId, submit };
}

const UNSIGNED = { allowUnsignedApprovals: true };

describe("a client with elicitation", () => {
  it("asks its user, whose approval is recorded as not authenticated", async () => {
    const { asked, prepare } = user(yes);
    const { ask, submit, engine, sessionId } = await atOpenGate(UNSIGNED, prepare);
    expect(await ask(submit)).toMatchObject({
      status: "success",
      checkpoint_passed: true,
      next_phase: { phase_number: 3 },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.message).toContain("Is the plan good enough to build?");
    expect(asked[0]?.message).toContain('"tests_pass": true');
    // A longer note would not be taken, and the whole answer be lost with it.
    expect(asked[0]).toMatchObject({ requestedSchema: { properties: { note: { maxLength: 2000 } } } });
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([
      { phase: 1, by: "ann", authenticated: true },
      { phase: 2, by: "client user", authenticated: false },
    ]);
  });

  it("records its user's denial as a failed attempt, with the note for the agent", async () => {
    const { prepare } = user(() => ({ action: "accept", content: { decision: "deny", note: "no rollback plan" } }));
    const { ask, submit } = await atOpenGate(UNSIGNED, prepare);
    expect(await ask(submit)).toMatchObject({
      status: "error",
      code: "GATE_FAILED",
      validation_errors: ["client user (not authenticated) denied the approval: no rollback plan"],
      attempts_left: 2,
    });
  });

  it("leaves the session waiting if its user declines or gives an invalid answer", async () => {
    const answers: ElicitResult[] = [
      { action: "decline" },
      { action: "cancel" },
      { action: "accept", content: { decision: "maybe" } },
      { action: "accept", content: { approve: true } },
      { action: "accept" },
    ];
    for (const answer of answers) {
      const { asked, prepare } = user(() => answer);
      const { ask, submit, engine, sessionId } = await atOpenGate(UNSIGNED, prepare);
      const waits = { awaiting_approval: true, checkpoint_passed: false, next: { action: "get_state" } };
      expect(await ask(submit), JSON.stringify(answer)).toMatchObject(waits);
      expect(asked).toHaveLength(1);
      expect(await engine.session(sessionId).state()).toMatchObject({ awaitingApproval: true, currentPhase: 2 });
    }
  });

  it("is not asked if the host accepts only signed approvals; the answer says whom to ask", async () => {
    const { asked, prepare } = user(yes);
    const { ask, submit } = await atOpenGate({}, prepare);
    expect(await ask(submit)).toMatchObject({
      awaiting_approval: true,
      approval: { how: expect.stringContaining("end your turn") },
    });
    expect(asked).toEqual([]);
  });

  it("is not asked if the gate names approvers", async () => {
    const { asked, prepare } = user(yes);
    const { engine, start } = await makeAsking(UNSIGNED);
    const { ask } = await connectInMemory(engine, {}, prepare);
    const submit = { action: "complete_phase", session_id: await start(), phase: 1, evidence: { tests_pass: true } };
    expect(await ask(submit)).toMatchObject({ awaiting_approval: true, approval: { approvers: ["ann", "bob"] } });
    expect(asked).toEqual([]);
  });

  it("gets an error if somebody else has decided meanwhile", async () => {
    const made: { approve?: () => Promise<unknown> } = {};
    const { prepare } = user(async () => {
      await made.approve?.();
      return yes();
    });
    const { ask, submit, engine, signed, sessionId } = await atOpenGate(UNSIGNED, prepare);
    made.approve = async () => engine.session(sessionId).approve(await signed(sessionId));
    const answer = await ask(submit);
    // The second is the answer where the user is asked within one call, and the call is not made again.
    const code = expect.stringMatching(/^(?:PHASE_ALREADY_COMPLETED|APPROVAL_REFUSED)$/);
    expect(answer).toMatchObject({ status: "error", code });
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([{ phase: 1 }, { phase: 2, by: "ann" }]);
  });

  it("shows its user the results of checks, shortened for a person", async () => {
    const { asked, prepare } = user(() => ({ action: "cancel" }));
    const gate = `evidence_schema: {report: {type: string, verify: looked}}
verify: [${Array.from({ length: 19 }, () => "looked").join(", ")}]
approval: {prompt: "Well?"}
`;
    const looked = { verify: async () => ({ ok: true, message: `a\u202eb\n\nApprove this! ${"x".repeat(500)}` }) };
    const { engine, sessionId } = await startVerified([gate], { verifiers: { looked }, ...UNSIGNED });
    const { ask } = await connectInMemory(engine, {}, prepare);
    await ask({ action: "complete_phase", session_id: sessionId, phase: 1, evidence: { report: "r.md" } });
    const message = asked[0]?.message ?? "";
    expect(message).toContain(
      "\n\nResults of the checks at submission:\n✓ looked for report: a\\u202eb Approve this! xxx",
    );
    expect(message).toContain("\n… and 5 more\n\n");
    expect(message).not.toContain("no check has looked at");
    expect(
      message
        .split("\n")
        .filter((line) => line.startsWith("✓"))
        .map((line) => line.length),
    ).toEqual(Array(15).fill(200));
  });

  it("shows its user the agent's text as escaped text, and says if there is more", async () => {
    const { asked, prepare } = user(() => ({ action: "cancel" }));
    const { ask, submit } = await atOpenGate(UNSIGNED, prepare);
    const note = "\u202e\u200bok\u0007\u061c\u00ad\u{e0041}\u{e007f}\ufe0f\u3164\u2028\u180e";
    await ask({ ...submit, evidence: { tests_pass: true, note, log: "x".repeat(9000) } });
    expect(asked[0]?.message).toContain("Claims of the agent that no check has looked at: tests_pass, note, log\n\n");
    expect(asked[0]?.message).toContain('"note": "\\u202e\\u200bok\\u0007\\u061c\\u00ad\\udb40\\udc41\\udb40\\udc7f');
    expect(asked[0]?.message).not.toMatch(/[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}]/u);
    expect(asked[0]?.message).toMatch(/… and \d+ more characters that are not shown$/);
  });
});

describe("a client that says it can ask its user, and", () => {
  const waits = { status: "success", awaiting_approval: true, checkpoint_passed: false, next: { action: "get_state" } };
  /** The time that a person has within a call is over at once. */
  const clock = {
    now: Date.now,
    after: (milliseconds: number, callback: () => void) =>
      systemClock.after(milliseconds === 20_000 ? 20 : milliseconds, callback),
  };

  it.each<[string, ((asked: Asked) => ElicitResult | Promise<ElicitResult>) | undefined]>([
    ["has no handler", undefined],
    [
      "whose handler throws",
      () => {
        throw new Error("no window");
      },
    ],
    ["never answers", () => new Promise(() => {})],
    ["answers something else", () => ({ action: "accept", content: { decision: ["approve"] } })],
    ["answers nothing that it may", () => Object({ well: "yes" })],
  ])("%s gets no error: the answer says what waits, and how else it is approved", async (_, answer) => {
    const prepare = (client: Client) => {
      if (answer === undefined) client.registerCapabilities({ elicitation: {} });
      else user(answer).prepare(client);
    };
    const { call, ask, submit, engine, signed, sessionId } = await atOpenGate({ ...UNSIGNED, clock }, prepare);
    const { isError, structuredContent } = await call(submit);
    expect(isError ?? false).toBe(false);
    expect(structuredContent).toMatchObject({ ...waits, approval: { how: expect.stringContaining("end your turn") } });
    expect(await ask(submit)).toMatchObject(waits);
    await engine.session(sessionId).approve(await signed(sessionId));
    expect(await ask({ action: "get_state", session_id: sessionId })).toMatchObject({ current_phase: 3 });
  });

  it("answers late, approves nevertheless; until then it is asked once", async () => {
    let decide = (_: ElicitResult) => {};
    const late = new Promise<ElicitResult>((resolve) => {
      decide = resolve;
    });
    const { asked, prepare } = user(() => late);
    const { ask, submit, engine } = await atOpenGate({ ...UNSIGNED, clock }, prepare);
    expect(await ask(submit)).toMatchObject(waits);
    expect(await ask(submit)).toMatchObject(waits);
    expect(asked).toHaveLength(1);
    const approved = new Promise((resolve) => engine.on("approved", resolve));
    decide(yes());
    expect(await approved).toMatchObject({ phase: 2, by: "client user", authenticated: false });
  });
});

describe("a client without elicitation", () => {
  it("gets the answer to wait, and continues once somebody has approved", async () => {
    const { ask, submit, engine, signed, sessionId } = await atOpenGate(UNSIGNED);
    const waits = await ask(submit);
    expect(waits).toMatchObject({ awaiting_approval: true, next: { action: "get_state" } });
    const poll = { action: "get_state", session_id: sessionId, brief: true };
    expect(await ask(poll)).toMatchObject({ awaiting_approval: true });
    await engine.session(sessionId).approve(await signed(sessionId));
    expect(await ask(poll)).toMatchObject({ current_phase: 3, next: { action: "get_phase" } });
  });

  it("may have elicitation by URL only", async () => {
    const { ask, submit } = await atOpenGate(UNSIGNED, (client) =>
      client.registerCapabilities({ elicitation: { url: {} } }),
    );
    expect(await ask(submit)).toMatchObject({ awaiting_approval: true });
  });
});

describe("phasegate serve", () => {
  /** Serves a session that waits at its first gate; Ann approves it at her terminal while the agent waits. */
  async function served(flags: readonly string[], mode: "auto" | "legacy", prepare?: (client: Client) => void) {
    const made = await waitingSession();
    const { state, workflows, approvers, sessionId, evidenceHash } = made;
    const args = ["--workflows", workflows, "--state", state, "--approvers", approvers, ...flags];
    const negotiation = mode === "auto" ? { versionNegotiation: { mode: "auto" } as const } : {};
    const { ask, log } = await connectToServe(args, {}, negotiation, prepare);
    const poll = { action: "get_state", session_id: sessionId, brief: true };
    expect(await ask(poll)).toMatchObject({ awaiting_approval: true });
    const word = [
      "--key",
      await made.keyFile("ann"),
      "--approvers",
      approvers,
      "--yes",
      "--evidence-hash",
      evidenceHash,
    ];
    expect((await run("approve", sessionId, "--state", state, ...word)).code).toBe(0);
    expect(await ask(poll)).toMatchObject({ current_phase: 2 });
    const submit = { action: "complete_phase", session_id: sessionId, phase: 2, evidence: { tests_pass: true } };
    return { ...made, ask, log, submit };
  }

  for (const mode of ["auto", "legacy"] as const) {
    it(`lets the user of a client with elicitation approve (${mode})`, async () => {
      const { asked, prepare } = user(yes);
      const { ask, submit } = await served(["--allow-unsigned-approvals"], mode, prepare);
      expect(await ask(submit)).toMatchObject({ checkpoint_passed: true, next_phase: { phase_number: 3 } });
      expect(asked).toHaveLength(1);
    });

    it(`lets the agent wait if the client has no elicitation (${mode})`, async () => {
      const { ask, submit } = await served(["--allow-unsigned-approvals"], mode);
      expect(await ask(submit)).toMatchObject({ awaiting_approval: true });
    });
  }

  it("accepts no unsigned approval by default", async () => {
    const { asked, prepare } = user(yes);
    const { ask, submit } = await served([], "auto", prepare);
    expect(await ask(submit)).toMatchObject({ awaiting_approval: true });
    expect(asked).toEqual([]);
  });

  it("accepts no approval that is signed with an unknown key", async () => {
    const { state, workflows, sessionId, evidenceHash, keyFile, keys, approvers } = await waitingSession();
    const word = ["--key", await keyFile("eve"), "--approver", `ann=${keys.eve.publicKey}`];
    const sure = ["--yes", "--evidence-hash", evidenceHash];
    expect((await run("approve", sessionId, "--state", state, ...word, ...sure)).code).toBe(0);
    const { ask, log } = await connectToServe(["--workflows", workflows, "--state", state, "--approvers", approvers]);
    expect(await ask({ action: "get_phase", session_id: sessionId })).toMatchObject({
      status: "error",
      code: "APPROVAL_REFUSED",
      next: { action: "get_state" },
    });
    expect(log.find(({ msg }) => msg === "security")).toMatchObject({ level: "warn", code: "APPROVAL_REFUSED" });
  });

  it("keeps its logs under a key, which `phasegate approve` needs too", async () => {
    const made = await waitingSession({}, "k".repeat(32));
    const { state, workflows, sessionId, approvers, hashKeyFile } = made;
    const { ask } = await connectToServe([
      ...["--workflows", workflows, "--state", state, "--approvers", approvers, "--hash-key-file", hashKeyFile],
    ]);
    expect(await ask({ action: "get_phase", session_id: sessionId })).toMatchObject({ awaiting_approval: true });
    const without = await connectToServe(["--workflows", workflows, "--state", state]);
    expect(await without.ask({ action: "get_phase", session_id: sessionId })).toMatchObject({ code: "TAMPERED" });
  });
});
