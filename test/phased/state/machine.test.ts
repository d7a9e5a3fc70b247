import { expect, it } from "vitest";
import { type SessionEvent, sessionEventSchema } from "../../../src/phased/state/events.js";
import { isPinning, phasedMachine, requireEvent } from "../../../src/phased/state/machine.js";
import { Run, structureOf, submit } from "./run.js";

it("a commit is asked only for an event that it must have", () => {
  const paused = { type: "paused" } as const;
  expect(requireEvent({ events: [paused] }, "paused")).toBe(paused);
  expect(() => requireEvent({ events: [paused] }, "resumed")).toThrow("a commit without 'resumed'");
});

it("a stored commit is read whole, or refused", () => {
  const { log, state } = Run.started(structureOf([1, 2]));
  const events = log.map(({ event }) => event);
  const stored: { events: unknown; head: unknown } = JSON.parse(JSON.stringify({ events, head: state }));
  expect(phasedMachine.parse(stored.events, stored.head)).toEqual({ events, head: state });
  expect(() => phasedMachine.parse([{ type: "gone" }], stored.head)).toThrow();
  expect(() => phasedMachine.parse(stored.events, { ...state, status: "gone" })).toThrow();
});

it("a list shows what a session is about, whose it is, where it is and when it was completed", () => {
  const start = { type: "start", target: "a.ts", options: {} } as const;
  const common = { workflowType: "demo", target: "a.ts", total: 2, createdAt: "2026-01-01T00:00:01.000Z" };
  const run = new Run(structureOf([1, 2])).do(start, submit(1));
  expect(phasedMachine.kind).toBe("phased");
  expect(phasedMachine.summarize(run.state)).toEqual({ ...common, status: "active", current: 2 });
  const completedAt = "2026-01-01T00:00:03.000Z";
  expect(phasedMachine.summarize(run.do(submit(2)).state)).toEqual({
    ...{ ...common, status: "completed", current: 2, completedAt },
  });
  const owned = new Run(structureOf([1, 2])).do({ ...start, owner: { name: "ann", team: "night" } });
  expect(phasedMachine.summarize(owned.state)).toMatchObject({ owner: "ann", team: "night", status: "active" });
});

it("the payloads of a commit are its large evidence, outputs and snapshots", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const [evidence, output, value] = ["e", "o", "v"].map((payload) => ({ payload, characters: 70_000, names: ["a"] }));
  const taken = { verifier: "v", check: "c", takenAt: at };
  const small = { inline: { payload: "x" } };
  const judged = { phase: 1, position: 0, attempt: 1, problems: [], prompt: "?", evidenceHash: "h" };
  const moved = { structure: structureOf([1]), resetEvidence: true, by: "host" };
  const snapshots = [
    { ...taken, value },
    { ...taken, value: small },
  ];
  const payloadsOf = (event: object) =>
    phasedMachine.payloadsOf?.(sessionEventSchema.parse({ ...judged, ...moved, ...event }));
  for (const type of ["gate_passed", "approval_requested"]) {
    expect(payloadsOf({ type, evidence, output }), type).toEqual(["e", "o"]);
    expect(payloadsOf({ type, evidence: small }), type).toEqual([]);
  }
  expect(payloadsOf({ type: "gate_failed", evidence })).toEqual(["e"]);
  for (const type of ["phase_entered", "retried", "migrated", "snapshots_taken"]) {
    expect(payloadsOf({ type, snapshots }), type).toEqual(["v"]);
  }
  for (const type of ["phase_entered", "retried", "migrated", "paused"]) {
    expect(payloadsOf({ type }), type).toEqual([]);
  }
});

it("a session is bound to a structure by its start, a migration and a sync", () => {
  const isBound = (type: string) => isPinning({ type } as SessionEvent);
  expect(["started", "migrated", "plan_synced", "phase_entered"].map(isBound)).toEqual([true, true, true, false]);
});
