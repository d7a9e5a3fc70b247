/** What keeps workflows from being started on a host: what it lacks, for their gates and for phases that are workflows. */
import type { WorkflowListing } from "../ports/content-provider.js";
import { missingWorkflows } from "../workflow/child-workflow.js";
import { missingVerifiers, type Verifiers } from "./verify/run-verifiers.js";

/** Adds what the host lacks for each workflow. A phase whose workflow can't be started itself lacks it. */
export function withReadiness(listings: readonly WorkflowListing[], verifiers: Verifiers): readonly WorkflowListing[] {
  const checked = listings.map((listing) =>
    listing.status === "broken"
      ? listing
      : { ...listing, missingVerifiers: missingVerifiers(listing.definition.structure, verifiers) },
  );
  const ready = checked.flatMap((listing) => (listing.status === "ready" ? [listing] : []));
  const lacks = ({ definition }: (typeof ready)[number]) => missingWorkflows(definition.structure.phases, startable);
  const startable = new Set(ready.flatMap((one) => (one.missingVerifiers === undefined ? [one.type] : [])));
  for (let before = -1; before !== startable.size; ) {
    before = startable.size;
    for (const one of ready) if (lacks(one) !== undefined) startable.delete(one.type);
  }
  return checked.map((one) => (one.status === "broken" ? one : { ...one, missingWorkflows: lacks(one) }));
}
