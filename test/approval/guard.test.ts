import { createApproverKeys, signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import type { ApprovalOptions } from "../../src/approval/decision.js";
import {
  ApprovalGuard,
  type ApprovalPass,
  type ApprovalReading,
  checkApproval,
  type KeyUse,
  passOf,
} from "../../src/approval/guard.js";
import { keyIdOf } from "../../src/approval/keys.js";
import { approvalRefused } from "../../src/approval/message.js";
import { AlteredStorage } from "../log/altered-storage.js";
import { type CounterEvent, type CounterHead, count, ID, makeKernel } from "../log/counter.js";
import { failure } from "../support/failure.js";

type Structure = { readonly asks: boolean };
type Reading = ApprovalReading<CounterEvent, CounterHead, Structure, readonly ApprovalPass[], ApprovalPass>;

const withApprovers: ApprovalOptions = { approvers: new Map([["ann", ["ed25519:key"]]]), unsigned: false };
const withoutApprovers: ApprovalOptions = { approvers: new Map(), unsigned: false };

/** Counters whose commits are passes: this host does not accept those that add an even number. */
const reading: Reading = {
  beginning: [],
  add: async (ledger, { version, at, events }) => {
    const isEven = events.some(({ added }) => added % 2 === 0);
    const pass = { version, at, authenticated: true, ...(isEven ? { distrust: "signature" as const } : {}) };
    return [...ledger, pass];
  },
  asks: ({ asks }) => asks,
  hasOthers: ({ total }) => total === 10,
  isNew: ({ total }) => total === 1,
  audited: (ledger) => ledger.slice(-1),
  used: () => [],
  passes: (ledger) => ledger,
  keptIn: () => [],
  refusal: ({ version }) => approvalRefused("refused", "Ask again.", { phase: version, reason: "signature" }),
};

/** Creates a session of four commits: the second and the fourth are passes that don't count. */
async function makeGuard(options = withApprovers, change: Partial<Reading> = {}, versions = 4) {
  const { kernel } = makeKernel();
  await count(kernel, versions);
  const session = await kernel.find(ID);
  if (session === undefined) throw new Error("there is no session");
  return { kernel, guard: new ApprovalGuard(kernel, options, { ...reading, ...change }), session };
}

describe("a session behind an approval that does not count", () => {
  it("is refused at the first such gate, in whatever order the passes are read", async () => {
    for (const passes of [reading.passes, (ledger: readonly ApprovalPass[]) => ledger.toReversed()]) {
      const { guard, session } = await makeGuard(withApprovers, { passes });
      const structure = { asks: true };
      expect(await guard.unapproved(session, structure)).toMatchObject({ version: 2, distrust: "signature" });
      const refused = await failure(Promise.resolve(guard.check(session, structure)));
      expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { phase: 2 } });
    }
  });

  it("is refused by a host without approvers, too, which still reads it", async () => {
    const { guard, session } = await makeGuard(withoutApprovers);
    expect(guard.knowsApprovers).toBe(false);
    expect(await guard.unapproved(session, { asks: true })).toBeUndefined();
    expect(await failure(Promise.resolve(guard.check(session, { asks: true })))).toMatchObject({
      details: { phase: 2 },
    });
  });

  it("is refused only for the passes that count", async () => {
    const { guard, session } = await makeGuard();
    const behind = (version: number) =>
      Promise.resolve(guard.check(session, { asks: true }, (pass) => pass.version > version));
    expect(await failure(behind(2))).toMatchObject({ details: { phase: 4 } });
    expect(await behind(4)).toBeUndefined();
  });

  it("is checked because of a waiver, if no gate asks for an approval", async () => {
    const { guard, session } = await makeGuard();
    expect(session.head.total).toBe(10);
    expect(await guard.unapproved(session, { asks: false })).toMatchObject({ version: 2 });
    const { hasOthers: _, ...withoutWaivers } = reading;
    const other = new ApprovalGuard(makeKernel().kernel, withApprovers, withoutWaivers);
    expect(await other.unapproved(session, { asks: false })).toBeUndefined();
  });

  it("is audited with all of its passes, and the one that was not left yet", async () => {
    const { guard, kernel } = await makeGuard();
    const { approvals } = await guard.audit(ID);
    expect(approvals.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    const open = (): ApprovalPass => ({ version: 5, at: "", authenticated: false });
    const withOpen = new ApprovalGuard(kernel, withApprovers, { ...reading, open });
    expect((await withOpen.audit(ID)).approvals.at(-1)).toEqual(open());
    const withNone = new ApprovalGuard(kernel, withApprovers, { ...reading, open: () => undefined });
    expect((await withNone.audit(ID)).approvals).toHaveLength(4);
  });
});

