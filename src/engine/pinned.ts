import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { SessionId } from "../definition/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { PhasegateError } from "../errors.js";
import { tampered } from "../kernel/commit-body.js";
import type { Kernel } from "../kernel/kernel.js";
import { RecentMap } from "../kernel/recent-map.js";
import type { Current, Recorded } from "../kernel/recorded.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { EventOf, SessionEvent } from "../session/events.js";
import type { SessionHead } from "../session/head.js";
import type { PhasedCommand } from "./phased-machine.js";

/** Where a phased session stands. */
export type PhasedSession = Current<SessionHead>;
/** Whose structure it is. */
type Owner = Pick<PhasedSession, "sessionId" | "head">;
/** A commit of a phased session. */
export type PhasedCommit = Recorded<SessionEvent, SessionHead>;
/** The kernel of phased sessions. */
export type PhasedKernel = Kernel<PhasedCommand, SessionEvent, SessionHead>;

/** For how many sessions structures are kept in memory. */
const SESSIONS_KEPT = 256;
/** How many of one session: a repeated call may ask for one that was pinned before. */
const STRUCTURES_KEPT = 4;

/**
 * What sessions were started on: structures out of their logs, and the schemas in code that belong
 * to them. Editing a workflow never changes the gate of a session under way.
 */
export class Pinned {
  readonly #kernel: PhasedKernel;
  readonly #content: ContentProvider;
  readonly #structures = new RecentMap<SessionId, RecentMap<number, WorkflowStructure>>(SESSIONS_KEPT);

  constructor(kernel: PhasedKernel, content: ContentProvider) {
    this.#kernel = kernel;
    this.#content = content;
  }

  /** The structure that a session is bound to; no promise where it is known. */
  structure(session: Owner): WorkflowStructure | Promise<WorkflowStructure> {
    return this.#structures.get(session.sessionId)?.get(session.head.structureVersion) ?? this.#read(session);
  }

  /** Remembers the structure of a session that this engine has just started. */
  remember({ sessionId, head }: Owner, structure: WorkflowStructure): void {
    const kept = this.#structures.get(sessionId) ?? new RecentMap<number, WorkflowStructure>(STRUCTURES_KEPT);
    kept.set(head.structureVersion, structure);
    this.#structures.set(sessionId, kept);
  }

  async #read(session: Owner): Promise<WorkflowStructure> {
    const { structureVersion } = session.head;
    const { events } = await this.#kernel.at(session.sessionId, structureVersion);
    const pinning = events.find(isPinning);
    if (pinning === undefined) {
      throw tampered({ sessionId: session.sessionId, version: structureVersion }, "it has no workflow in it");
    }
    this.remember(session, pinning.structure);
    return pinning.structure;
  }

  /**
   * The schema in code of a phase's gate; undefined where the gate has none. Throws
   * `DEFINITION_CHANGED` if the host no longer has that revision, or has another under its name.
   */
  async schema(structure: WorkflowStructure, phase: PhaseDefinition): Promise<StandardSchemaV1 | undefined> {
    if (phase.gate.kind !== "schema") return undefined;
    const live = await this.#content.definition(structure.type, structure.revision);
    const schema = live?.schemas.get(phase.number);
    if (live === undefined || schema === undefined) throw changed(structure, "is not registered any more");
    if (
      live.structure !== structure &&
      fingerprint(live.structure, phase.number) !== fingerprint(structure, phase.number)
    ) {
      throw changed(structure, `has another gate in phase ${phase.number} now`);
    }
    return schema;
  }
}

/** Whether an event binds its session to a structure. */
export function isPinning(event: SessionEvent): event is EventOf<"started" | "migrated" | "plan_synced"> {
  return event.type === "started" || event.type === "migrated" || event.type === "plan_synced";
}

/** What a schema says of itself. Refinements don't show in it: that is what the revision is for. */
function fingerprint(structure: WorkflowStructure, phase: number): string | undefined {
  const gate = structure.phases.find(({ number }) => number === phase)?.gate;
  return gate?.kind === "schema" ? JSON.stringify(gate.jsonSchema) : gate?.kind;
}

function changed({ type, revision }: WorkflowStructure, what: string): PhasegateError<"DEFINITION_CHANGED"> {
  return new PhasegateError("DEFINITION_CHANGED", `revision ${revision} of the workflow ${type} ${what}`, {
    remedy: "The host must register that revision again, or move the session with engine.migrate().",
    details: { workflowType: type, revision },
  });
}
