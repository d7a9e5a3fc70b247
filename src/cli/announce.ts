/** Logs which workflows a server has, and what is wrong with them or missing for them. */
import type { Logger } from "pino";
import type { Engine } from "../phased/engine.js";
import { withReadiness } from "../phased/readiness.js";
import { countOlder } from "../phased/revisions.js";
import { approvalOf } from "../phased/state/decide-gate.js";
import { missingVerifiers, type Verifiers } from "../phased/verify/run-verifiers.js";
import type { ContentProvider, RoutedSource, WorkflowListing } from "../ports/content-provider.js";
import { aboutVerifier } from "../workflow/built-in-verifiers.js";
import { type Diagnostic, type DiagnosticCode, formatDiagnostic } from "../workflow/diagnostic.js";
import { openPhases } from "../workflow/gate-definition.js";

/** Logs the names of the phased workflows, and why others cannot be started. Returns all of them. */
export async function logWorkflows(
  content: ContentProvider,
  verifiers: Verifiers,
  log: Logger,
): Promise<readonly WorkflowListing[]> {
  const listings = await listed(() => content.list(), log);
  if (listings === undefined) return [];
  const checked = withReadiness(listings, verifiers);
  const named = checked.map((listing) => {
    const { type: name, status, diagnostics } = listing;
    return { name, status, diagnostics, missing: status === "ready" ? listing.missingVerifiers : undefined };
  });
  logListings("workflow", "workflowType", log, named);
  for (const listing of checked) {
    const lacks = listing.status === "ready" ? listing.missingWorkflows : undefined;
    if (lacks !== undefined)
      log.warn(
        { workflowType: listing.type, workflows: lacks },
        "phases are workflows that are not served, or can't be started",
      );
  }
  for (const { type, diagnostics } of listings) {
    const hides = diagnostics.some(({ code }) => code === ("WORKFLOW_HIDDEN" satisfies DiagnosticCode));
    if (hides) log.info({ workflowType: type }, "served in place of a workflow of the same name in a later folder");
  }
  return listings;
}

/** Says how many open sessions keep a definition that their workflow has no more. A storage that fails says so in other calls. */
export async function logOlder(engine: Pick<Engine, "listWorkflows" | "listSessions">, log: Logger): Promise<void> {
  const found = await countOlder(engine).catch((err: unknown) => log.warn({ err }, "older revisions are not counted"));
  if (found === undefined || found.count === 0) return;
  const { count: sessions, more } = found;
  log.info({ sessions, more }, "open sessions keep an older revision of their workflow: phasegate migrate moves them");
}

/** Warns about what sessions on these workflows will miss: an approver, a search, or something that a gate requires. */
export function warnMissing(
  listings: readonly WorkflowListing[],
  { canApprove, canSearch }: { readonly canApprove: boolean; readonly canSearch: boolean },
  log: Logger,
): void {
  const structures = listings.flatMap((one) => (one.status === "broken" ? [] : one.definition.structure));
  for (const { type: workflowType, phases, searches } of structures) {
    const asking = phases.find(({ gate }) => approvalOf(gate) !== undefined);
    if (!canApprove && asking !== undefined)
      log.warn({ workflowType, phase: asking.number }, "a person must approve, which needs --approver");
    const open = openPhases(phases);
    if (open.length > 0) log.warn({ workflowType, phases: open }, "phases require nothing: any evidence passes");
    if (!canSearch && searches === true) log.warn({ workflowType }, "texts ask for a search, which needs --standards");
  }
}

/** Logs the names of the routed workflows, and why others cannot be started. A busy engine can't refuse it. */
export async function logRoutedWorkflows(
  workflows: Pick<RoutedSource, "list">,
  verifiers: Verifiers,
  log: Logger,
): Promise<void> {
  const listings = await listed(() => workflows.list(), log);
  const named = listings?.map((listing) => {
    if (listing.status === "broken") return listing;
    const phases = listing.definition.steps.flatMap(({ gate }) => (gate === undefined ? [] : [{ gate }]));
    return { ...listing, missing: missingVerifiers({ phases }, verifiers) };
  });
  if (named !== undefined) logListings("routed workflow", "workflow", log, named);
}

/** Lists workflows. If they cannot be listed, now or later, everything else is served all the same. */
async function listed<T>(list: () => Promise<readonly T[]>, log: Logger): Promise<readonly T[] | undefined> {
  return list().catch((err: unknown) => {
    log.error({ err }, "the workflows can't be listed");
    return undefined;
  });
}

interface Listing {
  readonly name: string;
  readonly status: "ready" | "broken";
  readonly diagnostics: readonly Diagnostic[];
  /** The verifiers that it needs and the server lacks. */
  readonly missing?: readonly string[] | undefined;
}

function logListings(kind: string, key: string, log: Logger, listings: readonly Listing[]): void {
  for (const { name, status, diagnostics, missing } of listings) {
    if (missing !== undefined) {
      const isOwn = missing.some((verifier) => aboutVerifier(verifier) === undefined);
      const remedy = isOwn ? "only a host that registers them can start it" : "give --project";
      log.warn({ [key]: name, verifiers: missing }, `not ready: its gates need verifiers that are missing; ${remedy}`);
    }
    if (status === "ready") continue;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    log.warn({ [key]: name, errors }, "broken workflow");
  }
  const ready = listings.flatMap(({ name, status, missing }) =>
    status === "ready" && missing === undefined ? [name] : [],
  );
  if (ready.length === 0) log.warn(`there is no ${kind} that can be started`);
  log.info({ workflows: ready }, `${kind}s`);
}
