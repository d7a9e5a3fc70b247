/** How the gates of a pack differ between two of its versions, and how that is shown. */
import type { PackGate } from "../setup/packs.js";
import { type GateChange, gateChanges } from "../workflow/gate-change.js";
import { print, printable, styled, type Terminal } from "./terminal.js";

/** What has changed at one gate. */
export interface ChangedGate {
  /** Such as `fix, phase 2`. */
  readonly where: string;
  readonly changes: readonly GateChange[];
}

export function changesOf(before: readonly PackGate[], after: readonly PackGate[]): ChangedGate[] {
  const nameOf = ({ workflow, where }: PackGate) => `${workflow}, ${where}`;
  const old = new Map(before.map((gate) => [nameOf(gate), gate]));
  const now = new Map(after.map((gate) => [nameOf(gate), gate]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((where): ChangedGate[] => {
    const [one, other] = [old.get(where), now.get(where)];
    const changes = changesAt(one, other);
    return changes.length === 0 ? [] : [{ where, changes }];
  });
}

function changesAt(before: PackGate | undefined, after: PackGate | undefined): GateChange[] {
  if (after === undefined) return before === undefined ? [] : [{ kind: "weaker", what: "the gate is gone" }];
  if (before === undefined) return [{ kind: "stricter", what: "the gate is new" }];
  const had = before.skips ?? [];
  const has = after.skips ?? [];
  return [
    ...gateChanges(before.gate, after.gate),
    ...has
      .filter((one) => !had.includes(one))
      .map((one) => ({ kind: "weaker" as const, what: `it is skipped ${one}` })),
    ...had
      .filter((one) => !has.includes(one))
      .map((one) => ({ kind: "stricter" as const, what: `it is no longer skipped ${one}` })),
  ];
}

const STYLES = { weaker: "red", stricter: "green", changed: "yellow" } as const;

export function reportChanges(changed: readonly ChangedGate[], terminal: Terminal): void {
  if (changed.length === 0) print(terminal, "  No gate has changed.");
  for (const { where, changes } of changed) {
    print(terminal, `  ${printable(where)}:`);
    for (const { kind, what } of changes) {
      print(terminal, `    ${styled(terminal.stdout, STYLES[kind], `${kind.padEnd(8)}  ${printable(what)}`)}`);
    }
  }
}
