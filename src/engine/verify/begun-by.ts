import type { WorkflowStructure } from "../../definition/structure.js";
import type { Prepared } from "../../kernel/kernel.js";
import type { Payload } from "../../ports/storage-adapter.js";
import type { SessionCommand } from "../../session/commands.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedCommand } from "../phased-machine.js";
import type { PhasedSession } from "../pinned.js";
import { type Begun, beginPhase } from "./begin-phase.js";
import { completeSnapshots } from "./read-snapshots.js";

/** What the checks of the phase begin with to which a command leads; undefined where it leads to none that has some. */
export function begunBy(
  context: EngineContext,
  session: PhasedSession,
  structure: WorkflowStructure,
  command: SessionCommand,
): Promise<Begun | undefined> | undefined {
  const { position } = session.head;
  switch (command.type) {
    case "approve":
    case "overrideGate":
    case "skipPhase":
      return beginPhase(context, session, structure, position + 1);
    case "rollback": {
      const back = structure.phases.findIndex(({ number }) => number === command.to);
      return beginPhase(context, session, structure, back);
    }
    case "retryPhase":
      return completeSnapshots(context, session, structure);
    case "migrate":
      return completeSnapshots(context, session, command.structure);
    default:
      return undefined;
  }
}

/** A command with what its phase begins with, which is stored as evidence is. */
export function withBegun(
  command: PhasedCommand,
  begun: Begun | undefined,
  payloads: readonly Payload[] = [],
): Prepared<PhasedCommand> {
  if (begun === undefined) return { command, payloads };
  return { command: { ...command, snapshots: begun.snapshots }, payloads: [...payloads, ...begun.payloads] };
}
