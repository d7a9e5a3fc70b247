/** The contracts of content providers and of sources of plans. */
import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { isPhasegateError } from "../errors.js";
import type { Content, ContentProvider, PlanSource } from "../ports/content-provider.js";
import {
  type ContractCase,
  type ContractReport,
  type ContractRun,
  outcomeOf,
  present,
  refuses,
  runCases,
} from "./contract.js";

type Checks<T> = Readonly<Record<string, (subject: T) => Promise<void>>>;

function casesOf<T>(checks: Checks<T>, open: () => Promise<T>): ContractCase[] {
  return Object.entries(checks).map(([name, check]) => ({
    name,
    run: () => outcomeOf(async () => check(await open())),
  }));
}

export interface ContentContractOptions {
  /** Opens the provider, which must have at least one workflow without errors. Called once for each case. */
  open(): Promise<ContentProvider>;
}

/**
 * Returns the promises of every {@link ContentProvider} as cases for any test runner: each resolves, or rejects with an
 * assertion that names the fault.
 */
export function contentContract(options: ContentContractOptions): ContractCase[] {
  return casesOf(CONTENT_CHECKS, () => options.open());
}

/**
 * Runs the whole contract over a provider, one case after the other, and returns the report. Throws a
 * {@link ContractError} with the report if a promise is broken.
 */
export function runContentContract(options: ContentContractOptions, run: ContractRun = {}): Promise<ContractReport> {
  return runCases(contentContract(options), run);
}

const CONTENT_CHECKS: Checks<ContentProvider> = {
  "list: returns every workflow once, and an error for each broken one": async (content) => {
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
  },
  "definition: returns what the list has as ready, under the same type": async (content) => {
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
  },
  "definition: returns undefined for an unknown type and an unknown revision": async (content) => {
    equal(await content.definition("no_such_workflow_anywhere"), undefined);
    const { type } = await ready(content);
    equal(await content.definition(type, "no-such-revision"), undefined);
  },
  "definition: a broken workflow throws DEFINITION_INVALID": async (content) => {
    for (const listing of await content.list()) {
      if (listing.status !== "broken") continue;
      await rejects(content.definition(listing.type), (error) => isPhasegateError(error, "DEFINITION_INVALID"));
    }
  },
  "text: returns one for every phase and task, with revision, tokens and sources": async (content) => {
    const { type, definition } = await ready(content);
    for (const phase of definition.structure.phases) {
      const parts = [
        { phase: phase.number },
        ...phase.tasks.map((task) => ({ phase: phase.number, task: task.number })),
      ];
      for (const part of parts) checkText(await content.text(type, part));
    }
  },
  "text: has the same revision for the same text": async (content) => {
    const { type, definition } = await ready(content);
    const [first] = definition.structure.phases;
    const part = first === undefined ? ({ template: "phase" } as const) : { phase: first.number };
    const [one, other] = [await content.text(type, part), await content.text(type, part)];
    equal(one.revision, other.revision);
    notEqual(one.revision, "");
  },
  "text: returns both templates if phases come from a plan, and throws TEMPLATE if not": async (content) => {
    for (const listing of await content.list()) {
      if (listing.status === "broken") continue;
      for (const template of ["phase", "task"] as const) {
        const text = content.text(listing.type, { template });
        if (listing.definition.structure.dynamic === undefined) await refuses("TEMPLATE", text);
        else checkText(await text);
      }
    }
  },
  "text: throws CONTENT_UNAVAILABLE for an unknown phase and an unknown task": async (content) => {
    const { type, definition } = await ready(content);
    const { startPhase } = definition.structure;
    for (const part of [{ phase: 987_654 }, { phase: startPhase, task: 987_654 }]) {
      await rejects(content.text(type, part), (error) => isPhasegateError(error, "CONTENT_UNAVAILABLE"));
    }
  },
};

function checkText({ text, revision, tokens, sources }: Content): void {
  match(revision, /^[0-9a-f]{12}$/, "a revision is 12 hexadecimal digits");
  equal(tokens, Math.ceil(text.length / 4), "tokens are characters / 4");
  for (const source of sources) ok(!source.startsWith("/"), `a source is absolute: ${source}`);
}

async function ready(content: ContentProvider) {
  for (const listing of await content.list()) if (listing.status === "ready") return listing;
  throw new Error("there is no workflow that can be started");
}

export interface PlanContractOptions {
  /** Opens a new source with these texts only, by their paths. Called once for each case. */
  open(plans: Readonly<Record<string, string>>): Promise<PlanSource>;
}

