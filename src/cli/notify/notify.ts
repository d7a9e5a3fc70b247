/**
 * Tells people, outside of the page and of the clients, what waits for them and what has gone wrong: `serve --notify` and
 * `--notify-command`. The entry file of this folder; what is decided where:
 * - messages.ts: what people are told of
 * - formats.ts: how a program and each chat is told
 * - receivers.ts: which options and variables are right
 * - outbox.ts: what is tried again, how long, and what is dropped
 * - webhook.ts, command-receiver.ts: how a message is sent once
 *
 * Notifications come from the process that has made the commit, so that of all servers on a state one tells of it.
 */
import type { Logger } from "pino";
import type { Engine } from "../../phased/engine.js";
import { checkInspectorUrl } from "../../phased/options.js";
import { pause, systemClock } from "../../ports/clock.js";
import type { RoutedEngine } from "../../routed/engine.js";
import { RecentMap } from "../../workflow/cache.js";
import type { Workspace } from "../../workspace/workspace.js";
import type { Environment } from "../products.js";
import type { GivenOptions } from "../serve-options.js";
import {
  damagedLog,
  type Message,
  type MessageData,
  phasedApproval,
  phasedFailure,
  phasedWaiver,
  routedApproval,
  routedFailure,
} from "./messages.js";
import { Outbox } from "./outbox.js";
import { type NotifyOptions, openReceivers } from "./receivers.js";

/** The time for messages on their way when the server ends, in milliseconds. Clients kill a server after two seconds. */
const END_MS = 1500;

/** The time for reading the name of a phase, in milliseconds. */
const NAME_MS = 5000;

/** As many damaged logs are known: of each, people are told once. */
const DAMAGED_MAX = 10_000;

interface Sources {
  readonly engine?: Engine;
  readonly routed?: RoutedEngine;
  readonly workspace?: Pick<Workspace, "on">;
}

/** Tells the receivers of what happens in engines, without keeping these waiting. */
export class Notify {
  readonly #outboxes: readonly Outbox[];
  readonly #page: string | undefined;
  readonly #log: Logger;
  readonly #ending = new AbortController();
  readonly #damaged = new RecentMap<string, true>(DAMAGED_MAX);
  /** What waits for the name of its phase. */
  readonly #named = new Set<Promise<void>>();

  private constructor(receivers: Awaited<ReturnType<typeof openReceivers>>, page: string | undefined, log: Logger) {
    this.#outboxes = receivers.map((receiver) => new Outbox(receiver, log, this.#ending.signal));
    this.#page = page;
    this.#log = log;
  }

  /** Returns undefined if nobody is to be told. Throws for options that can't be used. */
  static async open(
    options: NotifyOptions & Pick<GivenOptions, "inspectorUrl">,
    env: Environment,
    log: Logger,
  ): Promise<Notify | undefined> {
    const receivers = await openReceivers(options, env);
    if (receivers.length === 0) return undefined;
    const { inspectorUrl: page } = options;
    return new Notify(receivers, page === undefined ? undefined : checkInspectorUrl(page), log);
  }

  /** Tells of what happens from now on. */
  listen({ engine, routed, workspace }: Sources): void {
    const page = this.#page;
    if (engine !== undefined) {
      engine.on("approvalRequested", (asked) => this.#withName(engine, asked, (name) => phasedApproval(asked, name)));
      engine.on("waiverRequested", (asked) => this.#withName(engine, asked, (name) => phasedWaiver(asked, name)));
      engine.on("failed", (failed) => this.#withName(engine, failed, (name) => phasedFailure(failed, page, name)));
    }
    routed?.on("approvalRequested", (asked) => this.#tell(routedApproval(asked)));
    routed?.on("failed", (failed) => this.#tell(routedFailure(failed, page)));
    engine?.on("security", (refusal) => this.#tellOfDamage("phased", refusal));
    routed?.on("security", (refusal) => this.#tellOfDamage("routed", refusal));
    workspace?.on("security", (refusal) => this.#tellOfDamage("recorded", refusal));
  }

  /** Gives messages a short time to arrive. The engines must be at rest: what they tell of now may be lost. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#ending.abort(), END_MS);
    await Promise.all(this.#named);
    await Promise.all(this.#outboxes.map((outbox) => outbox.empty()));
    clearTimeout(timer);
    this.#ending.abort();
  }

  #tell(message: Message): void {
    for (const outbox of this.#outboxes) outbox.add(message);
  }

  /** Tells once the phase's name is read. Without it, if that takes long or fails. */
  #withName(
    engine: Engine,
    { sessionId, phase }: { readonly sessionId: string; readonly phase: number },
    messageFor: (phaseName: string | undefined) => Message,
  ): void {
    const name = engine
      .session(sessionId)
      .state()
      .then(({ structure }) => structure.phases.find(({ number }) => number === phase)?.name)
      .catch((err: unknown) => {
        this.#log.debug({ err, sessionId }, "no name of a phase");
        return undefined;
      });
    const late = pause(systemClock, NAME_MS, this.#ending.signal).then(() => undefined);
    const told = Promise.race([name, late])
      .then((found) => this.#tell(messageFor(found)))
      .finally(() => this.#named.delete(told));
    this.#named.add(told);
  }

  /** Of a damaged log, each read is notified. */
  #tellOfDamage(kind: MessageData["kind"], { sessionId, message }: { sessionId?: string; message: string }): void {
    if (sessionId === undefined || this.#damaged.get(sessionId)) return;
    this.#damaged.set(sessionId, true);
    this.#tell(damagedLog(kind, { sessionId, reason: message }, new Date().toISOString(), this.#page));
  }
}
