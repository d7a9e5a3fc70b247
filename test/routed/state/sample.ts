import { expect } from "vitest";
import type { RoutedCommand, RoutedEvent, RoutedHead, RoutedStructure } from "../../../src/routed/state/events.js";
import { routedMachine } from "../../../src/routed/state/machine.js";
import { decideRouted } from "../../../src/routed/state/transition.js";

/** A garden in three steps, of which the first may be entered twice and the second has a gate. */
export const structure: RoutedStructure = {
  name: "garden",
  revision: "r1",
  goal: "Roses",
  steps: [
    { name: "dig", maxVisits: 2 },
    {
      name: "plant",
      next: ["dig", "FINISH"],
      gate: { kind: "fields", source: "gate-file", strict: true, allowOverride: false, fields: [] },
    },
    { name: "water", next: ["plant"], maxVisits: 1 },
  ],
};

export const snapshot = { verifier: "files", check: "c1", takenAt: "2026-03-04T05:06:07.000Z", value: { inline: 7 } };
export const verification = { verifier: "files", ok: true, message: "they exist", at: "2026-03-04T05:06:07.000Z" };
export const problem = {
  field: "depth",
  problem: "missing",
  message: "Required evidence 'depth' not provided",
} as const;

export const start: RoutedCommand = {
  type: "start",
  structure,
  context: { soil: "clay" },
  digest: "d1",
  firstStep: "dig",
};
const facts = { report: { status: "success" }, contextUpdates: { deep: true }, context: { soil: "clay", deep: true } };
export const report: RoutedCommand = { type: "report", operation: "advance", digest: "d2", ...facts };
export const refuse = {
  ...{ type: "refuse", operation: "advance", digest: "d2", ...facts, problems: [problem] },
  ...{ counted: true, maxAttempts: 3, maxAttemptsTotal: 5 },
} satisfies RoutedCommand;
export const asking: RoutedCommand = {
  ...report,
  approval: { prompt: "Deep enough?", approvers: ["ann"], evidenceHash: "e1" },
};
export const approve = {
  ...{ type: "approve", by: "ann", evidenceHash: "e1", authenticated: true, maxAttempts: 3, maxAttemptsTotal: 5 },
  ...{ signature: { signedAt: "2026-03-04T05:06:07.000Z", value: "c2ln" }, keyId: "k1" },
} satisfies RoutedCommand;
export const deny = { ...approve, type: "deny", note: "dig deeper" } satisfies RoutedCommand;
export const decide = {
  ...{ type: "decide", pending: 2, next: "plant", contextUpdates: { row: 1 }, context: { soil: "clay", row: 1 } },
  ...{ status: "active", milliseconds: 12, notes: [], counted: false, stays: false },
} satisfies RoutedCommand;
export const fail = {
  type: "fail",
  pending: 2,
  code: "DECIDER_FAILED",
  reason: "no answer",
  milliseconds: 9,
} satisfies RoutedCommand;

/** Returns the time of a commit. */
export const timeOf = (version: number) => `2026-03-04T05:06:${String(version).padStart(2, "0")}.000Z`;

/** A session after some commands: its head, and the events of the last command. */
export interface After {
  readonly head: RoutedHead;
  readonly events: readonly RoutedEvent[];
  readonly version: number;
}

/** Carries out commands one after the other, each as one commit, as the log writes and reads it. */
export function run(...commands: readonly RoutedCommand[]): After {
  let head: RoutedHead | undefined;
  let events: readonly RoutedEvent[] = [];
  for (const [index, command] of commands.entries()) {
    const decision = decideRouted(head, command, { at: timeOf(index + 1), version: index + 1 });
    if (!decision.ok) throw decision.error;
    const stored = JSON.parse(JSON.stringify(routedMachine.store?.(decision.events, decision.head)));
    const read = routedMachine.parse(stored.events, stored.head);
    // A kernel caches what it has decided: it must be what another one reads.
    expect(decision).toEqual({ ok: true, ...read });
    ({ head, events } = read);
  }
  if (head === undefined) throw new Error("nothing was started");
  return { head, events, version: commands.length };
}

/** Returns the error with which a session refuses a command; undefined if it carries it out. */
export function refusal({ head, version }: After, command: RoutedCommand) {
  const decision = decideRouted(head, command, { at: timeOf(version + 1), version: version + 1 });
  return decision.ok ? undefined : decision.error;
}
