import type * as z from "zod";
import { conceal } from "../../gate/reveal.js";
import type { RoutedDecision, RoutedEntry } from "../../routed/session/entries.js";
import { pageItems } from "../paging.js";
import { verificationNews } from "../verification-on-wire.js";
import type { historySchema } from "./answers.js";

/** A page of a history, on the wire. */
export type HistoryOnWire = z.input<typeof historySchema>;
type Entry = HistoryOnWire["history"][number];

/** As many entries as fit, from where the cursor points. Throws `CURSOR_INVALID`. */
export function historyOnWire(
  instanceId: string,
  entries: readonly RoutedEntry[],
  room: number,
  cursor: string | undefined,
): HistoryOnWire {
  // Another instance's cursor points into another history.
  const page = pageItems(entries.map(entryOnWire), room, cursor, instanceId);
  return {
    instance_id: instanceId,
    history: [...page.items],
    ...(page.cursor === undefined ? {} : { left: page.left, cursor: page.cursor }),
  };
}

function entryOnWire({ version, timestamp, stepName, report, outcomeStatus, ...entry }: RoutedEntry): Entry {
  const { assumedStep, determinedNextStep, decision, problems, verification, reveal, reason } = entry;
  return {
    history_entry_id: version,
    timestamp,
    step_name: stepName,
    ...(assumedStep === undefined ? {} : { assumed_step_name: assumedStep }),
    user_report: report ?? null,
    outcome_status: outcomeStatus,
    determined_next_step: determinedNextStep ?? null,
    ...(decision === undefined ? {} : { decision: decisionOnWire(decision) }),
    ...(problems === undefined ? {} : { problems: [...conceal(problems, reveal ?? "fields")] }),
    ...verificationNews(verification, reveal),
    ...(reason === undefined ? {} : { reason }),
  };
}

function decisionOnWire({ status, contextUpdates, reasoning, notes, usage, milliseconds, at }: RoutedDecision) {
  const { model, inputTokens, outputTokens, requests } = usage ?? {};
  return {
    status,
    context_updates: contextUpdates,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(notes === undefined ? {} : { notes: [...notes] }),
    ...(model === undefined ? {} : { model }),
    ...(inputTokens === undefined ? {} : { input_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { output_tokens: outputTokens }),
    ...(requests === undefined ? {} : { requests }),
    milliseconds,
    decided_at: at,
  };
}
