import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { PlanSource } from "../ports/plan-source.js";
import { type ContractCase, outcomeOf, present, refuses } from "./contract.js";

/** How to run the contract over a source of plans. */
export interface PlanContractOptions {
  /** Opens a source of its own that holds these texts and no others, by their paths. Called once for each case. */
  open(plans: Readonly<Record<string, string>>): Promise<PlanSource>;
}

/** Something to try on a source with the texts below. */
type PlanCheck = readonly [name: string, check: (plans: PlanSource) => Promise<void>];

/** Byte order mark, both line ends, a tab, characters of every width, no line end at the end. */
const TEXT = "\uFEFF# Tasks\r\n\n- [ ] 1.1 Dig\t→ é 🌱\n- [x] 1.2 Sow";
const OTHER = "# Others\n";
const PLANS = { "specs/garden/tasks.md": TEXT, "specs/plan.md": OTHER, "specs/notes/ideas.md": "ideas" };
const FILE = "specs/garden/tasks.md";

/** What every {@link PlanSource} promises, as cases for any test runner. */
export function planContract({ open }: PlanContractOptions): ContractCase[] {
  return checks.map(([name, check]) => ({ name, run: () => outcomeOf(async () => check(await open(PLANS))) }));
}

const checks: readonly PlanCheck[] = [
  ["read: a file, every character as it is", readsWhole],
  ["read: the tasks.md of a folder, by its own path", readsFolder],
  ["read: undefined where there is no plan", readsNothingElse],
  ["read and replace: PATH_REFUSED for paths that lead out", refusesOutside],
  ["read: one text has one hash, another text another", hashes],
  ["replace: puts a text in the place of the one with the hash", replaces],
  ["replace: through a folder", replacesInFolder],
  ["replace: false, and nothing is changed, for another hash", keepsOthers],
  ["replace: false, and nothing is made, where there is no plan", makesNothing],
  ["replace: of several at once with one hash, one succeeds", oneWins],
];

async function textAt(plans: PlanSource, path: string) {
  return present(await plans.read(path), `the plan ${path}`);
}

async function readsWhole(plans: PlanSource): Promise<void> {
  const { path, text } = await textAt(plans, FILE);
  deepEqual({ path, text }, { path: FILE, text: TEXT });
  deepEqual(await plans.read("./specs//plan.md"), await plans.read("specs/plan.md"));
}

async function readsFolder(plans: PlanSource): Promise<void> {
  deepEqual(await plans.read("specs/garden"), await plans.read(FILE));
  deepEqual(await plans.read("specs/garden/"), await plans.read(FILE));
}

async function readsNothingElse(plans: PlanSource): Promise<void> {
  for (const path of ["specs/none.md", "nowhere/at/all", "specs/notes", "specs/plan.md/tasks.md", "."]) {
    equal(await plans.read(path), undefined, `there is no plan at ${path}`);
  }
}

async function refusesOutside(plans: PlanSource): Promise<void> {
  for (const path of ["../tasks.md", "specs/../../tasks.md", "/etc/passwd", "", "a\0b"]) {
    await refuses("PATH_REFUSED", plans.read(path));
    await refuses("PATH_REFUSED", plans.replace(path, "", ""));
  }
}

async function hashes(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, FILE);
  ok(hash !== "", "a hash names a state");
  equal((await textAt(plans, FILE)).hash, hash);
  notEqual((await textAt(plans, "specs/plan.md")).hash, hash);
  await plans.replace(FILE, hash, TEXT.replace("[ ]", "[x]"));
  const changed = (await textAt(plans, FILE)).hash;
  notEqual(changed, hash);
  await plans.replace(FILE, changed, TEXT);
  equal((await textAt(plans, FILE)).hash, hash, "the same text has the same hash again");
}

async function replaces(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, FILE);
  const next = TEXT.replace("[ ]", "[x]");
  equal(await plans.replace(FILE, hash, next), true);
  equal((await textAt(plans, FILE)).text, next);
  equal((await textAt(plans, "specs/plan.md")).text, OTHER, "another plan is left alone");
}

async function replacesInFolder(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, "specs/garden");
  equal(await plans.replace("specs/garden", hash, OTHER), true);
  equal((await textAt(plans, FILE)).text, OTHER);
}

async function keepsOthers(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, "specs/plan.md");
  for (const stale of [hash, "", "0".repeat(64)]) equal(await plans.replace(FILE, stale, OTHER), false);
  equal((await textAt(plans, FILE)).text, TEXT);
}

async function makesNothing(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, FILE);
  for (const path of ["specs/none.md", "nowhere/tasks.md", "specs/notes"]) {
    equal(await plans.replace(path, hash, TEXT), false);
    equal(await plans.read(path), undefined);
  }
}

async function oneWins(plans: PlanSource): Promise<void> {
  const { hash } = await textAt(plans, FILE);
  const texts = Array.from({ length: 8 }, (_, index) => `${TEXT}\n${index}`);
  const done = await Promise.all(texts.map((text) => plans.replace(FILE, hash, text)));
  const winners = texts.filter((_, index) => done[index]);
  deepEqual(winners, [(await textAt(plans, FILE)).text]);
}
