/**
 * The tool through which agents search texts. By default it hides the texts of phases and tasks: otherwise
 * an agent could read phases that are ahead of it.
 */
import * as z from "zod";
import type { Chunk, Retriever } from "../ports/retriever.js";
import { SEARCH_TOOL } from "../workflow/asks-for-search.js";
import { canonicalJson } from "../workflow/json.js";
import { action, type Failure, readCall } from "./dispatch.js";
import { pageItems, partWithin } from "./pages.js";
import { errorAnswer } from "./phased/refusals.js";
import { fieldNames, maxCharsFor } from "./schemas.js";
import { compact, type Fault, unknownField, type WireObject } from "./wire.js";

/** The options of a search tool. */
export interface SearchToolOptions {
  /** The tool's name. Default: `search_standards`. */
  readonly name?: string;
  /** The description for agents. */
  readonly description?: string;
  /** The longest answer, in tokens of four characters. Default 6,000, at least 1,000. */
  readonly maxTokens?: number;
  /**
   * Also finds texts of phases and tasks. Default: false, since an agent could otherwise read phases that are ahead of
   * it.
   */
  readonly phases?: "hidden" | "shown";
  /** Called with failures that are not shown to the agent. Must not throw. */
  readonly onError?: (error: unknown) => void;
}

/** An answer: `results`, each with file, headings, lines, score and text; or the error. */
export type SearchAnswer = {
  /** The outcome: `success` if the search was made. */
  readonly status: "success" | "error";
  /** The tool's name. */
  readonly action: string;
  readonly [key: string]: unknown;
};

/** Limits the results of one search. */
const RESULTS_MAX = 50;

const common = {
  query: z.string().min(1).describe("what to look for, in a few words"),
  workflow: z.string().optional().describe("only this workflow's texts"),
  tags: z.array(z.string()).max(20).optional().describe("only texts that have all of these tags"),
  limit: z.int().min(1).max(RESULTS_MAX).optional().describe("at most so many pieces; 5 if not given"),
  cursor: z.string().optional().describe("next page"),
};

/** The parameters where phases are hidden. */
const searchInput = z.object(common);

/** A tool that can be registered with any server that takes a name, a schema and a function. */
export interface SearchTool {
  /** The name that agents call. */
  readonly name: string;
  /** The description for agents. */
  readonly description: string;
  /** A zod schema: a Standard Schema with a JSON Schema, as MCP servers take it. */
  readonly inputSchema: z.ZodObject;
  /** Executes a call. Never throws and never rejects: every error is an answer. */
  handler(input: unknown): Promise<SearchAnswer>;
}

const DESCRIPTION =
  "Searches the project's standards and guides. Gives the pieces of text that fit best, with file, headings and lines.";

/** The parameters where phases are shown. */
const searchPhasesInput = z.object({
  ...common,
  phase: z.int().min(0).optional().describe("only this phase's texts"),
  task: z.int().min(0).optional().describe("only this task's texts"),
});

/** The tool that a search runs for. */
interface SearchContext {
  readonly retriever: Retriever;
  readonly name: string;
  readonly phases: "hidden" | "shown";
  readonly maxChars: number;
}

/** Creates the tool through which agents search texts. `handler` may be called concurrently. */
export function createSearchTool(retriever: Retriever, options: SearchToolOptions = {}): SearchTool {
  const { name = SEARCH_TOOL, description = DESCRIPTION, phases = "hidden", onError } = options;
  const inputSchema = phases === "shown" ? searchPhasesInput : searchInput;
  const context: SearchContext = { retriever, name, phases, maxChars: maxCharsFor(options.maxTokens) };
  const search = action({ takes: inputSchema.strict() }, searchTexts);
  const refusalOf = (failure: Failure) => {
    if ("faults" in failure) return badSearch(name, fieldNames(inputSchema), failure.faults);
    onError?.(failure.error);
    return errorAnswer({ actions: [] }, name, failure.error);
  };
  return {
    name,
    description,
    inputSchema,
    handler: async (input) => {
      const call = readCall(context, input, () => ({ name, fields: input }));
      const outcome = call.failure === undefined ? await search.run(context, call.input) : call.failure;
      const isSuccess = "body" in outcome;
      const { status: _, ...body } = isSuccess ? outcome.body : refusalOf(outcome);
      return { status: isSuccess ? "success" : "error", action: name, ...body };
    },
  };
}

