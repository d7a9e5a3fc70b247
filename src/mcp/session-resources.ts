import type { ListResourcesResult, McpServer } from "@modelcontextprotocol/server";
import type { Engine } from "../engine/engine.js";
import type { StateView } from "../engine/state-view.js";
import type { SessionSummary } from "../ports/storage-adapter.js";
import { unapprovedNews } from "../tool/approval-on-wire.js";
import { pageItems } from "../tool/paging.js";
import { historyEntry } from "../tool/wire.js";
import { compact, type WireObject } from "../tool/wire-object.js";
import { guarded, registerJsonResources } from "./json-resource.js";

/** As many sessions as are listed at most: the newest. All others are there by their ids. */
const LISTED = 50;
const STATUSES = ["active", "paused", "completed", "failed"] as const;

/** Sessions as `phasegate://session/{id}`: where one stands, and every try at every phase. */
export function registerSessionResources(
  server: McpServer,
  engine: Engine,
  options: { readonly list: boolean; readonly room: number },
): void {
  const list = async (): Promise<ListResourcesResult> => {
    const { items } = await guarded(undefined, () => engine.listSessions({ status: STATUSES, limit: LISTED }));
    return { resources: [...pageItems(items.map(sessionResource), options.room, undefined).items] };
  };
  registerJsonResources(server, {
    kind: "session",
    key: "id",
    title: "Session",
    description: "Where a session stands",
    room: options.room,
    list: options.list ? list : undefined,
    load: async (id) => {
      const [state, history] = await Promise.all([engine.getState(id), engine.history(id)]);
      return { ...sessionBody(state), phase_history: history.map(historyEntry) };
    },
  });
}

function sessionResource(session: SessionSummary) {
  const { sessionId, workflowType, target, status, updatedAt } = session;
  return {
    uri: `phasegate://session/${sessionId}`,
    name: sessionId,
    description: `${workflowType} on ${target}: ${status}`,
    annotations: { lastModified: updatedAt },
  };
}

function sessionBody({
  sessionId,
  head,
  updatedAt,
  completedPhases,
  skippedPhases,
  unapproved,
}: StateView): WireObject {
  return compact({
    session_id: sessionId,
    workflow_type: head.workflowType,
    target_file: head.target,
    status: head.status,
    current_phase: head.phase,
    total_phases: head.total,
    completed_phases: completedPhases,
    skipped_phases: skippedPhases.length === 0 ? undefined : skippedPhases,
    created_at: head.createdAt,
    last_updated: updatedAt,
    ...unapprovedNews(unapproved),
    completed_at: head.status === "completed" ? head.completedAt : undefined,
  });
}
