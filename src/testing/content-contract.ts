import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { isPhasegateError } from "../errors.js";
import type { Content, ContentProvider } from "../ports/content-provider.js";
import { type ContractCase, type ContractReport, type ContractRun, outcomeOf, refuses, runCases } from "./contract.js";

/** How to run the contract over a provider. */
export interface ContentContractOptions {
  /** Opens the provider; it must have at least one workflow that can be started. */
  open(): Promise<ContentProvider>;
}

/**
 * What every {@link ContentProvider} promises, as cases for any test runner: each resolves, or
 * rejects with an assertion that says what is wrong.
 */
export function contentContract(options: ContentContractOptions): ContractCase[] {
  const over = (name: string, check: (content: ContentProvider) => Promise<void>): ContractCase => ({
    name,
    run: () => outcomeOf(async () => check(await options.open())),
  });
  return [
    over("list: every workflow once, broken ones with an error", listsOnce),
    over("definition: what the list has ready, under its own type", definesListed),
    over("definition: undefined for a type and for a revision that there is not", definesNothingElse),
    over("definition: a broken workflow throws DEFINITION_INVALID", refusesBroken),
    over("text: every phase and task has one, with revision, tokens and sources", givesTexts),
    over("text: the same text has the same revision", givesSteadyRevisions),
    over("text: both templates where phases come from a plan, and TEMPLATE where they don't", givesTemplates),
    over("text: CONTENT_UNAVAILABLE for a phase and a task that there is not", refusesMissingTexts),
  ];
}

/**
 * Runs the whole contract over a provider, one case after the other, and gives a report. Throws a {@link ContractError},
 * which has the report, if a promise is not kept.
 */
export function runContentContract(options: ContentContractOptions, run: ContractRun = {}): Promise<ContractReport> {
  return runCases(contentContract(options), run);
}

async function listsOnce(content: ContentProvider): Promise<void> {
  const listings = await content.list();
  const types = listings.map(({ type }) => type);
  equal(new Set(types).size, types.length, "a type is listed twice");
  ok(
    listings.some(({ status }) => status === "ready"),
    "there is no workflow that can be started",
  );
  for (const { type, status, diagnostics } of listings) {
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    equal(errors.length > 0, status === "broken", `${type} is ${status} with ${errors.length} errors`);
  }
}

async function definesListed(content: ContentProvider): Promise<void> {
  for (const listing of await content.list()) {
    if (listing.status === "broken") continue;
    const definition = await content.definition(listing.type);
    equal(definition?.structure.type, listing.type);
    const { revision, phases } = listing.definition.structure;
    deepEqual((await content.definition(listing.type, revision))?.structure.revision, revision);
    const numbers = phases.map(({ number }) => number);
    deepEqual(
      numbers,
      [...new Set(numbers)].sort((one, other) => one - other),
      `${listing.type}: phases are not in order`,
    );
  }
}

async function definesNothingElse(content: ContentProvider): Promise<void> {
  equal(await content.definition("no_such_workflow_anywhere"), undefined);
  const { type } = await ready(content);
  equal(await content.definition(type, "no-such-revision"), undefined);
}

async function refusesBroken(content: ContentProvider): Promise<void> {
  for (const listing of await content.list()) {
    if (listing.status !== "broken") continue;
    await rejects(content.definition(listing.type), (error) => isPhasegateError(error, "DEFINITION_INVALID"));
  }
}

async function givesTexts(content: ContentProvider): Promise<void> {
  const { type, definition } = await ready(content);
  for (const phase of definition.structure.phases) {
    const parts = [{ phase: phase.number }, ...phase.tasks.map((task) => ({ phase: phase.number, task: task.number }))];
    for (const part of parts) checkText(await content.text(type, part));
  }
}

function checkText({ text, revision, tokens, sources }: Content): void {
  match(revision, /^[0-9a-f]{12}$/, "a revision is 12 hexadecimal digits");
  equal(tokens, Math.ceil(text.length / 4), "tokens are characters / 4");
  for (const source of sources) ok(!source.startsWith("/"), `a source is absolute: ${source}`);
}

async function givesTemplates(content: ContentProvider): Promise<void> {
  for (const listing of await content.list()) {
    if (listing.status === "broken") continue;
    for (const template of ["phase", "task"] as const) {
      const text = content.text(listing.type, { template });
      if (listing.definition.structure.dynamic === undefined) await refuses("TEMPLATE", text);
      else checkText(await text);
    }
  }
}

async function givesSteadyRevisions(content: ContentProvider): Promise<void> {
  const { type, definition } = await ready(content);
  const [first] = definition.structure.phases;
  const part = first === undefined ? ({ template: "phase" } as const) : { phase: first.number };
  const [one, other] = [await content.text(type, part), await content.text(type, part)];
  equal(one.revision, other.revision);
  notEqual(one.revision, "");
}

async function refusesMissingTexts(content: ContentProvider): Promise<void> {
  const { type, definition } = await ready(content);
  const { startPhase } = definition.structure;
  for (const part of [{ phase: 987_654 }, { phase: startPhase, task: 987_654 }]) {
    await rejects(content.text(type, part), (error) => isPhasegateError(error, "CONTENT_UNAVAILABLE"));
  }
}

async function ready(content: ContentProvider) {
  for (const listing of await content.list()) if (listing.status === "ready") return listing;
  throw new Error("there is no workflow that can be started");
}
