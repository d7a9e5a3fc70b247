/**
 * Workflows as prompts, which clients show as slash commands: `start_bug_fix` starts a workflow, `continue` goes on with open
 * work, `status` tells how it stands.
 */
import type { Engine } from "../phased/engine.js";
import type { WorkflowListing } from "../ports/content-provider.js";
import type { Action } from "../tools/phased/actions.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import { digest, isJsonObject } from "../workflow/json.js";
import { isSessionId, shown } from "../workflow/names.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import { type Host, McpFailure, PROPOSALS, type PromptEntry } from "./host.js";
import { guarded, STATUSES, sessionIds, shortened } from "./resources.js";

/** The actions that the prompts tell agents to use. */
const USED: readonly Action[] = ["start", "list_sessions", "get_state"];
/** The longest argument, in characters. */
const ARGUMENT_MAX = 4000;
/** The size of a page of the list, in characters of JSON: it goes to the client, not to a model. */
const PAGE_CHARS = 100_000;
const UNFINISHED = ["active", "paused"] as const;
/** The prompts for sessions, with what a client lists. */
const SESSION_PROMPTS = {
  continue: { title: "Continue", description: "Go on with a session that is open" },
  status: { title: "Status", description: "Tell how the open sessions stand; changes nothing" },
} as const;
/** The argument that names one of them. */
const SESSION = "session";

/** Loaded with the first prompt: without it a server starts sooner. */
const loadTexts = () => import("../tools/phased/prompt-texts.js");

/** Checks whether agents may do what the prompts tell them. */
export function canPrompt(actions: readonly Action[]): boolean {
  return USED.every((action) => actions.includes(action));
}

/** Registers the prompts. `tool` is the name of the tool that they tell agents to call. */
export function registerPrompts(host: Host, engine: Engine, tool: string): void {
  const complete = (value: string) => sessionIds(engine, value, UNFINISHED);
  const argument = { name: SESSION, description: "the id of a session; without it, all open ones", complete };
  const register = (name: keyof typeof SESSION_PROMPTS) =>
    host.prompt({
      ...{ name, ...SESSION_PROMPTS[name], argument },
      async text(given) {
        const { SESSION_TEXTS, sessionsCall } = await loadTexts();
        return SESSION_TEXTS[name](tool, sessionsCall(sessionIn(given)));
      },
    });
  register("continue");
  register("status");
  const find = async (name: string) =>
    name.startsWith(PREFIX) ? (await engine.listWorkflows()).find(({ type }) => promptName(type) === name) : undefined;
  host.prompts({
    list: (cursor) =>
      guarded(undefined, async () => {
        const { pageItems } = await import("../tools/pages.js");
        const ready = (await engine.listWorkflows()).flatMap((listing) =>
          listing.status === "ready" ? listing.definition.structure : [],
        );
        const entries = await Promise.all(ready.map(promptEntry));
        const page = pageItems(entries, PAGE_CHARS, cursor, "prompts");
        return { prompts: page.items, nextCursor: page.cursor };
      }),
    text: (name, given) =>
      guarded(undefined, async () => {
        const found = await find(name);
        if (found === undefined) return undefined;
        const structure = structureOf(found);
        const { argumentsOf, startText } = await loadTexts();
        return startText(structure, givenTo(name, Object.keys(argumentsOf(structure)), given), tool);
      }),
    complete: (name, argument, value) =>
      guarded(undefined, async () => {
        // Of SDKs before 1.23, which find no proposals of their own.
        if (Object.hasOwn(SESSION_PROMPTS, name)) return argument === SESSION ? complete(value) : [];
        const found = await find(name);
        if (found?.status !== "ready") return found && [];
        const { proposalsFor } = await loadTexts();
        const proposals = proposalsFor(found.definition.structure, argument);
        const texts = proposals === "target" ? await knownTargets(engine) : proposals;
        return texts.filter((text) => text.startsWith(value));
      }),
  });
}

/** Returns the structure of a workflow. Throws if it has errors: then it can't be started. */
function structureOf(listing: WorkflowListing): WorkflowStructure {
  if (listing.status === "ready") return listing.definition.structure;
  const [first] = listing.diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
  const problem = `the workflow ${shown(listing.type)} has errors, so that it can't be started: ${first}`;
  throw new McpFailure("invalid params", problem, { workflow_type: listing.type });
}

function sessionIn(given: string | undefined): string | undefined {
  // Clients send an empty text for what a person has left out.
  if (given === undefined || given === "") return undefined;
  if (isSessionId(given)) return given;
  const problem = `${shown(given)} is no id of a session; leave it out to see all`;
  throw new McpFailure("invalid params", problem, { argument: SESSION });
}

const PREFIX = "start_";

/** Returns the name of a workflow's prompt: clients accept letters, digits, `_` and `-`, and replace all else. */
function promptName(type: string): string {
  const plain = type.replace(/[^A-Za-z0-9_-]+/g, "_");
  return `${PREFIX}${plain}${plain === type ? "" : `_${digest(type).slice(0, 6)}`}`;
}

async function promptEntry(structure: WorkflowStructure): Promise<PromptEntry> {
  const { type, name, description } = structure;
  const { argumentsOf } = await loadTexts();
  const args = Object.entries(argumentsOf(structure));
  return {
    name: promptName(type),
    title: shortened(name),
    description: shortened(description),
    // None is required: an agent asks for what is missing.
    arguments: args.map(([name, about]) => ({ name, description: shortened(about), required: false })),
  };
}

/** Returns the arguments that were given. Throws if one is unknown or too long: a person sees that in the client. */
function givenTo(name: string, known: readonly string[], args: unknown): Readonly<Record<string, string>> {
  const refused = (argument: string, problem: string) => new McpFailure("invalid params", problem, { argument });
  const given = Object.entries(isJsonObject(args) ? args : {}).map(([argument, value]): [string, string] => {
    if (!known.includes(argument)) {
      const others = known.length === 0 ? "It has none." : `It has ${known.join(", ")}.`;
      throw refused(argument, `the prompt ${name} has no argument ${shown(argument)}. ${others}`);
    }
    if (typeof value !== "string") throw refused(argument, `the argument ${shown(argument)} must be a text`);
    if (value.length <= ARGUMENT_MAX) return [argument, value];
    const length = `${value.length} characters, and ${ARGUMENT_MAX} are allowed`;
    throw refused(
      argument,
      `the argument ${shown(argument)} has ${length}. Put the text into a file, and give its path.`,
    );
  });
  return Object.fromEntries(given.filter(([, value]) => value.trim() !== ""));
}

/** Returns the targets of the newest sessions that the client may see. */
async function knownTargets(engine: Engine): Promise<string[]> {
  const { items } = await engine.listSessions({ status: STATUSES, limit: PROPOSALS });
  return [...new Set(items.map(({ target }) => target))];
}
