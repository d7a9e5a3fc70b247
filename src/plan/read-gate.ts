/** Opens the lists that are gates. */
import type { PhaseDraft } from "./drafts.js";
import type { Label } from "./labels.js";
import type { ReaderState } from "./reader-state.js";
import type { Row } from "./rows.js";

/** In the section of a gate other labels group its items, or lead up to them. */
export function staysInGate(open: boolean, { field }: Label): boolean {
  return open && (field === "other" || field === "gate" || field === "success" || field === "criteria");
}

/** The list that follows is the gate of a phase. */
export function openGateOf(state: ReaderState, phase: PhaseDraft, name: string, depth: number, section: boolean): void {
  state.open({ kind: "gate", depth, section, name, done: (items) => phase.gate.push(...items) });
}

/** `**Checkpoint**: …`: where no list follows, the sentence is what must hold. */
export function addText(state: ReaderState, { name, text }: Label, row: Row): void {
  const { block } = state;
  if (block === undefined || text === "" || /quality|exit/i.test(name)) return;
  state.block = { ...block, text: block.text ?? state.item({ ...row, text }) };
}