/** Byte order mark, both line ends, a tab, characters of every width, no line end at the end. */
const TEXT = "\uFEFF# Tasks\r\n\n- [ ] 1.1 Dig\t→ é 🌱\n- [x] 1.2 Sow";
const OTHER = "# Others\n";
const PLANS = { "specs/garden/tasks.md": TEXT, "specs/plan.md": OTHER, "specs/notes/ideas.md": "ideas" };
const FILE = "specs/garden/tasks.md";

/** Returns the promises of every {@link PlanSource} as cases for any test runner. */
export function planContract({ open }: PlanContractOptions): ContractCase[] {
  return casesOf(PLAN_CHECKS, () => open(PLANS));
}

const PLAN_CHECKS: Checks<PlanSource> = {
  "read: returns a file with every character unchanged": async (plans) => {
    const { path, text } = await textAt(plans, FILE);
    deepEqual({ path, text }, { path: FILE, text: TEXT });
    deepEqual(await plans.read("./specs//plan.md"), await plans.read("specs/plan.md"));
  },
  "read: returns the tasks.md of a folder, with the path of the file": async (plans) => {
    deepEqual(await plans.read("specs/garden"), await plans.read(FILE));
    deepEqual(await plans.read("specs/garden/"), await plans.read(FILE));
  },
  "read: returns undefined if there is no plan": async (plans) => {
    for (const path of ["specs/none.md", "nowhere/at/all", "specs/notes", "specs/plan.md/tasks.md", "."]) {
      equal(await plans.read(path), undefined, `there is no plan at ${path}`);
    }
  },
  "read and replace: throw PATH_REFUSED for paths that lead out": async (plans) => {
    for (const path of ["../tasks.md", "specs/../../tasks.md", "/etc/passwd", "", "a\0b"]) {
      await refuses("PATH_REFUSED", plans.read(path));
      await refuses("PATH_REFUSED", plans.replace(path, "", ""));
    }
  },
  "read: has the same hash for the same text, and another for another text": async (plans) => {
    const { hash } = await textAt(plans, FILE);
    ok(hash !== "", "a hash names a state");
    equal((await textAt(plans, FILE)).hash, hash);
    notEqual((await textAt(plans, "specs/plan.md")).hash, hash);
    await plans.replace(FILE, hash, TEXT.replace("[ ]", "[x]"));
    const changed = (await textAt(plans, FILE)).hash;
    notEqual(changed, hash);
    await plans.replace(FILE, changed, TEXT);
    equal((await textAt(plans, FILE)).hash, hash, "the same text has the same hash again");
  },
  "replace: replaces the text with the given hash": async (plans) => {
    const { hash } = await textAt(plans, FILE);
    const next = TEXT.replace("[ ]", "[x]");
    equal(await plans.replace(FILE, hash, next), true);
    equal((await textAt(plans, FILE)).text, next);
    equal((await textAt(plans, "specs/plan.md")).text, OTHER, "another plan is left alone");
  },
  "replace: accepts the path of a folder": async (plans) => {
    const { hash } = await textAt(plans, "specs/garden");
    equal(await plans.replace("specs/garden", hash, OTHER), true);
    equal((await textAt(plans, FILE)).text, OTHER);
  },
  "replace: returns false and changes nothing for another hash": async (plans) => {
    const { hash } = await textAt(plans, "specs/plan.md");
    for (const stale of [hash, "", "0".repeat(64)]) equal(await plans.replace(FILE, stale, OTHER), false);
    equal((await textAt(plans, FILE)).text, TEXT);
  },
  "replace: returns false and creates nothing if there is no plan": async (plans) => {
    const { hash } = await textAt(plans, FILE);
    for (const path of ["specs/none.md", "nowhere/tasks.md", "specs/notes"]) {
      equal(await plans.replace(path, hash, TEXT), false);
      equal(await plans.read(path), undefined);
    }
  },
  "replace: of concurrent calls with one hash, exactly one succeeds": async (plans) => {
    const { hash } = await textAt(plans, FILE);
    const texts = Array.from({ length: 8 }, (_, index) => `${TEXT}\n${index}`);
    const done = await Promise.all(texts.map((text) => plans.replace(FILE, hash, text)));
    const winners = texts.filter((_, index) => done[index]);
    deepEqual(winners, [(await textAt(plans, FILE)).text]);
  },
};

async function textAt(plans: PlanSource, path: string) {
  return present(await plans.read(path), `the plan ${path}`);
}