describe("the counter of a passkey", () => {
  /** Returns the warnings of an audit whose commits have these counters, all of one key. */
  async function warningsOf(counters: readonly (number | undefined)[]) {
    let version = 0;
    const used = (): readonly KeyUse[] => {
      version += 1;
      const counter = counters[version - 1];
      const kind = counter === undefined ? "ed25519" : "passkey";
      const key = { kind, id: "k", ...(counter === undefined ? {} : { counter }) } as const;
      return [{ version, by: "ann", key }];
    };
    const { guard } = await makeGuard(withApprovers, { used }, counters.length);
    return (await guard.audit(ID)).warnings;
  }

  it("that goes up, or is always 0, gets no warning; neither does a key without one", async () => {
    expect(await warningsOf([1, 2, 3, 9])).toEqual([]);
    expect(await warningsOf([0, 0, 0, 0])).toEqual([]);
    expect(await warningsOf([0, 0, 4, 5])).toEqual([]);
    expect(await warningsOf([undefined, undefined])).toEqual([]);
  });

  it("that goes back, or stays, gets a warning each time until it is higher than ever", async () => {
    const warning = { by: "ann", key: "k" };
    expect(await warningsOf([7, 4, 7, 8])).toEqual([
      { ...warning, version: 2, counter: 4, before: { version: 1, counter: 7 } },
      { ...warning, version: 3, counter: 7, before: { version: 1, counter: 7 } },
    ]);
    expect(await warningsOf([7, 0])).toEqual([
      { ...warning, version: 2, counter: 0, before: { version: 1, counter: 7 } },
    ]);
  });
});

it("an audit of a log that is not intact names no approvals", async () => {
  const storage = new AlteredStorage();
  const { kernel } = makeKernel({ storage });
  await count(kernel, 4);
  storage.edit(3, { previousHash: "" });
  const guard = new ApprovalGuard(kernel, withApprovers, reading);
  expect(await guard.audit(ID)).toMatchObject({ intact: false, versions: 2, approvals: [], warnings: [] });
});

describe("nothing is read", () => {
  it("if no gate asks for a person, or no gate was passed yet", async () => {
    const { guard, session } = await makeGuard(withApprovers, {}, 3);
    expect(await guard.check(session, { asks: false })).toBeUndefined();
    expect(await guard.unapproved(session, { asks: false })).toBeUndefined();
    const begun = await makeGuard(withApprovers, {}, 1);
    expect(await begun.guard.check(begun.session, { asks: true })).toBeUndefined();
    expect(await begun.guard.unapproved(begun.session, { asks: true })).toBeUndefined();
  });

  it("a second time while the approvers are the same, and all of it when they are others", async () => {
    const versions: number[] = [];
    const add: Reading["add"] = async (ledger, commit, options) => {
      versions.push(commit.version);
      return reading.add(ledger, commit, options);
    };
    let approvers = new Map([["ann", ["ed25519:key"]]]);
    const options: ApprovalOptions = {
      unsigned: false,
      get approvers() {
        return approvers;
      },
    };
    const { guard, session } = await makeGuard(options, { add });
    for (const _ of [1, 2]) await guard.unapproved(session, { asks: true });
    expect(versions).toEqual([1, 2, 3, 4]);
    approvers = new Map(approvers);
    for (const _ of [1, 2]) await guard.unapproved(session, { asks: true });
    expect(versions).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
  });

  it("a second time to see whether a structure asks for a person", async () => {
    let asked = 0;
    const asks = (structure: Structure) => {
      asked += 1;
      return structure.asks;
    };
    const { guard, session } = await makeGuard(withApprovers, { asks });
    for (const structure of [{ asks: true }, { asks: false }]) {
      asked = 0;
      await guard.unapproved(session, structure);
      await guard.unapproved(session, structure);
      expect(asked).toBe(1);
    }
  });
});

