/**
 * What is read from the logs of sessions and cached. The structure that a session is bound to, with the schema in code
 * that belongs to it: editing a workflow never changes the gates of a session under way. And its options, and the names
 * of its artifacts: the accepted evidence of completed phases.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { PhasegateError } from "../errors.js";
import { LogFold, tampered } from "../log/commit.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { Skips } from "../rules/options.js";
import { jsonWeight, RecentMap } from "../workflow/cache.js";
import type { JsonObject } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import { sampled } from "../workflow/schema-sample.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import { type ArtifactName, artifactNames } from "./state/history.js";
import { isOneOf, isPinning, type PhasedKernel, type PhasedSession, type SessionCommit } from "./state/machine.js";

/** The session of a structure. */
type PinnedSession = Pick<PhasedSession, "sessionId" | "head">;

/** Limits the structures and options that are cached: characters of their JSON. */
const STRUCTURES_WEIGHT = 64 * 1024 * 1024;
const OPTIONS_WEIGHT = 4 * 1024 * 1024;

/** The structures and options that sessions are bound to, from their logs, with the schemas in code. */
export class Pinned {
  readonly #kernel: PhasedKernel;
  readonly #content: ContentProvider;
  /** By session; with the version of the commit that binds the session to it. */
  readonly #structures = new RecentMap<SessionId, { readonly version: number; readonly structure: WorkflowStructure }>(
    STRUCTURES_WEIGHT,
    ({ structure }) => jsonWeight(structure),
  );
  readonly #options = new RecentMap<SessionId, JsonObject>(OPTIONS_WEIGHT, jsonWeight);

  constructor(kernel: PhasedKernel, content: ContentProvider) {
    this.#kernel = kernel;
    this.#content = content;
  }

  /** Returns the structure that a session is bound to. */
  async structure(session: PinnedSession): Promise<WorkflowStructure> {
    const known = this.#structures.get(session.sessionId);
    return known?.version === session.head.structureVersion ? known.structure : this.#read(session);
  }

  /** Caches the structure of a session, and the options that it was started with where they are known. */
  remember({ sessionId, head }: PinnedSession, structure: WorkflowStructure, options?: JsonObject): void {
    this.#structures.set(sessionId, { version: head.structureVersion, structure });
    if (options !== undefined) this.#options.set(sessionId, options);
  }

  /** Caches the structure of a session if these events, of its newest commit, bind it to one. */
  rememberFrom(session: PhasedSession, events: readonly SessionEvent[]): void {
    if (session.version !== session.head.structureVersion) return;
    const pinning = events.find(isPinning);
    if (pinning !== undefined) this.remember(session, pinning.structure);
  }

  async #read(session: PinnedSession): Promise<WorkflowStructure> {
    const { structureVersion } = session.head;
    const { events } = await this.#kernel.at(session.sessionId, structureVersion);
    const pinning = events.find(isPinning);
    if (pinning === undefined) {
      throw tampered({ sessionId: session.sessionId, version: structureVersion }, "it has no workflow in it");
    }
    this.remember(session, pinning.structure);
    return pinning.structure;
  }

  /** Returns the options that a session was started with. */
  async options(sessionId: SessionId): Promise<JsonObject> {
    const known = this.#options.get(sessionId);
    if (known !== undefined) return known;
    const { events } = await this.#kernel.at(sessionId, 1);
    const started = events.find(({ type }) => type === "started");
    const options = started?.type === "started" ? started.options : {};
    this.#options.set(sessionId, options);
    return options;
  }

  /** Returns which phases a session skips; undefined if its workflow has no rule for that. */
  async skips(
    { sessionId }: Pick<PinnedSession, "sessionId">,
    structure: WorkflowStructure,
  ): Promise<Skips | undefined> {
    for (const { skipWhen } of structure.phases) {
      if (skipWhen === undefined) continue;
      // Loaded here: who only looks at sessions needs no rules.
      const { skipsWith } = await import("../rules/options.js");
      return skipsWith(structure, await this.options(sessionId));
    }
    return undefined;
  }

  /**
   * Returns the schema in code of a phase's gate; undefined if the gate has none. Throws `DEFINITION_CHANGED` if the
   * host no longer has that revision, or has a different one under its name.
   */
  async schema(structure: WorkflowStructure, phase: PhaseDefinition): Promise<StandardSchemaV1 | undefined> {
    if (phase.gate.kind !== "schema") return undefined;
    const live = await this.#content.definition(structure.type, structure.revision);
    const schema = live?.schemas.get(phase.number);
    if (live === undefined || schema === undefined) throw changed(structure, "is not registered any more");
    if (
      live.structure !== structure &&
      sampled.get(live.structure) !== structure &&
      fingerprint(live.structure, phase.number) !== fingerprint(structure, phase.number)
    ) {
      throw changed(structure, `has another gate in phase ${phase.number} now`);
    }
    return schema;
  }
}

type Found = ReadonlyMap<number, ArtifactName>;
type Names = ReadonlyMap<number, readonly string[]>;

/** The names of the artifacts of completed phases, from the log. */
export class ArtifactNames {
  readonly #found: LogFold<SessionEvent, SessionHead, Found>;

  constructor(kernel: PhasedKernel) {
    this.#found = new LogFold<SessionEvent, SessionHead, Found>(kernel, new Map(), withNames);
  }

  /** Returns the names by phase, for the phases before `phase`. */
  async before(session: PhasedSession, phase: number): Promise<Names> {
    const names = new Map<number, readonly string[]>();
    if (session.head.completed.length === 0) return names;
    const found = await this.#found.at(session);
    for (const [number, artifact] of [...found].sort(([one], [other]) => one - other)) {
      if (number < phase) names.set(number, artifact.names);
    }
    return names;
  }
}

function changed({ type, revision }: WorkflowStructure, what: string): PhasegateError<"DEFINITION_CHANGED"> {
  return new PhasegateError("DEFINITION_CHANGED", `revision ${revision} of the workflow ${type} ${what}`, {
    remedy: "The host must register that revision again, or move the session with session.migrate().",
    details: { workflowType: type, revision },
  });
}

/** Returns a schema's own description. It does not cover refinements; for these there is the revision. */
function fingerprint(structure: WorkflowStructure, phase: number): string | undefined {
  const gate = structure.phases.find(({ number }) => number === phase)?.gate;
  return gate?.kind === "schema" ? JSON.stringify(gate.jsonSchema) : gate?.kind;
}

function withNames(found: Found, { events, at, version }: SessionCommit): Found {
  // Most commits change no names; copying all for each commit would cost more than reading them.
  if (!events.some(isOneOf("gate_passed", "rolled_back", "migrated"))) return found;
  return artifactNames(
    events.map((event) => ({ event, at, version })),
    found,
  );
}
