import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../../src/workflow/names.js";
import { routed, Script } from "../../routed/engine/garden.js";

/** Walks a routed workflow: a report, a suspension, a client that comes back, and a decider that ends the work. */
export async function routedReports(storage: StorageAdapter): Promise<SessionId> {
  const script = new Script({ nextStep: "Sow", contextUpdates: { depth: 30 } }, "Sow", {
    nextStep: "Water",
    statusSuggestion: "completed",
  });
  const { engine } = routed(script, { storage });
  const { sessionId: id } = await engine.start({ workflow: "GARDEN", context: { bed: "north" } });
  await engine.session(id).advance({ report: { status: "success", message: "dug" } });
  await engine.session(id).suspend();
  await engine.session(id).resume({ assumedStep: "Water", report: { status: "lost" } });
  await engine.session(id).advance({ report: { status: "partial", details: { peas: 3 } } });
  return parseSessionId(id);
}

/** What a table of instances shows afterwards. */
export const ROUTED_INSTANCE = {
  workflow_name: "GARDEN",
  current_step_name: "Water",
  status: "COMPLETED",
  context: '{"bed":"north","depth":30}',
};

/** What a table of the history shows afterwards: step, report, outcome, next step. */
export const ROUTED_REPORTS = [
  ["Dig", { status: "success", message: "dug" }, "success", "Sow"],
  ["Water", { status: "lost" }, "RESUMING", "Sow"],
  ["Sow", { status: "partial", details: { peas: 3 } }, "partial", "Water"],
];

/** Returns a row of the history as in {@link ROUTED_REPORTS}. */
export function reportRow(row: Readonly<Record<string, unknown>>): unknown[] {
  return [row.step_name, JSON.parse(String(row.user_report)), row.outcome_status, row.determined_next_step];
}