it("a session goes on if all of its approvals count", async () => {
  const accepted: Partial<Reading> = {
    add: async (ledger, { version, at }) => [...ledger, { version, at, authenticated: true }],
  };
  const { guard, session } = await makeGuard(withApprovers, accepted);
  expect(await guard.unapproved(session, { asks: true })).toBeUndefined();
  expect(await guard.check(session, { asks: true })).toBeUndefined();
});

describe("an approval in a log", () => {
  it("does not count for the reason why it would be refused, and counts if there is none", async () => {
    const question = { sessionId: ID, workflowType: "w", revision: "r", phase: 1, request: "c", evidenceHash: "e" };
    expect(await checkApproval(withApprovers, question, { by: "ann" })).toEqual({ distrust: "unsigned" });
    const named = { ...question, approvers: ["bob"] };
    expect(await checkApproval(withApprovers, named, { by: "ann" })).toEqual({ distrust: "not_an_approver" });
    expect(await checkApproval({ ...withApprovers, unsigned: true }, question, { by: "ann" })).toEqual({});
    const keys = await createApproverKeys();
    const word = { by: "ann", note: "well done" };
    const signature = await signApproval(question, { ...word, decision: "approve", privateKey: keys.privateKey });
    const host = { approvers: new Map([["ann", [keys.publicKey]]]), unsigned: false };
    const key = { kind: "ed25519", id: keyIdOf(keys.publicKey) };
    expect(await checkApproval(host, question, { ...word, signature })).toEqual({ key });
    expect(await checkApproval(host, question, { by: "ann", signature })).toEqual({ distrust: "signature" });
  });

  it("is not judged by a host that was given a passkey which is none", async () => {
    const question = { sessionId: ID, workflowType: "w", revision: "r", phase: 1, request: "c", evidenceHash: "e" };
    const none = {
      kind: "passkey",
      credentialId: "",
      publicKey: "",
      algorithm: "ES256",
      rpId: "",
      origins: [],
    } as const;
    const host = { approvers: new Map([["ann", [none]]]), unsigned: false };
    const assertion = { authenticatorData: "AAAA", clientData: "AAAA" };
    const signature = { signedAt: "2026-03-04T05:06:07.000Z", value: "c2lnbmVk", ...assertion };
    const refused = await failure(checkApproval(host, question, { by: "ann", signature }));
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
  });

  it("becomes a pass with its approver, as far as the log names one", () => {
    const commit = { version: 3, at: "2026-03-04T05:06:07.000Z" };
    const approved = { by: "ann", authenticated: true };
    expect(passOf(commit, approved, {})).toStrictEqual({ ...commit, ...approved });
    const key = { kind: "passkey", id: "k", counter: 7 } as const;
    expect(passOf(commit, approved, { key })).toStrictEqual({ ...commit, ...approved, key });
    expect(passOf(commit, { ...approved, authenticated: false }, { distrust: "unsigned" })).toStrictEqual({
      ...{ ...commit, by: "ann", authenticated: false, distrust: "unsigned" },
    });
    expect(passOf(commit, undefined, { distrust: "unsigned" })).toEqual({
      ...commit,
      authenticated: false,
      distrust: "unsigned",
    });
  });
});
