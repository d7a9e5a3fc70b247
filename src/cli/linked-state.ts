import { linkIn } from "../sandbox/change.js";
import { CommandFailure, EXIT } from "./exit-codes.js";

/** Refuses a path in a project that goes through a link: who made the project would decide what is written where. */
export function refuseLinkedState(project: string, path: string, option = "--state"): void {
  const link = linkIn(project, path);
  if (link === undefined) return;
  const hint = `If you have made the link, give ${option} the place where it leads; if not, delete it.`;
  throw new CommandFailure(
    `the folder of ${option} is refused: ${link} in the project is a link`,
    EXIT.environment,
    hint,
  );
}
