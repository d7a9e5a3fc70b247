import type { Logger } from "pino";
import type { WorkspaceNotificationName } from "../workspace/notifications.js";
import type { Workspace } from "../workspace/workspace.js";

/** The notifications that are worth a line at `info`. */
const NEWS: readonly WorkspaceNotificationName[] = ["sessionCreated", "sessionReopened", "saved", "sessionCompleted"];

/** Writes down what happens in a workspace: never what files hold. */
export function logWorkspace(workspace: Pick<Workspace, "on">, log: Logger): void {
  for (const name of NEWS) workspace.on(name, (payload) => log.info(payload, name));
  workspace.on("called", (payload) => log.debug(payload, "called"));
  workspace.on("security", (payload) => log.warn(payload, "security"));
  workspace.on("internalError", ({ operation, error }) => log.error({ operation, err: error }, "internalError"));
}
