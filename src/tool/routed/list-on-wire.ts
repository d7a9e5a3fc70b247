import type * as z from "zod";
import { formatDiagnostic } from "../../definition/diagnostic.js";
import type { RoutedListing } from "../../ports/routed-source.js";
import { brief } from "../wire-object.js";
import type { listSchema } from "./answers.js";

/** As much of a goal as a list shows, in characters. */
const GOAL_MAX = 300;
/** As many errors of a broken workflow as a list shows, and as much of each. */
const ERRORS_MAX = 5;
const ERROR_MAX = 300;

/** Names of the workflows that can be started, what they are for, and what is wrong with the others. */
export function listOnWire(listings: readonly RoutedListing[]): z.input<typeof listSchema> {
  const ready = listings.flatMap((listing) => (listing.status === "ready" ? [listing] : []));
  const goals = ready.flatMap(({ name, definition: { goal } }) =>
    goal === undefined ? [] : [[name, brief(goal, GOAL_MAX)] as const],
  );
  const broken = listings.filter(({ status }) => status === "broken").map(brokenOnWire);
  return {
    workflows: ready.map(({ name }) => name),
    ...(goals.length === 0 ? {} : { goals: Object.fromEntries(goals) }),
    ...(broken.length === 0 ? {} : { broken }),
  };
}

function brokenOnWire({ name, diagnostics }: RoutedListing) {
  const errors = diagnostics.filter(({ severity }) => severity === "error").slice(0, ERRORS_MAX);
  return { workflow_name: name, errors: errors.map((error) => brief(formatDiagnostic(error), ERROR_MAX)) };
}
