import { readFileSync } from "node:fs";
import type { EngineNotifications } from "phasegate";
import { expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/phased/options.js";
import type { RoutedNotificationMap } from "../../src/routed/notifications.js";
import { DEFAULT_ROUTED_LIMITS } from "../../src/routed/options.js";
import type { WorkspaceNotificationMap } from "../../src/workspace/notifications.js";

const page = readFileSync(new URL("../../docs/running.md", import.meta.url), "utf8");

/** All names; the compiler requires a new one to be here. */
const NOTIFICATIONS = {
  started: 1,
  assigned: 1,
  phaseEntered: 1,
  gatePassed: 1,
  gateFailed: 1,
  approvalRequested: 1,
  approved: 1,
  denied: 1,
  waiverRequested: 1,
  waiverGranted: 1,
  waiverDenied: 1,
  stepRefused: 1,
  submissionLost: 1,
  refused: 1,
  taskCompleted: 1,
  taskGivenUp: 1,
  gateOverridden: 1,
  phaseSkipped: 1,
  paused: 1,
  resumed: 1,
  retried: 1,
  rolledBack: 1,
  migrated: 1,
  planSynced: 1,
  planTicked: 1,
  planTicksPending: 1,
  snapshotsTaken: 1,
  completed: 1,
  failed: 1,
  deleted: 1,
  verifying: 1,
  replayed: 1,
  conflict: 1,
  security: 1,
  internalError: 1,
  reported: 1,
  gateRefused: 1,
  decided: 1,
  suspended: 1,
  cancelled: 1,
  called: 1,
  sessionCreated: 1,
  sessionReopened: 1,
  saved: 1,
  fileRead: 1,
  sessionCompleted: 1,
} satisfies Record<keyof EngineNotifications | keyof RoutedNotificationMap | keyof WorkspaceNotificationMap, 1>;

it("docs/running.md names every notification", () => {
  expect(Object.keys(NOTIFICATIONS).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

it("docs/running.md has every limit of an engine with its default", () => {
  const rows = [...page.matchAll(/^\| `(\w+)`(?: \(routed\))? \| ([\d,]+) \|/gm)];
  const documented = rows.map(([, name, value = ""]) => [name, Number(value.replaceAll(",", ""))]);
  expect(Object.fromEntries(documented)).toEqual({ ...DEFAULT_LIMITS, ...DEFAULT_ROUTED_LIMITS });
});
