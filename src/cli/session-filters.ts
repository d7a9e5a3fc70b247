import { InvalidArgumentError, Option } from "commander";
import type { SessionChoice } from "../engine/logs/chosen-sessions.js";
import { LIVING, type LivingStatus } from "../engine/retention.js";
import { notEmpty } from "./option-values.js";

/** Which sessions a command is about. */
export interface FilterOptions {
  readonly session?: readonly string[];
  readonly status?: readonly LivingStatus[];
  readonly workflow?: string;
  readonly target?: string;
}

/** The options that say which sessions are meant: all of them if none is given. */
export function filterOptions(): Option[] {
  return [
    new Option("--session <id>", "this session; may be repeated").argParser(
      (value: string, before: readonly string[] = []) => [...before, notEmpty(value)],
    ),
    new Option("--status <status>", `sessions of this status (${LIVING.join(", ")}); may be repeated`).argParser(
      (value: string, before: readonly LivingStatus[] = []) => [...before, statusOf(value)],
    ),
    new Option("--workflow <type>", "sessions on this workflow").argParser(notEmpty),
    new Option("--target <path>", "sessions on this target").argParser(notEmpty),
  ];
}

/** What the options say. With ids, the filters don't count. */
export function choiceOf({ session, status, workflow, target }: FilterOptions): SessionChoice {
  if (session !== undefined) return { sessionIds: session };
  return {
    query: {
      ...(status === undefined ? {} : { status }),
      ...(workflow === undefined ? {} : { workflowType: workflow }),
      ...(target === undefined ? {} : { target }),
    },
  };
}

function statusOf(value: string): LivingStatus {
  const status = LIVING.find((known) => known === value);
  if (status !== undefined) return status;
  throw new InvalidArgumentError(`Allowed choices are ${LIVING.join(", ")}.`);
}