type SearchCall = z.infer<typeof searchPhasesInput>;

/** Limits the faults that are named. */
const FAULTS_MAX = 10;

function badSearch(action: string, fields: readonly string[], faults: readonly Fault[]): WireObject {
  const problems = faults.slice(0, FAULTS_MAX).map(({ kind, field, message }) => {
    if (kind === "no object") return "the input must be an object with a 'query'";
    return kind === "unknown" ? unknownField(field, fields) : `'${field}': ${message}`;
  });
  return {
    action,
    error: problems.join("; "),
    error_type: "ValueError",
    code: "INVALID_INPUT",
    remediation: `It takes ${fields.join(", ")}; only query is needed: {"query": "how to name tests"}.`,
  };
}

/** Returns true if a chunk may be shown to an agent in any phase. */
function isOfNoPhase({ workflow, phase, task, file }: Chunk): boolean {
  if (phase !== undefined || task !== undefined) return false;
  return workflow === undefined || !/(?:^|\/)phases\//.test(file);
}

/** The budget for what surrounds the results. */
const ENVELOPE = 1_000;
/** The budget for what surrounds the text of one result. */
const ABOUT = 1_200;

async function searchTexts(context: SearchContext, call: SearchCall): Promise<WireObject> {
  const { retriever, name: action, phases, maxChars } = context;
  const chunks = await find(retriever, call, phases === "shown" ? () => true : isOfNoPhase);
  const results = chunks.map((chunk) => resultOf(chunk, maxChars - ENVELOPE - ABOUT));
  const { cursor: from, ...again } = call;
  const { items, cursor } = pageItems(results, maxChars - ENVELOPE, from, canonicalJson(again));
  return compact({
    action,
    results: items,
    found: results.length,
    tokens: items.reduce((sum: number, { tokens }) => sum + (typeof tokens === "number" ? tokens : 0), 0),
    cursor,
    next: cursor === undefined ? undefined : { ...again, cursor },
    hint: results.length === 0 ? "No text matches: try other words, or fewer filters." : undefined,
  });
}

/** Returns a chunk on the wire; the beginning, if it is too long. */
function resultOf({ text, headings, lines, score, ...chunk }: Chunk, maxChars: number): WireObject {
  const shown = text.slice(0, partWithin(text, maxChars));
  return compact({
    file: chunk.file,
    headings: headings.join(" > "),
    lines: { from: lines[0], to: lines[1] },
    score: Number(score.toFixed(4)),
    workflow: chunk.workflow,
    phase: chunk.phase,
    task: chunk.task,
    tags: chunk.tags.length === 0 ? undefined : chunk.tags,
    tokens: Math.ceil(shown.length / 4),
    text: shown,
    cut: shown === text ? undefined : `the first ${shown.length} of ${text.length} characters; the rest is in the file`,
  });
}

const DEFAULT_LIMIT = 5;

/** Limits the requests to a retriever whose results must be hidden. */
const ROUNDS = 6;

/** Returns the best chunks that may be shown; asks for more if hidden ones take their places. */
async function find(
  retriever: Retriever,
  { cursor: _, limit = DEFAULT_LIMIT, ...call }: SearchCall,
  visible: (chunk: Chunk) => boolean,
): Promise<readonly Chunk[]> {
  let asked = limit;
  for (let round = 1; ; round += 1) {
    const found = await retriever.search({ ...call, limit: asked });
    // A chunk with a score of 0 matches the filters, but nothing of the query.
    const shown = found.filter((chunk) => chunk.score !== 0 && visible(chunk));
    if (shown.length >= limit || found.length < asked || round === ROUNDS) return shown.slice(0, limit);
    asked *= 4;
  }
}
