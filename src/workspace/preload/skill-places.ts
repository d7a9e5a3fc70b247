import type { Connection } from "../connection.js";
import { ROOT_NAMES } from "../roots/workspace-folders.js";
import { keptSource } from "./kept-source.js";
import type { SkillPlaces } from "./open-skill.js";

/** How deep workflows may lead to one another. */
const DEPTH_MAX = 5;

/** Where a connection's workflows lie: below all its roots but that of the sessions. */
export function skillPlaces({ roots }: Pick<Connection, "roots">): SkillPlaces {
  return {
    source: keptSource(roots),
    roots: roots.folders.filter((name) => name !== ROOT_NAMES.output),
    maxDepth: DEPTH_MAX,
  };
}
