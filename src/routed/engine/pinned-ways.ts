import { tampered } from "../../kernel/commit-body.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { RoutedStructure } from "../session/structure.js";
import type { RoutedCommit, RoutedKernel } from "./routed-session.js";

/** How many structures are kept in memory. */
const KEPT = 256;

/** What sessions were started on, out of their first commits: editing a workflow changes none of it. */
export class PinnedWays {
  readonly #kernel: RoutedKernel;
  readonly #known = new RecentMap<string, RoutedStructure>(KEPT);

  constructor(kernel: RoutedKernel) {
    this.#kernel = kernel;
  }

  /** The steps, ways and gates that a session is bound to. */
  async structure({ sessionId }: Pick<RoutedCommit, "sessionId">): Promise<RoutedStructure> {
    const known = this.#known.get(sessionId);
    if (known !== undefined) return known;
    const { events } = await this.#kernel.at(sessionId, 1);
    const started = events.find(({ type }) => type === "started");
    if (started?.type !== "started") throw tampered({ sessionId, version: 1 }, "it has no workflow in it");
    this.#known.set(sessionId, started.structure);
    return started.structure;
  }
}
