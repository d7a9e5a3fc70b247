import * as z from "zod";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";

/** The most pieces that one search gives. */
const RESULTS_MAX = 50;

const common = {
  query: z.string().min(1).describe("what to look for, in a few words"),
  workflow: z.string().optional().describe("only this workflow's texts"),
  tags: z.array(z.string()).max(20).optional().describe("only texts that have all of these tags"),
  limit: z.int().min(1).max(RESULTS_MAX).optional().describe("at most so many pieces; 5 if not given"),
  cursor: z.string().optional().describe("next page"),
};

/** What the tool takes where phases are hidden. */
export const searchInput = z.object(common);

/** What it takes where they are shown. */
export const searchPhasesInput = z.object({
  ...common,
  phase: z.int().min(0).optional().describe("only this phase's texts"),
  task: z.int().min(0).optional().describe("only this task's texts"),
});

/** A checked call. */
export type SearchCall = z.infer<typeof searchPhasesInput>;

/** What is wrong with a call, all at once, in words for an agent. */
export interface BadSearch {
  readonly message: string;
  readonly remediation: string;
}

/** Reads a call: its checked parameters, or what is wrong with it. Null counts as not given. */
export function parseSearch(schema: typeof searchInput, input: unknown): { call: SearchCall } | { bad: BadSearch } {
  const takes = Object.keys(schema.shape);
  const remediation = `It takes ${takes.join(", ")}; only query is needed: {"query": "how to name tests"}.`;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return { bad: { message: "the input must be an object with a 'query'", remediation } };
  }
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined));
  const unknown = Object.keys(given).filter((name) => !takes.includes(name));
  const result = schema.safeParse(given);
  const wrong = result.success ? [] : result.error.issues.map(({ path, message }) => `'${path.join(".")}': ${message}`);
  const problems = [...wrong, ...unknown.map((name) => unknownParameter(name, takes))];
  if (problems.length > 0 || !result.success)
    return { bad: { message: problems.slice(0, 10).join("; "), remediation } };
  return { call: result.data };
}

function unknownParameter(name: string, takes: readonly string[]): string {
  const meant = nearest(name, takes);
  return `${shown(name)} is unknown${meant === undefined ? "" : `: did you mean '${meant}'?`}`;
}
